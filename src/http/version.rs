//! The three versions of the API that are served side by side.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V6,
    V7,
    V8,
}

impl Version {
    pub const ALL: [Version; 3] = [Version::V6, Version::V7, Version::V8];

    pub fn from_segment(segment: &str) -> Option<Self> {
        Version::ALL.into_iter().find(|version| version.segment() == segment)
    }

    pub const fn segment(self) -> &'static str {
        match self {
            Version::V6 => "v6",
            Version::V7 => "v7",
            Version::V8 => "v8",
        }
    }
}
