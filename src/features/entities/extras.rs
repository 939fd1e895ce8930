//! What later features add to the representation of an entity: top comments, saved marks.

use std::collections::{HashMap, HashSet};

use db::Conn;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::Result;
use crate::features::users::model::User;
use crate::storage::signed::Links;
use crate::tenancy::Project;
use crate::values::ids::{CommentId, EntityId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The part of a top comment that an entity shows.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopComment {
    pub id: CommentId,
    pub user: Option<User>,
    pub upvotes_count: i64,
    pub content: Option<String>,
    pub created_at: Timestamp,
}

/// Registered by `features::lists`.
#[derive(Debug, Clone, Copy)]
pub struct EntityExtras {
    pub top_comments: TopComments,
    pub saved: Saved,
}

/// The top comment of each entity, as a viewer sees it.
pub type TopComments =
    fn(&Conn<'_>, &Project, &Links, Option<UserId>, &[EntityId]) -> Result<ByEntity<TopComment>>;
pub type ByEntity<T> = HashMap<EntityId, T>;

/// Which of the entities the user has saved.
pub type Saved = fn(&Conn<'_>, ProjectId, UserId, &[EntityId]) -> Result<HashSet<EntityId>>;
