//! A verdict about content with everything that follows from it. Every way of moderating goes through here: by the
//! moderators of a space, by handling a report, by a decision in the admin. What a rule held appears when it is
//! approved, with all that creating it would have caused. What was taken from its author is returned: the caller stores
//! that as a decision, unless it was one already.

use std::sync::Arc;

use db::Tx;
use uuid::Uuid;

use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::chat::messages::moderation as messages;
use crate::features::chat::messages::store::MessageRow;
use crate::features::comments::{self, store::CommentRow};
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::decisions::Removal;
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::reports::store as reports;
use crate::features::moderation::store::{comment, entity};
use crate::features::moderation::target::{Target, TargetKind};
use crate::features::spaces::moderation_log::{self, LogAction, LogTarget, Logged, LoggedBy};
use crate::features::visibility::moderation::{Decision, ModerationRow, Verdict};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, ProjectId, SpaceId};

/// The caller has locked the entity.
pub(super) fn moderate_entity(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    row: &EntityRow,
    decision: &Decision<'_>,
) -> Result<Option<Removal>> {
    let context = Context { app, project, now: decision.at };
    if row.moderation.is_held() {
        reports::close_held(tx, project.id, TargetType::Entity, row.id.0, decision)?;
    }
    entity::moderate(tx, project.id, row, decision)?;
    if row.moderation.is_held_new() && decision.verdict == Verdict::Approved {
        let row = EntityRow { moderation: decision.into(), ..row.clone() };
        entities::write::screen::approved(tx, context, project, row)?;
    }
    let target = (LogTarget::Entity, row.id.0);
    log(tx, app, (project.id, row.space_id), target, decision)?;
    let kind = entities::events::MODERATED;
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))?;
    let target = Target { kind: TargetKind::Entity, id: row.id.0 };
    let removal = Removal { target, author: row.user_id, space: row.space_id };
    Ok(new_removal(removal, &row.moderation, decision))
}

/// The caller has locked the comment.
pub(super) fn moderate_comment(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    row: &CommentRow,
    decision: &Decision<'_>,
) -> Result<Option<Removal>> {
    let context = Context { app, project, now: decision.at };
    if row.moderation.is_held() {
        reports::close_held(tx, project.id, TargetType::Comment, row.id.0, decision)?;
    }
    comment::moderate(tx, project.id, row, decision)?;
    match decision.verdict {
        _ if !row.moderation.is_held_new() => {}
        Verdict::Approved => {
            let row = CommentRow { moderation: decision.into(), ..row.clone() };
            comments::write::screen::approved(tx, context, project, row)?;
        }
        // Nobody has seen it, so it leaves no placeholder.
        Verdict::Removed => comments::store::hide(tx, project.id, row.id, decision.at)?,
    }
    let target = (LogTarget::Comment, row.id.0);
    log(tx, app, (project.id, row.space_id), target, decision)?;
    let kind = comments::events::MODERATED;
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))?;
    let target = Target { kind: TargetKind::Comment, id: row.id.0 };
    let removal = Removal { target, author: row.user_id, space: row.space_id };
    Ok(new_removal(removal, &row.moderation, decision))
}

/// The caller has locked the message, which is in this space or in none.
pub(super) fn remove_message(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    (row, space): (MessageRow, Option<SpaceId>),
    decision: &Decision<'_>,
) -> Result<Option<Removal>> {
    let (id, author, before) = (row.id.0, row.user_id, row.moderation.clone());
    messages::remove(tx, project.id, row, decision)?;
    log(tx, app, (project.id, space), (LogTarget::Message, id), decision)?;
    let target = Target { kind: TargetKind::Message, id };
    Ok(new_removal(Removal { target, author, space }, &before, decision))
}

/// None if the content was approved, or removed before.
fn new_removal(
    removal: Removal,
    before: &ModerationRow,
    decision: &Decision<'_>,
) -> Option<Removal> {
    let was_removed = before.is_removed() && !before.is_held();
    (decision.verdict == Verdict::Removed && !was_removed).then_some(removal)
}

/// Notes the verdict in the log of the space, if the content is in one.
pub(super) fn log(
    tx: &Tx<'_>,
    app: &App,
    (project, space): (ProjectId, Option<SpaceId>),
    target: (LogTarget, Uuid),
    decision: &Decision<'_>,
) -> Result<()> {
    let Some(space) = space else { return Ok(()) };
    let action = match decision.verdict {
        Verdict::Removed => LogAction::Remove,
        Verdict::Approved => LogAction::Approve,
    };
    let by = LoggedBy::user(decision.by);
    let logged = Logged { action, target, by, reason: decision.reason };
    moderation_log::add(tx, app, (project, space), logged, decision.at)
}

/// Locks a comment that is visible, or new and held by a rule.
pub(super) fn lock_comment(
    tx: &Tx<'_>,
    project: ProjectId,
    id: CommentId,
) -> Result<Option<CommentRow>> {
    comments::store::lock_to_moderate(tx, project, id)
}
