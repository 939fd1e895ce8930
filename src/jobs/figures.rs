//! What waits, for the operator's metrics. Counted at most every ten seconds, however often they are asked for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::jobs::store::figures;
use crate::metrics::{Backlog, JobState};
use crate::state::App;

const EVERY: Duration = Duration::from_secs(10);
/// Metrics are wanted most when the database is slow.
const WAIT: Duration = Duration::from_secs(2);
const DAY: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Default)]
struct Counted(Mutex<Option<(Duration, Vec<Backlog>)>>);

/// None while the database cannot be asked.
pub async fn backlog(app: &App) -> Option<Vec<Backlog>> {
    let (counted, now) = (app.features.get::<Counted>(), app.clock.uptime());
    let lock = || counted.0.lock().unwrap_or_else(PoisonError::into_inner);
    let recent =
        lock().as_ref().filter(|(at, _)| now < *at + EVERY).map(|(_, found)| found.clone());
    if recent.is_some() {
        return recent;
    }
    let found = tokio::time::timeout(WAIT, count(app)).await.ok()?.ok()?;
    *lock() = Some((now, found.clone()));
    Some(found)
}

async fn count(app: &App) -> Result<Vec<Backlog>> {
    let now = app.clock.now();
    let reading = app.db.read_slow(move |c| -> Result<_> {
        Ok((figures::backlog(c)?, figures::given_up(c, now.minus(DAY))?))
    });
    let (waiting, failed) = reading.await?;
    let waiting = waiting.into_iter().map(|row| {
        let overdue = now.millis().saturating_sub(row.first_due.millis()).max(0);
        let overdue = Duration::from_millis(overdue.unsigned_abs()).as_secs_f64();
        let state = if row.was_tried { JobState::Retrying } else { JobState::Waiting };
        Backlog { kind: row.kind, state, jobs: row.jobs, overdue }
    });
    let failed = failed.into_iter().map(|(kind, jobs)| Backlog {
        kind,
        state: JobState::Failed,
        jobs,
        overdue: 0.0,
    });
    Ok(waiting.chain(failed).collect())
}
