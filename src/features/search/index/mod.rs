//! The indexer: works off the queue of changed records, project by project. One transaction at a time writes the index
//! of a project, on any node.

mod blocks;
mod changes;
mod lexicon;
pub mod load;
pub mod records;
pub mod vectors;
mod verify;
mod write;

pub use verify::differing;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use db::Db;
use text_index::{Analyzer, Language};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::deletion::user::EmptyDatabaseLog;
use crate::features::search::index::records::Prepared;
use crate::features::search::store::{self, fill};
use crate::jobs;
use crate::metrics::SearchFigures;
use crate::search_queue::Kind;
use crate::state::App;
use crate::tenancy::store as projects;
use crate::values::ids::{JobId, ProjectId, new_id};

/// How often the queue is looked at; a change is found soon after.
const EVERY: Duration = Duration::from_millis(200);
/// How long a project that could not be indexed is left alone, and all of them when the database cannot be asked.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
/// Projects that are indexed at the same time.
const AT_ONCE: usize = 4;
/// Records in one transaction: few, so that other writers do not wait for long.
const BATCH_SIZE: usize = 16;
/// When more wait, and most of them are new, they are loaded.
const LOAD_FROM: usize = 64;
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

/// Runs until the application drains. A project with much to index, or whose index cannot be written, does not delay the
/// others.
pub async fn work(app: App) {
    let mut tasks = JoinSet::new();
    let mut busy: HashSet<ProjectId> = HashSet::new();
    let mut resting: HashMap<ProjectId, Duration> = HashMap::new();
    while !app.is_draining() {
        let (mut pause, now) = (EVERY, app.clock.uptime());
        resting.retain(|_, until| *until > now);
        while let Some(ended) = tasks.try_join_next() {
            match ended {
                Ok((project, caught_up)) => {
                    busy.remove(&project);
                    if let Err(error) = caught_up {
                        failed(&error);
                        resting.insert(project, now + AFTER_FAILURE);
                    }
                }
                // It does not say whose. To run one twice does no harm.
                Err(_) => busy.clear(),
            }
        }
        match app.db.read(store::due).await {
            Ok(due) => {
                for project in due.into_iter().filter(|project| !resting.contains_key(project)) {
                    if tasks.len() < AT_ONCE && busy.insert(project) {
                        let app = app.clone();
                        tasks.spawn(async move { (project, catch_up(&app, project).await) });
                    }
                }
            }
            Err(error) => {
                failed(&error);
                pause = AFTER_FAILURE;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.draining() => {}
        }
    }
    tasks.join_all().await;
}

fn failed(error: &Error) {
    tracing::error!(error = error.chain(), "the search index could not be written");
}

/// Indexes everything that waits of one project, unless the application drains; returns the number of records.
pub async fn catch_up(app: &App, project: ProjectId) -> Result<usize> {
    let mut done = 0;
    while !app.is_draining() {
        match run_project(app, project).await? {
            0 => break,
            found => done += found,
        }
    }
    Ok(done)
}

/// One batch of a project.
async fn run_project(app: &App, project: ProjectId) -> Result<usize> {
    let Some(of) = app.projects.get(&app.db, project, app.clock.uptime()).await? else {
        return Ok(0);
    };
    let Some(mut state) = app.db.read(move |c| store::state::find(c, project)).await? else {
        return Ok(0);
    };
    let language = of.search_language;
    if state.language != language.name() {
        rebuild(&app.db, project, language.name()).await?;
        (state.is_filled, state.load_until) = (false, None);
    }
    let now = app.clock.now();
    if let Some(until) = state.load_until {
        return if until > now { Ok(0) } else { recover(app, project, language).await };
    }
    if !state.is_filled {
        fill(app, project).await?;
    }
    let prepared = app.db.read_slow(move |c| {
        let most = i64::try_from(LOAD_FROM).map_err(Error::internal)?;
        let mut todo = store::todo(c, project, Uuid::nil(), Uuid::max(), most)?;
        if todo.len() >= LOAD_FROM {
            let ids = todo.iter().map(|row| row.record_id).collect();
            if store::indexed(c, project, ids)?.len() < todo.len() / 2 {
                return Ok(None);
            }
        }
        todo.truncate(BATCH_SIZE);
        records::prepare(c, project, &Analyzer::new(language), todo).map(Some)
    });
    let count = match prepared.await? {
        Some(prepared) => write(app, project, language, prepared).await?,
        None => load::load(app, project, language, load::SIZE).await?,
    };
    let indexed = app.features.get::<Indexed>();
    indexed.0.fetch_add(u64::try_from(count).unwrap_or_default(), Relaxed);
    Ok(count)
}

/// In one transaction.
async fn write(
    app: &App,
    project: ProjectId,
    language: Language,
    prepared: Vec<Prepared>,
) -> Result<usize> {
    let count = prepared.len();
    if count == 0 {
        return Ok(0);
    }
    let erases = prepared.iter().any(|one| one.kind == Kind::User && one.is_open.is_none());
    app.db.write_alone(move |tx| write::apply(tx, project, language, &prepared)).await?;
    if erases {
        empty_log(app, project).await?;
    }
    Ok(count)
}

/// Takes back a load that was interrupted; returns how often the index was written.
async fn recover(app: &App, project: ProjectId, language: Language) -> Result<usize> {
    let mut steps = 1;
    loop {
        if !app.db.write_alone(move |tx| write::recover(tx, project, language)).await? {
            return Ok(steps);
        }
        steps += 1;
    }
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
    let emptied = db.write_alone(move |tx| {
        if store::state::lock(tx, project)?.is_none() {
            return Ok(false);
        }
        projects::forget_index(tx, project, false)?;
        store::state::start_over(tx, project, language)
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
    app.db.write(move |tx| store::state::set_filled(tx, project)).await
}
