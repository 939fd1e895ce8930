//! A stored entity: the narrow row and its body together.

use db::JsonText;

use crate::features::entities::score::formula::FIRST_SCORE;
use crate::features::reactions::row_counts_reactions;
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
        pub upvote_count: i64,
        pub downvote_count: i64,
        pub like_count: i64,
        pub love_count: i64,
        pub wow_count: i64,
        pub sad_count: i64,
        pub angry_count: i64,
        pub funny_count: i64,
        pub replies_count: i64,
        pub shares_count: i64,
        pub views: i64,
        pub score: f64,
        pub score_updated_at: Timestamp,
        pub latitude: Option<f64>,
        pub longitude: Option<f64>,
        pub moderation_status: Option<String>,
        pub moderated_at: Option<Timestamp>,
        pub moderated_by_id: Option<UserId>,
        pub moderated_by_type: Option<String>,
        pub moderation_reason: Option<String>,
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

row_counts_reactions!(EntityRow);

/// Removed by a moderator.
const REMOVED: &str = "removed";

impl EntityRow {
    pub fn is_removed(&self) -> bool {
        self.moderation_status.as_deref() == Some(REMOVED)
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
            upvote_count: 0,
            downvote_count: 0,
            like_count: 0,
            love_count: 0,
            wow_count: 0,
            sad_count: 0,
            angry_count: 0,
            funny_count: 0,
            replies_count: 0,
            shares_count: 0,
            views: 1,
            score: FIRST_SCORE,
            score_updated_at: now,
            latitude: None,
            longitude: None,
            moderation_status: None,
            moderated_at: None,
            moderated_by_id: None,
            moderated_by_type: None,
            moderation_reason: None,
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
