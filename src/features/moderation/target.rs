//! What moderators decide about: content, or a user.

use serde::Serialize;
use uuid::Uuid;

use crate::features::moderation::reports::model::TargetType;
use crate::values::names::names;

names! {
    #[schemars(rename = "ModerationTargetKind")]
    TargetKind {
        Entity "entity",
        Comment "comment",
        Message "message",
        User "user",
    }
}

impl TargetKind {
    /// None for a user, who is not content.
    pub fn content(self) -> Option<TargetType> {
        match self {
            TargetKind::Entity => Some(TargetType::Entity),
            TargetKind::Comment => Some(TargetType::Comment),
            TargetKind::Message => Some(TargetType::Message),
            TargetKind::User => None,
        }
    }
}

impl From<TargetType> for TargetKind {
    fn from(kind: TargetType) -> Self {
        match kind {
            TargetType::Entity => TargetKind::Entity,
            TargetType::Comment => TargetKind::Comment,
            TargetType::Message => TargetKind::Message,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Target {
    pub kind: TargetKind,
    pub id: Uuid,
}
