//! The SQL about messages and the reactions to them.

pub mod list;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::users;
use crate::features::visibility::moderation::{ModerationRow, moderation_columns};
use crate::http::page::Page;
use crate::search_queue::{Kind, store as search_queue};
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct MessageRow {
        pub id: ChatMessageId,
        pub conversation_id: ConversationId,
        pub user_id: Option<UserId>,
        pub content: Option<String>,
        pub gif: Option<JsonText>,
        pub mentions: JsonText,
        pub metadata: JsonText,
        pub parent_message_id: Option<ChatMessageId>,
        pub quoted_message_id: Option<ChatMessageId>,
        pub has_files: bool,
        pub thread_reply_count: i64,
        pub reaction_counts: JsonText,
        pub is_removed: bool,
        pub edited_at: Option<Timestamp>,
        pub user_deleted_at: Option<Timestamp>,
        pub moderation: ModerationRow,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

/// An empty message.
pub fn blank(id: ChatMessageId, conversation: ConversationId, now: Timestamp) -> MessageRow {
    MessageRow {
        id,
        conversation_id: conversation,
        user_id: None,
        content: None,
        gif: None,
        mentions: JsonText("[]".to_owned()),
        metadata: JsonText("{}".to_owned()),
        parent_message_id: None,
        quoted_message_id: None,
        has_files: false,
        thread_reply_count: 0,
        reaction_counts: JsonText("{}".to_owned()),
        is_removed: false,
        edited_at: None,
        user_deleted_at: None,
        moderation: ModerationRow::default(),
        created_at: now,
        updated_at: now,
    }
}

macro_rules! select_message {
    ($rest:literal) => {
        concat!(
            "SELECT x.id, x.conversation_id, x.user_id, x.content, x.gif, x.mentions, x.metadata,
                x.parent_message_id, x.quoted_message_id, x.has_files, x.thread_reply_count,
                x.reaction_counts, x.is_removed, x.edited_at, x.user_deleted_at, ",
            moderation_columns!("x."),
            ", x.created_at, x.updated_at
             FROM chat_messages x WHERE x.project_id = $1 ",
            $rest
        )
    };
}
pub const SELECT: &str = select_message!("");

db::statements! {
    query FIND -> MessageRow = select_message!("AND x.id = $2");
    query FIND_ALL -> MessageRow = select_message!("AND x.id {any}($2)");
    query LOCK -> MessageRow = select_message!("AND x.id = $2 {for_no_key_update}");
    command INSERT = "INSERT INTO chat_messages (project_id, id, conversation_id, user_id, content, gif,
            mentions, metadata, parent_message_id, quoted_message_id, has_files, thread_reply_count,
            reaction_counts, is_removed, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
    command UPDATE = "UPDATE chat_messages SET content = $3, gif = $4, mentions = $5, metadata = $6,
            has_files = $7, edited_at = $8, user_deleted_at = $9, is_removed = $10,
            moderation_status = $11, moderated_at = $12, moderated_by_id = $13,
            moderated_by_type = $14, moderation_reason = $15, updated_at = $16
        WHERE project_id = $1 AND id = $2";
    command SET_CREATED =
        "UPDATE chat_messages SET created_at = $3 WHERE project_id = $1 AND id = $2";
    query SOME_OF -> ChatMessageId = "SELECT x.id FROM chat_messages x
        WHERE x.project_id = $1 AND x.conversation_id = $2 ORDER BY x.id LIMIT $3";
    command DELETE_ALL = "DELETE FROM chat_messages WHERE project_id = $1 AND id {any}($2)";
    command MENTION = "INSERT INTO chat_mentions (project_id, user_id, message_id)
        VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    command FORGET_MENTIONS = "DELETE FROM chat_mentions WHERE project_id = $1 AND message_id = $2";
    command COUNT_REPLY = "UPDATE chat_messages SET thread_reply_count = thread_reply_count + 1
        WHERE project_id = $1 AND id = $2";
    command SET_REACTIONS = "UPDATE chat_messages SET reaction_counts = $3
        WHERE project_id = $1 AND id = $2";
    command REACT = "INSERT INTO chat_reactions (project_id, message_id, user_id, emoji, created_at)
        VALUES ($1, $2, $3, $4, $5)";
    command UNREACT = "DELETE FROM chat_reactions
        WHERE project_id = $1 AND message_id = $2 AND user_id = $3 AND emoji = $4";
    query OWN_REACTIONS -> (ChatMessageId, String) = "SELECT r.message_id, r.emoji FROM chat_reactions r
        WHERE r.project_id = $1 AND r.message_id {any}($2) AND r.user_id = $3
        ORDER BY r.message_id, r.created_at, r.emoji";
    query REACTORS -> (UserId, Timestamp) = "SELECT r.user_id, r.created_at FROM chat_reactions r
        WHERE r.project_id = $1 AND r.message_id = $2 AND r.emoji = $3
        ORDER BY r.created_at, r.user_id LIMIT $4 OFFSET $5";
    query COUNT_REACTORS -> i64 = "SELECT count(*) FROM chat_reactions r
        WHERE r.project_id = $1 AND r.message_id = $2 AND r.emoji = $3";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: ChatMessageId) -> Result<Option<MessageRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

pub fn find_all(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ChatMessageId],
) -> Result<Vec<MessageRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, ChatMessageId::list(ids)])?)
}

pub fn lock(tx: &Tx<'_>, project: ProjectId, id: ChatMessageId) -> Result<Option<MessageRow>> {
    Ok(tx.opt(&LOCK, args![project, id])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &MessageRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        row.conversation_id,
        row.user_id,
        &row.content,
        row.gif.as_ref(),
        &row.mentions,
        &row.metadata,
        row.parent_message_id,
        row.quoted_message_id,
        row.has_files,
        row.thread_reply_count,
        &row.reaction_counts,
        row.is_removed,
        row.created_at,
        row.updated_at,
    ];
    tx.pipeline(&INSERT, args)?;
    search_queue::note(tx, project, Kind::Message, row.id.0)
}

pub fn update(tx: &Tx<'_>, project: ProjectId, row: &MessageRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.content,
        row.gif.as_ref(),
        &row.mentions,
        &row.metadata,
        row.has_files,
        row.edited_at,
        row.user_deleted_at,
        row.is_removed,
        &row.moderation.moderation_status,
        row.moderation.moderated_at,
        row.moderation.moderated_by_id,
        &row.moderation.moderated_by_type,
        &row.moderation.moderation_reason,
        row.updated_at,
    ];
    tx.pipeline(&UPDATE, args)?;
    search_queue::note(tx, project, Kind::Message, row.id.0)
}

/// When others could see it first.
pub fn set_created(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    at: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&SET_CREATED, args![project, id, at])?)
}

/// Stores the mentions of existing users.
pub fn mention(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    users: impl Iterator<Item = UserId>,
) -> Result<()> {
    let there = users::store::lock_all_shared(tx, project, &users.collect::<Vec<_>>())?;
    there.into_iter().try_for_each(|user| Ok(tx.pipeline(&MENTION, args![project, user, id])?))
}

pub fn forget_mentions(tx: &Tx<'_>, project: ProjectId, id: ChatMessageId) -> Result<()> {
    Ok(tx.pipeline(&FORGET_MENTIONS, args![project, id])?)
}

/// Some messages of a conversation, including replies and removed ones.
pub fn some_of(
    c: &Conn<'_>,
    project: ProjectId,
    conversation: ConversationId,
    most: i64,
) -> Result<Vec<ChatMessageId>> {
    Ok(c.all(&SOME_OF, args![project, conversation, most])?)
}

/// Also deletes the reactions to them.
pub fn delete_all(tx: &Tx<'_>, project: ProjectId, ids: &[ChatMessageId]) -> Result<()> {
    search_queue::note_deleted(tx, project, Kind::Message, ids.iter().map(|id| id.0))?;
    Ok(tx.pipeline(&DELETE_ALL, args![project, ChatMessageId::list(ids)])?)
}

pub fn count_reply(tx: &Tx<'_>, project: ProjectId, id: ChatMessageId) -> Result<()> {
    Ok(tx.pipeline(&COUNT_REPLY, args![project, id])?)
}

pub fn set_reactions(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    counts: &JsonText,
) -> Result<()> {
    Ok(tx.pipeline(&SET_REACTIONS, args![project, id, counts])?)
}

pub fn react(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    user: UserId,
    emoji: &str,
    now: Timestamp,
) -> Result<()> {
    Ok(tx.pipeline(&REACT, args![project, id, user, emoji, now])?)
}

/// Whether there was a reaction to remove.
pub fn unreact(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    user: UserId,
    emoji: &str,
) -> Result<bool> {
    Ok(tx.execute(&UNREACT, args![project, id, user, emoji])? > 0)
}

pub fn own_reactions(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ChatMessageId],
    user: UserId,
) -> Result<Vec<(ChatMessageId, String)>> {
    Ok(c.all(&OWN_REACTIONS, args![project, ChatMessageId::list(ids), user])?)
}

pub fn reactors(
    c: &Conn<'_>,
    project: ProjectId,
    id: ChatMessageId,
    emoji: &str,
    page: Page,
) -> Result<(Vec<(UserId, Timestamp)>, i64)> {
    let total = c.one(&COUNT_REACTORS, args![project, id, emoji])?;
    let args = args![project, id, emoji, i64::from(page.limit), page.offset()];
    Ok((c.all(&REACTORS, args)?, total))
}
