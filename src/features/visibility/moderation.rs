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

/// Who hid content, as it is stored: a rule that holds something new, or something that was edited, or a rule that
/// removes.
const HELD: &str = "hold";
const HELD_EDIT: &str = "hold-edit";
const RULE: &str = "rule";

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

    /// A rule holds it until a moderator decides: hidden like removed content, and nobody was notified of it.
    pub fn is_held(&self) -> bool {
        self.is_held_new() || self.moderated_by_type.as_deref() == Some(HELD_EDIT)
    }

    /// It has never been visible.
    pub fn is_held_new(&self) -> bool {
        self.moderated_by_type.as_deref() == Some(HELD)
    }

    /// A rule removed it, without a moderator.
    pub fn is_removed_by_rule(&self) -> bool {
        self.moderated_by_type.as_deref() == Some(RULE)
    }

    /// What a rule holds.
    pub fn held(at: Timestamp, is_edit: bool) -> Self {
        let by = if is_edit { HELD_EDIT } else { HELD };
        ModerationRow::by_rule(at, by, None)
    }

    /// What a rule removes.
    pub fn removed_by_rule(at: Timestamp, reason: Option<String>) -> Self {
        ModerationRow::by_rule(at, RULE, reason)
    }

    fn by_rule(at: Timestamp, by: &str, reason: Option<String>) -> Self {
        ModerationRow {
            moderation_status: Some(Verdict::Removed.name().to_owned()),
            moderated_at: Some(at),
            moderated_by_id: None,
            moderated_by_type: Some(by.to_owned()),
            moderation_reason: reason,
        }
    }

    /// The status as the API shows it: `approved`, `removed` or `held`.
    pub fn shown_status(&self) -> Option<String> {
        if self.is_held() { Some("held".to_owned()) } else { self.moderation_status.clone() }
    }

    /// Who decided, as the API shows it: `user`, or `client` for the project and its rules.
    pub fn shown_by_type(&self) -> Option<String> {
        let by = self.moderated_by_type.as_deref()?;
        Some(if by == "user" { by } else { "client" }.to_owned())
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
