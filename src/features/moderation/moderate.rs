//! A verdict about content with everything that follows from it. Every way of moderating goes through here: by the
//! moderators of a space, by handling a report, by a decision in the admin. What a rule held appears when it is
//! approved, with all that creating it would have caused.

use std::sync::Arc;

use db::Tx;
use uuid::Uuid;

use crate::domain_events::{self, Context};
use crate::error::Result;
use crate::features::comments::{self, store::CommentRow};
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::reports::store as reports;
use crate::features::moderation::store::{comment, entity};
use crate::features::spaces::moderation_log::{self, LogAction, LogTarget, Logged, LoggedBy};
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, ProjectId, SpaceId};

/// The caller has locked the entity.
pub(super) fn moderate_entity(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    row: &EntityRow,
    decision: &Decision<'_>,
) -> Result<()> {
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
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))
}

/// The caller has locked the comment.
pub(super) fn moderate_comment(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    row: &CommentRow,
    decision: &Decision<'_>,
) -> Result<()> {
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
    domain_events::happened(tx, context, &kind, || kind.event(&row.into()))
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
