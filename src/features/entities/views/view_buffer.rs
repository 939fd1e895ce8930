//! Views and stale scores, buffered in memory and written in batches: reads do not write. A crash may lose
//! the last second of views; a clean shutdown loses nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::features::entities::model::Entity;
use crate::features::entities::score::formula::{ScoreInputs, is_stale};
use crate::features::entities::score::store;
use crate::state::App;
use crate::values::ids::{EntityId, ProjectId};
use crate::values::time::Timestamp;

const EVERY: Duration = Duration::from_secs(1);
/// Entities updated in one transaction; other writers run in between.
const BATCH_SIZE: usize = 256;
/// Stale scores beyond this number wait for the next read.
const MAX_STALE: usize = 100_000;

type Key = (ProjectId, EntityId);

#[derive(Debug, Default)]
pub struct ViewBuffer {
    buffered: Mutex<Buffered>,
}

#[derive(Debug, Default)]
struct Buffered {
    views: HashMap<Key, i64>,
    stale: HashSet<Key>,
}

/// One transaction's batch, all of one project.
#[derive(Debug, Clone)]
struct Batch {
    project: ProjectId,
    views: Vec<(EntityId, i64)>,
    stale: Vec<EntityId>,
}

impl Batch {
    /// Split into one batch for each transaction; views first, since scores depend on them. Sorted, so that
    /// two writers never deadlock.
    fn split(self) -> Vec<Batch> {
        let Batch { project, mut views, mut stale } = self;
        views.sort_unstable();
        stale.sort_unstable();
        let views = views.chunks(BATCH_SIZE).map(|views| (views, &[][..]));
        let parts = views.chain(stale.chunks(BATCH_SIZE).map(|stale| (&[][..], stale)));
        let batch = |(views, stale): (&[_], &[_])| Batch {
            project,
            views: views.to_vec(),
            stale: stale.to_vec(),
        };
        parts.map(batch).collect()
    }
}

impl ViewBuffer {
    /// Counts a view; returns how many are not yet written.
    pub fn view(&self, project: ProjectId, entity: EntityId) -> i64 {
        let mut buffered = self.lock();
        let views = buffered.views.entry((project, entity)).or_default();
        *views += 1;
        *views
    }

    /// Notes the entity if its score is stale.
    pub fn note_stale(&self, entity: &Entity, now: Timestamp) {
        if !is_stale(entity.score_updated_at, entity.created_at, now) {
            return;
        }
        let mut buffered = self.lock();
        if buffered.stale.len() < MAX_STALE {
            buffered.stale.insert((entity.project_id, entity.id));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Buffered> {
        self.buffered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything, in batches of one project each.
    fn take(&self) -> Vec<Batch> {
        let Buffered { views, stale } = std::mem::take(&mut *self.lock());
        let mut projects: HashMap<ProjectId, Batch> = HashMap::new();
        let batch = |project| Batch { project, views: Vec::new(), stale: Vec::new() };
        for ((project, id), views) in views {
            projects.entry(project).or_insert_with(|| batch(project)).views.push((id, views));
        }
        for (project, id) in stale {
            projects.entry(project).or_insert_with(|| batch(project)).stale.push(id);
        }
        projects.into_values().flat_map(Batch::split).collect()
    }

    fn put_back(&self, batch: Batch) {
        let mut buffered = self.lock();
        for (id, views) in batch.views {
            *buffered.views.entry((batch.project, id)).or_default() += views;
        }
        buffered.stale.extend(batch.stale.into_iter().map(|id| (batch.project, id)));
    }
}

/// Writes everything that has been buffered so far.
pub async fn flush(app: &App) -> Result<()> {
    let mut outcome = Ok(());
    let buffer = app.features.get::<ViewBuffer>();
    for batch in buffer.take() {
        // After a failure the remaining views wait for the next flush.
        if outcome.is_ok() {
            outcome = write(app, batch.clone()).await;
        }
        if outcome.is_err() {
            buffer.put_back(batch);
        }
    }
    outcome
}

async fn write(app: &App, batch: Batch) -> Result<()> {
    let now = app.clock.now();
    // A deleted project has no entities left.
    let Some(project) = app.projects.get(&app.db, batch.project, app.clock.uptime()).await? else {
        return Ok(());
    };
    let written = app.db.write(move |tx| {
        store::add_views(tx, project.id, &batch.views)?;
        let score_inputs = store::score_inputs(tx, project.id, &batch.stale)?;
        let score =
            |(id, inputs): (EntityId, ScoreInputs)| (id, inputs.score(now, project.score_hours));
        let mut scored: Vec<(EntityId, f64)> = score_inputs.into_iter().map(score).collect();
        scored.sort_unstable_by_key(|(id, _)| *id);
        store::set_scores(tx, project.id, &scored, now)
    });
    written.await
}

/// Flushes once a second until the server drains.
pub async fn flush_loop(app: App) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = app.draining() => return,
        }
        if let Err(error) = flush(&app).await {
            tracing::warn!(error = %error, "views and scores could not be written; they are kept");
        }
    }
}
