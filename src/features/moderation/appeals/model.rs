//! Appeals as their authors and as operators see them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::features::moderation::appeals::store::AppealRow;
use crate::features::moderation::decisions::{Decision, Verdict};
use crate::features::moderation::queue::model::{Author, Claim, Content};
use crate::features::moderation::target::TargetKind;
use crate::values::ids::{AppealId, DecisionId, EntityId, SpaceId, parse_uuid};
use crate::values::names::names;
use crate::values::time::Timestamp;

names! {
    #[schemars(rename = "AppealStatus")]
    AppealState {
        Open "open",
        /// The decision stands.
        Upheld "upheld",
        /// The decision was taken back.
        Reversed "reversed",
    }
}

/// As its author sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Appeal {
    id: AppealId,
    decision_id: DecisionId,
    text: String,
    status: AppealState,
    /// What the moderators wrote about it.
    answer: Option<String>,
    created_at: Timestamp,
    decided_at: Option<Timestamp>,
    decision: AppealedDecision,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AppealedDecision {
    action: Verdict,
    target_type: TargetKind,
    #[schemars(with = "EntityId")]
    target_id: Uuid,
    /// Where the content was, or the space of a ban.
    space_id: Option<SpaceId>,
    reason: Option<String>,
    /// The end of a suspension; null if it is for ever.
    ends_at: Option<Timestamp>,
    decided_at: Timestamp,
}

impl Appeal {
    pub(super) fn new(row: AppealRow, decision: &Decision) -> Self {
        let decision = AppealedDecision {
            action: decision.action,
            target_type: decision.target_type,
            target_id: decision.target_id,
            space_id: decision.space_id,
            reason: decision.reason.clone(),
            ends_at: decision.ends_at,
            decided_at: decision.decided_at,
        };
        Appeal {
            id: row.id,
            decision_id: row.decision_id,
            text: row.text,
            status: row.state,
            answer: row.answer,
            created_at: row.created_at,
            decided_at: row.decided_at,
            decision,
        }
    }
}

/// As the queue shows it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AppealItem {
    pub id: AppealId,
    pub text: String,
    pub created_at: Timestamp,
    pub decision: Decision,
    /// The operator who looks at it has made the decision.
    pub is_own: bool,
    /// Taking the decision back would only take the strike back: the content is gone, or the ban has ended.
    pub is_undone: bool,
    pub content: Option<Content>,
    pub author: Option<Author>,
    pub claim: Option<Claim>,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct OpenAppeals {
    /// Those about decisions of others first, then the operator's own.
    pub items: Vec<AppealItem>,
    pub total: i64,
    pub next: Option<AppealCursor>,
}

/// The last appeal of a page: the next one begins behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppealCursor {
    /// Among those about the operator's own decisions, which come last.
    pub is_own: bool,
    pub created_at: Timestamp,
    pub id: AppealId,
}

/// Before a cursor among the operator's own.
const OWN: &str = "own-";

impl fmt::Display for AppealCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = if self.is_own { OWN } else { "" };
        write!(f, "{own}{}.{}", self.created_at.millis(), self.id)
    }
}

impl Serialize for AppealCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for AppealCursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "no such place among the appeals";
        let (is_own, text) = text.strip_prefix(OWN).map_or((false, text), |rest| (true, rest));
        let (at, id) = text.split_once('.').ok_or(wrong)?;
        let created_at = Timestamp::from_millis(at.parse().map_err(|_| wrong)?);
        Ok(AppealCursor { is_own, created_at, id: AppealId(parse_uuid(id).ok_or(wrong)?) })
    }
}
