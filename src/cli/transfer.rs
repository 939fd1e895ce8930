//! `townhall backup`, `restore`, `verify` and `copy`.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;
use db::{Db, Options};
use serde_json::{Map, Value, json};

use crate::app::Dependencies;
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::config::{Config, Flags};
use crate::features::files::store as files;
use crate::start;
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::transfer::archive::{self, Manifest};
use crate::transfer::backup::Backup;
use crate::transfer::load::{self, Filled};
use crate::transfer::project::RestoreProject;
use crate::transfer::restore::{self, Restore};
use crate::transfer::{Failure, Store, copy};
use crate::values::clock::Clock;
use crate::values::ids::ProjectId;

/// Enough for the largest file, which is stored one at a time.
pub(super) const STAGING_MEBIBYTES: usize = 1024;
const BETWEEN_LINES: Duration = Duration::from_millis(100);
const CONFIG_FILE: &str = "townhall.toml";

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The archive to write; it must not exist
    path: PathBuf,
    /// Write a folder instead of one file
    #[arg(long)]
    directory: bool,
    /// Also store the installation's secret, encrypted with the passphrase in this file
    #[arg(long, value_name = "FILE")]
    secret_passphrase_file: Option<PathBuf>,
    /// One project alone
    #[arg(long, value_name = "ID", value_parser = project_id, conflicts_with = "secret_passphrase_file")]
    project: Option<ProjectId>,
}

#[derive(Debug, Args)]
pub(super) struct RestoreArgs {
    /// The archive
    path: PathBuf,
    /// One project of the archive, into an installation that may have others
    #[arg(long, value_name = "ID", value_parser = project_id, conflicts_with = "secret_passphrase_file")]
    pub(super) project: Option<ProjectId>,
    /// The id that the project gets
    #[arg(long = "as", value_name = "NEW_ID", value_parser = project_id, requires = "project")]
    new_id: Option<ProjectId>,
    /// The file with the passphrase of the secret in the archive
    #[arg(long, value_name = "FILE")]
    secret_passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct CopyArgs {
    /// The database to read: sqlite:///path/to/file.db or postgres://…
    #[arg(long, value_name = "URL")]
    from: String,
    /// The database to fill, which must be empty
    #[arg(long, value_name = "URL")]
    to: String,
}

pub(super) fn backup(args: &BackupArgs, admin: &Admin, quiet: bool) -> CommandResult {
    let config = &admin.config;
    let storage = Storage::open(&config.storage_settings())?;
    let secret = match &args.secret_passphrase_file {
        None => None,
        Some(file) => Some((start::secret(config, &admin.world.random)?, passphrase(file)?)),
    };
    let backup = Backup {
        db: &admin.db,
        storage: &storage,
        runtime: admin.runtime.handle(),
        random: &admin.world.random,
        now: admin.world.clock.now(),
        secret,
        directory: args.directory,
        project: args.project,
    };
    let progress = Progress::new(quiet, &admin.world.clock);
    let manifest =
        backup.run(&args.path, &|what, count| progress.show(what, count)).map_err(one_line)?;
    progress.clear();
    let (bytes, sha256) = measure(&args.path)?;
    let mut text = format!(
        "{}: {} rows of {} tables, {} files, {bytes} bytes, verified\n",
        args.path.display(),
        manifest.tables.iter().map(|table| table.rows).sum::<u64>(),
        manifest.tables.len(),
        manifest.files,
    );
    if args.secret_passphrase_file.is_none() && args.project.is_none() {
        text +=
            "The secret key is not in it: keep it elsewhere, or use --secret-passphrase-file.\n";
    }
    for key in &manifest.missing_files {
        text += &format!("lost before the backup: {key}\n");
    }
    let json = json!({
        "path": args.path,
        "bytes": bytes,
        "tables": rows(&manifest),
        "files": manifest.files,
        "missingFiles": manifest.missing_files,
        "sha256": sha256,
    });
    Ok(Output::new(text, json))
}

pub(super) fn verify(path: &Path) -> CommandResult {
    let manifest = archive::verify(path).map_err(one_line)?;
    let text = format!(
        "{}: sound, made at {} by townhall {} on {}, {} rows, {} files\n",
        path.display(),
        manifest.created_at,
        manifest.townhall,
        manifest.engine,
        manifest.tables.iter().map(|table| table.rows).sum::<u64>(),
        manifest.files,
    );
    let json = json!({
        "path": path,
        "valid": true,
        "createdAt": manifest.created_at,
        "townhall": manifest.townhall,
        "engine": manifest.engine,
        "schema": manifest.schema,
        "tables": rows(&manifest),
        "files": manifest.files,
    });
    Ok(Output::new(text, json))
}

pub(super) fn restore(args: &RestoreArgs, flags: &Flags, quiet: bool) -> CommandResult {
    let config = Config::load(flags)?;
    check_empty(&config)?;
    start::prepare_data_dir(&config)?;
    let _lock = start::lock_data_dir(&config)?;
    let secret = match &args.secret_passphrase_file {
        None => None,
        Some(file) => restore::secret(&args.path, &passphrase(file)?).map_err(one_line)?,
    };
    let world = Dependencies::real();
    let storage = Storage::open(&config.storage_settings())?;
    let staging = Staging::open(&config.data_dir, STAGING_MEBIBYTES)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let db = start::open_database(&config)?;
    let progress = Progress::new(quiet, &world.clock);
    let restored = Restore {
        db: &db,
        storage: &storage,
        staging: &staging,
        runtime: &runtime,
        random: &world.random,
        now: world.clock.now(),
    }
    .run(&args.path, &|what, count| progress.show(what, count))
    .map_err(one_line)?;
    progress.clear();
    let applied = start::migrate(&db, world.clock.now())?;
    runtime.block_on(db.close());
    let has_secret = secret.is_some();
    if let Some(secret) = secret {
        start::install_secret(&config, &secret)?;
    }
    let count: u64 = restored.tables.iter().map(|table| table.found.rows).sum();
    let mut text = format!(
        "restored: {count} rows of {} tables, {} files, all compared\n",
        restored.tables.len(),
        restored.files
    );
    if !has_secret {
        text += "The secret key was not restored: set TOWNHALL_SECRET_KEY to the old one, or start with a new one \
                 by `townhall secret accept`, which ends all sessions.\n";
    }
    let json = json!({
        "tables": rows(&restored.manifest),
        "files": restored.files,
        "secret": has_secret,
        "migrations": applied,
    });
    Ok(Output::new(text, json))
}

/// One project into an installation that may have others; a server may be running.
pub(super) fn restore_project(
    args: &RestoreArgs,
    project: ProjectId,
    admin: &Admin,
    quiet: bool,
) -> CommandResult {
    let id = args.new_id.unwrap_or(project);
    let storage = Storage::open(&admin.config.storage_settings())?;
    claim(admin, &storage)?;
    let staging = Staging::open(&admin.config.data_dir, STAGING_MEBIBYTES)?;
    let (runtime, random) = (admin.runtime.handle(), &admin.world.random);
    let staged = admin.block_on(Box::pin(staging.directory(random)))?;
    let progress = Progress::new(quiet, &admin.world.clock);
    let restored = RestoreProject {
        db: &admin.db,
        store: Store { storage: &storage, staging: &staging, runtime, random },
        scratch: staged.path(),
        now: admin.world.clock.now(),
        project,
        id,
    }
    .run(&args.path, &|what, count| progress.show(what, count));
    progress.clear();
    let restored = restored.map_err(one_line)?;
    let tables: Map<String, Value> =
        restored.tables.iter().map(|table| (table.name.clone(), table.found.rows.into())).collect();
    let rows: u64 = restored.tables.iter().map(|table| table.found.rows).sum();
    let text = format!(
        "restored as {id}: {rows} rows of {} tables, {} files, all compared\n\
         If the archive is of an installation with another secret key, secrets of webhooks, sign-in providers, push \
         services and digests have to be set again.\n",
        tables.len(),
        restored.files
    );
    let json = json!({ "projectId": id, "tables": tables, "files": restored.files });
    Ok(Output::new(text, json))
}

/// As a server does at its start: a storage that was lost is not made again silently.
pub(super) fn claim(admin: &Admin, storage: &Storage) -> CommandResult<()> {
    let has_files = admin.read(files::any)?;
    let claimed = admin.runtime.block_on(storage.claim(has_files));
    match claimed.map_err(|error| error.to_string())? {
        true => Ok(()),
        false => Err("the storage is empty, but the database knows of files".to_owned()),
    }
}

pub(super) fn copy(args: &CopyArgs, quiet: bool) -> CommandResult {
    let (_from_lock, _to_lock) = (lock(&args.from)?, lock(&args.to)?);
    let open = |url: &str| Db::open(url, Options::default()).map_err(|error| error.to_string());
    let (from, to) = (open(&args.from)?, open(&args.to)?);
    let clock = Dependencies::real().clock;
    let count = || copy::count(&from).map_err(one_line);
    let progress = Progress::new(quiet, &clock).of(count)?;
    let now = clock.now();
    let copied = copy::run(&from, &to, now, &|what, count| progress.show(what, count));
    progress.clear();
    let copied = copied.map_err(one_line)?;
    let mut text = String::new();
    for Filled { name, sent, .. } in &copied {
        text += &format!("{:>12}  {sent}  {name}\n", sent.rows);
    }
    text += "equal on both sides\n";
    let tables: Vec<Value> = copied
        .iter()
        .map(|Filled { name, sent, found }| {
            json!({ "name": name, "rows": sent.rows, "from": sent.to_string(), "to": found.to_string() })
        })
        .collect();
    Ok(Output::new(text, json!({ "tables": tables, "equal": true })))
}

/// Neither a running server nor another command may use the SQLite database meanwhile.
fn lock(url: &str) -> CommandResult<Option<start::Lock>> {
    let Some(path) = url.strip_prefix("sqlite://") else { return Ok(None) };
    let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    start::lock_directory(directory).map(Some)
}

/// A restore that was interrupted may go on.
fn check_empty(config: &Config) -> CommandResult<()> {
    let entries = match fs::read_dir(&config.data_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(|error| error.to_string())?,
    };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    if names.all(|name| name == CONFIG_FILE) {
        return Ok(());
    }
    let db = start::open_database(config)?;
    if load::is_unfinished(&db).map_err(|error| error.to_string())? {
        return Ok(());
    }
    Err(format!("the data directory {} is not empty", config.data_dir.display()))
}

fn rows(manifest: &Manifest) -> Map<String, Value> {
    manifest.tables.iter().map(|table| (table.name.clone(), table.rows.into())).collect()
}

fn passphrase(file: &Path) -> CommandResult<String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(format!("{} holds no passphrase", file.display())),
        passphrase => Ok(passphrase.to_owned()),
    }
}

/// The size and digest of an archive; of a folder those of its manifest, which has the digests of the rest.
fn measure(path: &Path) -> CommandResult<(u64, String)> {
    let file = if path.is_dir() { path.join(archive::MANIFEST) } else { path.to_owned() };
    archive::measure(&file).map_err(|error| format!("{}: {error}", file.display()))
}

pub(super) fn one_line(Failure(text): Failure) -> String {
    text
}

/// One line on a terminal that is written over.
pub(super) struct Progress {
    is_shown: bool,
    clock: Clock,
    /// Rows that there are in all, if that is known.
    total: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: Option<Duration>,
    last: Option<Duration>,
    what: String,
    count: u64,
    /// Of what came before.
    done: u64,
}

impl Progress {
    pub(super) fn new(quiet: bool, clock: &Clock) -> Self {
        let is_shown = !quiet && io::stderr().is_terminal();
        Progress { is_shown, clock: clock.clone(), total: 0, state: Mutex::default() }
    }

    /// Also shows how much time is left.
    pub(super) fn of(self, count: impl FnOnce() -> CommandResult<u64>) -> CommandResult<Self> {
        let total = if self.is_shown { count()? } else { 0 };
        Ok(Progress { total, ..self })
    }

    pub(super) fn show(&self, what: &str, count: u64) {
        if !self.is_shown {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.clock.uptime();
        if state.what != what {
            state.done += state.count;
            what.clone_into(&mut state.what);
        }
        state.count = count;
        let begun = *state.begun.get_or_insert(now);
        if state.last.is_none_or(|last| now - last >= BETWEEN_LINES) {
            state.last = Some(now);
            let left = time_left(now - begun, state.done + count, self.total);
            let _ = write!(io::stderr(), "\r\x1b[K{what}: {count}{left}");
        }
    }

    pub(super) fn clear(&self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// As far as it can be told from what was done so far.
fn time_left(taken: Duration, done: u64, total: u64) -> String {
    if total == 0 || done == 0 || done >= total {
        return String::new();
    }
    let seconds = taken.as_secs().saturating_mul(total - done) / done;
    let percent = done.saturating_mul(100) / total;
    format!(", {percent} %, {}:{:02} left", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        let of = |seconds, done| time_left(Duration::from_secs(seconds), done, 400);
        assert_eq!(of(60, 100), ", 25 %, 3:00 left");
        assert_eq!(of(7, 300), ", 75 %, 0:02 left");
        assert_eq!((of(0, 0), of(9, 400)), (String::new(), String::new()));
    }
}
