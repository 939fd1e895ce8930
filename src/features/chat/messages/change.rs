//! Edit Message and Delete Message.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::auth::caller::{Actor, ActorOrKey};
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::membership;
use crate::features::chat::messages::store::{self, MessageRow};
use crate::features::chat::messages::{moderation, send};
use crate::features::chat::model::ChatMessage;
use crate::features::chat::rules::{Content, MessageMetadata};
use crate::features::chat::show::View;
use crate::features::chat::{
    EMPTY_MESSAGE, FORBIDDEN, InMessage, MESSAGE_DELETED, MESSAGE_NOT_FOUND, MESSAGE_REMOVED,
    events,
};
use crate::features::comments::rules::Gif;
use crate::features::entities::rules::Mentions;
use crate::features::files::{self, purge};
use crate::features::notifications::store::hide;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::features::visibility::restrictions::{self, Restricted, Restriction};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Json;
use crate::values::ids::ProjectId;
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MessageChanges {
    content: Patch<Content>,
    gif: Patch<Gif>,
    mentions: Option<Mentions>,
    metadata: Patch<MessageMetadata>,
}

pub(super) async fn edit(
    call: Call<Actor>,
    (Path(path), Body(changes)): (Path<InMessage>, Body<MessageChanges>),
) -> Result<Json<ChatMessage>> {
    let (project, links, actor, now) =
        (call.project.clone(), call.links(), call.caller.user, call.now);
    let app = call.app.clone();
    let edited = call.app.db.write(move |tx| {
        let standing = membership::writer(tx, project.id, path.conversation_id, actor)?;
        let before = membership::lock_message(tx, &project, &standing, path.message_id)?;
        if before.user_id != Some(actor) {
            // A removed message is not found for anybody but its author.
            return Err(if before.is_removed { MESSAGE_NOT_FOUND } else { FORBIDDEN }.into());
        }
        if before.is_removed {
            return Err(MESSAGE_REMOVED.into());
        }
        if before.user_deleted_at.is_some() {
            return Err(MESSAGE_DELETED.into());
        }
        let row = changed(&before, &changes);
        // Its files may have been deleted individually.
        if row.content.is_none()
            && row.gif.is_none()
            && files::store::of_messages(tx, project.id, &[row.id])?.is_empty()
        {
            return Err(EMPTY_MESSAGE.into());
        }
        let view = View::written(links.clone(), Some(actor));
        if row == before {
            return view.message(tx, row);
        }
        let row = MessageRow { edited_at: Some(now), updated_at: now, ..row };
        store::update(tx, project.id, &row)?;
        if let Some(mentions) = &changes.mentions {
            store::forget_mentions(tx, project.id, row.id)?;
            store::mention(tx, project.id, row.id, mentions.users())?;
        }
        if before.content != row.content {
            let context = Context { app: &app, project: &project, now };
            let space = standing.conversation.space_id;
            if let Some(hidden) = send::screen(tx, context, &row, space, true)? {
                let shown =
                    view.message(tx, MessageRow { moderation: hidden.clone(), ..row.clone() })?;
                moderation::hide(tx, project.id, row, hidden, now, false)?;
                return Ok(shown);
            }
        }
        let shown = view.message(tx, row)?;
        let payload = json!({
            "messageId": shown.id, "conversationId": shown.conversation_id,
            "content": shown.content, "gif": shown.gif, "mentions": shown.mentions,
            "metadata": shown.metadata, "editedAt": shown.edited_at,
        });
        events::announce(tx, project.id, shown.conversation_id, "message:updated", &payload)?;
        Ok(shown)
    });
    edited.await.map(Json)
}

fn changed(before: &MessageRow, changes: &MessageChanges) -> MessageRow {
    let mut row = before.clone();
    changes.content.clone().and_then(Content::unless_blank).put(&mut row.content);
    changes.gif.clone().map(|gif| JsonText(to_json(&gif))).put(&mut row.gif);
    if let Some(mentions) = &changes.mentions {
        row.mentions = JsonText(to_json(mentions));
    }
    match &changes.metadata {
        Patch::Absent => {}
        Patch::Null => row.metadata = JsonText("{}".to_owned()),
        Patch::Value(metadata) => row.metadata = JsonText(to_json(metadata)),
    }
    row
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletedMessage {
    message: &'static str,
    /// By its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_deleted_at: Option<Timestamp>,
}

pub(super) async fn delete(
    call: Call<Actor>,
    Path(path): Path<InMessage>,
) -> Result<Json<DeletedMessage>> {
    let (project, actor, now) = (call.project.clone(), call.caller.user, call.now);
    let app = call.app.clone();
    let deleted = call.app.db.write(move |tx| {
        let standing = membership::writer(tx, project.id, path.conversation_id, actor)?;
        let row = membership::lock_message(tx, &project, &standing, path.message_id)?;
        if row.is_removed {
            return Err(Error::from(MESSAGE_NOT_FOUND));
        }
        if row.user_id == Some(actor) {
            let user_deleted_at = Some(leave_placeholder(tx, project.id, row, now)?);
            return Ok(DeletedMessage { message: "Message deleted", user_deleted_at });
        }
        if !standing.member.is_admin() {
            return Err(FORBIDDEN.into());
        }
        let decision =
            Decision { verdict: Verdict::Removed, by: Some(actor), reason: None, at: now };
        let moderated = membership::moderated(tx, project.id, &standing)?;
        let restricted = Restricted {
            what: Restriction::MessageRemoved { message: row.id, moderated },
            user: row.user_id,
            by: ActorOrKey::User(actor),
            reason: None,
        };
        moderation::remove(tx, project.id, row, &decision)?;
        let context = Context { app: &app, project: &project, now };
        restrictions::restricted(tx, context, &restricted)?;
        Ok(DeletedMessage { message: "Message removed", user_deleted_at: None })
    });
    deleted.await.map(Json)
}

/// The message stays as a placeholder with its replies and reactions; its content is deleted.
fn leave_placeholder(
    tx: &Tx<'_>,
    project: ProjectId,
    row: MessageRow,
    now: Timestamp,
) -> Result<Timestamp> {
    if let Some(at) = row.user_deleted_at {
        return Ok(at);
    }
    purge::delete_of_messages(tx, project, &[row.id], now)?;
    store::forget_mentions(tx, project, row.id)?;
    let row = MessageRow {
        content: None,
        gif: None,
        mentions: JsonText("[]".to_owned()),
        metadata: JsonText("{}".to_owned()),
        has_files: false,
        user_deleted_at: Some(now),
        updated_at: now,
        ..row
    };
    store::update(tx, project, &row)?;
    conversations::look_again(tx, project, row.conversation_id)?;
    let payload = json!({
        "messageId": row.id, "conversationId": row.conversation_id, "userDeletedAt": now,
    });
    hide::delete_of_message(tx, project, row.conversation_id, row.id)?;
    events::announce(tx, project, row.conversation_id, "message:deleted", &payload)?;
    Ok(now)
}
