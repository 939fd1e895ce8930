//! Grants as the API shows them, and what content shows of the grants for it.

use db::JsonText;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::features::grants::rules::{Source, TargetKind};
use crate::features::grants::store::GrantRow;
use crate::features::users::model::{User, raw};
use crate::values::ids::{GrantId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// What was given for an entity, comment or message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReputationGrants")]
pub struct Grants {
    pub total: i64,
    pub count: i64,
    pub viewer_total: i64,
}

/// A grant without its users. It never changes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantFields {
    pub id: GrantId,
    pub source_type: Source,
    pub sender_id: Option<UserId>,
    pub recipient_id: UserId,
    pub amount: i64,
    pub space_id: Option<SpaceId>,
    pub target_type: Option<TargetKind>,
    #[schemars(with = "Option<crate::values::ids::EntityId>")]
    pub target_id: Option<Uuid>,
    pub note: Option<String>,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub metadata: Option<Box<RawValue>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl GrantFields {
    pub fn new(row: GrantRow) -> Result<Self> {
        Ok(GrantFields {
            id: row.id,
            source_type: row.source_type,
            sender_id: row.sender_id,
            recipient_id: row.recipient_id,
            amount: row.amount,
            space_id: row.space_id,
            target_type: row.target_type,
            target_id: row.target_id,
            note: row.note,
            metadata: row.metadata.map(|JsonText(json)| raw(json)).transpose()?,
            created_at: row.created_at,
            updated_at: row.created_at,
        })
    }
}

/// With `include=user` the users are present: the outer `Option` is the key, the inner one its null.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReputationGrant {
    #[serde(flatten)]
    pub fields: GrantFields,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Option<User>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipient: Option<Option<User>>,
}

impl ReputationGrant {
    pub fn new(row: GrantRow) -> Result<Self> {
        Ok(ReputationGrant { fields: GrantFields::new(row)?, sender: None, recipient: None })
    }
}
