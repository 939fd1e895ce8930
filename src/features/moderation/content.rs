//! Decisions by the moderators of a space about its content: Moderate Entity, Moderate Comment, Moderate
//! Message, Set Entity NSFW.

use std::sync::Arc;

use db::{Conn, Tx};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::ActorOrKey;
use crate::domain_events::Context;
use crate::error::{Fault, Result, faults};
use crate::features::chat;
use crate::features::entities::{self, store::EntityRow};
use crate::features::moderation::decisions::{OverApi, Removal};
use crate::features::moderation::moderate;
use crate::features::moderation::store::entity;
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::rules::Reason;
use crate::features::spaces::{INVALID_PARAMS, MODERATOR_REQUIRED, NOT_FOUND, ON_BEHALF, store};
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::http::input::{Body, Invalid, Path};
use crate::http::operation::{Call, Operation};
use crate::http::reply::Json;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ChatMessageId, CommentId, EntityId, ProjectId, SpaceId};
use crate::values::time::Timestamp;

faults! {
    INVALID_BODY = 400 "moderation/invalid-body": "Invalid body";
    ENTITY_NOT_FOUND = 404 "moderation/entity-not-found": "Entity not found";
    ENTITY_NOT_IN_SPACE = 404 "moderation/entity-not-in-space": "The entity is not in this space";
    COMMENT_NOT_FOUND = 404 "moderation/comment-not-found": "Comment not found";
    COMMENT_NOT_IN_SPACE = 404 "moderation/comment-not-in-space":
        "The comment is not in this space";
    MESSAGE_NOT_IN_SPACE = 404 "moderation/message-not-in-space":
        "The message is not in this space";
}

const INVALID: Invalid = Invalid { params: INVALID_PARAMS, ..Invalid::all(INVALID_BODY) };

pub(super) fn operations() -> Vec<Operation> {
    let (patch, feature) = (Method::PATCH, "moderation");
    let of_entities: &[Fault] =
        &[NOT_FOUND, MODERATOR_REQUIRED, ENTITY_NOT_FOUND, ENTITY_NOT_IN_SPACE];
    let operations = vec![
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/entities/{entityId}/moderation",
            "Moderate Entity",
            feature,
            INVALID,
            moderate_entity,
        )
        .also_needs(Bundle::Entities)
        .errors(of_entities),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/entities/{entityId}/nsfw",
            "Set Entity NSFW",
            feature,
            INVALID,
            set_nsfw,
        )
        .also_needs(Bundle::Entities)
        .errors(of_entities),
        Operation::new(
            patch.clone(),
            "/spaces/{spaceId}/comments/{commentId}/moderation",
            "Moderate Comment",
            feature,
            INVALID,
            moderate_comment,
        )
        .also_needs(Bundle::Comments)
        .errors(&[NOT_FOUND, MODERATOR_REQUIRED, COMMENT_NOT_FOUND, COMMENT_NOT_IN_SPACE]),
        Operation::new(
            patch,
            "/spaces/{spaceId}/chat/messages/{messageId}/moderation",
            "Moderate Message",
            feature,
            INVALID,
            moderate_message,
        )
        .also_needs(Bundle::Chat)
        .errors(&[
            NOT_FOUND,
            MODERATOR_REQUIRED,
            chat::MESSAGE_NOT_FOUND,
            MESSAGE_NOT_IN_SPACE,
        ]),
    ];
    operations.into_iter().map(|one| one.acts_as(ON_BEHALF)).collect()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EntityInSpace {
    space_id: SpaceId,
    entity_id: EntityId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommentInSpace {
    space_id: SpaceId,
    comment_id: CommentId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ModerationDecision")]
struct Moderation {
    action: Action,
    reason: Option<Reason>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Approve,
    Remove,
}

impl Action {
    fn verdict(self) -> Verdict {
        match self {
            Action::Approve => Verdict::Approved,
            Action::Remove => Verdict::Removed,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModerationResult")]
struct Moderated {
    message: &'static str,
    moderation_status: &'static str,
}

impl Moderated {
    fn new(verdict: Verdict) -> Self {
        let message = match verdict {
            Verdict::Removed => "Content removed.",
            Verdict::Approved => "Content approved.",
        };
        Moderated { message, moderation_status: verdict.name() }
    }
}

/// Whether the caller moderates the space.
fn permit(c: &Conn<'_>, project: ProjectId, space: SpaceId, caller: ActorOrKey) -> Result<()> {
    let space = store::find(c, project, space)?.ok_or(NOT_FOUND)?;
    authority::authority(c, project, &space, caller)?.require(Authority::Moderator)
}

/// Locks the entity if it is in the space that the caller moderates. Drafts cannot be moderated.
fn lock_entity(
    tx: &Tx<'_>,
    project: ProjectId,
    path: &EntityInSpace,
    caller: ActorOrKey,
) -> Result<EntityRow> {
    permit(tx, project, path.space_id, caller)?;
    let found = entities::store::find_for_update(tx, project, path.entity_id)?;
    let row = found.filter(|row| !row.is_draft).ok_or(ENTITY_NOT_FOUND)?;
    if row.space_id == Some(path.space_id) { Ok(row) } else { Err(ENTITY_NOT_IN_SPACE.into()) }
}

impl Moderation {
    fn decision(&self, caller: ActorOrKey, at: Timestamp) -> Decision<'_> {
        let reason = self.reason.as_ref().map(Reason::as_str);
        Decision { verdict: self.action.verdict(), by: caller.user(), reason, at }
    }
}

/// Stores what was taken from an author.
fn record(
    tx: &Tx<'_>,
    (app, project): (&App, &Arc<Project>),
    (caller, decision): (ActorOrKey, &Decision<'_>),
    removal: Option<Removal>,
) -> Result<()> {
    let context = Context { app, project, now: decision.at };
    let decided = OverApi { context, caller, report: None, reason: decision.reason };
    removal.map_or(Ok(()), |removal| decided.removed(tx, removal))
}

async fn moderate_entity(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<EntityInSpace>, Body<Moderation>),
) -> Result<Json<Moderated>> {
    let (app, of, caller, now) = (call.app.clone(), call.project.clone(), call.caller, call.now);
    let verdict = body.action.verdict();
    let moderated = call.app.db.write(move |tx| {
        let row = lock_entity(tx, of.id, &path, caller)?;
        let decision = body.decision(caller, now);
        let removal = moderate::moderate_entity(tx, (&app, &of), &row, &decision)?;
        record(tx, (&app, &of), (caller, &decision), removal)
    });
    moderated.await?;
    Ok(Json(Moderated::new(verdict)))
}

async fn moderate_comment(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<CommentInSpace>, Body<Moderation>),
) -> Result<Json<Moderated>> {
    let (app, of, caller, now) = (call.app.clone(), call.project.clone(), call.caller, call.now);
    let verdict = body.action.verdict();
    let moderated = call.app.db.write(move |tx| {
        permit(tx, of.id, path.space_id, caller)?;
        let row = moderate::lock_comment(tx, of.id, path.comment_id)?.ok_or(COMMENT_NOT_FOUND)?;
        if row.space_id != Some(path.space_id) {
            return Err(COMMENT_NOT_IN_SPACE.into());
        }
        let decision = body.decision(caller, now);
        let removal = moderate::moderate_comment(tx, (&app, &of), &row, &decision)?;
        record(tx, (&app, &of), (caller, &decision), removal)
    });
    moderated.await?;
    Ok(Json(Moderated::new(verdict)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageInSpace {
    space_id: SpaceId,
    message_id: ChatMessageId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageModeration {
    /// It cannot be undone.
    #[expect(dead_code, reason = "it can only be this one")]
    moderation_status: Removed,
    moderation_reason: Option<Reason>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Removed {
    Removed,
}

async fn moderate_message(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<MessageInSpace>, Body<MessageModeration>),
) -> Result<Json<Moderated>> {
    let (app, of, caller, now) = (call.app.clone(), call.project.clone(), call.caller, call.now);
    let moderated = call.app.db.write(move |tx| {
        permit(tx, of.id, path.space_id, caller)?;
        let place = Some((path.space_id, MESSAGE_NOT_IN_SPACE));
        let message = chat::messages::moderation::lock(tx, of.id, path.message_id, place)?;
        let reason = body.moderation_reason.as_ref().map(Reason::as_str);
        let decision = Decision { verdict: Verdict::Removed, by: caller.user(), reason, at: now };
        let removal = moderate::remove_message(tx, (&app, &of), message, &decision)?;
        record(tx, (&app, &of), (caller, &decision), removal)
    });
    moderated.await?;
    Ok(Json(Moderated::new(Verdict::Removed)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NsfwFlag")]
struct NsfwBody {
    nsfw: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NsfwResult")]
struct NsfwSet {
    message: &'static str,
    nsfw: bool,
}

async fn set_nsfw(
    call: Call<ActorOrKey>,
    (Path(path), Body(NsfwBody { nsfw })): (Path<EntityInSpace>, Body<NsfwBody>),
) -> Result<Json<NsfwSet>> {
    let (project, caller) = (call.project.id, call.caller);
    let set = call.app.db.write(move |tx| {
        let row = lock_entity(tx, project, &path, caller)?;
        entity::set_nsfw(tx, project, row.id, nsfw)
    });
    set.await?;
    Ok(Json(NsfwSet { message: "The entity's flag was set.", nsfw }))
}
