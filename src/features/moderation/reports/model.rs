//! Reports as the API shows them to moderators.

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::features::chat::model::ChatMessage;
use crate::features::comments::model::Comment;
use crate::features::entities::model::Entity;
use crate::features::moderation::reports::store::{EntryRow, ReportRow};
use crate::features::spaces::model::Space;
use crate::values::ids::{EntityId, ProjectId, ReportEntryId, ReportId, SpaceId, UserId};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    #[schemars(rename = "ReportTargetType")]
    TargetType {
        Entity "entity",
        Comment "comment",
        Message "message",
    }
    #[schemars(rename = "ReportStatus")]
    Status {
        Open "open",
        Dismissed "dismissed",
        Actioned "actioned",
    }
    #[schemars(rename = "ReportReason")]
    Reason {
        Spam "spam",
        InappropriateContent "inappropriateContent",
        Harassment "harassment",
        Misinformation "misinformation",
        HateSpeech "hateSpeech",
        Violence "violence",
        IllegalActivity "illegalActivity",
        SelfHarm "selfHarm",
        Other "other",
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub id: ReportId,
    pub project_id: ProjectId,
    pub space_id: Option<SpaceId>,
    #[schemars(with = "EntityId")]
    pub target_id: Uuid,
    pub target_type: TargetType,
    pub reporter_count: i64,
    pub status: Status,
    pub action_taken: Option<String>,
    pub user_reports: Vec<UserReport>,
    /// The content as it is now, even if deleted or removed; null if it was purged.
    pub target: Option<Target>,
    pub space: Option<Box<Space>>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

/// The report of one user.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserReport {
    pub id: ReportEntryId,
    pub user_id: UserId,
    pub reason: String,
    pub details: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ReportTarget")]
pub enum Target {
    Entity(Box<Entity>),
    Comment(Box<Comment>),
    Message(Box<ChatMessage>),
}

impl Report {
    pub fn new(project_id: ProjectId, row: ReportRow) -> Self {
        Report {
            id: row.id,
            project_id,
            space_id: row.space_id,
            target_id: row.target_id,
            target_type: row.target_type,
            reporter_count: row.reporter_count,
            status: row.status,
            action_taken: row.action_taken,
            user_reports: Vec::new(),
            target: None,
            space: None,
            created_at: row.created_at,
            updated_at: row.updated_at,
            deleted_at: None,
        }
    }
}

impl From<EntryRow> for UserReport {
    fn from(row: EntryRow) -> Self {
        let EntryRow { id, user_id, reason, details, created_at, .. } = row;
        UserReport { id, user_id, reason, details, created_at }
    }
}
