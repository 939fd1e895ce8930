//! The worker: claims due jobs, runs them, forgets those that are done; and sweeps what expired.

use std::time::Duration;

use crate::app::App;
use crate::error::{Error, Result};
use crate::features::auth::store as auth_store;
use crate::jobs::Job;
use crate::jobs::store::{self, JobRow};

/// Longer than any job takes: after this a claimed job counts as abandoned.
const CLAIM: Duration = Duration::from_secs(120);
/// How often to look without having been woken: for retries and other nodes' jobs.
const POLL: Duration = Duration::from_secs(5);
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_AT_ONCE: i64 = 500;
const MOST_ATTEMPTS: i64 = 12;

/// Works until the application drains.
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
                tracing::error!(%error, "expired tokens could not be swept");
            }
        }
        tokio::select! {
            () = app.job_added.notified() => {}
            () = tokio::time::sleep(POLL) => {}
            () = app.draining() => {}
        }
    }
}

/// Runs everything that is due now; how many jobs were run.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut done = 0;
    loop {
        let now = app.clock.now();
        let claimed = app.db.write(move |tx| store::claim(tx, now, now.plus(CLAIM))).await?;
        let Some(row) = claimed else { return Ok(done) };
        run(app, row).await?;
        done += 1;
    }
}

async fn run(app: &App, row: JobRow) -> Result<()> {
    let (project, id) = (row.project_id, row.id);
    let result = match serde_json::from_str::<Job>(&row.payload.0) {
        Ok(job) => {
            let app = app.clone();
            // A task of its own: a job that panics has failed, and the worker goes on.
            let done = tokio::spawn(async move { job.run(&app, project).await }).await;
            done.unwrap_or_else(|panic| Err(Error::internal(panic)))
        }
        Err(error) => Err(Error::internal(error)),
    };
    let Err(error) = result else {
        return app.db.write(move |tx| store::delete(tx, project, id)).await;
    };
    if row.attempts >= MOST_ATTEMPTS {
        tracing::error!(job = %id, %project, error = error.chain(), "job given up");
        return app.db.write(move |tx| store::delete(tx, project, id)).await;
    }
    tracing::warn!(job = %id, %project, error = error.chain(), attempt = row.attempts, "job failed");
    let until = app.clock.now().plus(patience(row.attempts));
    app.db.write(move |tx| store::postpone(tx, project, id, until)).await
}

/// 10 s after the first failure, then twice as long each time: the last try comes after six hours.
fn patience(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0);
    Duration::from_secs(10) * 2_u32.pow(doublings)
}

/// In small transactions, so that other writers get their turn between them.
async fn sweep(app: &App) -> Result<()> {
    while !app.is_draining() {
        let now = app.clock.now();
        let swept = app.db.write(move |tx| auth_store::sweep(tx, now, SWEEP_AT_ONCE)).await?;
        if swept == 0 {
            break;
        }
        tracing::debug!(swept, "expired tokens and codes were swept");
    }
    Ok(())
}
