//! What can be reached: directories, disk, mail server, database and bucket, each by really asking it.

use std::path::Path;
use std::time::Duration;

use db::Db;
use tokio::time::timeout;

use crate::cli::distribute;
use crate::cli::doctor::{Finding, block_on, runtime};
use crate::config::{BackupSchedule, Config, free_space, is_writable};
use crate::features::files::store as files;
use crate::installation::store as installation;
use crate::mail::Mailer;
use crate::network::forwarding;
use crate::schema::MIGRATIONS;
use crate::storage::Storage;
use crate::tenancy::store as projects;
use crate::values::time::Timestamp;

/// Below this much free space the operator should act.
const LITTLE_SPACE: u64 = 1 << 30;
/// How long a bucket or a mail server may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

type OfConfig = fn(&Config) -> Finding;

/// The checks that need no database.
pub(super) const ALL: &[(&str, OfConfig)] =
    &[("data directory", data_directory), ("disk", disk), ("mail", mail), ("proxy", proxy)];

fn data_directory(config: &Config) -> Finding {
    let directory = config.data_dir.display();
    if is_writable(&config.data_dir) {
        Ok(format!("{directory} is writable"))
    } else {
        Err(format!("{directory} is missing or not writable"))
    }
}

fn disk(config: &Config) -> Finding {
    let free = free_space(&config.data_dir).map_err(|error| error.to_string())?;
    let text = format!("{} MiB free", free >> 20);
    if free < LITTLE_SPACE { Err(text) } else { Ok(text) }
}

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

/// Anybody can send such headers, so they are worth a remark and are no failure.
fn proxy(config: &Config) -> Finding {
    Ok(match forwarding::untrusted_proxy(&config.data_dir) {
        Some(peer) => format!(
            "{peer} sends forwarding headers: if it is your proxy, name it in TOWNHALL_TRUSTED_PROXIES"
        ),
        None => "no forwarding headers from a peer that is not trusted".to_owned(),
    })
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

/// A clock that was set back shows in rows that come from the future.
pub(super) fn clock(db: &Db, now: Timestamp) -> Finding {
    match block_on(db.read(projects::newest))? {
        Some(newest) if newest > now => {
            Err(format!("it is {now}, but the database holds something from {newest}"))
        }
        _ => Ok(now.to_string()),
    }
}

/// Twice the interval: one may just be under way.
pub(super) fn backups(schedule: &BackupSchedule, db: &Db, now: Timestamp) -> Finding {
    match block_on(db.read(installation::last_backup))? {
        None => Err("none has succeeded yet".to_owned()),
        Some(last) if last.plus(2 * schedule.every) < now => {
            Err(format!("the last one that succeeded is of {last}"))
        }
        Some(last) => Ok(format!("the last one is of {last}, in {}", schedule.to)),
    }
}
