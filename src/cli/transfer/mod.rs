//! `townhall backup`, `verify`, `restore` and `copy`.

mod copy;
mod progress;
mod restore;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::features::files::store as files;
use crate::start;
use crate::storage::Storage;
use crate::transfer::Failure;
use crate::transfer::archive::{self, Manifest};
use crate::transfer::backup::Backup;
use crate::values::ids::ProjectId;
pub(super) use copy::{CopyArgs, before_serving, copy};
pub(super) use progress::Progress;
pub(super) use restore::{RestoreArgs, restore, restore_project};

/// Enough for the largest file, which is stored one at a time.
pub(super) const STAGING_MEBIBYTES: usize = 1024;

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

/// As a server does at its start: a storage that was lost is not made again silently.
pub(super) fn claim(admin: &Admin, storage: &Storage) -> CommandResult<()> {
    let has_files = admin.read(files::any)?;
    let claimed = admin.runtime.block_on(storage.claim(has_files));
    match claimed.map_err(|error| error.to_string())? {
        true => Ok(()),
        false => Err("the storage is empty, but the database knows of files".to_owned()),
    }
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
