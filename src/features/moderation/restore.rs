//! Takes the removal of content back, after a successful appeal.

use db::Tx;
use uuid::Uuid;

use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::chat::messages::moderation as messages;
use crate::features::comments::store as comments;
use crate::features::moderation::moderate::{log, moderate_comment, moderate_entity};
use crate::features::moderation::reports::handler::{Content, Handler, lock};
use crate::features::moderation::reports::model::TargetType;
use crate::features::spaces::moderation_log::LogTarget;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::values::ids::{ChatMessageId, CommentId};

/// What its author has deleted meanwhile, and what is visible already, stays as it is.
pub(super) fn restore(
    tx: &Tx<'_>,
    handler: &Handler,
    (kind, id): (TargetType, Uuid),
    reason: Option<&str>,
) -> Result<()> {
    let (project, place) = (handler.project.id, (&handler.app, &handler.project));
    let decision = Decision { verdict: Verdict::Approved, by: None, reason, at: handler.now };
    if kind == TargetType::Comment {
        comments::hold_again(tx, project, CommentId(id))?;
    }
    match lock(tx, project, kind, id) {
        Ok(Content::Entity(row)) if row.moderation.is_removed() => {
            moderate_entity(tx, place, &row, &decision).map(drop)
        }
        Ok(Content::Comment(row)) if row.moderation.is_removed() => {
            moderate_comment(tx, place, &row, &decision).map(drop)
        }
        Ok(Content::Message(id)) => restore_message(tx, handler, id, &decision),
        Ok(_) | Err(Error::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

fn restore_message(
    tx: &Tx<'_>,
    handler: &Handler,
    id: ChatMessageId,
    decision: &Decision<'_>,
) -> Result<()> {
    let (row, space) = match messages::lock(tx, handler.project.id, id, None) {
        Err(Error::Refused(_)) => return Ok(()),
        found => found?,
    };
    let context = Context { app: &handler.app, project: &handler.project, now: handler.now };
    messages::restore(tx, context, row, decision)?;
    let place = (handler.project.id, space);
    log(tx, &handler.app, place, (LogTarget::Message, id.0), decision)
}
