//! What is in the index, by kind and by who may read it. Content that anybody may read is open; its words make the
//! dictionary, and its frequencies the scores of everything. Closed content (of members-only spaces, of
//! conversations, hidden spaces) is found by exact words and scored by the frequencies of open content, so that
//! nothing a caller learns depends on what they may not read.

use crate::search_queue::Kind;

/// Stored with every posting, so the numbers must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    OpenEntity,
    OpenComment,
    ClosedEntity,
    ClosedComment,
    Message,
    User,
    OpenSpace,
    ClosedSpace,
}

/// Classes that share a dictionary and frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    Content,
    Users,
    Spaces,
}

impl Class {
    pub const ALL: [Class; 8] = [
        Class::OpenEntity,
        Class::OpenComment,
        Class::ClosedEntity,
        Class::ClosedComment,
        Class::Message,
        Class::User,
        Class::OpenSpace,
        Class::ClosedSpace,
    ];

    pub const fn number(self) -> i64 {
        match self {
            Class::OpenEntity => 0,
            Class::OpenComment => 1,
            Class::ClosedEntity => 2,
            Class::ClosedComment => 3,
            Class::Message => 4,
            Class::User => 5,
            Class::OpenSpace => 6,
            Class::ClosedSpace => 7,
        }
    }

    pub fn from_number(number: i64) -> Option<Self> {
        Class::ALL.into_iter().find(|class| class.number() == number)
    }

    /// The class of content of a kind.
    pub const fn of(kind: Kind, is_open: bool) -> Self {
        match (kind, is_open) {
            (Kind::Entity, true) => Class::OpenEntity,
            (Kind::Entity, false) => Class::ClosedEntity,
            (Kind::Comment, true) => Class::OpenComment,
            (Kind::Comment, false) => Class::ClosedComment,
            (Kind::Message, _) => Class::Message,
            (Kind::User, _) => Class::User,
            (Kind::Space, true) => Class::OpenSpace,
            (Kind::Space, false) => Class::ClosedSpace,
        }
    }

    pub const fn kind(self) -> Kind {
        match self {
            Class::OpenEntity | Class::ClosedEntity => Kind::Entity,
            Class::OpenComment | Class::ClosedComment => Kind::Comment,
            Class::Message => Kind::Message,
            Class::User => Kind::User,
            Class::OpenSpace | Class::ClosedSpace => Kind::Space,
        }
    }

    pub const fn is_open(self) -> bool {
        matches!(self, Class::OpenEntity | Class::OpenComment | Class::User | Class::OpenSpace)
    }

    pub const fn section(self) -> Section {
        match self.kind() {
            Kind::Entity | Kind::Comment | Kind::Message => Section::Content,
            Kind::User => Section::Users,
            Kind::Space => Section::Spaces,
        }
    }
}

impl Section {
    pub const fn number(self) -> i64 {
        match self {
            Section::Content => 0,
            Section::Users => 1,
            Section::Spaces => 2,
        }
    }

    /// The classes whose frequencies count.
    pub fn open(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| class.is_open() && class.section() == self)
    }

    /// Whether the beginning of a word finds it.
    pub const fn has_prefixes(self) -> bool {
        matches!(self, Section::Users | Section::Spaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for class in Class::ALL {
            assert_eq!(Class::from_number(class.number()), Some(class));
            assert_eq!(Class::of(class.kind(), class.is_open()), class);
        }
    }

    #[test]
    fn frequencies_come_from_open_classes_alone() {
        let all = [Section::Content, Section::Users, Section::Spaces];
        let open: Vec<Class> = all.into_iter().flat_map(Section::open).collect();
        assert_eq!(open, [Class::OpenEntity, Class::OpenComment, Class::User, Class::OpenSpace]);
    }
}
