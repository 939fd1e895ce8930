//! Deciding about everything that a filter of the queue matches. A job works in batches: each is one transaction that stores
//! decisions and how far the job is, so that none is decided twice and a job that was interrupted goes on. It begins when it
//! cannot be undone any more; later it can be stopped, and what is decided by then stays.

use std::sync::Arc;
use std::time::Duration;

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::moderation::Moderator;
use crate::features::moderation::decisions::{Action, Item, Outcome, Request, UNDO_FOR};
use crate::features::moderation::queue::{self, Cursor, Filter};
use crate::jobs::{self, Job, TryLater, store};
use crate::state::App;
use crate::values::ids::{JobId, ProjectId, new_id};
use crate::values::time::Timestamp;

/// Items of one transaction.
const BATCH_SIZE: i64 = 200;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecideAll {
    /// This one. The payload of the job is also its record.
    pub job: JobId,
    pub by: Moderator,
    pub filter: Filter,
    pub action: Action,
    pub reason: Option<String>,
    /// Items that matched when it was asked for.
    pub total: i64,
    pub begins_at: Timestamp,
    #[serde(flatten)]
    pub progress: Progress,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub decided: i64,
    /// Others work on them, or have decided.
    pub refused: i64,
    /// The last item.
    after: Option<Cursor>,
    pub is_stopped: bool,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkState {
    /// It can still be undone.
    Waits,
    Runs,
    Stopped,
    Done,
}

impl DecideAll {
    /// About what the filter matches now. Refused if the reason is too long.
    pub fn new(
        app: &App,
        by: &Moderator,
        (filter, total): (Filter, i64),
        (action, reason): (Action, Option<&str>),
        now: Timestamp,
    ) -> Result<Self> {
        let reason = Request::reason(reason)?;
        Ok(DecideAll {
            job: JobId(new_id(now, &app.random)),
            by: by.clone(),
            filter,
            action,
            reason,
            total,
            begins_at: now.plus(UNDO_FOR),
            progress: Progress::default(),
        })
    }

    pub fn enqueue(&self, tx: &Tx<'_>, project: ProjectId, now: Timestamp) -> Result<()> {
        store::insert(tx, project, self.job, &jobs::payload(self)?, self.begins_at, now)
    }

    fn left(&self) -> i64 {
        self.total - self.progress.decided - self.progress.refused
    }

    /// Decides about one batch. None if nothing is left, or if it was stopped.
    async fn step(self: &Arc<Self>, app: &App, project: ProjectId) -> Result<Option<Arc<Self>>> {
        let (now, limit) = (app.clock.now(), self.left().min(BATCH_SIZE));
        if limit <= 0 {
            return Ok(None);
        }
        let of = self.clone();
        let page = app.db.read_slow(move |c| {
            queue::places(c, project, &of.filter, of.progress.after, limit, now)
        });
        let page = page.await?;
        let Some(last) = page.last().copied() else { return Ok(None) };
        let items: Vec<Item> = page.iter().map(|place| Item::Report(place.report())).collect();
        let how = (self.action, self.reason.as_deref());
        let request = Request::new(project, &self.by, &items, how, (now, &app.random))?;
        let of = self.clone();
        let stepped = app.db.write_alone(move |tx| {
            if store::lock(tx, project, of.job)?.is_none() {
                return Ok(None);
            }
            let next = of.behind(&request.record(tx)?, last);
            store::set_payload(tx, project, of.job, &jobs::payload(&next)?)?;
            Ok::<_, Error>(Some(Arc::new(next)))
        });
        stepped.await
    }

    /// After a batch.
    fn behind(&self, outcome: &Outcome, last: Cursor) -> Self {
        let count = |some: usize| i64::try_from(some).unwrap_or(i64::MAX);
        let progress = Progress {
            decided: self.progress.decided + count(outcome.decided.len()),
            refused: self.progress.refused + count(outcome.refused.len()),
            after: Some(last),
            ..self.progress
        };
        DecideAll { progress, ..self.clone() }
    }
}

impl Job for DecideAll {
    const KIND: &'static str = "decide-all";
    const IS_KEPT: bool = true;

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let mut work = Arc::new(self);
        while let Some(next) = work.step(app, project).await? {
            work = next;
            if app.is_draining() {
                let reason = "the server stops; the rest follows when it runs again".to_owned();
                return Err(Error::internal(TryLater { reason, after: Duration::ZERO }));
            }
        }
        Ok(())
    }
}

/// One that was asked for in this project, and how far it is.
pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    job: JobId,
    now: Timestamp,
) -> Result<Option<(DecideAll, BulkState)>> {
    let Some(row) = store::find(c, job)?.filter(|row| row.project_id == project) else {
        return Ok(None);
    };
    let Ok(work) = serde_json::from_str::<DecideAll>(&row.payload.0) else { return Ok(None) };
    let state = match row.ended_at {
        _ if work.progress.is_stopped => BulkState::Stopped,
        Some(_) => BulkState::Done,
        None if now < work.begins_at => BulkState::Waits,
        None => BulkState::Runs,
    };
    Ok(Some((work, state)))
}

/// Undoes it, if it has not begun, or leaves the rest undecided; false if it is over.
pub fn stop(tx: &Tx<'_>, project: ProjectId, job: JobId, now: Timestamp) -> Result<bool> {
    let Some(payload) = store::lock(tx, project, job)? else { return Ok(false) };
    let mut work: DecideAll = serde_json::from_str(&payload.0).map_err(Error::internal)?;
    work.progress.is_stopped = true;
    store::set_payload(tx, project, job, &jobs::payload(&work)?)?;
    store::end(tx, project, job, (1, now), None)?;
    Ok(true)
}
