//! A verdict about content with everything that follows from it. Every way of moderating goes through here: by the
//! moderators of a space, by handling a report, by a decision in the admin.

use db::Tx;

use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::comments::{self, store::CommentRow};
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::store::{comment, entity};
use crate::features::visibility::moderation::Decision;

/// The caller has locked the entity.
pub(super) fn moderate_entity(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: &EntityRow,
    decision: &Decision<'_>,
) -> Result<()> {
    entity::moderate(tx, context.project.id, row, decision)?;
    let kind = entities::events::MODERATED;
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))
}

/// The caller has locked the comment.
pub(super) fn moderate_comment(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: &CommentRow,
    decision: &Decision<'_>,
) -> Result<()> {
    comment::moderate(tx, context.project.id, row, decision)?;
    let kind = comments::events::MODERATED;
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))
}
