//! Who may see an entity. One rule, asked by every door that leads to one: fetches, reactions,
//! files, and whatever else hangs on an entity. What may not be seen is not there: the drafts of
//! others, what is in a space that is closed to who looks, and what somebody has written with a block
//! between them.

use db::{Conn, Tx};

use crate::auth::caller::{Actor, ActorOrKey, OptionalViewer, UserOrKey, Via};
use crate::error::Result;
use crate::features::blocks::filter;
use crate::features::entities::store::{self, EntityRow};
use crate::features::projects::Project;
use crate::features::spaces::access;
use crate::ids::{EntityId, UserId};

/// As whom somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eyes {
    Key,
    /// A key in the name of a user: what is done is theirs, and so are their blocks.
    KeyAs(UserId),
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
            Via::Key(_) => Eyes::KeyAs(actor.user),
        }
    }
}

impl From<ActorOrKey> for Eyes {
    fn from(caller: ActorOrKey) -> Self {
        match caller {
            ActorOrKey::User(user) => Eyes::User(user),
            ActorOrKey::Key { user: Some(user) } => Eyes::KeyAs(user),
            ActorOrKey::Key { user: None } => Eyes::Key,
        }
    }
}

impl Eyes {
    /// Whether the entity is theirs to change: its author's, and a key's.
    pub fn own(self, entity: &EntityRow) -> bool {
        match self {
            Eyes::Key | Eyes::KeyAs(_) => true,
            Eyes::User(user) => entity.user_id == Some(user),
            Eyes::Nobody => false,
        }
    }

    /// A draft is there for whom it belongs to alone.
    pub fn see(self, entity: &EntityRow) -> bool {
        !entity.is_draft || self.own(entity)
    }

    pub fn is_key(self) -> bool {
        matches!(self, Eyes::Key | Eyes::KeyAs(_))
    }

    /// The user whose blocks count.
    pub fn viewer(self) -> Option<UserId> {
        match self {
            Eyes::User(user) | Eyes::KeyAs(user) => Some(user),
            Eyes::Key | Eyes::Nobody => None,
        }
    }
}

/// The entity, if it is there for these eyes.
pub fn find(
    c: &Conn<'_>,
    project: &Project,
    id: EntityId,
    eyes: Eyes,
) -> Result<Option<EntityRow>> {
    seen(c, project, store::find(c, project.id, id)?, eyes)
}

/// What was found, if it is there for these eyes.
pub fn seen(
    c: &Conn<'_>,
    project: &Project,
    found: Option<EntityRow>,
    eyes: Eyes,
) -> Result<Option<EntityRow>> {
    let Some(entity) = found.filter(|entity| eyes.see(entity)) else { return Ok(None) };
    let is_hidden = match entity.user_id {
        Some(author) => filter::hides(c, project, eyes.viewer(), author)?,
        None => false,
    };
    let may_read = access::may_read(c, project.id, entity.space_id, entity.user_id, eyes)?;
    Ok((!is_hidden && may_read).then_some(entity))
}

/// Those of the rows that are there for these eyes.
pub fn among(
    c: &Conn<'_>,
    project: &Project,
    mut rows: Vec<EntityRow>,
    eyes: Eyes,
) -> Result<Vec<EntityRow>> {
    let authors: Vec<UserId> = rows.iter().filter_map(|row| row.user_id).collect();
    let hidden = filter::among(c, project, eyes.viewer(), &authors)?;
    let written = rows.iter().map(|row| (row.space_id, row.user_id)).collect();
    let readable = access::among(c, project.id, written, eyes)?;
    rows.retain(|row| {
        let is_met = row.user_id.is_none_or(|author| !hidden.contains(&author));
        eyes.see(row) && is_met && readable.contains(&(row.space_id, row.user_id))
    });
    Ok(rows)
}

/// The same, kept from being deleted until the transaction ends.
pub fn keep(tx: &Tx<'_>, project: &Project, id: EntityId, eyes: Eyes) -> Result<Option<EntityRow>> {
    seen(tx, project, store::keep(tx, project.id, id)?, eyes)
}

/// The same, held until the transaction ends. Blocks are looked at in the same statement.
pub fn hold(tx: &Tx<'_>, project: &Project, id: EntityId, eyes: Eyes) -> Result<Option<EntityRow>> {
    let found = match filter::counting(project, eyes.viewer()) {
        Some(viewer) => store::find_met_for_update(tx, project.id, id, viewer)?,
        None => store::find_for_update(tx, project.id, id)?,
    };
    match found.filter(|entity| eyes.see(entity)) {
        Some(row) if access::may_read(tx, project.id, row.space_id, row.user_id, eyes)? => {
            Ok(Some(row))
        }
        _ => Ok(None),
    }
}
