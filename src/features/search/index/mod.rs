//! The indexer: works off the queue of changed records, project by project. One transaction at a time writes the index
//! of a project, on any node.

mod records;
pub mod vectors;
mod verify;
mod write;

pub use verify::differing;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use db::Db;
use text_index::Analyzer;
use uuid::Uuid;

use crate::error::Result;
use crate::features::deletion::user::EmptyDatabaseLog;
use crate::features::search::store::{self, fill};
use crate::jobs;
use crate::metrics::SearchFigures;
use crate::search_queue::Kind;
use crate::state::App;
use crate::tenancy::store as projects;
use crate::values::ids::{JobId, ProjectId, new_id};

/// How often the queue is looked at; a change is found soon after.
const EVERY: Duration = Duration::from_millis(200);
/// Records in one transaction: few, so that other writers do not wait for long.
const BATCH_SIZE: i64 = 100;
/// Records in one transaction while many wait, as after a rebuild: a term is then written once for all of them.
const BULK_SIZE: i64 = 2000;
/// Ids queued in one transaction when a project is filled.
const FILL_SIZE: i64 = 2000;
/// By then what a deleted user wrote is out of the index, too.
const LOG_EMPTIED_AFTER: Duration = Duration::from_secs(10);
/// Figures are left out rather than waited for.
const FIGURES_WAIT: Duration = Duration::from_millis(500);

/// How many records this process has indexed.
#[derive(Debug, Default)]
struct Indexed(AtomicU64);

/// For the operator; none while the database cannot be asked.
pub async fn figures(app: &App) -> Option<SearchFigures> {
    let reading = tokio::time::timeout(FIGURES_WAIT, app.db.read(store::figures));
    let (waiting, documents) = reading.await.ok()?.ok()?;
    let indexed = app.features.get::<Indexed>().0.load(Relaxed);
    Some(SearchFigures { waiting, documents, indexed })
}

/// Runs until the application drains.
pub async fn work(app: App) {
    while !app.is_draining() {
        if let Err(error) = run_due(&app).await {
            tracing::error!(error = error.chain(), "the search index could not be written");
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = app.draining() => {}
        }
    }
}

/// Indexes everything that waits; returns the number of records.
pub async fn run_due(app: &App) -> Result<usize> {
    let mut done = 0;
    loop {
        let mut found = 0;
        for project in app.db.read(store::due).await? {
            found += run_project(app, project).await?;
            if app.is_draining() {
                return Ok(done + found);
            }
        }
        if found == 0 {
            return Ok(done);
        }
        done += found;
    }
}

/// Indexes everything that waits of one project; returns the number of records.
pub async fn catch_up(app: &App, project: ProjectId) -> Result<usize> {
    let mut done = 0;
    loop {
        match run_project(app, project).await? {
            0 => return Ok(done),
            found => done += found,
        }
    }
}

/// One batch of a project, so that projects take turns.
async fn run_project(app: &App, project: ProjectId) -> Result<usize> {
    let Some(of) = app.projects.get(&app.db, project, app.clock.uptime()).await? else {
        return Ok(0);
    };
    let Some(mut state) = app.db.read(move |c| store::state(c, project)).await? else {
        return Ok(0);
    };
    let language = of.search_language;
    if state.language != language.name() {
        rebuild(&app.db, project, language.name()).await?;
        state.is_filled = false;
    }
    if !state.is_filled {
        fill(app, project).await?;
    }
    let prepared = app.db.read_slow(move |c| {
        let mut todo = store::todo(c, project, BULK_SIZE)?;
        let batch = usize::try_from(BATCH_SIZE).unwrap_or_default();
        if todo.len() < batch * 4 {
            todo.truncate(batch);
        }
        records::prepare(c, project, &Analyzer::new(language), todo)
    });
    let prepared = prepared.await?;
    let count = prepared.len();
    if count > 0 {
        let erases = prepared.iter().any(|one| one.kind == Kind::User && one.is_open.is_none());
        let analyzer = Analyzer::new(language);
        app.db.write(move |tx| write::apply(tx, project, &analyzer, &prepared)).await?;
        let indexed = app.features.get::<Indexed>();
        indexed.0.fetch_add(u64::try_from(count).unwrap_or_default(), Relaxed);
        if erases {
            empty_log(app, project).await?;
        }
    }
    Ok(count)
}

/// The words of a deleted user leave the index after the job that emptied the database's log; so it is emptied once more.
async fn empty_log(app: &App, project: ProjectId) -> Result<()> {
    let now = app.clock.now();
    let (id, payload) = (JobId(new_id(now, &app.random)), jobs::payload(&EmptyDatabaseLog {})?);
    let due = now.plus(LOG_EMPTIED_AFTER);
    app.db.write(move |tx| jobs::store::insert(tx, project, id, &payload, due, now)).await
}

/// Empties the index; everything is queued again by the next run.
pub async fn rebuild(db: &Db, project: ProjectId, language: &'static str) -> Result<bool> {
    let emptied = db.write(move |tx| {
        if store::lock_state(tx, project)?.is_none() {
            return Ok(false);
        }
        projects::forget_index(tx, project, false)?;
        store::start_over(tx, project, language)
    });
    emptied.await
}

async fn fill(app: &App, project: ProjectId) -> Result<()> {
    for kind in [Kind::User, Kind::Space, Kind::Entity, Kind::Comment, Kind::Message] {
        let mut after = Uuid::nil();
        loop {
            let ids = app.db.read(move |c| fill::after(c, project, kind, after, FILL_SIZE)).await?;
            let Some(last) = ids.last() else { break };
            after = *last;
            app.db.write(move |tx| fill::queue(tx, project, kind, ids.clone())).await?;
        }
    }
    app.db.write(move |tx| store::set_filled(tx, project)).await
}
