//! What is searched of a record. Not the whole record: its metadata alone may have a mebibyte, and hundreds are read
//! together.

use db::{Conn, JsonText, args};
use uuid::Uuid;

use crate::error::Result;
use crate::search_queue::Kind;
use crate::values::ids::{ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    /// Of an entity, a comment or a message.
    #[derive(Debug)]
    pub struct TextRow {
        pub id: Uuid,
        /// The entity of a comment, the conversation of a message.
        pub parent_id: Option<Uuid>,
        pub space_id: Option<SpaceId>,
        pub author_id: Option<UserId>,
        pub created_at: Timestamp,
        pub title: Option<String>,
        pub content: Option<String>,
        pub keywords: Option<JsonText>,
    }
}

db::row! {
    /// Of a user.
    #[derive(Debug)]
    pub struct ProfileRow {
        pub id: UserId,
        pub name: Option<String>,
        pub username: Option<String>,
        pub bio: Option<String>,
        pub created_at: Timestamp,
    }
}

db::statements! {
    query ENTITIES -> TextRow =
        "SELECT e.id, CAST(NULL AS {uuid}) AS parent_id, e.space_id, e.user_id AS author_id, e.created_at,
            b.title, b.content, b.keywords
         FROM entities e JOIN entity_bodies b ON b.project_id = e.project_id AND b.id = e.id
         WHERE e.project_id = $1 AND e.id {any}($2) AND e.is_listed AND e.deleted_at IS NULL";
    query COMMENTS -> TextRow =
        "SELECT c.id, c.entity_id AS parent_id, c.space_id, c.user_id AS author_id, c.created_at,
            CAST(NULL AS TEXT) AS title, b.content, CAST(NULL AS {document}) AS keywords
         FROM comments c
            JOIN comment_bodies b ON b.project_id = c.project_id AND b.id = c.id
            JOIN entities e ON e.project_id = c.project_id AND e.id = c.entity_id
         WHERE c.project_id = $1 AND c.id {any}($2) AND c.deleted_at IS NULL AND c.user_deleted_at IS NULL
            AND COALESCE(c.moderation_status, '') <> 'removed' AND e.deleted_at IS NULL
            AND NOT e.is_draft AND COALESCE(e.moderation_status, '') <> 'removed'";
    query MESSAGES -> TextRow =
        "SELECT x.id, x.conversation_id AS parent_id, v.space_id, x.user_id AS author_id, x.created_at,
            CAST(NULL AS TEXT) AS title, x.content, CAST(NULL AS {document}) AS keywords
         FROM chat_messages x
            JOIN conversations v ON v.project_id = x.project_id AND v.id = x.conversation_id
         WHERE x.project_id = $1 AND x.id {any}($2) AND NOT x.is_removed AND x.user_deleted_at IS NULL";
    query PROFILES -> ProfileRow =
        "SELECT u.id, u.name, u.username, u.bio, u.created_at
         FROM users u WHERE u.project_id = $1 AND u.id {any}($2)";
}

/// Those of the records that are searched: neither deleted nor removed, and no draft.
pub fn written(
    c: &Conn<'_>,
    project: ProjectId,
    kind: Kind,
    ids: Vec<Uuid>,
) -> Result<Vec<TextRow>> {
    let query = match kind {
        Kind::Entity => &ENTITIES,
        Kind::Comment => &COMMENTS,
        Kind::Message => &MESSAGES,
        Kind::User | Kind::Space => return Ok(Vec::new()),
    };
    Ok(if ids.is_empty() { Vec::new() } else { c.all(query, args![project, ids])? })
}

pub fn profiles(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<ProfileRow>> {
    Ok(if ids.is_empty() { Vec::new() } else { c.all(&PROFILES, args![project, ids])? })
}
