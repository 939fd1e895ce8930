//! `townhall restore`: an archive into an empty installation, or one project beside others.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{Progress, STAGING_MEBIBYTES, claim, one_line, passphrase, rows};
use crate::app::Dependencies;
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::config::{Config, Flags};
use crate::start;
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::transfer::Store;
use crate::transfer::load;
use crate::transfer::project::RestoreProject;
use crate::transfer::restore::{self, Restore};
use crate::values::ids::ProjectId;

const CONFIG_FILE: &str = "townhall.toml";

#[derive(Debug, Args)]
pub(in crate::cli) struct RestoreArgs {
    /// The archive
    path: PathBuf,
    /// One project of the archive, into an installation that may have others
    #[arg(long, value_name = "ID", value_parser = project_id, conflicts_with = "secret_passphrase_file")]
    pub(in crate::cli) project: Option<ProjectId>,
    /// The id that the project gets
    #[arg(long = "as", value_name = "NEW_ID", value_parser = project_id, requires = "project")]
    new_id: Option<ProjectId>,
    /// The file with the passphrase of the secret in the archive
    #[arg(long, value_name = "FILE")]
    secret_passphrase_file: Option<PathBuf>,
}

pub(in crate::cli) fn restore(args: &RestoreArgs, flags: &Flags, quiet: bool) -> CommandResult {
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
pub(in crate::cli) fn restore_project(
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
