//! The messages of a conversation, by time.

use db::{Conn, Query, Value};

use crate::error::Result;
use crate::features::chat::membership::ConversationMember;
use crate::features::chat::messages::store::{MessageRow, SELECT};
use crate::values::ids::{ChatMessageId, ProjectId};
use crate::values::time::Timestamp;

/// Which messages of a conversation.
#[derive(Debug)]
pub struct Asked {
    pub parent: Option<ChatMessageId>,
    pub before: Option<Timestamp>,
    pub after: Option<Timestamp>,
    pub limit: i64,
    pub is_ascending: bool,
    pub has_replies: Option<bool>,
}

/// One more than asked for, to tell whether there are more.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    standing: &ConversationMember,
    asked: &Asked,
) -> Result<Vec<MessageRow>> {
    let mut args: Vec<Value<'static>> = vec![project.into(), standing.conversation.id.into()];
    let mut bind = |value: Value<'static>| {
        args.push(value);
        format!("${}", args.len())
    };
    let mut text = format!("{} AND x.conversation_id = $2 AND NOT x.is_removed", SELECT);
    match asked.parent {
        Some(parent) => text += &format!(" AND x.parent_message_id = {}", bind(parent.into())),
        None => text += " AND x.parent_message_id IS NULL",
    }
    match asked.has_replies {
        Some(true) => text += " AND x.thread_reply_count > 0",
        Some(false) => text += " AND x.thread_reply_count = 0",
        None => {}
    }
    if let Some(before) = asked.before {
        text += &format!(" AND x.created_at < {}", bind(before.into()));
    }
    if let Some(after) = asked.after {
        text += &format!(" AND x.created_at > {}", bind(after.into()));
    }
    if !standing.member.is_active {
        let left = standing.member.left_at.map_or(Value::Null, Value::from);
        text += &format!(" AND x.created_at <= {}", bind(left));
    }
    let way = if asked.is_ascending { "ASC" } else { "DESC" };
    text += &format!(" ORDER BY x.created_at {way} LIMIT {}", bind((asked.limit + 1).into()));
    Ok(c.all(&Query::built("chat::messages::page", text), &args)?)
}
