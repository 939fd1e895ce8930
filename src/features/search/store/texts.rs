//! What is searched of a record. Not the whole record: its metadata alone may have a mebibyte, and hundreds are read
//! together.

use db::{Conn, JsonText, Query, Row, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::spaces::rules::{Reading, Visibility};
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

db::row! {
    /// Of a space.
    #[derive(Debug)]
    pub struct SpaceTextRow {
        pub id: SpaceId,
        pub name: String,
        pub slug: Option<String>,
        pub description: Option<String>,
        pub visibility: Visibility,
        pub reading_permission: Reading,
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
    query SPACES -> SpaceTextRow =
        "SELECT s.id, s.name, s.slug, s.description, s.visibility, s.reading_permission, s.created_at
         FROM spaces s WHERE s.project_id = $1 AND s.id {any}($2) AND s.deleted_at IS NULL";
}

/// Those that are listed.
pub fn entities(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<TextRow>> {
    some(c, &ENTITIES, project, ids)
}

/// Those that are neither deleted nor removed, below entities of which the same is true.
pub fn comments(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<TextRow>> {
    some(c, &COMMENTS, project, ids)
}

/// Those that are neither deleted nor removed.
pub fn messages(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<TextRow>> {
    some(c, &MESSAGES, project, ids)
}

pub fn profiles(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<ProfileRow>> {
    some(c, &PROFILES, project, ids)
}

pub fn spaces(c: &Conn<'_>, project: ProjectId, ids: Vec<Uuid>) -> Result<Vec<SpaceTextRow>> {
    some(c, &SPACES, project, ids)
}

fn some<R: Row>(
    c: &Conn<'_>,
    query: &Query<R>,
    project: ProjectId,
    ids: Vec<Uuid>,
) -> Result<Vec<R>> {
    Ok(if ids.is_empty() { Vec::new() } else { c.all(query, args![project, ids])? })
}
