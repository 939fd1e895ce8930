//! One run of one job: what it is, how it ended, what is kept of it.

use std::borrow::Cow;
use std::time::Duration;

use db::Tx;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::jobs::store::{self, JobRow};
use crate::metrics::JobOutcome;
use crate::state::{App, JobKind};
use crate::values::time::Timestamp;

/// The kind of a job that no feature knows.
pub(super) const UNKNOWN: &str = "unknown";

/// Runs a job. The kind is none if no feature knows it. `is_last`: a failure is not retried.
pub(super) async fn execute(
    app: &App,
    row: &JobRow,
    is_last: bool,
) -> (Option<JobKind>, Result<()>) {
    let started = app.clock.uptime();
    let (kind, done) = match find_kind(app, &row.payload.0) {
        Ok(kind) => {
            // In a task of its own: a job that panics fails, and the worker continues.
            let running = (kind.run)(app.clone(), row.project_id, &row.payload.0);
            let done = tokio::spawn(running).await;
            (Some(kind), done.unwrap_or_else(|panic| Err(Error::internal(panic))))
        }
        Err(error) => (None, Err(error)),
    };
    let took = app.clock.uptime().saturating_sub(started);
    let outcome = match &done {
        Ok(()) => JobOutcome::Done,
        Err(_) if is_last => JobOutcome::GivenUp,
        Err(_) => JobOutcome::Failed,
    };
    let name = kind.map_or(UNKNOWN, |kind| kind.name);
    app.metrics.job_ran(name, outcome, took);
    tracing::debug!(job = %row.id, kind = name, project = %row.project_id, ?outcome, ?took, "job ran");
    (kind, done)
}

/// Renews a claim as long as the work takes: from when it ends to a later time. Returns when it ends then. A claim that is
/// lost does not stop the work: jobs may run twice.
pub(super) async fn claimed<T, F: Future<Output = Result<bool>>>(
    app: &App,
    work: impl Future<Output = T>,
    (mut until, length): (Timestamp, Duration),
    renew: impl Fn(Timestamp, Timestamp) -> F,
) -> (T, Timestamp) {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, until),
            () = tokio::time::sleep(length / 3) => {}
        }
        let longer = app.clock.now().plus(length);
        match renew(until, longer).await {
            Ok(true) => until = longer,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "the claim of a job could not be renewed"),
        }
    }
}

/// For the log.
pub(super) fn kind_name(app: &App, row: &JobRow) -> &'static str {
    find_kind(app, &row.payload.0).map_or(UNKNOWN, |kind| kind.name)
}

/// With all its causes.
pub(super) fn described(error: &Error) -> String {
    error.chain().unwrap_or_else(|| error.to_string())
}

/// A job is done: it goes, or is kept.
pub(super) fn finish(
    tx: &Tx<'_>,
    row: &JobRow,
    kind: Option<JobKind>,
    now: Timestamp,
) -> Result<()> {
    if kind.is_some_and(|kind| kind.is_kept) {
        return store::end(tx, row.project_id, row.id, (row.attempts, now), None);
    }
    store::delete(tx, row.project_id, row.id).map(drop)
}

/// What every payload has.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
}

fn find_kind(app: &App, payload: &str) -> Result<JobKind> {
    let Named { kind: name } = serde_json::from_str(payload).map_err(Error::internal)?;
    let kind = app.lists.of::<JobKind>().iter().find(|kind| kind.name == name);
    kind.copied().ok_or_else(|| Error::internal(format!("no job is called `{name}`")))
}
