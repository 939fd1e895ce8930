//! From staged files to stored ones, for every feature that takes uploads.
//!
//! Bytes come before rows: `prepare` stores the objects, `insert` writes the rows in the caller's own
//! transaction. Before the first byte is stored, a job is written that would remove them all in an hour; the
//! transaction that writes the rows cancels that job. So a crash at any moment leaves no row without bytes,
//! and no bytes without a row for long.

use std::path::PathBuf;
use std::time::Duration;

use db::{JsonText, Tx};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use images::Options;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, Fault, Result};
use crate::features::files::holders::Holder;
use crate::features::files::processing::plan_images;
use crate::features::files::rules::{PathParts, shown_name, stored_name};
use crate::features::files::store::{self, FileRow};
pub use crate::http::multipart::Upload;
use crate::installation;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::values::ids::{FileId, JobId, ProjectId, UserId, new_id};
use crate::values::time::Timestamp;

/// Far longer than a request takes from the first stored byte to its commit.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);
/// Objects of one request that are stored concurrently.
const CONCURRENCY: usize = 4;

/// The files of a request, and the faults of its feature.
#[derive(Debug)]
pub struct Wanted {
    pub holder: Holder,
    /// None for files of the project itself.
    pub owner: Option<UserId>,
    pub images: Option<Images>,
    pub files: Option<Files>,
    /// Position of the first file; images come before other files.
    pub position: i64,
    /// Stored with every file.
    pub metadata: Map<String, Value>,
    pub faults: UploadFaults,
}

#[derive(Debug)]
pub struct Images {
    pub uploads: Vec<Upload>,
    pub options: Options,
    pub under: PathParts,
}

#[derive(Debug)]
pub struct Files {
    pub uploads: Vec<Upload>,
    pub under: PathParts,
}

#[derive(Debug, Clone, Copy)]
pub struct UploadFaults {
    /// 422, built from the file's name and the reason.
    pub invalid_image: fn(&str, &str) -> Error,
    /// 400: the options are not possible for this image.
    pub invalid_options: Fault,
}

/// The refusal of an image that most features use.
pub fn not_an_image(fault: Fault, name: &str, why: &str) -> Error {
    fault.about_upload(format!("File \"{name}\" is not a valid image: {why}"))
}

/// Stored objects whose rows are still to be written.
#[derive(Debug, Default, Clone)]
pub struct Prepared {
    rows: Vec<FileRow>,
    /// The job that would remove the objects. Set exactly if there are rows.
    job: Option<JobId>,
}

impl Prepared {
    pub fn rows(&self) -> &[FileRow] {
        &self.rows
    }

    /// The row of a request that stores one file.
    pub fn one(mut self) -> Result<FileRow> {
        self.rows.pop().ok_or_else(|| Error::internal("nothing was stored"))
    }
}

/// A row and its objects: the path of each and the staged file.
#[derive(Debug)]
pub(super) struct Made {
    pub row: FileRow,
    pub objects: Vec<(String, PathBuf)>,
}

/// Processes the images and stores everything. Nothing is stored if anything is refused.
pub async fn prepare(
    app: &App,
    project: ProjectId,
    wanted: Wanted,
    now: Timestamp,
) -> Result<Prepared> {
    prepare_all(app, project, &[wanted], now).await
}

/// The same for several uploads of one request, rows in the same order: the cost of all images is added up
/// from their headers before the first is decoded.
pub async fn prepare_all(
    app: &App,
    project: ProjectId,
    wanted: &[Wanted],
    now: Timestamp,
) -> Result<Prepared> {
    let planned = plan_images(wanted).await?;
    let mut made = Vec::new();
    for (one, planned) in wanted.iter().zip(planned) {
        let first = made.len();
        for image in planned {
            made.push(image.make(app, project, now).await?);
        }
        if let Some(files) = &one.files {
            for upload in &files.uploads {
                let id = FileId(new_id(now, &app.random));
                let path = files.under.join(&format!("{id}/{}", stored_name(&upload.file_name)));
                let objects = vec![(path.clone(), upload.path().to_owned())];
                made.push(Made { row: one.row(upload, id, path, now)?, objects });
            }
        }
        for (position, made) in (one.position..).zip(made.iter_mut().skip(first)) {
            made.row.position = position;
        }
    }
    store_objects(app, project, made, now).await
}

impl Wanted {
    pub(super) fn row(
        &self,
        upload: &Upload,
        id: FileId,
        path: String,
        now: Timestamp,
    ) -> Result<FileRow> {
        let mut metadata = self.metadata.clone();
        metadata.insert("originalName".to_owned(), shown_name(&upload.file_name).into());
        metadata.insert("uploadedAt".to_owned(), now.to_string().into());
        let row = FileRow {
            id,
            user_id: self.owner,
            entity_id: None,
            comment_id: None,
            chat_message_id: None,
            space_id: None,
            event_id: None,
            path,
            size: i64::try_from(upload.size).map_err(Error::internal)?,
            mime: upload.mime.clone(),
            position: 0,
            metadata: JsonText(Value::Object(metadata).to_string()),
            image: None,
            sha256: Some(upload.sha256.clone()),
            created_at: now,
            updated_at: now,
        };
        Ok(self.holder.lock(row))
    }
}

async fn store_objects(
    app: &App,
    project: ProjectId,
    made: Vec<Made>,
    now: Timestamp,
) -> Result<Prepared> {
    let (rows, objects): (Vec<_>, Vec<_>) =
        made.into_iter().map(|made| (made.row, made.objects)).unzip();
    if rows.is_empty() {
        return Ok(Prepared::default());
    }
    let job = JobId(new_id(now, &app.random));
    let payload = purge_payload(rows.iter().map(|row| row.path.as_str()))?;
    let due = now.plus(ABANDONED_AFTER);
    app.db.write(move |tx| jobs::store::insert(tx, project, job, &payload, due, now)).await?;
    let prepared = Prepared { rows, job: Some(job) };
    let stored = stream::iter(objects.into_iter().flatten())
        .map(|(path, staged)| async move {
            app.storage.put(&format!("{project}/{path}"), &staged).await
        })
        .buffer_unordered(CONCURRENCY)
        .try_for_each(|()| async { Ok(()) })
        .await;
    settle(app, project, &prepared, stored, now).await?;
    Ok(prepared)
}

/// Passes on the outcome of the work that the files were for; if it failed, their bytes are removed soon.
pub async fn settle<T>(
    app: &App,
    project: ProjectId,
    prepared: &Prepared,
    outcome: Result<T>,
    now: Timestamp,
) -> Result<T> {
    if let (Err(_), Some(job)) = (&outcome, prepared.job) {
        // If that fails, too, they are removed in an hour.
        let _ = app.db.write(move |tx| jobs::store::hasten(tx, project, job, now)).await;
    }
    outcome
}

/// Writes the rows and cancels the job that would remove the bytes. If that job has started already, the
/// bytes may be gone: refused.
pub fn insert(tx: &Tx<'_>, project: ProjectId, prepared: &Prepared) -> Result<()> {
    let Some(job) = prepared.job else { return Ok(()) };
    if !jobs::store::cancel(tx, project, job)? {
        return Err(Error::Busy("the upload took too long"));
    }
    prepared.rows.iter().try_for_each(|row| store::insert(tx, project, row))
}

/// The job that removes the bytes of files, given the paths of their originals.
pub(super) fn purge_payload<'a>(paths: impl Iterator<Item = &'a str>) -> Result<String> {
    let directory =
        |path: &'a str| path.rsplit_once('/').map(|(directory, _)| directory.to_owned());
    jobs::payload(&RemoveFiles { directories: paths.filter_map(directory).collect() })
}

/// How soon files that a backup holds are tried again.
const HELD_AGAIN: Duration = Duration::from_secs(60);

/// Everything in these directories of the project. Each holds one file and nothing else.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveFiles {
    directories: Vec<String>,
}

impl Job for RemoveFiles {
    const KIND: &'static str = "remove-files";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let now = app.clock.now();
        let held = app.db.read(installation::store::files_held_until).await?;
        if let Some(until) = held.filter(|until| *until > now) {
            // A backup reads them: later.
            let (id, again) = (JobId(new_id(now, &app.random)), jobs::payload(&self)?);
            let due = until.min(now.plus(HELD_AGAIN));
            let postponed =
                move |tx: &Tx<'_>| jobs::store::insert(tx, project, id, &again, due, now);
            return app.db.write(postponed).await;
        }
        for directory in self.directories {
            app.storage.remove_under(&format!("{project}/{directory}")).await?;
        }
        Ok(())
    }
}
