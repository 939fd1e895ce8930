//! Update Conversation, Delete Conversation and Mute Conversation.

use std::time::Duration;

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::auth::caller::{Actor, Via};
use crate::error::Result;
use crate::features::chat::conversations::purge;
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::events::{self, Done};
use crate::features::chat::members::store as members;
use crate::features::chat::model::{Conversation, Member};
use crate::features::chat::rules::{Description, Kind, Name, Posting};
use crate::features::chat::{
    CANNOT_DELETE_DM, CANNOT_UPDATE_DM, INVALID_FIELD, InConversation, NOT_IN_IT, membership, show,
};
use crate::features::files;
use crate::features::files::holders::Holder;
use crate::features::spaces::authority::Authority;
use crate::features::users;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::ids::{FileId, ProjectId};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConversationChanges {
    name: Patch<Name>,
    description: Patch<Description>,
    /// A file of the acting user.
    avatar_file_id: Patch<FileId>,
    /// Only in the conversation of a space.
    posting_permission: Option<Posting>,
}

pub(super) async fn update(
    call: Call<Actor>,
    (Path(path), Body(changes)): (Path<InConversation>, Body<ConversationChanges>),
) -> Result<Json<Conversation>> {
    let (links, actor, now) = (call.links(), call.caller, call.now);
    let changed = call.app.db.write(move |tx| {
        let project = links.project;
        let needed = (Authority::Moderator, CANNOT_UPDATE_DM);
        let before = membership::managed(tx, project, path.conversation_id, actor.user, needed)?;
        if changes.posting_permission.is_some() && before.kind != Kind::Space {
            return Err(INVALID_FIELD.because("postingPermission: not of a group"));
        }
        let mut row = before.clone();
        changes.name.clone().map(Name::into_text).put(&mut row.name);
        changes.description.clone().map(Description::into_text).put(&mut row.description);
        changes.avatar_file_id.clone().put(&mut row.avatar_file_id);
        row.posting_permission = changes.posting_permission.or(row.posting_permission);
        if row == before {
            return show::conversation(tx, &links, &row);
        }
        row.updated_at = now;
        if row.avatar_file_id != before.avatar_file_id {
            check_avatar(tx, project, row.avatar_file_id, &actor)?;
            let old: Vec<FileId> = before.avatar_file_id.into_iter().collect();
            files::purge::delete(tx, project, &old, now)?;
        }
        store::update(tx, project, &row)?;
        events::announce(tx, project, row.id, "conversation:updated", &difference(&before, &row))?;
        show::conversation(tx, &links, &row)
    });
    changed.await.map(Json)
}

/// The fields that changed, for the event to the other members.
fn difference(before: &ConversationRow, row: &ConversationRow) -> Value {
    let all = [
        ("name", json!(row.name), row.name != before.name),
        ("description", json!(row.description), row.description != before.description),
        ("avatarFileId", json!(row.avatar_file_id), row.avatar_file_id != before.avatar_file_id),
        (
            "postingPermission",
            json!(row.posting_permission),
            row.posting_permission != before.posting_permission,
        ),
    ];
    let changed = all.into_iter().filter(|(_, _, differs)| *differs);
    let mut payload: Map<String, Value> =
        changed.map(|(name, value, _)| (name.to_owned(), value)).collect();
    payload.insert("id".to_owned(), json!(row.id));
    payload.insert("updatedAt".to_owned(), json!(row.updated_at));
    Value::Object(payload)
}

/// The avatar must be an unattached file of the user who sets it, or of the project if a key does.
fn check_avatar(
    tx: &Tx<'_>,
    project: ProjectId,
    file: Option<FileId>,
    actor: &Actor,
) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let unknown = || INVALID_FIELD.because("avatarFileId: there is no such file of yours");
    let row = files::store::find_for_update(tx, project, file)?.ok_or_else(unknown)?;
    let is_theirs = match row.user_id {
        Some(owner) => owner == actor.user,
        None => matches!(actor.via, Via::Key(_)),
    };
    let own = users::store::find(tx, project, actor.user)?;
    let is_portrait = own.is_some_and(|user| user.picture_ids().contains(&Some(file)));
    let is_free = Holder::of(&row) == Holder::None
        && !is_portrait
        && store::by_avatar(tx, project, file)?.is_none();
    if is_theirs && is_free { Ok(()) } else { Err(unknown()) }
}

pub(super) async fn delete(
    call: Call<Actor>,
    Path(path): Path<InConversation>,
) -> Result<Json<Done>> {
    let (project, actor, now) = (call.project.id, call.caller.user, call.now);
    let deleted = call.app.db.write(move |tx| {
        let needed = (Authority::Admin, CANNOT_DELETE_DM);
        let row = membership::managed(tx, project, path.conversation_id, actor, needed)?;
        purge::hide(tx, project, &row, now)
    });
    deleted.await?;
    Ok(Json(Done { message: "Conversation deleted" }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MuteRequest {
    /// Null to unmute.
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
#[schemars(rename = "MutedConversation")]
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
        let standing = membership::holder(tx, project, path.conversation_id, actor)?;
        let mut row = standing.require_active(NOT_IN_IT)?.member;
        row.muted_forever = wanted == Some(MuteFor::Forever);
        row.muted_until = wanted.and_then(MuteFor::duration).map(|duration| now.plus(duration));
        row.updated_at = now;
        members::update(tx, project, &row)?;
        Ok::<_, crate::error::Error>(Muted { current_member: Member::own(project, &row, now) })
    });
    muted.await.map(Json)
}
