//! Unread counts and the last message of conversations. Both are computed on request, along an index of the
//! messages that can be unread; sending a message writes nothing for each member.

use db::{Conn, args};

use crate::error::Result;
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, UserId};

/// Messages of the main stream, by others or without an author, that a member has not read and can see.
macro_rules! unread {
    () => {
        "(SELECT count(*) FROM chat_messages x WHERE x.project_id = $1
            AND x.conversation_id = m.conversation_id AND x.parent_message_id IS NULL
            AND NOT x.is_removed AND x.user_deleted_at IS NULL
            AND x.created_at > COALESCE(m.last_read_at, -1)
            AND (x.user_id IS NULL OR x.user_id <> m.user_id))"
    };
}

db::statements! {
    /// Unread messages of a user in some conversations.
    query UNREAD -> (ConversationId, i64) = concat!("SELECT m.conversation_id, ", unread!(), " AS unread
        FROM conversation_members m
        WHERE m.project_id = $1 AND m.user_id = $2 AND m.conversation_id {any}($3)");
    /// The same for each conversation that they are in.
    query ALL_UNREAD -> i64 = concat!("SELECT ", unread!(), " AS unread FROM conversation_members m
        WHERE m.project_id = $1 AND m.user_id = $2 AND m.is_active");
    /// The newest visible message of the main stream of each, if there is one.
    query LAST_MESSAGES -> Option<ChatMessageId> = "SELECT (SELECT x.id FROM chat_messages x
            WHERE x.project_id = $1 AND x.conversation_id = c.id AND x.parent_message_id IS NULL
                AND NOT x.is_removed AND x.user_deleted_at IS NULL
            ORDER BY x.created_at DESC LIMIT 1)
        FROM conversations c WHERE c.project_id = $1 AND c.id {any}($2)";
}

pub fn unread(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    ids: &[ConversationId],
) -> Result<Vec<(ConversationId, i64)>> {
    Ok(c.all(&UNREAD, args![project, user, ConversationId::list(ids)])?)
}

/// The number of unread messages of a user, and of the conversations they are in.
pub fn all_unread(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<(i64, i64)> {
    let each = c.all(&ALL_UNREAD, args![project, user])?;
    let some = each.iter().filter(|unread| **unread > 0).count();
    Ok((each.iter().sum(), i64::try_from(some).unwrap_or(i64::MAX)))
}

pub fn last_messages(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ConversationId],
) -> Result<Vec<ChatMessageId>> {
    let found = c.all(&LAST_MESSAGES, args![project, ConversationId::list(ids)])?;
    Ok(found.into_iter().flatten().collect())
}
