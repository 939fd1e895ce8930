//! Figures for the metrics page. Recording is a handful of relaxed atomic additions.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Upper bounds of the histogram buckets in seconds; one more bucket counts everything above.
const BOUNDS: [f64; 13] =
    [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

/// A snapshot of the database's figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Stats {
    /// Jobs that wait for the writer (SQLite) or for a connection (PostgreSQL), or for a slow-read slot.
    pub queue_depth: usize,
    /// PostgreSQL: the server does not respond, and work is refused until it does.
    pub silent: bool,
    /// PostgreSQL: the connections of the pool.
    pub pool: Option<PoolStats>,
    /// From call to reply, including the wait.
    pub reads: Latency,
    pub writes: Latency,
    pub replica: Option<ReplicaStats>,
}

/// Connections of a pool: those that work, and all that there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStats {
    pub busy: usize,
    pub size: usize,
}

/// Figures of a read replica.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaStats {
    /// How old what it has may be; unknown while it cannot be asked.
    pub lag: Option<Duration>,
    /// Reads that it has answered, and those that the primary had to.
    pub reads: u64,
    pub fallbacks: u64,
}

/// A histogram. `counts` has one more element than `buckets`, for everything above the last bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    pub buckets: &'static [f64],
    pub counts: Vec<u64>,
    pub sum_seconds: f64,
    pub count: u64,
}

/// The time, for deadlines and latencies: they measure the machine, so a moved test clock must not move them.
#[expect(clippy::disallowed_methods, reason = "the one place of this crate that asks for the time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

tokio::task_local! {
    static SPENT: Cell<Duration>;
}

/// The outcome of a future, and the time that its units of database work took, waiting included. Those that it runs
/// at the same time add up; those of tasks that it spawns are not its own.
pub async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let timed = async { (work.await, SPENT.with(Cell::get)) };
    SPENT.scope(Cell::new(Duration::ZERO), timed).await
}

/// Counts durations; also for measurements outside of the database.
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    /// Records what the running task has spent since a moment, and adds it to [the task's sum](timed).
    pub(crate) fn record_since(&self, start: Instant) {
        let taken = now() - start;
        self.record(taken);
        // Most tasks are not timed.
        let _ = SPENT.try_with(|spent| spent.set(spent.get() + taken));
    }

    /// Runs work and records how long it took.
    pub async fn time<T>(&self, work: impl Future<Output = T>) -> T {
        let start = now();
        let done = work.await;
        self.record(now() - start);
        done
    }

    pub fn record(&self, taken: Duration) {
        let seconds = taken.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Relaxed);
        let nanos = u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    pub fn snapshot(&self) -> Latency {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        Latency {
            buckets: &BOUNDS,
            count: counts.iter().sum(),
            counts,
            sum_seconds: Duration::from_nanos(self.nanos.load(Relaxed)).as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_land_in_the_bucket_whose_bound_they_do_not_exceed() {
        let histogram = Histogram::default();
        for micros in [10, 50, 51, 1_000, 10_000_000] {
            histogram.record(Duration::from_micros(micros));
        }
        let latency = histogram.snapshot();
        assert_eq!(latency.count, 5);
        assert_eq!(latency.counts[0], 2);
        assert_eq!(latency.counts[1], 1);
        assert_eq!(latency.counts[4], 1);
        assert_eq!(latency.counts[BOUNDS.len()], 1);
        assert!((latency.sum_seconds - 10.001_111).abs() < 1e-9);
    }
}
