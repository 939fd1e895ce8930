//! Handle Entity Report and Handle Comment Report: the moderators of a space dismiss a report about
//! something in it, or act on it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::caller::ActorOrKey;
use crate::error::{Fault, Result};
use crate::features::reports::handle::{Handled, Hands, Orders, hold};
use crate::features::reports::model::TargetType;
use crate::features::reports::{
    COMMENT_NOT_FOUND, COMMENT_NOT_IN_SPACE, ENTITY_NOT_FOUND, ENTITY_NOT_IN_SPACE, NOT_FOUND,
    NOT_FOUND_IN_SPACE, store,
};
use crate::features::spaces;
use crate::features::spaces::authority::{self, Authority};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::ids::{CommentId, EntityId, ReportId, SpaceId, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpaceReportPath {
    space_id: SpaceId,
    report_id: ReportId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum EntityAction {
    RemoveEntity,
    BanUser,
    Dismiss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum CommentAction {
    RemoveComment,
    BanUser,
    Dismiss,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntityHandling {
    entity_id: EntityId,
    /// `dismiss` alone, or any of the others.
    actions: BTreeSet<EntityAction>,
    /// What was done, in words; required.
    summary: Option<String>,
    /// Whom to ban, and why.
    user_id: Option<UserId>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentHandling {
    comment_id: CommentId,
    /// `dismiss` alone, or any of the others.
    actions: BTreeSet<CommentAction>,
    /// What was done, in words; required.
    summary: Option<String>,
    /// Whom to ban, and why.
    user_id: Option<UserId>,
    reason: Option<String>,
}

pub(super) async fn handle_entity_report(
    call: Call<ActorOrKey>,
    (Path(path), Body(handling)): (Path<SpaceReportPath>, Body<EntityHandling>),
) -> Result<Created<Handled>> {
    let has = |action| handling.actions.contains(&action);
    let orders = Orders {
        dismiss: has(EntityAction::Dismiss),
        remove: has(EntityAction::RemoveEntity),
        ban: has(EntityAction::BanUser),
        summary: handling.summary,
        user_id: handling.user_id,
        reason: handling.reason,
        ..Orders::default()
    };
    let about = About {
        kind: TargetType::Entity,
        target: handling.entity_id.0,
        gone: ENTITY_NOT_FOUND,
        elsewhere: ENTITY_NOT_IN_SPACE,
    };
    handle(call, path, about, orders).await
}

pub(super) async fn handle_comment_report(
    call: Call<ActorOrKey>,
    (Path(path), Body(handling)): (Path<SpaceReportPath>, Body<CommentHandling>),
) -> Result<Created<Handled>> {
    let has = |action| handling.actions.contains(&action);
    let orders = Orders {
        dismiss: has(CommentAction::Dismiss),
        remove: has(CommentAction::RemoveComment),
        ban: has(CommentAction::BanUser),
        summary: handling.summary,
        user_id: handling.user_id,
        reason: handling.reason,
        ..Orders::default()
    };
    let about = About {
        kind: TargetType::Comment,
        target: handling.comment_id.0,
        gone: COMMENT_NOT_FOUND,
        elsewhere: COMMENT_NOT_IN_SPACE,
    };
    handle(call, path, about, orders).await
}

/// What the report must be about, and what is said if it is not.
#[derive(Debug, Clone, Copy)]
struct About {
    kind: TargetType,
    target: Uuid,
    gone: Fault,
    elsewhere: Fault,
}

async fn handle(
    call: Call<ActorOrKey>,
    path: SpaceReportPath,
    about: About,
    orders: Orders,
) -> Result<Created<Handled>> {
    orders.check()?;
    let (project, hands) = (call.project.id, Hands::new(&call, call.caller));
    let handled = call.app.db.write(move |tx| {
        let space = spaces::store::find(tx, project, path.space_id)?.ok_or(spaces::NOT_FOUND)?;
        authority::authority(tx, project, &space, hands.caller)?.require(Authority::Moderator)?;
        let found = store::find(tx, project, path.report_id)?;
        let report = found.filter(|report| report.target_type == about.kind).ok_or(NOT_FOUND)?;
        if report.space_id != Some(space.id) {
            return Err(NOT_FOUND_IN_SPACE.into());
        }
        if report.target_id != about.target {
            return Err(about.gone.into());
        }
        // The content before the report, as all who hold both do.
        let content = hold(tx, project, &report)?;
        if content.space() != Some(space.id) {
            return Err(about.elsewhere.into());
        }
        hands.carry_out(tx, project, &report, Some(content), &orders)
    });
    handled.await?;
    Ok(Created(Handled { message: "Report handled successfully", code: "report/handled" }))
}
