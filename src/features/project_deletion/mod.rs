//! Deletes a project with everything in it: custom tables, rows, files. A job does it in small steps, each of
//! which finds out anew what is left, so it goes on wherever it was interrupted. What cannot be taken back begins
//! with the note that `begin` leaves; the state `pending-deletion` alone can.

pub mod store;

use std::sync::Arc;
use std::time::Duration;

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::remove as tables;
use crate::installation::store as installation;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::tenancy::{NOT_FOUND, ProjectState, store as projects};
use crate::values::ids::{JobId, ProjectId, new_id};
use crate::values::time::Timestamp;

/// Rows or objects removed at once.
const BATCH_SIZE: u16 = 500;
/// Steps after which the job goes to the back of the queue.
const STEPS: u32 = 100;
/// How soon a job that waits for a backup looks again.
const HELD_AGAIN: Duration = Duration::from_secs(60);

/// Marks the project for good and enqueues the job, also in place of one that was given up. Returns since when the
/// project has been marked, if it was before.
pub fn begin(tx: &Tx<'_>, project: ProjectId, now: Timestamp) -> Result<Option<Timestamp>> {
    if !projects::set_state(tx, project, ProjectState::PendingDeletion.name(), now)? {
        return Err(NOT_FOUND.into());
    }
    let began = installation::deletion_began(tx, project)?;
    installation::begin_deletion(tx, project, now)?;
    // A project is deleted once, so its id is unique as a job id.
    jobs::insert(tx, project, JobId(project.0), &DeleteProject {}, now)?;
    Ok(began)
}

#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteProject {}

impl Job for DeleteProject {
    const KIND: &'static str = "delete-project";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let now = app.clock.now();
        let due = match some_steps(app, project, STEPS).await? {
            Left::Nothing => return Ok(()),
            Left::Something => now,
            Left::HeldFiles(until) => until.min(now.plus(HELD_AGAIN)),
        };
        let (id, payload) = (JobId(new_id(now, &app.random)), jobs::payload(&self)?);
        let again = move |tx: &Tx<'_>| jobs::store::insert(tx, project, id, &payload, due, now);
        app.db.write(again).await
    }
}

/// What is left of a project.
#[derive(Debug, PartialEq, Eq)]
pub enum Left {
    Nothing,
    Something,
    /// Files that a backup reads, until then at the latest.
    HeldFiles(Timestamp),
}

/// Up to this many steps; the last one removes the project itself.
pub async fn some_steps(app: &App, project: ProjectId, mut steps: u32) -> Result<Left> {
    if app.db.read(move |c| installation::deletion_began(c, project)).await?.is_none() {
        return Ok(Left::Nothing);
    }
    if !remove_rows(app, project, &mut steps).await? {
        return Ok(Left::Something);
    }
    // Rows first: a backup that has seen them holds the files by now.
    let now = app.clock.now();
    let held = app.db.read(installation::files_held_until).await?;
    if let Some(until) = held.filter(|until| *until > now) {
        return Ok(Left::HeldFiles(until));
    }
    let prefix = project.to_string();
    while app.storage.remove_some(&prefix, BATCH_SIZE.into()).await? {
        if !take(&mut steps) {
            return Ok(Left::Something);
        }
    }
    // What was deleted is in the log of the database, too.
    app.db.empty_log().await.map_err(Error::from)?;
    let dialect = Dialect(app.db.engine());
    app.db.write(move |tx| tables::drop_schema(tx, project, dialect)).await?;
    let last = app.db.write(move |tx| {
        installation::end_deletion(tx, project)?;
        projects::delete(tx, project)
    });
    last.await?;
    // Of an upload that began before the project was closed.
    app.storage.remove_under(&prefix).await?;
    tracing::info!(%project, "the project was deleted");
    Ok(Left::Nothing)
}

/// Whether all rows are gone: a whole pass has found none. Requests that began before the project was closed may
/// still add some.
async fn remove_rows(app: &App, project: ProjectId, steps: &mut u32) -> Result<bool> {
    let dialect = Dialect(app.db.engine());
    let plan = Arc::new(app.db.read(|c| store::plan(c, DeleteProject::KIND)).await?);
    loop {
        let mut is_clean = true;
        let batch = i64::from(BATCH_SIZE);
        while app.db.write(move |tx| tables::some(tx, project, dialect, batch)).await? {
            is_clean = false;
            if !take(steps) {
                return Ok(false);
            }
        }
        for at in 0..plan.len() {
            loop {
                let plan = plan.clone();
                let deleted = app.db.write(move |tx| store::delete_some(tx, project, &plan[at]));
                if deleted.await? == 0 {
                    break;
                }
                is_clean = false;
                if !take(steps) {
                    return Ok(false);
                }
            }
        }
        if is_clean {
            return Ok(true);
        }
    }
}

/// False if that was the last one.
fn take(steps: &mut u32) -> bool {
    *steps = steps.saturating_sub(1);
    *steps > 0
}
