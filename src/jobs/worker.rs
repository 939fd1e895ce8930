//! The worker: claims due jobs, runs them, deletes those that are done, and sweeps expired rows.

use std::time::Duration;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::jobs::store::{self, JobRow};
use crate::state::{App, JobKind, Sweep};

/// Longer than any job takes: after this a claimed job counts as abandoned.
const CLAIM: Duration = Duration::from_secs(120);
/// Poll interval without a wake-up: for retries and other nodes' jobs.
const POLL: Duration = Duration::from_secs(5);
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_BATCH_SIZE: i64 = 500;
const MAX_ATTEMPTS: i64 = 12;

/// Runs until the application drains.
pub async fn work(app: App) {
    let mut swept_at = None::<Duration>;
    while !app.is_draining() {
        if let Err(error) = run_due(&app).await {
            tracing::error!(%error, "the job queue could not be worked");
        }
        let now = app.clock.uptime();
        if swept_at.is_none_or(|at| now >= at + SWEEP_EVERY) {
            swept_at = Some(now);
            if let Err(error) = sweep(&app).await {
                tracing::error!(%error, "expired rows could not be swept");
            }
        }
        tokio::select! {
            () = app.job_added.notified() => {}
            () = tokio::time::sleep(POLL) => {}
            () = app.draining() => {}
        }
    }
}

/// Runs everything that is due now; returns the number of jobs.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut done = 0;
    loop {
        let now = app.clock.now();
        let due = app.db.read(move |c| store::due(c, now)).await?;
        if due.is_empty() {
            return Ok(done);
        }
        for (project, id) in due {
            let now = app.clock.now();
            let until = now.plus(CLAIM);
            let claim = app.db.write(move |tx| store::claim(tx, project, id, now, until));
            if let Some(row) = claim.await? {
                run(app, row).await?;
                done += 1;
            }
        }
    }
}

async fn run(app: &App, row: JobRow) -> Result<()> {
    let (project, id) = (row.project_id, row.id);
    let result = match find_kind(app, &row.payload.0) {
        Ok((kind, payload)) => {
            // In a task of its own: a job that panics fails, and the worker continues.
            let done = tokio::spawn((kind.run)(app.clone(), project, payload)).await;
            done.unwrap_or_else(|panic| Err(Error::internal(panic)))
        }
        Err(error) => Err(error),
    };
    let Err(error) = result else {
        return app.db.write(move |tx| store::delete(tx, project, id)).await;
    };
    if row.attempts >= MAX_ATTEMPTS {
        tracing::error!(job = %id, %project, error = error.chain(), "job given up");
        return app.db.write(move |tx| store::delete(tx, project, id)).await;
    }
    tracing::warn!(job = %id, %project, error = error.chain(), attempt = row.attempts, "job failed");
    let until = app.clock.now().plus(backoff(row.attempts));
    app.db.write(move |tx| store::postpone(tx, project, id, until)).await
}

fn find_kind(app: &App, payload: &str) -> Result<(JobKind, Value)> {
    let payload: Value = serde_json::from_str(payload).map_err(Error::internal)?;
    let name = payload.get("kind").and_then(Value::as_str).unwrap_or_default();
    let kind = app.lists.of::<JobKind>().iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| Error::internal(format!("no job is called `{name}`")))?;
    Ok((*kind, payload))
}

/// Exponential: 10 s after the first failure, then twice as long each time. The last try comes after six hours.
fn backoff(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0);
    Duration::from_secs(10) * 2_u32.pow(doublings)
}

/// In small transactions, so that other writers run in between.
async fn sweep(app: &App) -> Result<()> {
    for Sweep(sweep) in app.lists.of::<Sweep>().iter().copied() {
        while !app.is_draining() {
            let now = app.clock.now();
            let swept = app.db.write(move |tx| sweep(tx, now, SWEEP_BATCH_SIZE)).await?;
            if swept == 0 {
                break;
            }
            tracing::debug!(swept, "expired rows were swept");
        }
    }
    Ok(())
}
