//! A stored comment: the narrow row and its body together, and the columns that decide who sees it.

use db::JsonText;

use crate::auth::perspective::Perspective;
use crate::features::reactions::ReactionCounts;
use crate::features::visibility::moderation::ModerationRow;
use crate::values::ids::{CommentId, EntityId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct CommentRow {
        pub id: CommentId,
        pub foreign_id: Option<String>,
        pub entity_id: EntityId,
        pub space_id: Option<SpaceId>,
        pub user_id: Option<UserId>,
        pub parent_id: Option<CommentId>,
        pub referenced_id: Option<CommentId>,
        pub reactions: ReactionCounts,
        pub replies_count: i64,
        pub moderation: ModerationRow,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub parent_deleted_at: Option<Timestamp>,
        pub user_deleted_at: Option<Timestamp>,
        pub deleted_at: Option<Timestamp>,
        pub content: Option<String>,
        pub gif: Option<JsonText>,
        pub mentions: JsonText,
        pub attachments: JsonText,
        pub metadata: JsonText,
        pub entity_is_removed: bool,
        pub entity_is_draft: bool,
        pub entity_user_id: Option<UserId>,
    }
}

impl CommentRow {
    pub fn is_removed(&self) -> bool {
        self.moderation.is_removed()
    }

    /// Neither deleted by its author nor removed by a moderator: users can reply and react to it.
    pub fn is_live(&self) -> bool {
        self.user_deleted_at.is_none() && !self.is_removed()
    }

    /// Whether it is part of the entity's reply count.
    pub fn is_counted(&self) -> bool {
        self.user_deleted_at.is_none() && self.parent_deleted_at.is_none()
    }

    pub fn is_by(&self, perspective: Perspective) -> bool {
        matches!(perspective, Perspective::User(user) if self.user_id == Some(user))
    }
}

/// An empty comment without an author.
pub fn blank(id: CommentId, entity: EntityId, now: Timestamp) -> CommentRow {
    CommentRow {
        id,
        foreign_id: None,
        entity_id: entity,
        space_id: None,
        user_id: None,
        parent_id: None,
        referenced_id: None,
        reactions: ReactionCounts::default(),
        replies_count: 0,
        moderation: ModerationRow::default(),
        created_at: now,
        updated_at: now,
        parent_deleted_at: None,
        user_deleted_at: None,
        deleted_at: None,
        content: None,
        gif: None,
        mentions: JsonText("[]".to_owned()),
        attachments: JsonText("[]".to_owned()),
        metadata: JsonText("{}".to_owned()),
        entity_is_removed: false,
        entity_is_draft: false,
        entity_user_id: None,
    }
}
