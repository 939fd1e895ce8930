//! A circuit breaker: while the server does not respond, jobs are refused at once, and probes run until one
//! succeeds. A late reply is only a suspicion: a probe on another connection decides, so that a slow
//! statement is not mistaken for a stopped server.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::job::Job;
use crate::queue::Queue;
use crate::{Error, stats};

use super::address::Address;

/// Interval of probes. Running ones continue, so that a server that is only slow can answer.
const PROBE_EVERY: Duration = Duration::from_millis(500);
/// Maximum running probes. A stopped server still accepts connections, and must handle every abandoned one
/// before those that wait.
const PROBES_AT_ONCE: usize = 4;
/// A reply that takes longer is suspicious, or a fifth of the wait if that is less.
const SUSPICIOUS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Breaker {
    address: Arc<Address>,
    queue: Arc<Queue<Job>>,
    /// Open: the server does not respond.
    open: watch::Sender<bool>,
    /// How often it has opened. Older connections are not used again: the network may have lost them.
    openings: AtomicU64,
    is_probing: AtomicBool,
    /// The server's disk was full at the last write.
    full: AtomicBool,
}

impl Breaker {
    pub(super) fn new(address: Arc<Address>, queue: Arc<Queue<Job>>) -> Self {
        Breaker {
            address,
            queue,
            open: watch::Sender::new(false),
            openings: AtomicU64::new(0),
            is_probing: AtomicBool::new(false),
            full: AtomicBool::new(false),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    pub(super) fn openings(&self) -> u64 {
        self.openings.load(Relaxed)
    }

    pub(super) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    pub(super) fn set_full(&self, full: bool) {
        self.full.store(full, Relaxed);
    }

    /// The error for a job while the breaker is open.
    pub(super) fn refusal() -> Error {
        Error::unreachable("the server does not answer")
    }

    /// The outcome of work that waits for the server. `None`: it timed out, or the breaker opened meanwhile.
    pub(super) async fn watched<T>(
        self: &Arc<Self>,
        longest: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let (mut work, end) = (pin!(work), Instant::from(stats::now()) + longest);
        let suspicious = SUSPICIOUS.min(self.address.wait / 5).min(longest);
        // Nearly always the reply comes here, at the cost of one timer.
        if let Ok(outcome) = timeout(suspicious, &mut work).await {
            return Some(outcome);
        }
        self.suspect();
        let mut open = self.open.subscribe();
        tokio::select! {
            biased;
            outcome = work => Some(outcome),
            _ = open.wait_for(|open| *open) => None,
            () = sleep_until(end) => None,
        }
    }

    /// Starts a probe of the server, unless one is running. If it fails, waiting jobs are refused.
    pub(super) fn suspect(self: &Arc<Self>) {
        if self.is_probing.swap(true, Relaxed) {
            return;
        }
        let probing = Probing(Arc::clone(self));
        let run = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(probing.0.probe());
            }
        };
        // If no thread can be started, the timeouts of each connection must suffice.
        drop(std::thread::Builder::new().name("db-probe".to_owned()).spawn(run));
    }

    /// Probes until one succeeds or the database is closed.
    async fn probe(&self) {
        let verdict = Instant::from(stats::now()) + self.address.wait;
        let mut ticks = interval(PROBE_EVERY.min(self.address.wait / 2));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut under_way = FuturesUnordered::new();
        while !self.queue.is_closed() {
            tokio::select! {
                biased;
                Some(answered) = under_way.next() => if answered { return },
                _ = ticks.tick() => if under_way.len() < PROBES_AT_ONCE {
                    under_way.push(is_answered(&self.address));
                },
                () = sleep_until(verdict), if !self.is_open() => self.open(),
            }
        }
    }

    fn open(&self) {
        self.openings.fetch_add(1, Relaxed);
        self.open.send_replace(true);
        for job in self.queue.take(|_| true) {
            job.answer(Some(Self::refusal()));
        }
    }
}

/// Closes the breaker when probing ends in any way: nothing else would.
struct Probing(Arc<Breaker>);

impl Drop for Probing {
    fn drop(&mut self) {
        self.0.is_probing.store(false, Relaxed);
        self.0.open.send_replace(false);
    }
}

/// Whether a new connection gets a reply to a statement. Connecting alone proves nothing: a proxy in between
/// may accept connections.
async fn is_answered(address: &Address) -> bool {
    let asking = async {
        let (client, connection) = match address.config.connect(address.tls.clone()).await {
            Ok(connected) => connected,
            Err(error) => return is_refusal(&error),
        };
        tokio::select! {
            asked = client.batch_execute("SELECT 1") => asked.is_ok(),
            _ = connection => false,
        }
    };
    timeout(2 * address.wait, asking).await.unwrap_or(false)
}

/// The server, or its system, refused. That is a reply: jobs get it just as quickly.
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref());
    let is_refused = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::ConnectionRefused;
    error.as_db_error().is_some() || cause.is_some_and(is_refused)
}
