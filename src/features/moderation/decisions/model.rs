//! Decisions as the admin sees them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::features::moderation::target::{Target, TargetKind};
use crate::values::ids::{AppealId, DecisionId, OperatorId, ReportId, RuleId, SpaceId, UserId};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    /// What was decided.
    #[schemars(rename = "ModerationVerdict")]
    Verdict {
        Approve "approve",
        Remove "remove",
        Suspend "suspend",
        Warn "warn",
        /// From a space: never decided in the queue, but appealed against there.
        Ban "ban",
        /// About an appeal: the decision stands.
        Uphold "uphold",
        /// About an appeal: the decision is taken back.
        Reverse "reverse",
    }
    #[schemars(rename = "DecisionState")]
    DecisionState {
        /// Can still be undone.
        Pending "pending",
        Applied "applied",
        Undone "undone",
        /// It could not be applied: `error` says why.
        Failed "failed",
        /// An appeal against it was successful.
        Reversed "reversed",
    }
}

impl Verdict {
    /// Whether the author may appeal: a strike, unless an admin of a group decided.
    pub const fn is_against_author(self) -> bool {
        matches!(self, Verdict::Remove | Verdict::Suspend | Verdict::Warn | Verdict::Ban)
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Dismisses the report; content that was held appears.
    Approve,
    /// Removes the content.
    Remove,
    /// Suspends the author.
    Suspend(Suspend),
    /// Notifies the author.
    Warn,
}

/// For how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Suspend {
    Day,
    Week,
    Month,
    Forever,
}

impl Action {
    pub const fn verdict(self) -> Verdict {
        match self {
            Action::Approve => Verdict::Approve,
            Action::Remove => Verdict::Remove,
            Action::Suspend(_) => Verdict::Suspend,
            Action::Warn => Verdict::Warn,
        }
    }

    /// When a suspension that begins then ends.
    pub(super) fn ends_at(self, from: Timestamp) -> Option<Timestamp> {
        let days = match self {
            Action::Suspend(Suspend::Day) => 1,
            Action::Suspend(Suspend::Week) => 7,
            Action::Suspend(Suspend::Month) => 30,
            _ => return None,
        };
        Some(from.plus(Duration::from_secs(days * 24 * 3600)))
    }
}

/// What is decided about: an item of the queue, or content or a user found elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Report(ReportId),
    /// With its open report, if there is one.
    Target(Target),
    /// Approving reverses the decision, removing upholds it.
    Appeal(AppealId),
}

impl From<ReportId> for Item {
    fn from(id: ReportId) -> Self {
        Item::Report(id)
    }
}

db::row! {
    #[derive(Debug, Clone, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Decision {
        pub id: DecisionId,
        pub report_id: Option<ReportId>,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub author_id: Option<UserId>,
        pub space_id: Option<SpaceId>,
        pub action: Verdict,
        /// The end of a suspension; none if it is for ever.
        pub ends_at: Option<Timestamp>,
        pub reason: Option<String>,
        pub rule_id: Option<RuleId>,
        pub operator_id: Option<OperatorId>,
        pub decided_by: String,
        pub decided_at: Timestamp,
        pub apply_at: Timestamp,
        pub state: DecisionState,
        pub error: Option<String>,
        /// The appeal that it is about.
        pub appeal_id: Option<AppealId>,
        /// Whether it counts against the author, if it takes something from them: not if an admin of a group has
        /// decided. Anybody can make a group.
        pub is_strike: bool,
    }
}

impl Decision {
    /// One that takes effect at once.
    pub fn applied(
        id: DecisionId,
        target: Target,
        (action, reason): (Verdict, Option<String>),
        decided_by: String,
        now: Timestamp,
    ) -> Self {
        Decision {
            id,
            report_id: None,
            target_type: target.kind,
            target_id: target.id,
            author_id: None,
            space_id: None,
            action,
            ends_at: None,
            reason,
            rule_id: None,
            operator_id: None,
            decided_by,
            decided_at: now,
            apply_at: now,
            state: DecisionState::Applied,
            error: None,
            appeal_id: None,
            is_strike: true,
        }
    }

    pub fn target(&self) -> Target {
        Target { kind: self.target_type, id: self.target_id }
    }
}

/// What became of each item.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    pub decided: Vec<Decision>,
    pub refused: Vec<RefusedItem>,
}

#[derive(Debug, Clone, Serialize)]
pub struct RefusedItem {
    pub report: Option<ReportId>,
    pub target: Option<Target>,
    pub appeal: Option<AppealId>,
    pub why: Refused,
}

impl RefusedItem {
    pub(super) fn new(item: Item, why: Refused) -> Self {
        let nothing = RefusedItem { report: None, target: None, appeal: None, why };
        match item {
            Item::Report(id) => RefusedItem { report: Some(id), ..nothing },
            Item::Target(target) => RefusedItem { target: Some(target), ..nothing },
            Item::Appeal(id) => RefusedItem { appeal: Some(id), ..nothing },
        }
    }
}

/// Why an item was not decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "code")]
pub enum Refused {
    NotFound,
    /// By somebody else, or by an earlier decision that can still be undone.
    AlreadyDecided,
    /// Another operator works on it.
    Claimed {
        by: String,
    },
    /// Nobody to suspend or to warn.
    NoAuthor,
    /// A user cannot be approved or removed.
    NotContent,
    /// An appeal is upheld or reversed, nothing else.
    NotForAppeal,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Refused::NotFound => "it is not there any more",
            Refused::AlreadyDecided => "it was decided already",
            Refused::Claimed { by } => return write!(f, "{by} works on it"),
            Refused::NoAuthor => "it has no author to warn or suspend",
            Refused::NotContent => "a user can only be warned or suspended",
            Refused::NotForAppeal => "an appeal is approved or rejected, nothing else",
        };
        f.write_str(text)
    }
}
