//! A read replica. It is watched: some times a second the primary's position in its log is noted with the time, and
//! what the replica has replayed tells up to when it has everything. Without that knowledge, with too much lag or
//! after a failure, reads go to the primary.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::job::{Answer, Job, Work};
use crate::lag::{self, Moment};
use crate::stats::{self, ReplicaStats};
use crate::{Error, Options};

use super::Postgres;
use super::address::Address;
use super::session::Session;

/// Pause between two looks.
const INTERVAL: Duration = Duration::from_millis(100);
/// Positions that wait to be replayed.
const MAX_NOTED: usize = 1000;
const PRIMARY_POSITION: &str = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint";
/// Null on a server that is no replica.
const REPLAYED: &str = "SELECT CASE WHEN pg_is_in_recovery()
    THEN (pg_last_wal_replay_lsn() - '0/0')::bigint END";

#[derive(Debug)]
pub(crate) struct Replica {
    server: Postgres,
    covered: Arc<Covered>,
    max_lag: Duration,
    reads: AtomicU64,
    fallbacks: AtomicU64,
}

/// Up to when the replica has everything; unknown while it cannot be watched.
#[derive(Debug, Default)]
struct Covered(Mutex<Option<Instant>>);

impl Covered {
    fn set(&self, covered: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = covered;
    }

    fn get(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replica {
    /// Connects when it is needed: a replica that is down keeps nobody from starting.
    pub(crate) fn open(url: &str, primary: &Postgres, options: Options) -> Result<Replica, Error> {
        let max_lag = options.max_lag;
        let server = Postgres::unconnected(url, &options)?;
        let covered = Arc::<Covered>::default();
        let watched = Arc::downgrade(&covered);
        let addresses = (Arc::clone(&primary.address), Arc::clone(&server.address));
        std::thread::Builder::new()
            .name("db-replica".to_owned())
            .spawn(move || watch(&watched, &addresses.0, &addresses.1))
            .map_err(Error::unreachable)?;
        let (reads, fallbacks) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Replica { server, covered, max_lag, reads, fallbacks })
    }

    /// Whether the running task may read here.
    pub(crate) fn is_fit(&self) -> bool {
        let covered = self.covered.get();
        covered.is_some_and(|covered| {
            stats::now() < covered + self.max_lag && lag::is_tolerated(Moment::at(covered))
        }) && !self.server.is_silent()
    }

    /// With an error in place of a result the primary is to be asked. An error of the closure is its result.
    /// `None` if the work was lost.
    pub(crate) async fn read(&self, until: Instant, work: Box<dyn Work>) -> Option<Answer> {
        let (job, mut answer) = Job::read(until, work);
        self.server.offer(job);
        let answered = match timeout_at(until.into(), &mut answer).await {
            Ok(answered) => answered.ok(),
            Err(_) => {
                self.server.expire();
                answer.await.ok()
            }
        };
        let is_read = answered.as_ref().is_some_and(|answer| answer.instead.is_none());
        let counter = if is_read { &self.reads } else { &self.fallbacks };
        counter.fetch_add(1, Relaxed);
        answered
    }

    pub(crate) fn stats(&self) -> ReplicaStats {
        let covered = self.covered.get();
        ReplicaStats {
            lag: covered.map(|covered| stats::now().saturating_duration_since(covered)),
            reads: self.reads.load(Relaxed),
            fallbacks: self.fallbacks.load(Relaxed),
        }
    }

    pub(crate) fn shut(&self) {
        self.server.shut();
    }
}

/// Looks at both servers as long as anybody wants to know.
fn watch(watched: &Weak<Covered>, primary: &Address, replica: &Address) {
    let (mut link, mut noted) = (None, VecDeque::new());
    while let Some(covered) = watched.upgrade() {
        match look(&mut link, &mut noted, primary, replica) {
            Ok(Some(until)) => covered.set(Some(until)),
            Ok(None) => {}
            Err(_) => {
                (link, noted) = (None, VecDeque::new());
                covered.set(None);
            }
        }
        drop(covered);
        std::thread::sleep(INTERVAL);
    }
}

fn look(
    link: &mut Option<(Session, Session)>,
    noted: &mut VecDeque<(Instant, i64)>,
    primary: &Address,
    replica: &Address,
) -> Result<Option<Instant>, Error> {
    let (primary, replica) = match link {
        Some(link) => link,
        None => link.insert((Session::connect(primary)?, Session::connect(replica)?)),
    };
    // Before the position is read: it includes what was committed until then.
    let now = stats::now();
    let position = primary.number(PRIMARY_POSITION)?;
    if noted.len() < MAX_NOTED {
        noted.extend(position.map(|position| (now, position)));
    }
    let Some(replayed) = replica.number(REPLAYED)? else {
        return Err(Error::unreachable("the server is no replica"));
    };
    let mut covered = None;
    while let Some((at, position)) = noted.front()
        && *position <= replayed
    {
        covered = Some(*at);
        noted.pop_front();
    }
    Ok(covered)
}

impl Session {
    fn number(&self, sql: &str) -> Result<Option<i64>, Error> {
        let row = self.awaited("replica", self.client().query_one(sql, &[]));
        row.map(|row| row.get(0)).map_err(|failed| failed.error)
    }
}
