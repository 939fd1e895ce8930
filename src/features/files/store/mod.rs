//! All SQL about files.

pub mod audit;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::values::ids::ConversationId;
use crate::values::ids::{
    ChatMessageId, CommentId, EntityId, EventId, FileId, ProjectId, SpaceId, UserId,
};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct FileRow {
        pub id: FileId,
        pub user_id: Option<UserId>,
        pub entity_id: Option<EntityId>,
        pub comment_id: Option<CommentId>,
        pub chat_message_id: Option<ChatMessageId>,
        pub space_id: Option<SpaceId>,
        pub event_id: Option<EventId>,
        pub path: String,
        pub size: i64,
        pub mime: String,
        pub position: i64,
        pub metadata: JsonText,
        pub image: Option<JsonText>,
        /// Hash of the object at `path`; none for files older than the column.
        pub sha256: Option<String>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

/// `SELECT` of a whole row from `files`; conditions follow.
macro_rules! select_file {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, entity_id, comment_id, chat_message_id, space_id, event_id, path,
                size, mime, position, metadata, image, sha256, created_at, updated_at
             FROM files WHERE project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    command FORGET_AVATAR =
        "UPDATE users SET avatar_file_id = NULL, avatar_path = NULL, updated_at = $4
         WHERE project_id = $1 AND id = $2 AND avatar_file_id = $3";
    command FORGET_BANNER =
        "UPDATE users SET banner_file_id = NULL, updated_at = $4
         WHERE project_id = $1 AND id = $2 AND banner_file_id = $3";
    command FORGET_AVATARS = "UPDATE conversations SET avatar_file_id = NULL
        WHERE project_id = $1 AND avatar_file_id {any}($2)";
    query LOCK_CONVERSATION_BY_AVATAR -> ConversationId =
        "SELECT id FROM conversations WHERE project_id = $1 AND avatar_file_id = $2 {for_no_key_update}";
    command FORGET_COVERS = "UPDATE events SET cover_image_id = NULL
        WHERE project_id = $1 AND cover_image_id {any}($2)";
    query LOCK_EVENT_BY_COVER -> EventId =
        "SELECT id FROM events WHERE project_id = $1 AND cover_image_id = $2 {for_no_key_update}";
    query FIND -> FileRow = select_file!("AND id = $2");
    query FIND_FOR_UPDATE -> FileRow = select_file!("AND id = $2 {for_update}");
    query FIND_ALL -> FileRow = select_file!("AND id {any}($2)");
    query NEWEST -> FileRow = select_file!("AND id < $2 ORDER BY id DESC LIMIT $3");
    query NEWEST_OF_USER -> FileRow =
        select_file!("AND user_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4");
    query OF_ENTITIES -> FileRow =
        select_file!("AND entity_id {any}($2) ORDER BY entity_id, position, id");
    query OF_COMMENTS -> FileRow =
        select_file!("AND comment_id {any}($2) ORDER BY comment_id, position, id");
    query OF_MESSAGES -> FileRow =
        select_file!("AND chat_message_id {any}($2) ORDER BY chat_message_id, position, id");
    query OF_EVENTS -> FileRow =
        select_file!("AND event_id {any}($2) ORDER BY event_id, position, id");
    query FIRST -> FileId, unscoped "the operator's storage is one for all projects" = "SELECT id FROM files LIMIT 1";
    command INSERT =
        "INSERT INTO files (project_id, id, user_id, entity_id, comment_id, chat_message_id,
            space_id, event_id, path, size, mime, position, metadata, image, sha256, created_at,
            updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)";
    command DELETE -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND id {any}($2) RETURNING id, path";
    command DELETE_OF_ENTITY -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND entity_id = $2 RETURNING id, path";
    command DELETE_OF_COMMENTS -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND comment_id {any}($2) RETURNING id, path";
    command DELETE_OF_MESSAGES -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND chat_message_id {any}($2) RETURNING id, path";
    command DELETE_OF_SPACE -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND space_id = $2 RETURNING id, path";
    command DELETE_OF_EVENT -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND event_id = $2 RETURNING id, path";
    query COUNT_OF_USER -> i64 = "SELECT count(*) FROM files WHERE project_id = $1 AND user_id = $2";
    command DELETE_OF_USER -> (FileId, String) =
        "DELETE FROM files WHERE project_id = $1 AND user_id = $2 RETURNING id, path";
}

/// Whether any project has files.
pub fn any(c: &Conn<'_>) -> Result<bool> {
    Ok(c.opt(&FIRST, args![])?.is_some())
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: FileId) -> Result<Option<FileRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// Of the project or of one user, before one of them.
pub fn newest(
    c: &Conn<'_>,
    project: ProjectId,
    user: Option<UserId>,
    before: FileId,
    limit: usize,
) -> Result<Vec<FileRow>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(match user {
        Some(user) => c.all(&NEWEST_OF_USER, args![project, user, before, limit])?,
        None => c.all(&NEWEST, args![project, before, limit])?,
    })
}

pub fn find_for_update(tx: &Tx<'_>, project: ProjectId, id: FileId) -> Result<Option<FileRow>> {
    Ok(tx.opt(&FIND_FOR_UPDATE, args![project, id])?)
}

/// Those of the ids that exist, in no particular order.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[FileId]) -> Result<Vec<FileRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, FileId::list(ids)])?)
}

/// By entity, then by position.
pub fn of_entities(c: &Conn<'_>, project: ProjectId, ids: &[EntityId]) -> Result<Vec<FileRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OF_ENTITIES, args![project, EntityId::list(ids)])?)
}

/// By comment, then by position.
pub fn of_comments(c: &Conn<'_>, project: ProjectId, ids: &[CommentId]) -> Result<Vec<FileRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OF_COMMENTS, args![project, CommentId::list(ids)])?)
}

/// By message, then by position.
pub fn of_messages(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ChatMessageId],
) -> Result<Vec<FileRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OF_MESSAGES, args![project, ChatMessageId::list(ids)])?)
}

/// By event, then by position.
pub fn of_events(c: &Conn<'_>, project: ProjectId, ids: &[EventId]) -> Result<Vec<FileRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OF_EVENTS, args![project, EventId::list(ids)])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, f: &FileRow) -> Result<()> {
    tx.execute(
        &INSERT,
        args![
            project,
            f.id,
            f.user_id,
            f.entity_id,
            f.comment_id,
            f.chat_message_id,
            f.space_id,
            f.event_id,
            &f.path,
            f.size,
            &f.mime,
            f.position,
            &f.metadata,
            f.image.as_ref(),
            f.sha256.as_deref(),
            f.created_at,
            f.updated_at
        ],
    )?;
    Ok(())
}

/// Ids and paths of deleted rows, for deleting the bytes.
pub type Deleted = Vec<(FileId, String)>;

pub fn delete(tx: &Tx<'_>, project: ProjectId, ids: &[FileId]) -> Result<Deleted> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(tx.all(&DELETE, args![project, FileId::list(ids)])?)
}

pub fn delete_of_entity(tx: &Tx<'_>, project: ProjectId, id: EntityId) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_ENTITY, args![project, id])?)
}

pub fn delete_of_space(tx: &Tx<'_>, project: ProjectId, id: SpaceId) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_SPACE, args![project, id])?)
}

pub fn delete_of_event(tx: &Tx<'_>, project: ProjectId, id: EventId) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_EVENT, args![project, id])?)
}

pub fn delete_of_comments(tx: &Tx<'_>, project: ProjectId, ids: &[CommentId]) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_COMMENTS, args![project, CommentId::list(ids)])?)
}

pub fn delete_of_messages(
    tx: &Tx<'_>,
    project: ProjectId,
    ids: &[ChatMessageId],
) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_MESSAGES, args![project, ChatMessageId::list(ids)])?)
}

pub fn count_of_user(c: &Conn<'_>, project: ProjectId, id: UserId) -> Result<i64> {
    Ok(c.one(&COUNT_OF_USER, args![project, id])?)
}

pub fn delete_of_user(tx: &Tx<'_>, project: ProjectId, id: UserId) -> Result<Deleted> {
    Ok(tx.all(&DELETE_OF_USER, args![project, id])?)
}

/// Clears the avatar and banner of the file's owner if it is one of them.
pub fn forget_file(
    tx: &Tx<'_>,
    project: ProjectId,
    owner: UserId,
    file: FileId,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&FORGET_AVATAR, args![project, owner, file, now])?;
    tx.execute(&FORGET_BANNER, args![project, owner, file, now])?;
    Ok(())
}

/// Clears these files as avatars of conversations and as covers of events.
pub fn forget_pictures(tx: &Tx<'_>, project: ProjectId, files: &[FileId]) -> Result<()> {
    tx.pipeline(&FORGET_AVATARS, args![project, FileId::list(files)])?;
    Ok(tx.pipeline(&FORGET_COVERS, args![project, FileId::list(files)])?)
}

/// Lock order: a conversation before its avatar, an event before its cover.
pub fn lock_by_picture(tx: &Tx<'_>, project: ProjectId, file: FileId) -> Result<()> {
    tx.opt(&LOCK_CONVERSATION_BY_AVATAR, args![project, file])?;
    tx.opt(&LOCK_EVENT_BY_COVER, args![project, file])?;
    Ok(())
}
