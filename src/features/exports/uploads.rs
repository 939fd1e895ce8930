//! Files that owners upload to be imported into their project. A job imports one, first as a dry run; what it found is kept
//! with the job for a week. The imports of a project run one after another. What reads the files is above, in `transfer`;
//! `app.rs` registers it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use db::{Conn, Tx};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::config::free_space;
use crate::error::{Error, Result};
use crate::installation::store as installation;
use crate::jobs::{self, Job, TryLater, store};
use crate::state::App;
use crate::storage::blocking::Blocking;
use crate::storage::staging::Staged;
use crate::tenancy::{PENDING_DELETION, Project};
use crate::values::ids::{JobId, ProjectId, QueueId, new_id};
use crate::values::names::names;
use crate::values::time::Timestamp;

/// Where they are stored below their project. No row of a file names them, so nobody can ask for them.
pub const FOLDER: &str = "imports";
/// How long a file stays.
pub const LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);
/// Disk space that an import must leave free for the database.
const RESERVE: u64 = 256 * 1024 * 1024;
/// Imports of a project that are shown.
const MOST: i64 = 20;

names! {
    ImportFormat {
        Jsonl "jsonl",
        Csv "csv",
        Wxr "wxr",
        Disqus "disqus",
    }
}

/// Called for each document and each piece of an archive; an error ends the import.
pub type Advance<'a> = &'a (dyn Fn(&str, u64) -> Result<(), String> + Sync);

/// Imports a file, or says what it would do, and returns the report. Blocks.
#[derive(Debug, Clone, Copy)]
pub struct Importer(pub Run);

type Run =
    fn(&App, &Arc<Project>, (&Path, ImportFormat), bool, Advance<'_>) -> Result<Value, String>;

/// A file that was uploaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Uploaded {
    pub id: Uuid,
    pub file_name: String,
    pub size: u64,
    pub format: ImportFormat,
    pub expires_at: Timestamp,
}

impl Uploaded {
    fn folder(&self, project: ProjectId) -> String {
        format!("{project}/{FOLDER}/{}", self.id)
    }

    fn key(&self, project: ProjectId) -> String {
        format!("{}/file", self.folder(project))
    }

    /// Under its own name, which says what a CSV file of a custom table is; if it is one.
    fn name(&self) -> &str {
        let mut parts = Path::new(&self.file_name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(_)), None) if self.file_name.len() < 200 => &self.file_name,
            _ => "upload",
        }
    }

    /// Stores the staged file.
    pub async fn store(&self, app: &App, project: ProjectId, staged: &Path) -> Result<()> {
        app.storage.put(&self.key(project), staged).await
    }

    pub async fn remove(&self, app: &App, project: ProjectId) -> Result<()> {
        app.storage.remove_under(&self.folder(project)).await
    }

    /// A copy on this machine; none if it is gone.
    async fn fetch(&self, app: &App, project: ProjectId, staged: &Arc<Staged>) -> Result<bool> {
        let Some(chunks) = app.storage.read(&self.key(project), None).await? else {
            return Ok(false);
        };
        let (path, runtime) = (staged.path().join(self.name()), Handle::current());
        let copied = tokio::task::spawn_blocking(move || {
            let mut from = Blocking { runtime: &runtime, chunks, rest: Bytes::new() };
            io::copy(&mut from, &mut File::create_new(path)?)
        });
        copied.await.map_err(Error::internal)?.map_err(crate::storage::unavailable)?;
        Ok(true)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Report(Value),
    Failed(String),
}

/// Imports a file. The payload of the job is also its record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportProject {
    /// This one.
    pub job: JobId,
    pub upload: Uploaded,
    pub is_dry_run: bool,
    /// The operator's e-mail address.
    pub by: String,
    pub outcome: Option<Outcome>,
}

impl Job for ImportProject {
    const KIND: &'static str = "import-project";
    const IS_KEPT: bool = true;

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let found = app.projects.get(&app.db, project, app.clock.uptime()).await?;
        let Some(found) = found else { return Ok(()) };
        let staged = app.staging.directory(&app.random).await?;
        let outcome = match self.upload.fetch(app, project, &staged).await? {
            true => self.import(app, found, staged).await?,
            false => Outcome::Failed("the file is gone: upload it again".to_owned()),
        };
        if app.is_draining() && matches!(outcome, Outcome::Failed(_)) {
            let reason = "the server stops; the import goes on when it runs again".to_owned();
            return Err(Error::internal(TryLater { reason, after: Duration::ZERO }));
        }
        let job = self.job;
        let payload = jobs::payload(&ImportProject { outcome: Some(outcome), ..self })?;
        app.db.write(move |tx| store::set_payload(tx, project, job, &payload)).await
    }
}

impl ImportProject {
    pub fn new(upload: Uploaded, is_dry_run: bool, by: &str, id: Uuid) -> Self {
        ImportProject { job: JobId(id), upload, is_dry_run, by: by.to_owned(), outcome: None }
    }

    async fn import(
        &self,
        app: &App,
        project: Arc<Project>,
        staged: Arc<Staged>,
    ) -> Result<Outcome> {
        let importer = app.lists.of::<Importer>().first().copied();
        let Importer(run) = importer.ok_or_else(|| Error::internal("nothing imports"))?;
        let (app, upload) = (app.clone(), self.upload.clone());
        let (job, is_dry_run) = (self.job, self.is_dry_run);
        let work = move || {
            let under_way = app.features.get::<UnderWay>();
            let advance = |what: &str, count: u64| {
                under_way.set(job, what, count);
                match free_space(staged.path()) {
                    _ if app.is_draining() => Err("the server stops".to_owned()),
                    Ok(free) if free < RESERVE => Err("the disk is almost full".to_owned()),
                    _ => Ok(()),
                }
            };
            let from = (&*staged.path().join(upload.name()), upload.format);
            let done = run(&app, &project, from, is_dry_run, &advance);
            under_way.end(job);
            match done {
                Ok(report) => Outcome::Report(report),
                // Not where the server keeps it.
                Err(why) => {
                    Outcome::Failed(why.replace(&format!("{}/", staged.path().display()), ""))
                }
            }
        };
        tokio::task::spawn_blocking(work).await.map_err(Error::internal)
    }
}

/// How far the imports on this node are.
#[derive(Debug, Default)]
pub struct UnderWay(Mutex<HashMap<JobId, (String, u64)>>);

impl UnderWay {
    fn set(&self, job: JobId, what: &str, count: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(job, (what.to_owned(), count));
    }

    fn end(&self, job: JobId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&job);
    }

    /// What was read last, and how many of them; none if it does not run here.
    pub fn of(&self, job: JobId) -> Option<(String, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&job).cloned()
    }
}

/// The imports of a project are one queue.
fn queue(project: ProjectId) -> QueueId {
    QueueId(jobs::derived_id(&format!("imports of {project}")).0)
}

/// Behind all others of the project.
pub fn enqueue(
    tx: &Tx<'_>,
    project: ProjectId,
    import: &ImportProject,
    now: Timestamp,
) -> Result<()> {
    if installation::deletion_began(tx, project)?.is_some() {
        return Err(PENDING_DELETION.because("The project is being deleted."));
    }
    store::queues::insert(tx, project, queue(project))?;
    jobs::insert_queued(tx, project, queue(project), import.job, import, now)
}

/// The file goes when it has expired.
pub fn enqueue_removal(
    tx: &Tx<'_>,
    project: ProjectId,
    upload: &Uploaded,
    now: Timestamp,
) -> Result<()> {
    let job = jobs::derived_id(&format!("removal of {}", upload.id));
    let payload = jobs::payload(&RemoveUpload { upload: upload.clone() })?;
    store::insert(tx, project, job, &payload, upload.expires_at, now)
}

/// An import, and when it was asked for.
#[derive(Debug)]
pub struct Listed {
    pub import: ImportProject,
    pub created_at: Timestamp,
    /// Why it will be tried again, or was given up.
    pub failure: Option<String>,
}

/// The newest first.
pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<Listed>> {
    let jobs = store::queues::list(c, project, queue(project), MOST)?;
    let listed = jobs.into_iter().filter_map(|row| {
        let import = serde_json::from_str(&row.payload.0).ok()?;
        Some(Listed { import, created_at: row.created_at, failure: row.last_error })
    });
    Ok(listed.collect())
}

/// A new id for an upload or a job.
pub fn id(app: &App, now: Timestamp) -> Uuid {
    new_id(now, &app.random)
}

/// Deletes a file that has expired.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveUpload {
    upload: Uploaded,
}

impl Job for RemoveUpload {
    const KIND: &'static str = "remove-upload";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        self.upload.remove(app, project).await
    }
}
