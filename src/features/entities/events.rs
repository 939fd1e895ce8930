//! What happens to entities, for observers.

use serde::Serialize;

use crate::domain_events::{self, Event, EventKind};
use crate::error::Result;
use crate::features::entities::VALIDATION_FAILED;
use crate::features::entities::model::Entity;
use crate::features::entities::store::EntityRow;
use crate::values::ids::{EntityId, SpaceId, UserId};

/// Also a draft.
pub const CREATED: EventKind<Entity> =
    EventKind::new("entity.created").refusable(VALIDATION_FAILED);
/// Its author or a key has changed it, or published it.
pub const UPDATED: EventKind<Entity> =
    EventKind::new("entity.updated").refusable(VALIDATION_FAILED);

/// Its author or a key has deleted it.
pub const DELETED: EventKind<EntityMoment> = EventKind::new("entity.deleted");
/// A moderator has removed or approved it.
pub const MODERATED: EventKind<EntityMoment> = EventKind::new("entity.moderated");

/// Which entity something has happened to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntityMoment {
    id: EntityId,
    space_id: Option<SpaceId>,
    user_id: Option<UserId>,
    is_draft: bool,
}

impl From<&EntityRow> for EntityMoment {
    fn from(row: &EntityRow) -> Self {
        let EntityRow { id, space_id, user_id, is_draft, .. } = *row;
        EntityMoment { id, space_id, user_id, is_draft }
    }
}

/// A new entity, unless a rule hides it: then there is no event.
pub(super) fn created(entity: &Entity, by: Option<UserId>) -> Result<Option<Event>> {
    if entity.moderation_status.is_some() {
        return Ok(None);
    }
    Ok(Some(CREATED.event(entity)?.by(by)))
}

pub(super) fn changed(before: &EntityRow, after: &EntityRow) -> Vec<String> {
    let place = |row: &EntityRow| (row.latitude, row.longitude);
    domain_events::changed([
        ("title", before.title != after.title),
        ("content", before.content != after.content),
        ("attachments", before.attachments != after.attachments),
        ("keywords", before.keywords != after.keywords),
        ("mentions", before.mentions != after.mentions),
        ("location", place(before) != place(after)),
        ("metadata", before.metadata != after.metadata),
        ("nsfw", before.nsfw != after.nsfw),
        ("isDraft", before.is_draft != after.is_draft),
        ("createdAt", before.created_at != after.created_at),
        ("updatedAt", before.updated_at != after.updated_at),
    ])
}
