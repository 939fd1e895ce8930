//! The worker: claims due jobs and queues, runs several at once, and sweeps expired rows. No project occupies more
//! than its share, so one whose jobs hang does not delay the others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use db::{Signal, Tx};
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::jobs::TryLater;
use crate::jobs::execution::{UNKNOWN, claimed, described, execute, finish, kind_name};
use crate::jobs::queue::{self, Claim};
use crate::jobs::store::{self, JobRow, queues};
use crate::state::{App, Retention, Sweep};
use crate::values::ids::{ProjectId, QueueId};
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// After this a claimed job counts as abandoned. The claim is renewed while the job runs, so its node is dead then.
pub(super) const CLAIM: Duration = Duration::from_secs(120);
/// The same for a queue, whose claim is also renewed in time before each job.
pub(super) const QUEUE_CLAIM: Duration = Duration::from_secs(60);
/// Poll interval without a wake-up: for retries and other nodes' jobs.
const POLL: Duration = Duration::from_secs(2);
/// How often all queues are looked at: for those of nodes that died.
const POLL_QUEUES: Duration = Duration::from_secs(30);
/// How long a failing queue is not looked at, however many jobs are added to it meanwhile.
const REST: Duration = Duration::from_secs(1);
const SWEEP_EVERY: Duration = Duration::from_secs(60);
const SWEEP_BATCH_SIZE: i64 = 500;
const MAX_ATTEMPTS: i64 = 12;
const MAX_JOBS: usize = 16;
const MAX_JOBS_OF_PROJECT: usize = 4;
const MAX_QUEUES: usize = 64;

/// Runs until the application drains.
pub async fn work(app: App) {
    let (mut swept_at, mut queues_at) = (None::<Duration>, None::<Duration>);
    let mut running = Running::default();
    let mut wake = Wake::Poll;
    while !app.is_draining() {
        let now = app.clock.uptime();
        let is_due = |at: &mut Option<Duration>, every: Duration| {
            let is_due = at.is_none_or(|at| now >= at + every);
            *at = if is_due { Some(now) } else { *at };
            is_due
        };
        let filled = match wake {
            Wake::Signals(signals) => running.start_signalled(&app, signals).await,
            Wake::Poll if is_due(&mut queues_at, POLL_QUEUES) => {
                running.fill(&app, Look::AllQueues).await
            }
            Wake::Poll => running.fill(&app, Look::Retries).await,
        };
        if let Err(error) = filled {
            tracing::error!(%error, "the job queue could not be worked");
        }
        if is_due(&mut swept_at, SWEEP_EVERY)
            && let Err(error) = sweep(&app).await
        {
            tracing::error!(%error, "expired rows could not be swept");
        }
        wake = tokio::select! {
            Some(_) = running.finished(&app) => Wake::Poll,
            committed = app.db.signalled() => Wake::Signals(committed),
            () = tokio::time::sleep(POLL) => Wake::Poll,
            () = app.draining() => Wake::Poll,
        };
    }
    while running.finished(&app).await.is_some() {}
}

/// Why the worker looks for work.
enum Wake {
    /// Jobs were added to these queues.
    Signals(Vec<Signal>),
    /// Time has passed, or something has ended.
    Poll,
}

/// Runs everything that is due now; returns the number of jobs.
pub async fn run_due(app: &App) -> Result<usize> {
    let (mut running, mut done) = (Running::default(), 0);
    loop {
        running.fill(app, Look::AllQueues).await?;
        match running.finished(app).await {
            Some(jobs) => done += jobs,
            None => return Ok(done),
        }
    }
}

/// Which queues are looked at besides those that were signalled.
#[derive(Clone, Copy)]
enum Look {
    AllQueues,
    Retries,
}

/// What a task ran, and how many jobs of it.
#[derive(Clone, Copy)]
enum Ran {
    Job(ProjectId),
    Queue { project: ProjectId, queue: QueueId, jobs: usize, has_failed: bool },
}

/// A queue that is not looked at for a moment.
struct Rest {
    project: ProjectId,
    until: Duration,
    /// Jobs were added to it meanwhile.
    is_signalled: bool,
}

/// The jobs and queues that this worker runs at the moment.
#[derive(Default)]
struct Running {
    tasks: JoinSet<Ran>,
    jobs: HashMap<ProjectId, usize>,
    /// Whether jobs were added to it since it started.
    queues: HashMap<QueueId, bool>,
    resting: HashMap<QueueId, Rest>,
}

impl Running {
    /// Starts what is due, as far as there is room.
    async fn fill(&mut self, app: &App, look: Look) -> Result<()> {
        self.start_all_jobs(app).await?;
        let now = app.clock.uptime();
        for (queue, rest) in
            self.resting.extract_if(|_, rest| rest.until <= now).collect::<Vec<_>>()
        {
            if rest.is_signalled {
                self.start_queue(app, rest.project, queue).await?;
            }
        }
        while self.queues.len() < MAX_QUEUES && self.start_queues(app, look).await? {}
        Ok(())
    }

    /// Starts what jobs were added to, without looking at anything else.
    async fn start_signalled(&mut self, app: &App, signals: Vec<Signal>) -> Result<()> {
        let mut seen = HashSet::new();
        for (project, queue) in signals.into_iter().filter(|signal| seen.insert(*signal)) {
            let (project, queue) = (ProjectId(project), QueueId(queue));
            if queue.0.is_nil() {
                self.start_all_jobs(app).await?;
            } else if let Some(rest) = self.resting.get_mut(&queue) {
                rest.is_signalled = true;
            } else if let Some(is_signalled) = self.queues.get_mut(&queue) {
                *is_signalled = true;
            } else if self.queues.len() < MAX_QUEUES {
                self.start_queue(app, project, queue).await?;
            } else {
                let until = app.clock.uptime();
                self.resting.insert(queue, Rest { project, until, is_signalled: true });
            }
        }
        Ok(())
    }

    async fn start_all_jobs(&mut self, app: &App) -> Result<()> {
        while self.jobs.values().sum::<usize>() < MAX_JOBS && self.start_jobs(app).await? {}
        Ok(())
    }

    /// Whether some were started.
    async fn start_jobs(&mut self, app: &App) -> Result<bool> {
        let is_busy = |jobs: usize| jobs >= MAX_JOBS_OF_PROJECT;
        let busy = self.jobs.iter().filter(|(_, jobs)| is_busy(**jobs));
        let busy: Vec<ProjectId> = busy.map(|(project, _)| *project).collect();
        let now = app.clock.now();
        let mut has_started = false;
        for (project, id) in app.db.read(move |c| store::due(c, now, &busy)).await? {
            let running = self.jobs.get(&project).copied().unwrap_or(0);
            if is_busy(running) || self.jobs.values().sum::<usize>() >= MAX_JOBS {
                continue;
            }
            let until = now.plus(CLAIM);
            let claim = app.db.write(move |tx| store::claim(tx, project, id, now, until));
            let Some(row) = claim.await? else { continue };
            has_started = true;
            self.jobs.insert(project, running + 1);
            let app = app.clone();
            self.tasks.spawn(async move {
                let kind = kind_name(&app, &row);
                if let Err(error) = run(&app, row, until).await {
                    tracing::error!(%error, job = %id, kind, %project, "the end of a job could not be stored");
                }
                Ran::Job(project)
            });
        }
        Ok(has_started)
    }

    async fn start_queues(&mut self, app: &App, look: Look) -> Result<bool> {
        let busy: Vec<QueueId> = self.queues.keys().copied().collect();
        let now = app.clock.now();
        let due = app.db.read(move |c| match look {
            Look::AllQueues => queues::due(c, now, &busy),
            Look::Retries => queues::due_retries(c, now, &busy),
        });
        let mut has_started = false;
        for (project, id) in due.await? {
            has_started |= self.start_queue(app, project, id).await?;
        }
        Ok(has_started)
    }

    /// Whether it was free.
    async fn start_queue(&mut self, app: &App, project: ProjectId, id: QueueId) -> Result<bool> {
        let now = app.clock.now();
        let until = now.plus(QUEUE_CLAIM);
        if self.queues.contains_key(&id) {
            return Ok(false);
        }
        let claim = app.db.write(move |tx| queues::claim(tx, project, id, now, until));
        let Some(row) = claim.await? else {
            let found = app.db.read(move |c| queues::find(c, project, id)).await?;
            if found.is_some_and(|row| row.failures > 0) {
                self.rest(app, project, id, false);
            }
            return Ok(false);
        };
        self.queues.insert(id, false);
        let app = app.clone();
        self.tasks.spawn(async move {
            let (jobs, ended) = queue::run(&app, Claim { project, queue: id, row, until }).await;
            let has_failed = !matches!(ended, Ok(queue::Ended::Released));
            if let Err(error) = ended {
                tracing::error!(%error, queue = %id, "a job queue could not be worked");
            }
            Ran::Queue { project, queue: id, jobs, has_failed }
        });
        Ok(true)
    }

    /// Lets a failing queue rest: its next attempt is not due yet, or has just failed.
    fn rest(&mut self, app: &App, project: ProjectId, queue: QueueId, is_signalled: bool) {
        let until = app.clock.uptime() + REST;
        self.resting.insert(queue, Rest { project, until, is_signalled });
    }

    /// Waits for the next task to end; the number of its jobs. None when nothing runs.
    async fn finished(&mut self, app: &App) -> Option<usize> {
        // A job that panics does so in a task of its own, so these tasks always end well.
        let ran = self.tasks.join_next().await?.ok()?;
        Some(match ran {
            Ran::Job(project) => {
                let jobs = self.jobs.entry(project).or_default();
                *jobs = jobs.saturating_sub(1);
                if *jobs == 0 {
                    self.jobs.remove(&project);
                }
                1
            }
            Ran::Queue { project, queue, jobs, has_failed } => {
                let is_signalled = self.queues.remove(&queue).unwrap_or_default();
                if has_failed {
                    self.rest(app, project, queue, is_signalled);
                } else if is_signalled {
                    let until = app.clock.uptime();
                    self.resting.insert(queue, Rest { project, until, is_signalled });
                }
                jobs
            }
        })
    }
}

async fn run(app: &App, row: JobRow, until: Timestamp) -> Result<()> {
    let (project, id) = (row.project_id, row.id);
    let is_last = row.attempts >= MAX_ATTEMPTS;
    let renew = |held, longer| app.db.write(move |tx| store::renew(tx, project, id, held, longer));
    let running = execute(app, &row, is_last);
    let ((kind, result), _) = claimed(app, running, (until, CLAIM), renew).await;
    let now = app.clock.now();
    let Err(error) = result else {
        return app.db.write(move |tx| finish(tx, &row, kind, now)).await;
    };
    let wanted = match &error {
        Error::Internal(source) => source.downcast_ref::<TryLater>().map(|later| later.after),
        _ => None,
    };
    let (error, attempt) = (described(&error), row.attempts);
    let kind = kind.map_or(UNKNOWN, |kind| kind.name);
    if is_last {
        tracing::error!(job = %id, kind, %project, error, "job given up");
        let ended = move |tx: &Tx<'_>| store::end(tx, project, id, (attempt, now), Some(&error));
        return app.db.write(ended).await;
    }
    tracing::warn!(job = %id, kind, %project, error, attempt, "job failed");
    let delay = backoff(FIRST_RETRY, attempt, &app.random).max(wanted.unwrap_or_default());
    let until = now.plus(delay);
    app.db.write(move |tx| store::postpone(tx, project, id, until, &error)).await
}

/// The last of the attempts comes about six hours after the first.
const FIRST_RETRY: Duration = Duration::from_secs(10);

/// The delay after this many failures: exponential, and up to a fifth shorter, so that those who failed together do
/// not return together.
pub(super) fn backoff(first: Duration, failures: i64, random: &Random) -> Duration {
    let doublings = u32::try_from(failures - 1).unwrap_or(0).min(20);
    let [jitter] = random.bytes::<1>();
    first * 2_u32.pow(doublings) * (1280 - u32::from(jitter)) / 1280
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
    drop_old(app).await
}

/// Rows that the settings say to keep no longer.
pub async fn drop_old(app: &App) -> Result<()> {
    for Retention { keep, drop } in app.lists.of::<Retention>().iter().copied() {
        let Some(keep) = keep(&app.config) else { continue };
        while !app.is_draining() {
            let (of, before) = (app.clone(), app.clock.now().minus(keep));
            let dropped = app.db.write(move |tx| drop(tx, &of, before, SWEEP_BATCH_SIZE)).await?;
            if dropped == 0 {
                break;
            }
            tracing::debug!(dropped, "old rows were dropped");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_delay_is_twice_the_one_before_less_at_most_a_fifth() {
        let random = Random::seeded(1);
        for (failures, seconds) in [(1, 10), (2, 20), (5, 160), (12, 20_480)] {
            let delay = backoff(FIRST_RETRY, failures, &random);
            let whole = Duration::from_secs(seconds);
            assert!(delay <= whole && delay >= whole * 4 / 5, "{failures}: {delay:?}");
        }
    }
}
