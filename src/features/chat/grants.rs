//! Messages that reputation is given for. A sender must be in the conversation.

use db::Conn;
use serde_json::{Map, json};
use uuid::Uuid;

use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::chat::messages::store::{self as messages, MessageRow};
use crate::features::chat::{conversations, membership};
use crate::features::grants::rules::TargetKind;
use crate::features::grants::targets::{GrantTarget, Target};
use crate::features::notifications::Subject;
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, ProjectId};

#[derive(Debug)]
pub struct MessageGrants;

impl GrantTarget for MessageGrants {
    fn find(
        &self,
        c: &Conn<'_>,
        project: &Project,
        kind: TargetKind,
        id: Uuid,
        sender: Perspective,
    ) -> Option<Result<Option<Target>>> {
        let is_message = kind == TargetKind::Message;
        is_message.then(|| find(c, project.id, ChatMessageId(id), sender))
    }
}

fn find(
    c: &Conn<'_>,
    project: ProjectId,
    id: ChatMessageId,
    sender: Perspective,
) -> Result<Option<Target>> {
    let found = messages::find(c, project, id)?;
    let is_there = |row: &MessageRow| !row.is_removed && row.user_deleted_at.is_none();
    let Some(row) = found.filter(is_there) else { return Ok(None) };
    let may = match sender.viewer() {
        Some(user) => {
            let standing = membership::seen(c, project, row.conversation_id, user)?;
            standing.is_some_and(|standing| standing.member.is_active)
        }
        None => conversations::store::find(c, project, row.conversation_id)?.is_some(),
    };
    Ok(may.then(|| target(&row)))
}

fn target(row: &MessageRow) -> Target {
    let mut keys = Map::new();
    keys.insert("messageId".to_owned(), json!(row.id));
    keys.insert("conversationId".to_owned(), json!(row.conversation_id));
    Target {
        subject: Subject::Message { conversation: row.conversation_id, message: row.id },
        space: None,
        conversation: Some(row.conversation_id),
        action: "open-conversation",
        keys,
    }
}
