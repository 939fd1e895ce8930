//! A stored entity: the narrow row and its body together.

use db::JsonText;

use crate::features::entities::score::formula::FIRST_SCORE;
use crate::features::reactions::ReactionCounts;
use crate::features::visibility::moderation::ModerationRow;
use crate::values::ids::{EntityId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct EntityRow {
        pub id: EntityId,
        pub foreign_id: Option<String>,
        pub source_id: Option<String>,
        pub space_id: Option<SpaceId>,
        pub user_id: Option<UserId>,
        pub is_draft: bool,
        pub is_listed: bool,
        pub is_emptied: bool,
        pub nsfw: bool,
        pub reactions: ReactionCounts,
        pub replies_count: i64,
        pub shares_count: i64,
        pub views: i64,
        pub score: f64,
        pub score_updated_at: Timestamp,
        pub latitude: Option<f64>,
        pub longitude: Option<f64>,
        pub moderation: ModerationRow,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub deleted_at: Option<Timestamp>,
        pub title: Option<String>,
        pub content: Option<String>,
        pub mentions: JsonText,
        pub attachments: JsonText,
        pub keywords: JsonText,
        pub metadata: JsonText,
    }
}

impl EntityRow {
    pub fn is_removed(&self) -> bool {
        self.moderation.is_removed()
    }

    /// An empty published entity without an author.
    pub fn blank(id: EntityId, now: Timestamp) -> Self {
        EntityRow {
            id,
            foreign_id: None,
            source_id: None,
            space_id: None,
            user_id: None,
            is_draft: false,
            is_listed: true,
            is_emptied: false,
            nsfw: false,
            reactions: ReactionCounts::default(),
            replies_count: 0,
            shares_count: 0,
            views: 1,
            score: FIRST_SCORE,
            score_updated_at: now,
            latitude: None,
            longitude: None,
            moderation: ModerationRow::default(),
            created_at: now,
            updated_at: now,
            deleted_at: None,
            title: None,
            content: None,
            mentions: JsonText("[]".to_owned()),
            attachments: JsonText("[]".to_owned()),
            keywords: JsonText("[]".to_owned()),
            metadata: JsonText("{}".to_owned()),
        }
    }

    pub(super) fn has_attachments(&self) -> bool {
        self.attachments.0 != "[]"
    }
}
