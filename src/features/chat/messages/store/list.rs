//! The messages of a conversation, by time.

use db::{Builder, Conn, Query};

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
    let mut conditions = Builder::all([project.into(), standing.conversation.id.into()]);
    conditions.add("x.conversation_id = $2 AND NOT x.is_removed");
    match asked.parent {
        Some(parent) => conditions.equal("x.parent_message_id", parent),
        None => conditions.add("x.parent_message_id IS NULL"),
    }
    match asked.has_replies {
        Some(true) => conditions.add("x.thread_reply_count > 0"),
        Some(false) => conditions.add("x.thread_reply_count = 0"),
        None => {}
    }
    if let Some(before) = asked.before {
        let before = conditions.bind(before);
        conditions.add(format_args!("x.created_at < {before}"));
    }
    if let Some(after) = asked.after {
        let after = conditions.bind(after);
        conditions.add(format_args!("x.created_at > {after}"));
    }
    if !standing.member.is_active {
        let left = conditions.bind(standing.member.left_at);
        conditions.add(format_args!("x.created_at <= {left}"));
    }
    let way = if asked.is_ascending { "ASC" } else { "DESC" };
    let limit = conditions.bind(asked.limit + 1);
    let text = format!("{SELECT} AND {conditions} ORDER BY x.created_at {way} LIMIT {limit}");
    Ok(c.all(&Query::built("chat::messages::page", text), conditions.args())?)
}
