//! The SQL about conversations themselves.

pub mod list;
pub mod reading;

use std::collections::HashMap;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::chat::rules::{Kind, Posting};
use crate::values::ids::{ConversationId, FileId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct ConversationRow {
        pub id: ConversationId,
        pub kind: Kind,
        pub name: Option<String>,
        pub description: Option<String>,
        pub space_id: Option<SpaceId>,
        pub created_by_id: Option<UserId>,
        pub avatar_file_id: Option<FileId>,
        pub posting_permission: Option<Posting>,
        pub first_id: Option<UserId>,
        pub second_id: Option<UserId>,
        pub member_count: i64,
        pub has_visible: bool,
        pub last_message_at: Option<Timestamp>,
        pub last_created_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl ConversationRow {
    /// A conversation without members.
    pub fn new(id: ConversationId, kind: Kind, now: Timestamp) -> Self {
        ConversationRow {
            id,
            kind,
            name: None,
            description: None,
            space_id: None,
            created_by_id: None,
            avatar_file_id: None,
            posting_permission: None,
            first_id: None,
            second_id: None,
            member_count: 0,
            has_visible: false,
            last_message_at: None,
            last_created_at: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// The current time, but never before an earlier message: times only grow within a conversation, so that
    /// clients can use them as cursors.
    pub fn moment(&self, now: Timestamp) -> Timestamp {
        self.last_created_at.map_or(now, |last| last.max(now))
    }

    /// The time of the next message.
    pub fn next_moment(&self, now: Timestamp) -> Timestamp {
        match self.last_created_at {
            Some(last) if last >= now => Timestamp::from_millis(last.millis() + 1),
            _ => now,
        }
    }

    /// The other user of a direct conversation.
    pub fn other(&self, user: UserId) -> Option<UserId> {
        [self.first_id, self.second_id].into_iter().flatten().find(|one| *one != user)
    }
}

macro_rules! select_conversation {
    ($rest:literal) => {
        concat!(
            "SELECT c.id, c.kind, c.name, c.description, c.space_id, c.created_by_id, c.avatar_file_id,
                c.posting_permission, c.first_id, c.second_id, c.member_count,
                c.has_visible, c.last_message_at, c.last_created_at, c.created_at, c.updated_at
             FROM conversations c WHERE c.project_id = $1 AND c.deleted_at IS NULL ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> ConversationRow = select_conversation!("AND c.id = $2");
    query FIND_ALL -> ConversationRow = select_conversation!("AND c.id {any}($2)");
    query FIND_PAIR -> ConversationRow =
        select_conversation!("AND c.first_id = $2 AND c.second_id = $3");
    query METADATA -> (ConversationId, JsonText) = "SELECT c.id, c.metadata FROM conversations c
        WHERE c.project_id = $1 AND c.id {any}($2)";
    query FIND_BY_AVATAR -> ConversationRow = select_conversation!("AND c.avatar_file_id = $2");
    query FIND_OF_SPACE -> ConversationRow = select_conversation!("AND c.space_id = $2");
    query LOCK_SHARED -> ConversationRow = select_conversation!("AND c.id = $2 {for_key_share}");
    query LOCK -> ConversationRow = select_conversation!("AND c.id = $2 {for_no_key_update}");
    query LOCK_OF_SPACES -> ConversationRow =
        select_conversation!("AND c.space_id {any}($2) ORDER BY c.id {for_no_key_update}");
    /// Conversations that a user is or was in, or is mentioned in.
    query LOCK_OF_USER -> ConversationRow = select_conversation!("AND c.id IN
        (SELECT m.conversation_id FROM conversation_members m
            WHERE m.project_id = $1 AND m.user_id = $2
         UNION SELECT x.conversation_id FROM chat_mentions n
            JOIN chat_messages x ON x.project_id = n.project_id AND x.id = n.message_id
            WHERE n.project_id = $1 AND n.user_id = $2)
        ORDER BY c.id {for_no_key_update}");

    /// None if the two have one already.
    command INSERT -> ConversationId = "INSERT INTO conversations (project_id, id, kind, name, description,
            space_id, created_by_id, avatar_file_id, posting_permission, metadata, first_id, second_id,
            member_count, has_visible, last_message_at, last_created_at, created_at, updated_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
        ON CONFLICT DO NOTHING RETURNING id";
    command UPDATE = "UPDATE conversations SET name = $3, description = $4, avatar_file_id = $5,
            posting_permission = $6, updated_at = $7
        WHERE project_id = $1 AND id = $2";
    command NOTE_MESSAGE = "UPDATE conversations SET last_message_at = $3, last_created_at = $4,
            has_visible = $5
        WHERE project_id = $1 AND id = $2";
    command LOOK_AGAIN = "UPDATE conversations SET has_visible = EXISTS (SELECT 1 FROM chat_messages x
            WHERE x.project_id = $1 AND x.conversation_id = $2 AND x.parent_message_id IS NULL
                AND NOT x.is_removed AND x.user_deleted_at IS NULL)
        WHERE project_id = $1 AND id = $2";
    command COUNT_MEMBERS = "UPDATE conversations SET member_count = member_count + $3
        WHERE project_id = $1 AND id = $2";
    command NOTE_TIME = "UPDATE conversations SET last_created_at = $3 WHERE project_id = $1 AND id = $2";
    /// A hidden conversation belongs to no user and no space.
    command HIDE = "UPDATE conversations SET deleted_at = $3, space_id = NULL, first_id = NULL,
            second_id = NULL, created_by_id = NULL, avatar_file_id = NULL
        WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM conversations WHERE project_id = $1 AND id = $2
            AND deleted_at IS NOT NULL";
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    id: ConversationId,
) -> Result<Option<ConversationRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

pub fn find_all(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ConversationId],
) -> Result<Vec<ConversationRow>> {
    Ok(c.all(&FIND_ALL, args![project, ConversationId::list(ids)])?)
}

/// The app's metadata: read separately, since it may be large and is rarely needed.
pub fn metadata(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ConversationId],
) -> Result<HashMap<ConversationId, JsonText>> {
    Ok(c.all(&METADATA, args![project, ConversationId::list(ids)])?.into_iter().collect())
}

/// The conversation whose avatar is this file.
pub fn by_avatar(
    c: &Conn<'_>,
    project: ProjectId,
    file: FileId,
) -> Result<Option<ConversationRow>> {
    Ok(c.opt(&FIND_BY_AVATAR, args![project, file])?)
}

/// The direct conversation of two users.
pub fn of_pair(
    c: &Conn<'_>,
    project: ProjectId,
    one: UserId,
    other: UserId,
) -> Result<Option<ConversationRow>> {
    let (first, second) = (one.min(other), one.max(other));
    Ok(c.opt(&FIND_PAIR, args![project, first, second])?)
}

pub fn of_space(
    c: &Conn<'_>,
    project: ProjectId,
    space: SpaceId,
) -> Result<Option<ConversationRow>> {
    Ok(c.opt(&FIND_OF_SPACE, args![project, space])?)
}

/// Locked against deletion until the transaction ends.
pub fn lock_shared(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
) -> Result<Option<ConversationRow>> {
    Ok(tx.opt(&LOCK_SHARED, args![project, id])?)
}

/// Locks them all.
pub fn lock_of_spaces(
    tx: &Tx<'_>,
    project: ProjectId,
    spaces: &[SpaceId],
) -> Result<Vec<ConversationRow>> {
    Ok(tx.all(&LOCK_OF_SPACES, args![project, SpaceId::list(spaces)])?)
}

pub fn lock_of_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<Vec<ConversationRow>> {
    Ok(tx.all(&LOCK_OF_USER, args![project, user])?)
}

/// Locked for a new message or a change of its members.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
) -> Result<Option<ConversationRow>> {
    Ok(tx.opt(&LOCK, args![project, id])?)
}

/// False if there is one already for that pair or space.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &ConversationRow,
    metadata: &JsonText,
) -> Result<bool> {
    let args = args![
        project,
        row.id,
        row.kind,
        &row.name,
        &row.description,
        row.space_id,
        row.created_by_id,
        row.avatar_file_id,
        row.posting_permission,
        metadata,
        row.first_id,
        row.second_id,
        row.member_count,
        row.has_visible,
        row.last_message_at,
        row.last_created_at,
        row.created_at,
        row.updated_at,
    ];
    Ok(tx.opt(&INSERT, args)?.is_some())
}

pub fn update(tx: &Tx<'_>, project: ProjectId, row: &ConversationRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.name,
        &row.description,
        row.avatar_file_id,
        row.posting_permission,
        row.updated_at,
    ];
    tx.execute(&UPDATE, args)?;
    Ok(())
}

/// Updates the conversation after a message.
pub fn note_message(tx: &Tx<'_>, project: ProjectId, row: &ConversationRow) -> Result<()> {
    let args = args![project, row.id, row.last_message_at, row.last_created_at, row.has_visible];
    Ok(tx.pipeline(&NOTE_MESSAGE, args)?)
}

/// After a message is hidden: updates whether any visible message is left.
pub fn look_again(tx: &Tx<'_>, project: ProjectId, id: ConversationId) -> Result<()> {
    Ok(tx.pipeline(&LOOK_AGAIN, args![project, id])?)
}

pub fn count_members(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ConversationId,
    change: i64,
) -> Result<()> {
    Ok(tx.pipeline(&COUNT_MEMBERS, args![project, id, change])?)
}

/// Hides it from everybody.
pub fn hide(tx: &Tx<'_>, project: ProjectId, id: ConversationId, now: Timestamp) -> Result<()> {
    Ok(tx.pipeline(&HIDE, args![project, id, now])?)
}

/// Messages written from now on have a later time.
pub fn note_time(tx: &Tx<'_>, project: ProjectId, id: ConversationId, at: Timestamp) -> Result<()> {
    Ok(tx.pipeline(&NOTE_TIME, args![project, id, at])?)
}

/// Deletes a hidden conversation with what is left in it.
pub fn delete(tx: &Tx<'_>, project: ProjectId, id: ConversationId) -> Result<()> {
    tx.execute(&DELETE, args![project, id])?;
    Ok(())
}
