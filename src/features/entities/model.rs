//! Entities as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::entities::extras::TopComment;
use crate::features::entities::rules::Mention;
use crate::features::entities::store::EntityRow;
use crate::features::files::model::File;
use crate::features::grants::model::Grants;
use crate::features::reactions::{ReactionCounts, ReactionType};
use crate::features::spaces::model::Space;
use crate::features::users::model::{Point, User, raw};
use crate::values::ids::{EntityId, ProjectId, SpaceId, UserId, short_id};
use crate::values::time::Timestamp;

/// Fields documented so are present only on request, or only with a viewer: the outer `Option` is the key, an
/// inner one its null.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Entity {
    pub id: EntityId,
    pub short_id: String,
    pub project_id: ProjectId,
    pub foreign_id: Option<String>,
    pub source_id: Option<String>,
    pub space_id: Option<SpaceId>,
    /// With `include=space`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<Option<Box<Space>>>,
    pub user_id: Option<UserId>,
    /// With `include=user`, and in replies to writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Option<Box<User>>>,
    pub title: Option<String>,
    pub content: Option<String>,
    #[schemars(with = "Vec<Mention>")]
    pub mentions: Box<RawValue>,
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub attachments: Box<RawValue>,
    /// With `include=files`, and when it was created with files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<File>>,
    #[schemars(with = "Vec<String>")]
    pub keywords: Box<RawValue>,
    /// In v6 the ids of users who voted; later versions have `reactionCounts`.
    pub upvotes: Vec<UserId>,
    pub downvotes: Vec<UserId>,
    pub reaction_counts: ReactionCounts,
    /// For a known viewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_reaction: Option<Option<ReactionType>>,
    pub replies_count: i64,
    /// Only in v6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares_count: Option<i64>,
    pub views: i64,
    pub score: f64,
    pub score_updated_at: Timestamp,
    pub location: Option<Point>,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    pub nsfw: bool,
    pub nsfw_effective: bool,
    /// With `include=topComment`.
    pub top_comment: Option<TopComment>,
    /// With `include=saved` and a viewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_saved: Option<bool>,
    /// With `include=grants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grants: Option<Grants>,
    pub is_draft: bool,
    pub moderation_status: Option<String>,
    pub moderated_at: Option<Timestamp>,
    pub moderated_by_id: Option<UserId>,
    pub moderated_by_type: Option<String>,
    pub moderation_reason: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl Entity {
    /// Without the parts that need further statements.
    pub fn new(project_id: ProjectId, row: EntityRow) -> Result<Self> {
        Ok(Entity {
            id: row.id,
            short_id: short_id(row.id.0),
            project_id,
            reaction_counts: row.reactions,
            foreign_id: row.foreign_id,
            source_id: row.source_id,
            space_id: row.space_id,
            space: None,
            user_id: row.user_id,
            user: None,
            title: row.title,
            content: row.content,
            mentions: raw(row.mentions.0)?,
            attachments: raw(row.attachments.0)?,
            files: None,
            keywords: raw(row.keywords.0)?,
            upvotes: Vec::new(),
            downvotes: Vec::new(),
            user_reaction: None,
            replies_count: row.replies_count,
            shares_count: Some(row.shares_count),
            views: row.views,
            score: row.score,
            score_updated_at: row.score_updated_at,
            location: row.longitude.zip(row.latitude).map(|(lon, lat)| Point::new(lon, lat)),
            metadata: raw(row.metadata.0)?,
            nsfw: row.nsfw,
            nsfw_effective: row.nsfw,
            top_comment: None,
            is_saved: None,
            grants: None,
            is_draft: row.is_draft,
            moderation_status: row.moderation.shown_status(),
            moderated_at: row.moderation.moderated_at,
            moderated_by_id: row.moderation.moderated_by_id,
            moderated_by_type: row.moderation.shown_by_type(),
            moderation_reason: row.moderation.moderation_reason,
            created_at: row.created_at,
            updated_at: row.updated_at,
            deleted_at: row.deleted_at,
        })
    }
}
