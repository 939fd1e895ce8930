//! The copy of a SQLite database that `serve` makes before it migrates one that holds data: sound, beside the
//! database, kept until the next upgrade.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use db::{Db, Engine, Options};
use tokio::runtime::Runtime;

use crate::config::Config;
use crate::error::Error;
use crate::schema::MIGRATIONS;
use crate::storage::durable::sync_directory;
use crate::tenancy::store as projects;

/// Before the number of migrations that the copy has had.
const BEFORE: &str = ".before-";

/// Returns where the copy is, if one was needed.
pub fn copy_before_migration(
    config: &Config,
    db: &Db,
    runtime: &Runtime,
) -> Result<Option<PathBuf>, String> {
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    let applied = states.iter().filter(|state| state.applied_at.is_some()).count();
    if db.engine() != Engine::Sqlite || applied == 0 || applied == states.len() {
        return Ok(None);
    }
    let newest = db.snapshot(projects::newest).map_err(|error: Error| error.to_string())?;
    let Some(file) = config.database_url.strip_prefix("sqlite://").filter(|_| newest.is_some())
    else {
        return Ok(None);
    };
    let made = copy(Path::new(file), applied, db, runtime);
    made.map(Some).map_err(|error| {
        format!(
            "{file} cannot be copied before its migration ({error}): make room beside it, or migrate without a \
             copy: townhall migrate up"
        )
    })
}

fn copy(file: &Path, applied: usize, db: &Db, runtime: &Runtime) -> Result<PathBuf, String> {
    let target = beside(file, &format!("{BEFORE}{applied}"));
    let aside = beside(file, &format!("{BEFORE}{applied}.unfinished"));
    let plain = |error: io::Error| error.to_string();
    remove(&aside).map_err(plain)?;
    db.copy_file(&aside).map_err(|error| error.to_string())?;
    let checked = check(&aside, applied, runtime);
    if let Err(error) = checked {
        remove(&aside).map_err(plain)?;
        return Err(error);
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    File::open(&aside)
        .and_then(|copy| copy.sync_all())
        .and_then(|()| fs::rename(&aside, &target))
        .and_then(|()| sync_directory(parent))
        .and_then(|()| remove_earlier(file, parent, &target))
        .map_err(plain)?;
    Ok(target)
}

/// Opens the copy and reads all of it.
fn check(copy: &Path, applied: usize, runtime: &Runtime) -> Result<(), String> {
    let url = format!("sqlite://{}", copy.display());
    let db = Db::open(&url, Options::default()).map_err(|error| error.to_string())?;
    let examined = db.examine().map_err(|error| error.to_string());
    let pending = db.pending_migrations(MIGRATIONS).map_err(|error| error.to_string());
    runtime.block_on(db.close());
    let findings = examined?.findings;
    if pending? + applied != MIGRATIONS.len() || !findings.is_empty() {
        return Err(format!("the copy is not sound: {}", findings.join("; ")));
    }
    Ok(())
}

/// The copies of earlier upgrades.
fn remove_earlier(file: &Path, directory: &Path, newest: &Path) -> io::Result<()> {
    let name = beside(file, BEFORE);
    let name = name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path.file_name().and_then(|own| own.to_str()?.strip_prefix(name));
        let is_copy = number.is_some_and(|number| number.parse::<u32>().is_ok());
        if is_copy && path.file_name() != newest.file_name() {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
