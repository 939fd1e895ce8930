//! From nothing to a running server: the data directory and its lock, the secret, the database
//! and its schema. Each refusal is one line that says what is wrong.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use db::{Db, Options};

use crate::config::{Config, is_writable};
use crate::random::{Random, hex};
use crate::schema::MIGRATIONS;
use crate::time::Timestamp;

/// Shorter ones could be guessed, and tokens then forged.
pub const SHORTEST_SECRET: usize = 32;

pub fn prepare_data_dir(config: &Config) -> Result<(), String> {
    let directory = &config.data_dir;
    // What lives here (password hashes, mailed links) is nobody else's.
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        format!("the data directory {} cannot be made: {error}", directory.display())
    })?;
    if !is_writable(directory) {
        return Err(format!("the data directory {} is not writable", directory.display()));
    }
    Ok(())
}

/// Held while a server runs on a data directory; the system lets go of it when the process ends.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its lock, not for its content")] File);

pub fn lock_data_dir(config: &Config) -> Result<Lock, String> {
    let path = config.data_dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
    file.try_lock().map_err(|_| {
        format!("the data directory {} is in use by another server", config.data_dir.display())
    })?;
    Ok(Lock(file))
}

/// The configured secret, or the one generated into the data directory at the first start.
pub fn secret(config: &Config, random: &Random) -> Result<Vec<u8>, String> {
    if let Some(secret) = &config.secret_key {
        return Ok(secret.clone().into_bytes());
    }
    let path = config.data_dir.join("secret_key");
    let at_path = |error: std::io::Error| format!("{}: {error}", path.display());
    if !path.exists() {
        create_secret(&path, &hex(&random.bytes::<32>())).map_err(at_path)?;
    }
    // Another process may have been quicker: the file decides.
    let secret = fs::read(&path).map_err(at_path)?;
    if secret.len() < SHORTEST_SECRET {
        return Err(format!("{}: a secret has at least 32 characters", path.display()));
    }
    Ok(secret)
}

/// Written aside and linked into place, so that nobody reads half a secret or replaces a whole one.
fn create_secret(path: &Path, secret: &str) -> std::io::Result<()> {
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&aside)?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()?;
    let linked = fs::hard_link(&aside, path);
    fs::remove_file(&aside)?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

pub fn open_database(config: &Config) -> Result<Db, String> {
    let options = Options {
        pool: config.database_pool,
        wait: config.database_wait,
        durable: config.sqlite_durable,
        ..Options::default()
    };
    Db::open(&config.database_url, options).map_err(|error| error.to_string())
}

/// Makes the schema of an empty database. One that is behind is left to whoever runs its server:
/// a look at the projects must not change the tables under an older program.
pub fn migrate_if_new(db: &Db, now: Timestamp) -> Result<(), String> {
    let states = db.migration_status(MIGRATIONS).map_err(|error| error.to_string())?;
    match states.iter().filter(|state| state.applied_at.is_none()).count() {
        pending if pending == 0 || pending == states.len() => migrate(db, now).map(drop),
        _ => Err("the schema is older than this program: townhall migrate up".to_owned()),
    }
}

/// Brings the schema up to date; what was applied.
pub fn migrate(db: &Db, now: Timestamp) -> Result<Vec<u32>, String> {
    db.migrate(MIGRATIONS, now.millis()).map_err(|error| match error {
        db::Error::NewerSchema { found, known } => format!(
            "the database has schema {found}, this program knows {known}: use a newer townhall"
        ),
        other => other.to_string(),
    })
}
