//! What happens to comments, for whoever observes it.

use crate::domain_events::EventKind;
use crate::features::comments::VALIDATION_FAILED;
use crate::features::comments::model::Comment;

pub const CREATED: EventKind<Comment> =
    EventKind::new("comment.created").refusable(VALIDATION_FAILED);
pub const UPDATED: EventKind<Comment> =
    EventKind::new("comment.updated").refusable(VALIDATION_FAILED);
