//! What happens to comments, for observers.

use serde::Serialize;

use crate::domain_events::EventKind;
use crate::features::comments::VALIDATION_FAILED;
use crate::features::comments::model::Comment;
use crate::features::comments::store::CommentRow;
use crate::values::ids::{CommentId, EntityId, UserId};

pub const CREATED: EventKind<Comment> =
    EventKind::new("comment.created").refusable(VALIDATION_FAILED);
pub const UPDATED: EventKind<Comment> =
    EventKind::new("comment.updated").refusable(VALIDATION_FAILED);
/// Its author or a key has deleted it.
pub const DELETED: EventKind<CommentMoment> = EventKind::new("comment.deleted");
/// A moderator has removed or approved it.
pub const MODERATED: EventKind<CommentMoment> = EventKind::new("comment.moderated");

/// Which comment something has happened to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentMoment {
    id: CommentId,
    entity_id: EntityId,
    parent_id: Option<CommentId>,
    user_id: Option<UserId>,
}

impl From<&CommentRow> for CommentMoment {
    fn from(row: &CommentRow) -> Self {
        let CommentRow { id, entity_id, parent_id, user_id, .. } = *row;
        CommentMoment { id, entity_id, parent_id, user_id }
    }
}
