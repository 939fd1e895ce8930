//! Injected time. Everything that needs the time asks this clock, so a test can stop time or move it past an
//! expiry without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::values::time::Timestamp;

#[derive(Debug, Clone)]
pub enum Clock {
    System { started: Instant },
    Manual(Arc<AtomicI64>),
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn system() -> Self {
        Clock::System { started: Instant::now() }
    }

    /// A clock that moves only by `advance`.
    pub fn manual(start: Timestamp) -> Self {
        Clock::Manual(Arc::new(AtomicI64::new(start.millis())))
    }

    /// Wall-clock time: what is stored and shown.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Clock::Manual(millis) => Timestamp::from_millis(millis.load(Ordering::SeqCst)),
        }
    }

    /// Time that never goes back: for windows, ages and durations.
    pub fn uptime(&self) -> Duration {
        match self {
            Clock::System { started } => started.elapsed(),
            Clock::Manual(millis) => {
                Duration::from_millis(millis.load(Ordering::SeqCst).unsigned_abs())
            }
        }
    }

    /// Moves a manual clock; a system clock moves by itself.
    pub fn advance(&self, by: Duration) {
        if let Clock::Manual(millis) = self {
            let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            millis.fetch_add(by, Ordering::SeqCst);
        }
    }
}
