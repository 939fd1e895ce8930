//! Who may see an entity. One rule, asked by every door that leads to one: fetches, reactions,
//! files, and whatever else hangs on an entity. What may not be seen is not there.

use db::{Conn, Tx};

use crate::auth::caller::{Actor, ActorOrKey, OptionalViewer, UserOrKey, Via};
use crate::error::Result;
use crate::features::entities::store::{self, EntityRow};
use crate::ids::{EntityId, ProjectId, UserId};

/// As whom somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    Key,
    User(UserId),
    Nobody,
}

impl From<OptionalViewer> for Eyes {
    fn from(viewer: OptionalViewer) -> Self {
        match viewer {
            OptionalViewer::Anonymous => Eyes::Nobody,
            OptionalViewer::User(user) => Eyes::User(user),
            OptionalViewer::Key(_) => Eyes::Key,
        }
    }
}

impl From<&UserOrKey> for Eyes {
    fn from(caller: &UserOrKey) -> Self {
        match caller {
            UserOrKey::User(user) => Eyes::User(*user),
            UserOrKey::Key(_) => Eyes::Key,
        }
    }
}

impl From<&Actor> for Eyes {
    fn from(actor: &Actor) -> Self {
        match actor.via {
            Via::Session(_) => Eyes::User(actor.user),
            Via::Key(_) => Eyes::Key,
        }
    }
}

impl From<ActorOrKey> for Eyes {
    fn from(caller: ActorOrKey) -> Self {
        match caller {
            ActorOrKey::User(user) => Eyes::User(user),
            ActorOrKey::Key { .. } => Eyes::Key,
        }
    }
}

impl Eyes {
    /// Whether the entity is theirs to change: its author's, and a key's.
    pub fn own(self, entity: &EntityRow) -> bool {
        match self {
            Eyes::Key => true,
            Eyes::User(user) => entity.user_id == Some(user),
            Eyes::Nobody => false,
        }
    }

    /// A draft is there for whom it belongs to alone.
    pub fn see(self, entity: &EntityRow) -> bool {
        !entity.is_draft || self.own(entity)
    }
}

/// The entity, if it is there for these eyes.
pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    id: EntityId,
    eyes: Eyes,
) -> Result<Option<EntityRow>> {
    Ok(store::find(c, project, id)?.filter(|entity| eyes.see(entity)))
}

/// The same, kept from being deleted until the transaction ends.
pub fn keep(
    tx: &Tx<'_>,
    project: ProjectId,
    id: EntityId,
    eyes: Eyes,
) -> Result<Option<EntityRow>> {
    Ok(store::keep(tx, project, id)?.filter(|entity| eyes.see(entity)))
}
