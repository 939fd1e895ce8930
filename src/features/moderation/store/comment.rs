//! A moderator's decision about a comment. A removed comment is a placeholder for everybody but its author.

use db::{Tx, args};

use crate::error::Result;
use crate::features::comments::store::CommentRow;
use crate::features::moderation::store::set_moderation;
use crate::features::notifications;
use crate::features::visibility::moderation::Decision;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::ProjectId;

db::statements! {
    command MODERATE =
        concat!("UPDATE comments SET ", set_moderation!(), " WHERE project_id = $1 AND id = $2");
}

pub fn moderate(
    tx: &Tx<'_>,
    project: ProjectId,
    comment: &CommentRow,
    decision: &Decision<'_>,
) -> Result<()> {
    let Decision { verdict, by, reason, at } = *decision;
    let by_type = decision.by_type();
    let id = comment.id;
    tx.pipeline(&MODERATE, args![project, id, verdict.name(), at, by, by_type, reason])?;
    search_queue::note(tx, project, Kind::Comment, id.0)?;
    notifications::store::hide::follow_comment(tx, project, comment.entity_id, id)
}
