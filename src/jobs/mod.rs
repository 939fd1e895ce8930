//! Background jobs, and the outbox: whatever must happen outside the database because of a transaction is a job
//! that the transaction inserts. A job is a row that a worker of any node runs at least once; a failed job is
//! retried with exponential backoff, and one that is given up stays as a dead letter for the operator. Jobs of a
//! queue run one after another. Each feature declares its own jobs; `features/mod.rs` lists their kinds.

mod execution;
pub mod figures;
mod queue;
pub mod store;
mod worker;

pub use worker::{drop_old, run_due, work};

use std::fmt;
use std::future::Future;
use std::time::Duration;

use db::Tx;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Builder;

use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::state::{App, JobKind};
use crate::values::ids::{JobId, ProjectId, QueueId, new_id};
use crate::values::time::Timestamp;

pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Stored with every job of this kind, so it must never change.
    const KIND: &'static str;
    /// Whether a job that is done is kept for a while, so that an operator can look at it and run it again.
    const IS_KEPT: bool = false;

    fn run(self, app: &App, project: ProjectId) -> impl Future<Output = Result<()>> + Send;

    /// Runs when a queue of these jobs is paused because they have failed for too long.
    fn paused(
        _app: &App,
        _project: ProjectId,
        _queue: QueueId,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
}

/// The failure of a job whose cause names the time after which it may succeed: the next attempt is not earlier.
#[derive(Debug)]
pub struct TryLater {
    pub reason: String,
    pub after: Duration,
}

impl fmt::Display for TryLater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for TryLater {}

/// For the list of all kinds.
pub const fn kind<J: Job>() -> JobKind {
    JobKind {
        name: J::KIND,
        run: |app, project, payload| {
            let job: Result<J> = serde_json::from_str(payload).map_err(Error::internal);
            Box::pin(async move { job?.run(&app, project).await })
        },
        is_kept: J::IS_KEPT,
        paused: |app, project, queue| {
            Box::pin(async move { J::paused(&app, project, queue).await })
        },
    }
}

#[derive(Serialize)]
struct Payload<'a, J> {
    kind: &'static str,
    #[serde(flatten)]
    job: &'a J,
}

/// As it is stored.
pub fn payload<J: Job>(job: &J) -> Result<String> {
    serde_json::to_string(&Payload { kind: J::KIND, job }).map_err(Error::internal)
}

/// An id for a job of a transaction that draws none, because it may run twice: the same for the same text.
pub fn derived_id(text: &str) -> JobId {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash(text)) {
        *to = from;
    }
    JobId(Builder::from_random_bytes(bytes).into_uuid())
}

/// Enqueues a job that is due at once, in the caller's transaction. The id must not be random: the
/// transaction may run twice.
pub fn insert<J: Job>(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    job: &J,
    now: Timestamp,
) -> Result<()> {
    store::insert(tx, project, id, &payload(job)?, now, now)
}

/// Enqueues a job behind all others of its queue, in the caller's transaction. The queue must exist.
pub fn insert_queued<J: Job>(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    id: JobId,
    job: &J,
    now: Timestamp,
) -> Result<()> {
    store::queues::push(tx, project, queue, id, &payload(job)?, now)
}

/// Enqueues a job in a transaction of its own.
pub async fn enqueue<J: Job>(app: &App, project: ProjectId, job: J, now: Timestamp) -> Result<()> {
    let id = JobId(new_id(now, &app.random));
    app.db.write(move |tx| insert(tx, project, id, &job, now)).await
}
