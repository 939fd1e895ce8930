//! Handle Entity Report, Handle Comment Report and Handle Message Report: the moderators of a space dismiss a
//! report about content in it, or act on it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use crate::auth::caller::ActorOrKey;
use crate::error::{Fault, Result};
use crate::features::chat::MESSAGE_NOT_FOUND;
use crate::features::moderation::reports::handle::{Handled, Orders};
use crate::features::moderation::reports::handler::{Handler, lock};
use crate::features::moderation::reports::model::TargetType;
use crate::features::moderation::reports::{
    COMMENT_NOT_FOUND, COMMENT_NOT_IN_SPACE, ENTITY_NOT_FOUND, ENTITY_NOT_IN_SPACE, NOT_FOUND,
    NOT_FOUND_IN_SPACE, store,
};
use crate::features::spaces;
use crate::features::spaces::authority::{self, Authority};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::{Created, Json};
use crate::values::ids::{ChatMessageId, CommentId, EntityId, ReportId, SpaceId, UserId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpaceReportPath {
    space_id: SpaceId,
    report_id: ReportId,
}

/// The possible actions: two that all targets share, and one named after the target.
macro_rules! actions {
    ($($name:ident: $remove:ident;)*) => {$(
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        enum $name {
            $remove,
            BanUser,
            Dismiss,
        }

        impl $name {
            /// The requested actions, with this summary.
            fn orders(actions: &BTreeSet<Self>, words: Words) -> Orders {
                Orders {
                    remove: actions.contains(&$name::$remove),
                    ban: actions.contains(&$name::BanUser),
                    dismiss: actions.contains(&$name::Dismiss),
                    summary: words.summary,
                    user_id: words.user_id,
                    reason: words.reason,
                    names_target: true,
                    ..Orders::default()
                }
            }
        }
    )*};
}

actions! {
    EntityAction: RemoveEntity;
    CommentAction: RemoveComment;
    MessageAction: RemoveMessage;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Words {
    /// A summary of the action; required for entities and comments.
    summary: Option<String>,
    /// The user to ban, with a reason.
    user_id: Option<UserId>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntityHandling {
    entity_id: EntityId,
    /// `dismiss` alone, or any of the other actions.
    actions: BTreeSet<EntityAction>,
    #[serde(flatten)]
    words: Words,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommentHandling {
    comment_id: CommentId,
    /// `dismiss` alone, or any of the other actions.
    actions: BTreeSet<CommentAction>,
    #[serde(flatten)]
    words: Words,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageHandling {
    /// Required to remove it.
    message_id: Option<ChatMessageId>,
    /// `dismiss` alone, or any of the other actions.
    actions: BTreeSet<MessageAction>,
    #[serde(flatten)]
    words: Words,
}

pub(super) async fn handle_entity_report(
    call: Call<ActorOrKey>,
    (Path(path), Body(handling)): (Path<SpaceReportPath>, Body<EntityHandling>),
) -> Result<Created<Handled>> {
    let about = About {
        kind: TargetType::Entity,
        target: Some(handling.entity_id.0),
        gone: ENTITY_NOT_FOUND,
        elsewhere: ENTITY_NOT_IN_SPACE,
    };
    let orders = EntityAction::orders(&handling.actions, handling.words);
    handle(call, path, about, orders).await?;
    Ok(Created(Handled { message: "Report handled successfully", code: "report/handled" }))
}

pub(super) async fn handle_comment_report(
    call: Call<ActorOrKey>,
    (Path(path), Body(handling)): (Path<SpaceReportPath>, Body<CommentHandling>),
) -> Result<Created<Handled>> {
    let about = About {
        kind: TargetType::Comment,
        target: Some(handling.comment_id.0),
        gone: COMMENT_NOT_FOUND,
        elsewhere: COMMENT_NOT_IN_SPACE,
    };
    let orders = CommentAction::orders(&handling.actions, handling.words);
    handle(call, path, about, orders).await?;
    Ok(Created(Handled { message: "Report handled successfully", code: "report/handled" }))
}

pub(super) async fn handle_message_report(
    call: Call<ActorOrKey>,
    (Path(path), Body(handling)): (Path<SpaceReportPath>, Body<MessageHandling>),
) -> Result<Json<Handled>> {
    let about = About {
        kind: TargetType::Message,
        target: handling.message_id.map(|id| id.0),
        gone: MESSAGE_NOT_FOUND,
        elsewhere: MESSAGE_NOT_FOUND,
    };
    let orders = MessageAction::orders(&handling.actions, handling.words);
    let orders = Orders { is_brief: true, names_target: about.target.is_some(), ..orders };
    handle(call, path, about, orders).await?;
    Ok(Json(Handled { message: "Report handled successfully.", code: "report/handled" }))
}

/// The expected target of the report, and the error if it is another.
#[derive(Debug, Clone, Copy)]
struct About {
    kind: TargetType,
    target: Option<Uuid>,
    gone: Fault,
    elsewhere: Fault,
}

async fn handle(
    call: Call<ActorOrKey>,
    path: SpaceReportPath,
    about: About,
    orders: Orders,
) -> Result<()> {
    orders.check()?;
    let (project, handler) =
        (call.project.id, Handler::new(&call.app, &call.project, call.caller, call.now));
    let handled = call.app.db.write(move |tx| {
        let space = spaces::store::find(tx, project, path.space_id)?.ok_or(spaces::NOT_FOUND)?;
        authority::authority(tx, project, &space, handler.caller)?.require(Authority::Moderator)?;
        let found = store::find(tx, project, path.report_id)?;
        let report = found.filter(|report| report.target_type == about.kind).ok_or(NOT_FOUND)?;
        if report.space_id != Some(space.id) {
            return Err(NOT_FOUND_IN_SPACE.into());
        }
        if about.target.is_some_and(|target| target != report.target_id) {
            return Err(about.gone.into());
        }
        // Lock order: the content before the report.
        let content = lock(tx, project, report.target_type, report.target_id)?;
        if content.is_elsewhere(space.id) {
            return Err(about.elsewhere.into());
        }
        handler.handle(tx, &report, Some(content), &orders)
    });
    handled.await
}
