//! Which reads tolerate lag: those of a task that says so, until it writes.

use std::cell::Cell;
use std::time::Instant;

use crate::stats;

tokio::task_local! {
    static TOLERANCE: Tolerance;
}

struct Tolerance {
    /// What was written before must be seen.
    since: Option<Moment>,
    is_exact: Cell<bool>,
}

/// A moment in the life of this process, such as that of somebody's last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Instant);

impl Moment {
    pub fn now() -> Moment {
        Moment(stats::now())
    }

    pub(crate) fn at(instant: Instant) -> Moment {
        Moment(instant)
    }
}

/// Reads of this future may be answered by a replica, if it has everything that was committed up to that moment.
pub async fn tolerate_lag<T>(since: Option<Moment>, work: impl Future<Output = T>) -> T {
    TOLERANCE.scope(Tolerance { since, is_exact: Cell::new(false) }, work).await
}

/// Reads of this future are answered by the primary, even if the task tolerates lag.
pub async fn exactly<T>(work: impl Future<Output = T>) -> T {
    TOLERANCE.scope(Tolerance { since: None, is_exact: Cell::new(true) }, work).await
}

/// The moment up to which the running task must see every write, though it tolerates lag.
pub fn must_see() -> Option<Moment> {
    TOLERANCE.try_with(|tolerance| tolerance.since).ok().flatten()
}

/// Whether the running task tolerates what a replica lacks that has everything up to this moment.
pub(crate) fn is_tolerated(covered: Moment) -> bool {
    let tolerated = |tolerance: &Tolerance| {
        !tolerance.is_exact.get() && tolerance.since.is_none_or(|since| since <= covered)
    };
    TOLERANCE.try_with(tolerated).unwrap_or(false)
}

/// The running task writes: from now on it reads what it wrote.
pub(crate) fn note_write() {
    // Most tasks tolerate nothing.
    let _ = TOLERANCE.try_with(|tolerance| tolerance.is_exact.set(true));
}
