//! Comments as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::comments::rules::Gif;
use crate::features::comments::store::CommentRow;
use crate::features::entities::model::Entity;
use crate::features::entities::rules::Mention;
use crate::features::grants::model::Grants;
use crate::features::reactions::{ReactionCounts, ReactionType};
use crate::features::users::model::{User, raw};
use crate::values::ids::{CommentId, EntityId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// Fields documented so are present only on request: the outer `Option` is the key, an inner one its null.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    pub id: CommentId,
    pub project_id: ProjectId,
    pub foreign_id: Option<String>,
    pub entity_id: EntityId,
    /// With `include=entity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<Option<Box<Entity>>>,
    pub space_id: Option<SpaceId>,
    pub user_id: Option<UserId>,
    /// With `include=user`, and in replies to writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Option<Box<User>>>,
    pub parent_id: Option<CommentId>,
    /// With `include=parent` on single reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_comment: Option<Option<Box<Comment>>>,
    pub referenced_comment_id: Option<CommentId>,
    pub content: Option<String>,
    #[schemars(with = "Option<Gif>")]
    pub gif: Option<Box<RawValue>>,
    /// Null in a placeholder.
    #[schemars(with = "Option<Vec<Mention>>")]
    pub mentions: Option<Box<RawValue>>,
    /// Null in a placeholder.
    #[schemars(with = "Option<Vec<Map<String, Value>>>")]
    pub attachments: Option<Box<RawValue>>,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    /// In v6 the ids of users who voted; later versions have `reactionCounts`.
    pub upvotes: Vec<UserId>,
    pub downvotes: Vec<UserId>,
    pub reaction_counts: ReactionCounts,
    /// For a known viewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_reaction: Option<Option<ReactionType>>,
    pub replies_count: i64,
    /// With `include=grants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Grants>,
    pub parent_deleted_at: Option<Timestamp>,
    pub user_deleted_at: Option<Timestamp>,
    pub deleted_at: Option<Timestamp>,
    pub moderation_status: Option<String>,
    pub moderated_at: Option<Timestamp>,
    pub moderated_by_id: Option<UserId>,
    pub moderated_by_type: Option<String>,
    pub moderation_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Comment {
    /// Without the parts that need further statements.
    pub fn new(project_id: ProjectId, row: CommentRow) -> Result<Self> {
        Ok(Comment {
            id: row.id,
            project_id,
            reaction_counts: row.reactions,
            foreign_id: row.foreign_id,
            entity_id: row.entity_id,
            entity: None,
            space_id: row.space_id,
            user_id: row.user_id,
            user: None,
            parent_id: row.parent_id,
            parent_comment: None,
            referenced_comment_id: row.referenced_id,
            content: row.content,
            gif: row.gif.map(|gif| raw(gif.0)).transpose()?,
            mentions: Some(raw(row.mentions.0)?),
            attachments: Some(raw(row.attachments.0)?),
            metadata: raw(row.metadata.0)?,
            upvotes: Vec::new(),
            downvotes: Vec::new(),
            user_reaction: None,
            replies_count: row.replies_count,
            grants: None,
            parent_deleted_at: row.parent_deleted_at,
            user_deleted_at: row.user_deleted_at,
            deleted_at: row.deleted_at,
            moderation_status: row.moderation.shown_status(),
            moderated_at: row.moderation.moderated_at,
            moderated_by_id: row.moderation.moderated_by_id,
            moderated_by_type: row.moderation.shown_by_type(),
            moderation_reason: row.moderation.moderation_reason,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }

    /// The placeholder of a comment that is deleted or removed for the viewer.
    pub fn strip(&mut self) {
        self.user_id = None;
        self.content = None;
        self.gif = None;
        self.mentions = None;
        self.attachments = None;
    }
}
