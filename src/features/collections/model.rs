//! Collections as the API shows them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::features::collections::store::CollectionRow;
use crate::values::ids::{CollectionId, ProjectId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collection {
    pub id: CollectionId,
    pub project_id: ProjectId,
    pub user_id: UserId,
    /// Null only for the root.
    pub parent_id: Option<CollectionId>,
    pub is_root: bool,
    pub name: String,
    /// Entities saved in it, without those in its sub-collections.
    pub entity_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Collection {
    pub fn new(project_id: ProjectId, row: CollectionRow) -> Self {
        Collection {
            id: row.id,
            project_id,
            user_id: row.user_id,
            parent_id: row.parent_id,
            is_root: row.is_root,
            name: row.name,
            entity_count: row.entity_count,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
