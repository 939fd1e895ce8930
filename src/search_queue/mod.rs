//! The queue of records to index again. Features note a change in the transaction that makes it; `features/search`
//! works the queue off. Nothing is written for a project that is not indexed.

pub mod store;

/// What a queued record is. Stored, so the numbers must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Entity,
    Comment,
    Message,
    User,
    Space,
}

impl Kind {
    pub const fn number(self) -> i64 {
        match self {
            Kind::Entity => 1,
            Kind::Comment => 2,
            Kind::Message => 3,
            Kind::User => 4,
            Kind::Space => 5,
        }
    }

    pub fn from_number(number: i64) -> Option<Self> {
        use Kind::{Comment, Entity, Message, Space, User};
        [Entity, Comment, Message, User, Space].into_iter().find(|kind| kind.number() == number)
    }
}
