//! Notifications: as features create them, and as the API shows them.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::notifications::store::NotificationRow;
use crate::values::ids::{
    ChatMessageId, CommentId, ConversationId, EntityId, EventId, NotificationId, ProjectId,
    SpaceId, UserId,
};
use crate::values::time::Timestamp;

/// A new notification for one user.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    /// Generated for the time of the notification.
    pub id: NotificationId,
    pub user: UserId,
    /// `type` of the API.
    pub kind: &'a str,
    /// What the client does when the notification is opened.
    pub action: &'a str,
    /// A JSON object: a snapshot, never read again by the server.
    pub metadata: Cow<'a, str>,
    pub about: About,
}

/// The subject of a notification. While a notification by an actor about a target is unread, another of the
/// same kind is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    pub subject: Subject,
    /// Users who may not read this space do not get the notification.
    pub space: Option<SpaceId>,
    /// None if no particular user caused it, or the user is not named.
    pub actor: Option<UserId>,
}

impl About {
    /// A message of the project itself.
    pub const NOTHING: About = About { subject: Subject::Nothing, space: None, actor: None };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Nothing,
    Entity(EntityId),
    Comment {
        entity: EntityId,
        comment: CommentId,
    },
    /// The user who gets the notification.
    Recipient,
    Space(SpaceId),
    Event(EventId),
    Message {
        conversation: ConversationId,
        message: ChatMessageId,
    },
}

impl Subject {
    /// The related content, and the target in it.
    pub(super) fn ids(self, recipient: UserId) -> (Option<Uuid>, Option<Uuid>) {
        let (subject, target) = match self {
            Subject::Nothing => return (None, None),
            Subject::Entity(id) => (id.0, id.0),
            Subject::Comment { entity, comment } => (entity.0, comment.0),
            Subject::Recipient => (recipient.0, recipient.0),
            Subject::Space(id) => (id.0, id.0),
            Subject::Event(id) => (id.0, id.0),
            Subject::Message { conversation, message } => (conversation.0, message.0),
        };
        (Some(subject), Some(target))
    }
}

impl Notification<'_> {
    /// Whether it differs from the other only in its recipient.
    pub(super) fn says_the_same(&self, other: &Notification<'_>) -> bool {
        if self.about.subject == Subject::Recipient {
            return false;
        }
        (self.kind, self.action, &self.metadata, self.about)
            == (other.kind, other.action, &other.metadata, other.about)
    }
}

/// A new notification as observers see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewNotification {
    project_id: ProjectId,
    user_id: UserId,
    r#type: String,
    action: String,
    metadata: Box<RawValue>,
    id: NotificationId,
    is_read: bool,
    created_at: Timestamp,
}

impl NewNotification {
    pub(super) fn new(project: ProjectId, new: &Notification<'_>, now: Timestamp) -> Result<Self> {
        Ok(NewNotification {
            project_id: project,
            user_id: new.user,
            r#type: new.kind.to_owned(),
            action: new.action.to_owned(),
            metadata: serde_json::from_str(&new.metadata).map_err(Error::internal)?,
            id: new.id,
            is_read: false,
            created_at: now,
        })
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
