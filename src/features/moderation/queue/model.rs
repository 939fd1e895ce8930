//! Items of the queue as the admin sees them.

use serde::{Deserialize, Serialize};

use crate::features::moderation::decisions::Decision;
use crate::features::moderation::queue::store::filter::Cursor;
use crate::features::moderation::target::Target;
use crate::values::ids::{
    CommentId, ConversationId, EntityId, FileId, OperatorId, ReportId, RuleId, SpaceId, UserId,
};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    /// How it came into the queue.
    #[schemars(rename = "QueueItemKind")]
    ItemKind {
        /// By users.
        Reported "reported",
        /// By a rule alone; everybody can see it.
        Flagged "flagged",
        /// By a rule; nobody but its author sees it until it is approved.
        Held "held",
    }
    #[schemars(rename = "ModeratedContentState")]
    ContentState {
        Visible "visible",
        Held "held",
        Removed "removed",
        Deleted "deleted",
    }
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    pub items: Vec<QueueItem>,
    pub total: i64,
    /// There are more than `total`.
    pub total_is_capped: bool,
    pub next: Option<Cursor>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    pub id: ReportId,
    pub kind: ItemKind,
    pub target: Target,
    /// None if it was purged.
    pub content: Option<Content>,
    pub rule: Option<RuleId>,
    /// What the rule found.
    pub matches: Vec<Match>,
    pub reporters: Reporters,
    pub author: Option<Author>,
    pub thread: Thread,
    pub space: Option<Place>,
    /// Pictures of the content.
    pub images: Vec<FileId>,
    pub claim: Option<Claim>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub title: Option<String>,
    pub text: Option<String>,
    pub state: ContentState,
    /// Of an entity, or the entity of a comment.
    pub entity: Option<EntityId>,
    /// Of a message.
    pub conversation: Option<ConversationId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A range of a text that a rule found, in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Match {
    /// `title` or `content`.
    pub field: String,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reporters {
    pub count: i64,
    /// How many gave which reason, the most frequent first.
    pub reasons: Vec<(String, i64)>,
    /// The first ten.
    pub first: Vec<Reporter>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reporter {
    pub user: UserId,
    pub name: Option<String>,
    pub username: Option<String>,
    pub reason: String,
    pub details: Option<String>,
    pub created_at: Timestamp,
    /// Of their last hundred reports those that were handled, and those that led to an action.
    pub handled: i64,
    pub actioned: i64,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub user: UserId,
    pub name: Option<String>,
    pub username: Option<String>,
    pub reputation: i64,
    pub created_at: Timestamp,
    /// Applied decisions against them, without those of admins of groups.
    pub strikes: i64,
    /// The last five, newest first; those that can still be undone too.
    pub decisions: Vec<Decision>,
    pub is_suspended: bool,
    /// None if it is for ever, or if they are not suspended.
    pub suspended_until: Option<Timestamp>,
}

/// What is around the content.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The title of a comment's entity.
    pub entity_title: Option<String>,
    /// The comments above, the nearest first.
    pub parents: Vec<Parent>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    pub comment: CommentId,
    pub author: Option<UserId>,
    pub text: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Place {
    pub id: SpaceId,
    pub name: String,
    pub slug: Option<String>,
}

db::row! {
    /// As it is stored with an item.
    #[derive(Debug, Clone, Default)]
    pub struct ClaimRow {
        pub claimed_by: Option<OperatorId>,
        pub claimed_by_name: Option<String>,
        pub claimed_until: Option<Timestamp>,
    }
}

impl ClaimRow {
    /// None if it has expired.
    pub fn at(&self, now: Timestamp) -> Option<Claim> {
        let until = self.claimed_until.filter(|until| *until > now)?;
        let name = self.claimed_by_name.clone().unwrap_or_default();
        Some(Claim { operator: self.claimed_by?, name, until })
    }

    /// The name of an operator who works on it, other than this one.
    pub fn by_another(&self, operator: Option<OperatorId>, now: Timestamp) -> Option<String> {
        let claim = self.at(now)?;
        (Some(claim.operator) != operator).then_some(claim.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    pub operator: OperatorId,
    pub name: String,
    pub until: Timestamp,
}
