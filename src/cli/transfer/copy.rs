//! `townhall copy`: everything from one database to another, of either engine.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use db::{Db, Options};
use serde_json::{Value, json};

use super::{Progress, one_line};
use crate::app::Dependencies;
use crate::cli::{CommandResult, Output};
use crate::start;
use crate::transfer::copy;
use crate::transfer::load::Filled;
use crate::transfer::online::{self, Online};
use crate::values::random;

const MOVED: &str = "the database was moved to another one by `townhall copy --online`, and is read-only since: start on the other \
                     one, or use this one again by `townhall copy --reopen --from URL`";

#[derive(Debug, Args)]
pub(in crate::cli) struct CopyArgs {
    /// The database to read: sqlite:///path/to/file.db or postgres://…
    #[arg(long, value_name = "URL")]
    from: String,
    /// The database to fill, which must be empty
    #[arg(long, value_name = "URL", required_unless_present = "reopen")]
    to: Option<String>,
    /// While a server writes to the source; at the end the source is read-only
    #[arg(long)]
    online: bool,
    /// Make a source that was copied online writable again
    #[arg(long, conflicts_with_all = ["to", "online"])]
    reopen: bool,
}

pub(in crate::cli) fn copy(args: &CopyArgs, quiet: bool) -> CommandResult {
    match &args.to {
        Some(to) if args.online => copy_online(&args.from, to, quiet),
        Some(to) => copy_alone(&args.from, to, quiet),
        None => reopen(&args.from),
    }
}

fn copy_alone(from: &str, to: &str, quiet: bool) -> CommandResult {
    let (_from_lock, _to_lock) = (lock(from)?, lock(to)?);
    let (from, to) = (open(from)?, open(to)?);
    let clock = Dependencies::real().clock;
    let count = || copy::count(&from).map_err(one_line);
    let progress = Progress::new(quiet, &clock).of(count)?;
    let now = clock.now();
    let copied = copy::run(&from, &to, now, &|what, count| progress.show(what, count));
    progress.clear();
    let copied = copied.map_err(one_line)?;
    Ok(output(&copied, "equal on both sides\n", json!({})))
}

fn copy_online(from: &str, to: &str, quiet: bool) -> CommandResult {
    let (_copying, _to_lock) = (lock_copying(from)?, lock(to)?);
    let (from, to) = (open(from)?, open(to)?);
    let Dependencies { clock, random, .. } = Dependencies::real();
    let progress = Progress::new(quiet, &clock);
    let token = random::hex(&random.bytes::<16>());
    let copy = Online { source: &from, target: &to, clock: &clock, token: &token };
    let copied = copy.run(&|what, count| progress.show(what, count));
    progress.clear();
    let copied = copied.map_err(one_line)?;
    let pause = copied.pause.as_millis();
    let end = format!(
        "equal on both sides; nobody could write for {pause} ms\n\
         The source is read-only now: start the server on the target. To use the source again: townhall copy --reopen --from URL\n"
    );
    Ok(output(&copied.tables, &end, json!({ "pauseMilliseconds": pause })))
}

fn reopen(from: &str) -> CommandResult {
    let _copying = lock_copying(from)?;
    online::reopen(&open(from)?).map_err(one_line)?;
    Ok(Output::new("the database can be written to\n".to_owned(), json!({ "reopened": true })))
}

fn output(copied: &[Filled], end: &str, mut json: Value) -> Output {
    let mut text = String::new();
    for Filled { name, sent, .. } in copied {
        text += &format!("{:>12}  {sent}  {name}\n", sent.rows);
    }
    let tables: Vec<Value> = copied
        .iter()
        .map(|Filled { name, sent, found }| {
            json!({ "name": name, "rows": sent.rows, "from": sent.to_string(), "to": found.to_string() })
        })
        .collect();
    json["tables"] = tables.into();
    json["equal"] = true.into();
    Output::new(text + end, json)
}

/// Refuses a database that was moved; removes the log of a copy that was killed.
pub(in crate::cli) fn before_serving(db: &Db, url: &str) -> CommandResult<()> {
    if online::is_fenced(db).map_err(one_line)? {
        return Err(MOVED.to_owned());
    }
    match lock_copying(url) {
        Ok(_copying) => online::remove_leftovers(db).map_err(one_line),
        Err(_) => Ok(()),
    }
}

fn open(url: &str) -> CommandResult<Db> {
    Db::open(url, Options::default()).map_err(|error| error.to_string())
}

/// Neither a running server nor another command may use the SQLite database meanwhile.
fn lock(url: &str) -> CommandResult<Option<start::Lock>> {
    let Some(directory) = directory(url)? else { return Ok(None) };
    start::lock_directory(&directory).map(Some)
}

/// One online copy of a SQLite database at a time; a server may be running.
fn lock_copying(url: &str) -> CommandResult<Option<start::Lock>> {
    let Some(directory) = directory(url)? else { return Ok(None) };
    start::lock_copying(&directory).map(Some)
}

fn directory(url: &str) -> CommandResult<Option<PathBuf>> {
    let Some(path) = url.strip_prefix("sqlite://") else { return Ok(None) };
    let parent = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    Ok(Some(directory.to_owned()))
}
