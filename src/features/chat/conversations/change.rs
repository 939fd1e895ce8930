//! Update Conversation, Delete Conversation and Mute Conversation.

use std::time::Duration;

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::chat::conversations::list::with_avatar;
use crate::features::chat::conversations::{removal, store};
use crate::features::chat::events::{self, Done};
use crate::features::chat::members::store as members;
use crate::features::chat::model::{Conversation, Member};
use crate::features::chat::rules::{Description, Kind, Name, Posting};
use crate::features::chat::standing;
use crate::features::chat::{
    CANNOT_DELETE_DM, CANNOT_UPDATE_DM, INVALID_FIELD, InConversation, NOT_IN_IT,
};
use crate::features::spaces::authority::Authority;
use crate::features::storage::{self, removal as files};
use crate::features::users;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::ids::{FileId, ProjectId};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConversationChanges {
    name: Patch<Name>,
    description: Patch<Description>,
    /// A file of the acting user's.
    avatar_file_id: Patch<FileId>,
    /// In the conversation of a space.
    posting_permission: Option<Posting>,
}

pub(super) async fn update(
    call: Call<Actor>,
    (Path(path), Body(changes)): (Path<InConversation>, Body<ConversationChanges>),
) -> Result<Json<Conversation>> {
    let (links, actor, now) = (call.links(), call.caller.user, call.now);
    let changed = call.app.db.write(move |tx| {
        let project = links.project;
        let needed = (Authority::Moderator, CANNOT_UPDATE_DM);
        let before = standing::managed(tx, project, path.conversation_id, actor, needed)?;
        if changes.posting_permission.is_some() && before.kind != Kind::Space {
            return Err(INVALID_FIELD.because("postingPermission: not of a group"));
        }
        let mut row = before.clone();
        changes.name.clone().map(Name::into_text).put(&mut row.name);
        changes.description.clone().map(Description::into_text).put(&mut row.description);
        changes.avatar_file_id.clone().put(&mut row.avatar_file_id);
        row.posting_permission = changes.posting_permission.or(row.posting_permission);
        row.updated_at = now;
        if row.avatar_file_id != before.avatar_file_id {
            check_avatar(tx, project, row.avatar_file_id, actor)?;
            let old: Vec<FileId> = before.avatar_file_id.into_iter().collect();
            files::delete(tx, project, &old, now)?;
        }
        store::update(tx, project, &row)?;
        let told = json!({
            "id": row.id, "name": row.name, "description": row.description,
            "avatarFileId": row.avatar_file_id, "postingPermission": row.posting_permission,
            "updatedAt": row.updated_at,
        });
        events::tell(tx, project, row.id, "conversation:updated", &told)?;
        with_avatar(tx, &links, Conversation::new(project, &row)?)
    });
    changed.await.map(Json)
}

/// A picture is a file of whoever sets it, and of nothing else.
fn check_avatar(
    tx: &Tx<'_>,
    project: ProjectId,
    file: Option<FileId>,
    actor: crate::ids::UserId,
) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let unknown = || INVALID_FIELD.because("avatarFileId: there is no such file of yours");
    let row = storage::store::find(tx, project, file)?.ok_or_else(unknown)?;
    let user = users::store::find(tx, project, actor)?;
    let is_shown = user.is_some_and(|user| user.picture_ids().contains(&Some(file)));
    let is_free = !is_shown
        && row.entity_id.is_none()
        && row.comment_id.is_none()
        && row.chat_message_id.is_none()
        && row.space_id.is_none()
        && row.event_id.is_none();
    if row.user_id == Some(actor) && is_free { Ok(()) } else { Err(unknown()) }
}

pub(super) async fn delete(
    call: Call<Actor>,
    Path(path): Path<InConversation>,
) -> Result<Json<Done>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let deleted = call.app.db.write(move |tx| {
        let needed = (Authority::Admin, CANNOT_DELETE_DM);
        let row = standing::managed(tx, project, path.conversation_id, actor, needed)?;
        removal::hide(tx, project, &row, now)
    });
    deleted.await?;
    call.app.job_added.notify_one();
    Ok(Json(Done { message: "Conversation deleted" }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MuteRequest {
    /// Null to hear of it again.
    #[serde(default)]
    duration: Patch<MuteFor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(inline)]
enum MuteFor {
    #[serde(rename = "8h")]
    EightHours,
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "1w")]
    Week,
    #[serde(rename = "forever")]
    Forever,
}

impl MuteFor {
    fn duration(self) -> Option<Duration> {
        let hours = match self {
            MuteFor::EightHours => 8,
            MuteFor::Day => 24,
            MuteFor::Week => 7 * 24,
            MuteFor::Forever => return None,
        };
        Some(Duration::from_hours(hours))
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Muted {
    current_member: Member,
}

pub(super) async fn mute(
    call: Call<Actor>,
    (Path(path), Body(request)): (Path<InConversation>, Body<MuteRequest>),
) -> Result<Json<Muted>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let wanted = match request.duration {
        Patch::Absent => {
            return Err(crate::features::chat::INVALID_BODY.because("duration: is missing"));
        }
        Patch::Null => None,
        Patch::Value(wanted) => Some(wanted),
    };
    let muted = call.app.db.write(move |tx| {
        let standing = standing::holder(tx, project, path.conversation_id, actor)?;
        let mut row = standing.require_active(NOT_IN_IT)?.member;
        row.muted_forever = wanted == Some(MuteFor::Forever);
        row.muted_until = wanted.and_then(MuteFor::duration).map(|duration| now.plus(duration));
        row.updated_at = now;
        members::update(tx, project, &row)?;
        Ok::<_, crate::error::Error>(Muted { current_member: Member::own(project, &row, now) })
    });
    muted.await.map(Json)
}
