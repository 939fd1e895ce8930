//! One queue: its jobs run one after another, in the order of their insertion. While the first one fails, the others
//! wait behind it; after a day it is given up. A queue whose jobs have all failed for a day is paused.

use std::time::Duration;

use crate::error::Result;
use crate::jobs::execution::{UNKNOWN, claimed, described, execute, finish};
use crate::jobs::store::queues::{self, QueueRow};
use crate::jobs::store::{self, JobRow};
use crate::jobs::worker::{QUEUE_CLAIM as CLAIM, backoff};
use crate::state::{App, JobKind};
use crate::values::ids::{ProjectId, QueueId};
use crate::values::time::Timestamp;

/// With the poll interval, the first retry comes within five seconds.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const MAX_RETRY: Duration = Duration::from_secs(3600);
/// How long a job is tried, and how long a queue may fail before it is paused.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// The right to run a queue until a time; no other worker has it meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub project: ProjectId,
    pub queue: QueueId,
    pub row: QueueRow,
    pub until: Timestamp,
}

/// Why a queue does not run any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It is empty, or another worker has claimed it.
    Released,
    Failed,
}

/// Runs the queue until it is empty, a job fails, or another worker has claimed it; returns how many jobs ran.
pub(super) async fn run(app: &App, mut claim: Claim) -> (usize, Result<Ended>) {
    let mut jobs = 0;
    loop {
        match next(app, &mut claim, &mut jobs).await {
            Ok(None) => {}
            Ok(Some(ended)) => return (jobs, Ok(ended)),
            Err(error) => return (jobs, Err(error)),
        }
    }
}

/// Runs the first job, if there is one; none if more may follow.
async fn next(app: &App, claim: &mut Claim, jobs: &mut usize) -> Result<Option<Ended>> {
    let Claim { project, queue, row, until } = *claim;
    let now = app.clock.now();
    if now.plus(CLAIM / 2) > until {
        let longer = now.plus(CLAIM);
        let renewed = app.db.write(move |tx| queues::renew(tx, project, queue, until, longer));
        if !renewed.await? {
            return Ok(Some(Ended::Released));
        }
        claim.until = longer;
    }
    let job = app.db.read(move |c| queues::next(c, project, queue)).await?;
    let Some(mut job) = job.filter(|_| !app.is_draining()) else {
        app.db.write(move |tx| queues::set(tx, project, queue, now, row)).await?;
        return reclaim(app, claim).await;
    };
    let is_last = now >= job.created_at.plus(MAX_AGE);
    let renew =
        |held, longer| app.db.write(move |tx| queues::renew(tx, project, queue, held, longer));
    let running = execute(app, &job, is_last);
    let ((kind, result), until) = claimed(app, running, (claim.until, CLAIM), renew).await;
    claim.until = until;
    *jobs += 1;
    job.attempts += 1;
    let now = app.clock.now();
    let Err(error) = result else {
        claim.row = QueueRow { failures: 0, failing_since: None, paused_at: None };
        app.db.write(move |tx| finish(tx, &job, kind, now)).await?;
        return Ok(None);
    };
    fail(app, *claim, job, kind, described(&error)).await?;
    Ok(Some(Ended::Failed))
}

/// Claims the queue again, if a job was added between the last look and the release: the one who added it found the
/// queue claimed.
async fn reclaim(app: &App, claim: &mut Claim) -> Result<Option<Ended>> {
    let Claim { project, queue, .. } = *claim;
    let job = app.db.read(move |c| queues::next(c, project, queue)).await?;
    if job.is_none() || app.is_draining() {
        return Ok(Some(Ended::Released));
    }
    let now = app.clock.now();
    let until = now.plus(CLAIM);
    let again = app.db.write(move |tx| queues::claim(tx, project, queue, now, until)).await?;
    let Some(row) = again else { return Ok(Some(Ended::Released)) };
    *claim = Claim { row, until, ..*claim };
    Ok(None)
}

async fn fail(
    app: &App,
    claim: Claim,
    job: JobRow,
    kind: Option<JobKind>,
    error: String,
) -> Result<()> {
    let Claim { project, queue, row, .. } = claim;
    let (now, name) = (app.clock.now(), kind.map_or(UNKNOWN, |kind| kind.name));
    let since = row.failing_since.unwrap_or(now);
    let is_paused = now >= since.plus(MAX_AGE);
    let failures = row.failures + 1;
    tracing::warn!(job = %job.id, kind = name, %project, error, failures, "job failed");
    let after =
        QueueRow { failures, failing_since: Some(since), paused_at: is_paused.then_some(now) };
    let run_at = now.plus(backoff(FIRST_RETRY, failures, &app.random).min(MAX_RETRY));
    let is_given_up = now >= job.created_at.plus(MAX_AGE);
    let written = app.db.write(move |tx| {
        match is_given_up {
            true => store::end(tx, project, job.id, (job.attempts, now), Some(&error))?,
            false => queues::count_attempt(tx, project, job.id, &error)?,
        }
        queues::set(tx, project, queue, run_at, after)
    });
    written.await?;
    if let Some(kind) = kind.filter(|_| is_paused) {
        tracing::error!(%queue, kind = name, %project, "job queue paused: it has failed for a day");
        (kind.paused)(app.clone(), project, queue).await?;
    }
    Ok(())
}
