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
