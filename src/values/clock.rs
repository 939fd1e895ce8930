//! Injected time. Everything that needs the time asks this clock, so a test can stop time or move it past an
//! expiry without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, watch};

use crate::values::time::Timestamp;

#[derive(Debug, Clone)]
pub enum Clock {
    System { started: Instant },
    Manual(Arc<ManualTime>),
}

/// A time that stands still unless it is set.
#[derive(Debug)]
pub struct ManualTime {
    millis: AtomicI64,
    moved: Notify,
    /// When those who sleep wake up.
    ends: watch::Sender<Vec<Duration>>,
}

/// One who sleeps.
struct Asleep<'a> {
    time: &'a ManualTime,
    end: Duration,
}

impl<'a> Asleep<'a> {
    fn new(time: &'a ManualTime, end: Duration) -> Self {
        time.ends.send_modify(|ends| ends.push(end));
        Asleep { time, end }
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.time.ends.send_modify(|ends| {
            if let Some(own) = ends.iter().position(|end| *end == self.end) {
                ends.swap_remove(own);
            }
        });
    }
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn system() -> Self {
        Clock::System { started: Instant::now() }
    }

    /// A clock that moves only by `advance`.
    pub fn manual(start: Timestamp) -> Self {
        let millis = AtomicI64::new(start.millis());
        let (moved, ends) = (Notify::new(), watch::Sender::new(Vec::new()));
        Clock::Manual(Arc::new(ManualTime { millis, moved, ends }))
    }

    /// Wall-clock time: what is stored and shown.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System { .. } => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
            }
            Clock::Manual(time) => Timestamp::from_millis(time.millis.load(Ordering::SeqCst)),
        }
    }

    /// Time that never goes back: for windows, ages and durations.
    pub fn uptime(&self) -> Duration {
        match self {
            Clock::System { started } => started.elapsed(),
            Clock::Manual(time) => {
                Duration::from_millis(time.millis.load(Ordering::SeqCst).unsigned_abs())
            }
        }
    }

    /// Waits until so much time has passed.
    pub async fn sleep(&self, by: Duration) {
        let Clock::Manual(time) = self else { return tokio::time::sleep(by).await };
        let end = self.uptime() + by;
        let _asleep = Asleep::new(time, end);
        loop {
            let mut moved = std::pin::pin!(time.moved.notified());
            // From here on no move is missed.
            moved.as_mut().enable();
            if self.uptime() >= end {
                return;
            }
            moved.await;
        }
    }

    /// What the future gives, unless so much time passes before.
    pub async fn timeout<T>(&self, by: Duration, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = self.sleep(by) => None,
        }
    }

    /// Returns once enough sleep by a manual clock, of those whose time has not come yet: how long they sleep still.
    pub async fn until_asleep(&self, are_enough: impl Fn(&[Duration]) -> bool) {
        if let Clock::Manual(time) = self {
            let are_asleep = |ends: &Vec<Duration>| {
                let left = ends.iter().filter_map(|end| end.checked_sub(self.uptime()));
                are_enough(&left.filter(|left| !left.is_zero()).collect::<Vec<_>>())
            };
            // The sender is in `time`, so it is not gone.
            let _ = time.ends.subscribe().wait_for(are_asleep).await;
        }
    }

    /// Moves a manual clock; a system clock moves by itself.
    pub fn advance(&self, by: Duration) {
        if let Clock::Manual(time) = self {
            let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
            time.millis.fetch_add(by, Ordering::SeqCst);
            time.moved.notify_waiters();
        }
    }

    /// Sets a manual clock, also back.
    pub fn set(&self, to: Timestamp) {
        if let Clock::Manual(time) = self {
            time.millis.store(to.millis(), Ordering::SeqCst);
            time.moved.notify_waiters();
        }
    }
}
