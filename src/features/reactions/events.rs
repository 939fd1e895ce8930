//! Reactions that come and go, for observers.

use db::Tx;
use serde::Serialize;
use uuid::Uuid;

use crate::domain_events::{self, Context, EventKind};
use crate::error::Result;
use crate::features::notifications::Subject;
use crate::features::reactions::ReactionCounts;
use crate::values::ids::{EntityId, UserId};

const TO_ENTITY: EventKind<Reacted> = EventKind::new("entity.reacted");
const TO_COMMENT: EventKind<Reacted> = EventKind::new("comment.reacted");

/// The counts of an entity or comment after a reaction was added, changed or removed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reacted {
    id: Uuid,
    entity_id: EntityId,
    user_id: Option<UserId>,
    reaction_counts: ReactionCounts,
}

pub(super) fn reacted(
    tx: &Tx<'_>,
    context: Context<'_>,
    subject: Subject,
    author: Option<UserId>,
    counts: ReactionCounts,
    by: UserId,
) -> Result<()> {
    let (kind, id, entity_id) = match subject {
        Subject::Entity(id) => (TO_ENTITY, id.0, id),
        Subject::Comment { entity, comment } => (TO_COMMENT, comment.0, entity),
        _ => return Ok(()),
    };
    domain_events::happened(tx, context, &kind, || {
        let shown = Reacted { id, entity_id, user_id: author, reaction_counts: counts };
        Ok(kind.event(&shown)?.by(Some(by)))
    })
}
