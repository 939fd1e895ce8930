//! Spaces as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::features::files::model::File;
use crate::features::spaces::permissions::Permissions;
use crate::features::spaces::rules::{Posting, Reading, Status, Visibility};
use crate::features::spaces::store::SpaceRow;
use crate::features::users::model::raw;
use crate::values::ids::{FileId, ProjectId, SpaceId, UserId, short_id};
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Space {
    pub id: SpaceId,
    pub project_id: ProjectId,
    pub short_id: String,
    pub slug: Option<String>,
    pub name: String,
    pub description: Option<String>,
    /// Its creator; null once they are deleted.
    pub user_id: Option<UserId>,
    pub avatar_file_id: Option<FileId>,
    pub banner_file_id: Option<FileId>,
    /// With `include=files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_file: Option<Option<Box<File>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub banner_file: Option<Option<Box<File>>>,
    pub reading_permission: Reading,
    pub posting_permission: Posting,
    pub visibility: Visibility,
    pub nsfw: bool,
    /// Its own flag, or that of any ancestor.
    pub nsfw_effective: bool,
    pub require_join_approval: bool,
    pub parent_space_id: Option<SpaceId>,
    pub depth: i64,
    #[schemars(with = "Map<String, Value>")]
    pub metadata: Box<RawValue>,
    pub members_count: i64,
    pub child_spaces_count: i64,
    /// For a known user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_member: Option<bool>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

impl Space {
    /// Without the parts that need further statements.
    pub fn new(project_id: ProjectId, row: SpaceRow) -> Result<Self> {
        Ok(Space {
            id: row.id,
            project_id,
            short_id: short_id(row.id.0),
            slug: row.slug,
            name: row.name,
            description: row.description,
            user_id: row.user_id,
            avatar_file_id: row.avatar_file_id,
            banner_file_id: row.banner_file_id,
            avatar_file: None,
            banner_file: None,
            reading_permission: row.reading_permission,
            posting_permission: row.posting_permission,
            visibility: row.visibility,
            nsfw: row.nsfw,
            nsfw_effective: row.nsfw_effective,
            require_join_approval: row.requires_approval,
            parent_space_id: row.parent_id,
            depth: row.depth,
            metadata: raw(row.metadata.0)?,
            members_count: row.members_count,
            child_spaces_count: row.children_count,
            is_member: None,
            created_at: row.created_at,
            updated_at: row.updated_at,
            deleted_at: None,
        })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpaceDetailed {
    #[serde(flatten)]
    pub space: Space,
    /// Null for users without a membership.
    pub member_permissions: Option<MemberPermissions>,
    pub parent_space: Option<SpacePreview>,
    /// The newest public ones.
    pub child_spaces: Vec<SpacePreview>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberPermissions {
    #[serde(flatten)]
    pub permissions: Permissions,
    /// Null for a membership that was declined.
    pub status: Option<Status>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpacePreview {
    pub id: SpaceId,
    pub short_id: String,
    pub name: String,
    pub slug: Option<String>,
    pub avatar_file_id: Option<FileId>,
    /// With `include=files`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avatar_file: Option<Option<Box<File>>>,
    pub reading_permission: Reading,
    pub visibility: Visibility,
    pub parent_space_id: Option<SpaceId>,
    pub depth: i64,
}

impl SpacePreview {
    pub fn new(row: SpaceRow) -> Self {
        SpacePreview {
            id: row.id,
            short_id: short_id(row.id.0),
            name: row.name,
            slug: row.slug,
            avatar_file_id: row.avatar_file_id,
            avatar_file: None,
            reading_permission: row.reading_permission,
            visibility: row.visibility,
            parent_space_id: row.parent_id,
            depth: row.depth,
        }
    }
}

/// An ancestor in the path from the root to a space.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BreadcrumbItem")]
pub struct Crumb {
    id: SpaceId,
    short_id: String,
    name: String,
    slug: Option<String>,
    avatar_file_id: Option<FileId>,
    parent_space_id: Option<SpaceId>,
    depth: i64,
}

impl From<SpaceRow> for Crumb {
    fn from(row: SpaceRow) -> Self {
        Crumb {
            id: row.id,
            short_id: short_id(row.id.0),
            name: row.name,
            slug: row.slug,
            avatar_file_id: row.avatar_file_id,
            parent_space_id: row.parent_id,
            depth: row.depth,
        }
    }
}
