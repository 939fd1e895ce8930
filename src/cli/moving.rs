//! `townhall export` and `townhall import`: a project out of an installation, and into one.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::transfer::{Progress, STAGING_MEBIBYTES, claim, one_line};
use crate::cli::{Admin, CommandResult, Output, project_id};
use crate::storage::Storage;
use crate::storage::staging::Staging;
use crate::tenancy::{NOT_FOUND, registry};
use crate::transfer::Store;
use crate::transfer::export::{self, Export};
use crate::transfer::import::{self, Import};
use crate::values::ids::ProjectId;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Written {
    /// One document on each line
    Jsonl,
    /// A folder with a file for each type
    Csv,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Read {
    /// What `townhall export` writes
    Jsonl,
    /// A file of users, posts or comments, or a folder of them
    Csv,
    /// WordPress: Tools, Export, All content
    Wxr,
    /// Disqus: Community, Export
    Disqus,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: ProjectId,
    #[arg(long, value_name = "FORMAT")]
    format: Written,
    /// Where to write; it must not exist. Stored files are put into PATH.files (jsonl) or PATH/files (csv)
    path: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    #[arg(long, value_parser = project_id, value_name = "ID")]
    project: ProjectId,
    #[arg(long, value_name = "FORMAT")]
    format: Read,
    /// What to read
    path: PathBuf,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn export(args: &ExportArgs, admin: &Admin, quiet: bool) -> CommandResult {
    let storage = Storage::open(&admin.config.storage_settings())?;
    let export = Export {
        db: &admin.db,
        storage: &storage,
        runtime: admin.runtime.handle(),
        random: &admin.world.random,
        now: admin.world.clock.now(),
        project: args.project,
        format: match args.format {
            Written::Jsonl => export::Format::Jsonl,
            Written::Csv => export::Format::Csv,
        },
    };
    let progress = Progress::new(quiet, &admin.world.clock);
    let done = export.run(&args.path, &|what, count| progress.show(what, count));
    progress.clear();
    let done = done.map_err(one_line)?;
    let mut text = String::new();
    for (kind, count) in &done.documents {
        text += &format!("{count:>12}  {kind}\n");
    }
    text += &format!("{} stored files; written to {}\n", done.files, args.path.display());
    for key in &done.missing_files {
        text += &format!("lost before the export: {key}\n");
    }
    let json = json!({
        "path": args.path,
        "documents": done.documents,
        "files": done.files,
        "missingFiles": done.missing_files,
    });
    Ok(Output::new(text, json))
}

pub(super) fn import(args: &ImportArgs, admin: &Admin, quiet: bool) -> CommandResult {
    let id = args.project;
    let project = admin.read(move |c| registry::load(c, id)?.ok_or(NOT_FOUND.into()))?;
    let storage = Storage::open(&admin.config.storage_settings())?;
    let staging = Staging::open(&admin.config.data_dir, STAGING_MEBIBYTES)?;
    let (runtime, random) = (admin.runtime.handle(), &admin.world.random);
    if !args.dry_run {
        claim(admin, &storage)?;
    }
    let import = Import {
        db: &admin.db,
        store: Store { storage: &storage, staging: &staging, runtime, random },
        runtime,
        random,
        now: admin.world.clock.now(),
        project: &project,
        is_dry_run: args.dry_run,
    };
    let format = match args.format {
        Read::Jsonl => import::Format::Jsonl,
        Read::Csv => import::Format::Csv,
        Read::Wxr => import::Format::Wxr,
        Read::Disqus => import::Format::Disqus,
    };
    let progress = Progress::new(quiet, &admin.world.clock);
    let step = |what: &str, count: u64| {
        progress.show(what, count);
        Ok(())
    };
    let done = import.run(&args.path, format, &step);
    progress.clear();
    let report = done.map_err(one_line)?;
    Ok(Output::new(report.text(args.dry_run), report.json(args.dry_run)))
}
