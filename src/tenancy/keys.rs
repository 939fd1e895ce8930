//! A project's keys as the server stores them. `auth/keys.rs` generates and verifies them.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeyKind {
    /// For the team's own backend.
    Service,
    /// For the owner of the project.
    Master,
}

impl KeyKind {
    pub const fn name(self) -> &'static str {
        match self {
            KeyKind::Service => "service",
            KeyKind::Master => "master",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [KeyKind::Service, KeyKind::Master].into_iter().find(|kind| kind.name() == name)
    }
}

/// A stored key.
#[derive(Debug, Clone)]
pub struct StoredKey {
    pub kind: KeyKind,
    pub hash: Vec<u8>,
}
