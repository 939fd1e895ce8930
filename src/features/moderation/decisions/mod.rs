//! Decisions of operators. A decision takes its reports out of the queue at once and is applied ten seconds later by a
//! job, through the same functions that handle reports; until then it can be undone. Exactly one of both happens: each
//! is an `UPDATE` of the pending decision whose row count is checked. What is decided elsewhere takes effect at once
//! (`record.rs`).

mod apply;
pub mod bulk;
mod decide;
pub mod model;
pub(super) mod notify;
mod record;
pub mod store;
mod undo;

pub use apply::{ApplyDecisions, enqueue_overdue};
pub use decide::{Request, decide};
pub use model::{
    Action, Decision, DecisionState, Item, Outcome, Refused, RefusedItem, Suspend, Verdict,
};
pub(super) use record::{Banned, OverApi, Removal, record};
pub use record::{Restrictions, ban_now, suspend_now};
pub use undo::undo;

use std::time::Duration;

/// How long a decision can be undone.
pub const UNDO_FOR: Duration = Duration::from_secs(10);
/// Items in one call.
pub const MAX_ITEMS: usize = 500;
/// Characters of a reason.
pub const LONGEST_REASON: usize = 1_000;
