//! What can be reached: directories, disk, mail server, database and bucket, each by really asking it.

use std::path::Path;
use std::time::Duration;

use db::Db;
use tokio::time::timeout;

use crate::cli::distribute;
use crate::cli::doctor::{Finding, block_on, runtime};
use crate::config::{BackupSchedule, Config};
use crate::features::files::store as files;
use crate::features::server::checks;
use crate::installation::store as installation;
use crate::mail::Mailer;
use crate::schema::MIGRATIONS;
use crate::storage::Storage;
use crate::tenancy::store as projects;
use crate::values::time::Timestamp;

/// How long a bucket or a mail server may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

type OfConfig = fn(&Config) -> Finding;

/// The checks that need no database.
pub(super) const ALL: &[(&str, OfConfig)] = &[
    ("data directory", checks::data_directory),
    ("disk", checks::disk),
    ("mail", mail),
    ("proxy", checks::proxy),
];

fn mail(config: &Config) -> Finding {
    let from = config.mail_from.as_deref().unwrap_or(Mailer::DEFAULT_FROM);
    let Some(url) = &config.smtp_url else {
        return Ok("written into the outbox of the data directory".to_owned());
    };
    let mailer = Mailer::smtp(url, from)?;
    match runtime()?.block_on(async { timeout(PATIENCE, mailer.check()).await }) {
        Ok(Ok(())) => Ok("the mail server answers".to_owned()),
        Ok(Err(error)) => Err(format!("the mail server cannot be used: {error}")),
        Err(_) => Err("the mail server does not answer".to_owned()),
    }
}

pub(super) fn schema(db: &Db) -> Finding {
    match db.pending_migrations(MIGRATIONS).map_err(|error| error.to_string())? {
        0 => Ok(format!("reachable, schema {}", MIGRATIONS.len())),
        pending => Err(format!("{pending} migrations are pending: townhall migrate up")),
    }
}

/// How the tables lie on a cluster; none if the database is none.
pub(super) fn cluster(db: &Db) -> Option<Finding> {
    let layout = match distribute::layout(db) {
        Ok(layout) => layout?,
        Err(error) => return Some(Err(error)),
    };
    let described = distribute::described(&layout);
    Some(if layout.astray.is_empty() { Ok(described) } else { Err(described) })
}

pub(super) fn storage(config: &Config, db: &Db) -> Finding {
    let Some(storage) = open_storage(config, db)? else {
        return Ok(format!("{} is made when the server starts", config.storage));
    };
    match runtime()?.block_on(async { timeout(PATIENCE, storage.check()).await }) {
        Ok(Ok(())) => Ok(format!("{} can be used", config.storage)),
        Ok(Err(error)) => Err(format!("{} cannot be used: {error}", config.storage)),
        Err(_) => Err(format!("{} does not answer", config.storage)),
    }
}

/// A directory that is not there is made by the server when it first starts, and not here; once there are
/// files, it is a loss.
pub(super) fn open_storage(config: &Config, db: &Db) -> Result<Option<Storage>, String> {
    let local = config.storage.strip_prefix("file://");
    if local.is_none_or(|directory| Path::new(directory).is_dir()) {
        return Storage::open(&config.storage_settings()).map(Some);
    }
    if !block_on(db.read(files::any))? {
        return Ok(None);
    }
    Err(format!("{} is gone, and with it the files", config.storage))
}

pub(super) fn clock(db: &Db, now: Timestamp) -> Finding {
    checks::clock(block_on(db.read(projects::newest))?, now)
}

pub(super) fn backups(schedule: &BackupSchedule, db: &Db, now: Timestamp) -> Finding {
    checks::backups(schedule, block_on(db.read(installation::last_backup))?, now)
}
