//! What happens to entities, for whoever observes it.

use crate::domain_events::{self, EventKind};
use crate::features::entities::VALIDATION_FAILED;
use crate::features::entities::model::Entity;
use crate::features::entities::store::EntityRow;

/// Also a draft.
pub const CREATED: EventKind<Entity> =
    EventKind::new("entity.created").refusable(VALIDATION_FAILED);
/// Its author or a key has changed it, or published it.
pub const UPDATED: EventKind<Entity> =
    EventKind::new("entity.updated").refusable(VALIDATION_FAILED);

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
