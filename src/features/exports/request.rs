//! Export User: the user, or a key, asks for everything that is stored about them. A job makes the archive; its address is
//! sent to the user's e-mail address, and shown to a key. Address and archive last for some days.

use std::sync::Arc;
use std::time::Duration;

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::user::{FOLDER, UserExport, metadata};
use super::{NO_EMAIL, NOT_AUTHORIZED};
use crate::auth::caller::UserOrKey;
use crate::error::{Error, Result};
use crate::features::files::purge;
use crate::features::files::store::{self as files, FileRow};
use crate::features::users::NOT_FOUND;
use crate::features::users::fetch::UserPath;
use crate::features::users::store as users;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Accepted;
use crate::jobs::{self, Job};
use crate::mail::Mail;
use crate::state::App;
use crate::values::ids::{FileId, JobId, ProjectId, UserId, new_id};
use crate::values::random::hex;
use crate::values::time::Timestamp;

/// How long the archive and its address last.
const LIFETIME: Duration = Duration::from_secs(3 * 24 * 3600);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestedExport {
    user_id: UserId,
    /// When the archive is deleted.
    expires_at: Timestamp,
    /// Only for a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

pub(super) async fn export_user(
    call: Call<UserOrKey>,
    Path(path): Path<UserPath>,
) -> Result<Accepted<RequestedExport>> {
    let (project, user, now) = (call.project.id, path.user_id, call.now);
    if call.caller.user().is_some_and(|own| own != user) {
        return Err(NOT_AUTHORIZED.into());
    }
    let is_key = call.caller.user().is_none();
    let file = FileId(new_id(now, &call.app.random));
    let job = JobId(new_id(now, &call.app.random));
    let expires_at = now.plus(LIFETIME);
    let insert = move |tx: &Tx<'_>| {
        let row = users::find(tx, project, user)?.ok_or(NOT_FOUND)?;
        if row.email.is_none() && !is_key {
            return Err(NO_EMAIL.into());
        }
        jobs::insert(tx, project, job, &ExportUser { user, file, expires_at }, now)
    };
    call.app.db.write(insert).await?;
    let address = || call.app.signer.url_until(project, &path_of(file), expires_at);
    let url = is_key.then(address);
    Ok(Accepted(RequestedExport { user_id: user, expires_at, url }))
}

/// `…/<fileId>/<name>`, as every stored file.
fn path_of(file: FileId) -> String {
    format!("{FOLDER}/{file}/export.tar.gz")
}

/// Makes the archive and sends its address.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExportUser {
    user: UserId,
    file: FileId,
    expires_at: Timestamp,
}

impl Job for ExportUser {
    const KIND: &'static str = "export-user";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let user = self.user;
        let find = move |c: &db::Conn<'_>| users::find(c, project, user);
        let Some(row) = app.db.read(find).await? else { return Ok(()) };
        self.store(app, project).await?;
        let Some(email) = row.email else { return Ok(()) };
        let url = app.signer.url_until(project, &path_of(self.file), self.expires_at);
        let text = format!(
            "Somebody asked for a copy of everything that is stored about your account.\n\n\
             You can download it until {} here:\n\n{url}\n\n\
             Anybody with this address can read it. If it was not you, change your password.\n",
            self.expires_at
        );
        let mail = Mail::new(email, "Your data", text);
        app.mailer.send(mail, app.clock.now(), &app.random).await
    }
}

impl ExportUser {
    async fn store(&self, app: &App, project: ProjectId) -> Result<()> {
        let (id, now) = (self.file, app.clock.now());
        // Of an earlier run of this job.
        if app.db.read(move |c| files::find(c, project, id)).await?.is_some() {
            return Ok(());
        }
        let staged = app.staging.directory(&app.random).await?;
        let (archive, scratch) = (staged.path().join("archive"), staged.path().to_owned());
        let (path, user, within) = (archive.clone(), self.user, app.clone());
        let runtime = tokio::runtime::Handle::current();
        let work = move || {
            let (db, storage) = (&within.db, &within.storage);
            UserExport { db, storage, runtime: &runtime, now, project, user }.write(&path, &scratch)
        };
        tokio::task::spawn_blocking(work).await.map_err(Error::internal)??;
        let measure = archive.clone();
        let measured = tokio::task::spawn_blocking(move || measured(&measure));
        let (size, sha256) = measured.await.map_err(Error::internal)??;
        app.storage.put(&format!("{project}/{}", path_of(id)), &archive).await?;
        let row = Arc::new(self.row(size, sha256, now));
        let (job, due) = (JobId(new_id(now, &app.random)), self.expires_at);
        let payload = jobs::payload(&RemoveExport { file: id })?;
        let insert = move |tx: &Tx<'_>| {
            // The user may be deleted meanwhile.
            if users::lock_shared(tx, project, user)?.is_none() {
                return Ok(false);
            }
            files::insert(tx, project, &row)?;
            jobs::store::insert(tx, project, job, &payload, due, now)?;
            Ok::<_, Error>(true)
        };
        if !app.db.write(insert).await? {
            app.storage.remove_under(&format!("{project}/{FOLDER}/{id}")).await?;
        }
        Ok(())
    }

    fn row(&self, size: u64, sha256: String, now: Timestamp) -> FileRow {
        FileRow {
            id: self.file,
            user_id: Some(self.user),
            entity_id: None,
            comment_id: None,
            chat_message_id: None,
            space_id: None,
            event_id: None,
            path: path_of(self.file),
            size: i64::try_from(size).unwrap_or(i64::MAX),
            mime: "application/gzip".to_owned(),
            position: 0,
            metadata: JsonText(metadata()),
            image: None,
            sha256: Some(sha256),
            created_at: now,
            updated_at: now,
        }
    }
}

fn measured(path: &std::path::Path) -> Result<(u64, String)> {
    use aws_lc_rs::digest::{Context, SHA256};
    use std::io::Read as _;
    let mut file = std::fs::File::open(path).map_err(Error::internal)?;
    let (mut context, mut size, mut buffer) = (Context::new(&SHA256), 0, vec![0; 1 << 16]);
    loop {
        let count = file.read(&mut buffer).map_err(Error::internal)?;
        if count == 0 {
            return Ok((size, hex(context.finish().as_ref())));
        }
        context.update(&buffer[..count]);
        size += count as u64;
    }
}

/// Deletes an archive that has expired.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveExport {
    file: FileId,
}

impl Job for RemoveExport {
    const KIND: &'static str = "remove-user-export";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let (file, now) = (self.file, app.clock.now());
        app.db.write(move |tx| purge::delete(tx, project, &[file], now)).await
    }
}
