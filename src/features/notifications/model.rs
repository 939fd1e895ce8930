//! A notification: as a feature hands it over to be stored, and as the API shows it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::features::notifications::store::NotificationRow;
use crate::ids::{NotificationId, ProjectId, UserId};
use crate::time::Timestamp;

/// A new notification for one user.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    /// Made at the instant that it is stored under, like every id.
    pub id: NotificationId,
    pub user: UserId,
    /// `type` of the API.
    pub kind: &'a str,
    /// What the client does when the notification is opened.
    pub action: &'a str,
    /// A JSON object: what was so at the time, never looked into again.
    pub metadata: Cow<'a, str>,
}

impl Notification<'_> {
    /// Whether it differs from the other in its recipient alone.
    pub(super) fn says_the_same(&self, other: &Notification<'_>) -> bool {
        (self.kind, self.action, &self.metadata) == (other.kind, other.action, &other.metadata)
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AppNotification {
    id: NotificationId,
    project_id: ProjectId,
    /// The recipient.
    user_id: UserId,
    r#type: String,
    action: String,
    is_read: bool,
    /// Depends on the type.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    metadata: Box<RawValue>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl AppNotification {
    pub(super) fn new(
        project_id: ProjectId,
        user_id: UserId,
        row: NotificationRow,
    ) -> Result<Self> {
        Ok(AppNotification {
            id: row.id,
            project_id,
            user_id,
            r#type: row.r#type,
            action: row.action,
            is_read: row.is_read,
            metadata: RawValue::from_string(row.metadata.0).map_err(Error::internal)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
