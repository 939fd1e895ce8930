//! A moderator's decision about content. Removed content is hidden from everybody but its author.

use crate::values::ids::UserId;
use crate::values::time::Timestamp;

/// Removed or approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Removed,
    Approved,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Removed => "removed",
            Verdict::Approved => "approved",
        }
    }
}

/// Who decided what, when and why.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    pub verdict: Verdict,
    /// None if the project itself decided, with a key.
    pub by: Option<UserId>,
    pub reason: Option<&'a str>,
    pub at: Timestamp,
}

impl Decision<'_> {
    pub const fn by_type(&self) -> &'static str {
        if self.by.is_some() { "user" } else { "client" }
    }
}

db::row! {
    /// The decision about content, as it is stored with it; empty before the first.
    #[derive(Debug, Clone, Default, PartialEq)]
    pub struct ModerationRow {
        pub moderation_status: Option<String>,
        pub moderated_at: Option<Timestamp>,
        pub moderated_by_id: Option<UserId>,
        pub moderated_by_type: Option<String>,
        pub moderation_reason: Option<String>,
    }
}

impl ModerationRow {
    pub fn is_removed(&self) -> bool {
        self.moderation_status.as_deref() == Some(Verdict::Removed.name())
    }
}

impl From<&Decision<'_>> for ModerationRow {
    fn from(decision: &Decision<'_>) -> Self {
        ModerationRow {
            moderation_status: Some(decision.verdict.name().to_owned()),
            moderated_at: Some(decision.at),
            moderated_by_id: decision.by,
            moderated_by_type: Some(decision.by_type().to_owned()),
            moderation_reason: decision.reason.map(str::to_owned),
        }
    }
}

/// The columns of [`ModerationRow`], with what comes before each name: `"e."`.
macro_rules! moderation_columns {
    ($before:literal) => {
        concat!(
            $before,
            "moderation_status, ",
            $before,
            "moderated_at, ",
            $before,
            "moderated_by_id, ",
            $before,
            "moderated_by_type, ",
            $before,
            "moderation_reason"
        )
    };
}
pub(crate) use moderation_columns;
