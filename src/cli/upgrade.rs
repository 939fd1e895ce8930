//! `townhall upgrade rehearse`: does this release get along with the data that is there?

use std::fs;
use std::io;
use std::path::Path;

use clap::Subcommand;
use db::{Db, Engine, Options};
use serde_json::json;

use crate::app::Dependencies;
use crate::cli::doctor::{self, Asked};
use crate::cli::{CommandResult, Output};
use crate::config::Config;
use crate::start;
use crate::storage::durable::remove_directory;
use crate::transfer::{Failure, copy};

/// The directory for the copy of a SQLite database, in the data directory.
const REHEARSAL: &str = "rehearsal";

#[derive(Debug, Subcommand)]
pub(super) enum UpgradeCommand {
    /// Migrate a copy of the database and check it; the database itself is left alone
    Rehearse {
        /// An empty database for the copy, which stays there; PostgreSQL needs one
        #[arg(long, value_name = "URL")]
        to: Option<String>,
    },
}

pub(super) fn run(command: UpgradeCommand, config: &Config) -> CommandResult {
    let UpgradeCommand::Rehearse { to } = command;
    let source = start::open_database(config)?;
    if let Some(url) = to {
        let target = open(&url)?;
        let now = Dependencies::real().clock.now();
        copy::of_snapshot(&source, &target, now, &|_, _| {}).map_err(|Failure(text)| text)?;
        return rehearse(config, &url, &target);
    }
    if source.engine() == Engine::Postgres {
        return Err("name an empty database for the copy: --to postgres://…".to_owned());
    }
    let directory = config.data_dir.join(REHEARSAL);
    let at_directory = |error: io::Error| format!("{}: {error}", directory.display());
    remove_directory(&directory).map_err(at_directory)?;
    fs::create_dir(&directory).map_err(at_directory)?;
    let output = rehearse_file(config, &source, &directory.join("townhall.db"));
    remove_directory(&directory).map_err(at_directory)?;
    output
}

fn rehearse_file(config: &Config, source: &Db, file: &Path) -> CommandResult {
    source.copy_file(file).map_err(|error| error.to_string())?;
    let url = format!("sqlite://{}", file.display());
    rehearse(config, &url, &open(&url)?)
}

/// Migrates the copy and checks it as `doctor --deep` does.
fn rehearse(config: &Config, url: &str, db: &Db) -> CommandResult {
    let clock = Dependencies::real().clock;
    let began = clock.uptime();
    let applied = start::migrate(db, clock.now())?;
    let took = (clock.uptime() - began).as_secs_f64();
    let config = Config { database_url: url.to_owned(), ..config.clone() };
    let report = doctor::diagnose(&config, Asked { deep: true, fix: false });
    let text = format!("{} migrations took {took:.1} s on a copy\n{}", applied.len(), report.text);
    let mut json = report.json;
    json["applied"] = json!(applied);
    json["seconds"] = json!(took);
    Ok(Output { text, json, failed: report.failed })
}

fn open(url: &str) -> CommandResult<Db> {
    Db::open(url, Options::default()).map_err(|error| error.to_string())
}
