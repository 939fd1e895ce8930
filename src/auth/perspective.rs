//! The viewer's perspective: which content exists for the caller. Keys see everything, users what blocks,
//! drafts and spaces leave visible.

use crate::auth::caller::{Actor, ActorOrKey, OptionalViewer, UserOrKey, Via};
use crate::values::ids::UserId;

/// On whose behalf content is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Perspective {
    Key,
    /// A key on behalf of a user: acts as the user, with the user's blocks.
    KeyAs(UserId),
    User(UserId),
    Anonymous,
}

impl From<OptionalViewer> for Perspective {
    fn from(viewer: OptionalViewer) -> Self {
        match viewer {
            OptionalViewer::Anonymous => Perspective::Anonymous,
            OptionalViewer::User(user) => Perspective::User(user),
            OptionalViewer::Key(_) => Perspective::Key,
        }
    }
}

impl From<&UserOrKey> for Perspective {
    fn from(caller: &UserOrKey) -> Self {
        match caller {
            UserOrKey::User(user) => Perspective::User(*user),
            UserOrKey::Key(_) => Perspective::Key,
        }
    }
}

impl From<&Actor> for Perspective {
    fn from(actor: &Actor) -> Self {
        match actor.via {
            Via::Session(_) => Perspective::User(actor.user),
            Via::Key(_) => Perspective::KeyAs(actor.user),
        }
    }
}

impl From<ActorOrKey> for Perspective {
    fn from(caller: ActorOrKey) -> Self {
        match caller {
            ActorOrKey::User(user) => Perspective::User(user),
            ActorOrKey::Key { user: Some(user) } => Perspective::KeyAs(user),
            ActorOrKey::Key { user: None } => Perspective::Key,
        }
    }
}

impl Perspective {
    /// Whether this perspective may change content of this author: authors their own, keys everything.
    pub fn owns(self, author: Option<UserId>) -> bool {
        match self {
            Perspective::Key | Perspective::KeyAs(_) => true,
            Perspective::User(user) => author == Some(user),
            Perspective::Anonymous => false,
        }
    }

    pub fn is_key(self) -> bool {
        matches!(self, Perspective::Key | Perspective::KeyAs(_))
    }

    /// The user whose blocks count.
    pub fn viewer(self) -> Option<UserId> {
        match self {
            Perspective::User(user) | Perspective::KeyAs(user) => Some(user),
            Perspective::Key | Perspective::Anonymous => None,
        }
    }
}
