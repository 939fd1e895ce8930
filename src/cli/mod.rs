//! The command line. Each command is a function that returns what to print; `run` turns that
//! into text or one JSON document, and into an exit code.

mod admin;
mod audit;
mod context;
mod distribute;
mod doctor;
mod generate;
mod jobs;
mod jwt_issuers;
mod keys;
mod mail_templates;
mod moderation;
mod moderation_rules;
mod moving;
mod oauth;
mod project_settings;
mod projects;
mod push;
mod routes;
mod search;
mod secret;
mod serve;
mod show;
mod transfer;
mod upgrade;
mod user_records;
mod users;
mod webhooks;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde_json::Value;

use crate::config::{Config, Flags};
use crate::error::Error;
use crate::http::version::Version;
use crate::values::ids::{JobId, KeyId, ProjectId, QueueId, UserId};
use context::Admin;

#[derive(Debug, Parser)]
#[command(name = "townhall", version, about = "A self-hostable community backend in one binary.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

#[derive(Debug, Args)]
struct Global {
    /// The configuration file, instead of townhall.toml in the data directory
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the database, files, mails and the generated secret live
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// sqlite:///path/to/file.db or postgres://…
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Print exactly one JSON document on standard output
    #[arg(long, global = true)]
    json: bool,
}

impl Global {
    fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        flags.set("config", self.config.as_ref().map(|path| path.display().to_string()));
        flags.set("data_dir", self.data_dir.clone());
        flags.set("database_url", self.database_url.clone());
        flags
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a server to try things out: a demo project, two users, no rate limits
    Dev(Listen),
    /// Start the server
    Serve(Listen),
    /// Make and change projects
    #[command(subcommand)]
    Project(projects::ProjectCommand),
    /// Make, list and revoke service and master keys
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Find, show, suspend and delete users; sign tokens for them
    #[command(subcommand)]
    User(users::UserCommand),
    /// What waits for a moderator, decisions about it, and rules that check what users write
    #[command(subcommand)]
    Moderation(moderation::ModerationCommand),
    /// Where a project's events are sent, and what became of them
    #[command(subcommand)]
    Webhooks(webhooks::WebhooksCommand),
    /// Background jobs: list them, run one again, drop one
    #[command(subcommand)]
    Jobs(jobs::JobsCommand),
    /// Show or rebuild the search index of a project
    #[command(subcommand)]
    Search(search::SearchCommand),
    /// Operators of the admin in the browser
    #[command(subcommand)]
    Admin(admin::AdminCommand),
    /// Who changed what: list the audit log, or check it
    Audit(audit::AuditArgs),
    /// Change the secret key on purpose
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Show or bring up to date the schema of the database
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Check configuration, database, storage, mail, disk and clock; recount stored counters
    Doctor {
        /// Also read everything: integrity, foreign keys, every stored file
        #[arg(long)]
        deep: bool,
        /// Repair counters that have drifted
        #[arg(long)]
        fix: bool,
    },
    /// Write everything into one archive, while the server runs
    Backup(transfer::BackupArgs),
    /// Fill an empty installation from an archive
    Restore(transfer::RestoreArgs),
    /// Check an archive: every entry and every row
    Verify {
        /// The archive
        path: PathBuf,
    },
    /// Copy everything from one database to another, of either engine
    Copy(transfer::CopyArgs),
    /// Write everything of a project into files that other programs can read
    Export(moving::ExportArgs),
    /// Add users, posts, comments and more to a project, from an export or from another system
    Import(moving::ImportArgs),
    /// Try an upgrade without touching the database
    #[command(subcommand)]
    Upgrade(upgrade::UpgradeCommand),
    /// Print the OpenAPI 3.1 document
    Openapi {
        /// One version only: v6, v7 or v8
        #[arg(long, value_name = "VERSION", value_parser = version)]
        version: Option<Version>,
    },
    /// List every operation of the API with its versions, credential, rate limit and handler
    Routes,
    /// Show every setting, its value and where it came from
    Config,
    /// Exit with 0 when a running server is ready
    Health {
        /// The server's address; by default the configured one
        #[arg(long)]
        url: Option<String>,
    },
    /// Print the completions of a shell
    Completions {
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a directory
    Man {
        /// Created if it does not exist
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Listen {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

#[derive(Debug, Subcommand)]
enum MigrateCommand {
    /// Which migrations have been applied
    Status,
    /// Apply those that have not
    Up,
    /// On PostgreSQL with Citus: distribute all tables over the workers, each project on one of them
    Distribute {
        /// Give this project shards of its own, which can be moved to a worker of their own
        #[arg(long, value_name = "PROJECT", value_parser = project_id)]
        isolate: Option<ProjectId>,
    },
}

/// What a command prints: lines for people, one document for programs.
#[derive(Debug)]
struct Output {
    text: String,
    json: Value,
    /// What is printed is bad news, and the exit code says so too.
    failed: bool,
}

impl Output {
    fn new(text: String, json: Value) -> Self {
        Output { text, json, failed: false }
    }
}

/// One line that says what went wrong.
type CommandResult<T = Output> = Result<T, String>;

pub fn run(cli: Cli) -> ExitCode {
    let json = cli.global.json;
    match execute(cli) {
        Ok(output) => {
            // A server has printed its document when it was ready.
            let has_document = json && !output.json.is_null();
            let text = if has_document { format!("{}\n", output.json) } else { output.text };
            // A closed pipe (`| head`) is no failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            if output.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(message) => {
            eprintln!("townhall: {}", one_line(&message));
            ExitCode::FAILURE
        }
    }
}

/// The message may quote a damaged archive: its control characters are escaped.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for letter in message.chars() {
        match letter.is_control() {
            true => line.extend(letter.escape_default()),
            false => line.push(letter),
        }
    }
    line
}

fn execute(cli: Cli) -> CommandResult {
    let mut flags = cli.global.flags();
    match cli.command {
        Command::Dev(listen) => {
            flags.set("listen", listen.listen);
            flags.set("rate_limits", Some("off".to_owned()));
            serve::dev(Config::load(&flags)?, cli.global.json)
        }
        Command::Serve(listen) => {
            flags.set("listen", listen.listen);
            serve::serve(Config::load(&flags)?, cli.global.json)
        }
        Command::Project(command) => projects::run(command, Admin::open(&flags)?),
        Command::Key(command) => keys::run(command, Admin::open(&flags)?),
        Command::User(command) => users::run(command, Admin::open(&flags)?),
        Command::Moderation(command) => moderation::run(command, &Admin::open(&flags)?),
        Command::Webhooks(command) => webhooks::run(command, &Admin::open(&flags)?),
        Command::Jobs(command) => jobs::run(&command, &Admin::open(&flags)?),
        Command::Search(command) => search::run(&command, &Admin::open(&flags)?),
        Command::Admin(command) => admin::run(&command, &Admin::open(&flags)?),
        Command::Audit(args) => audit::run(&args, &Admin::open(&flags)?),
        Command::Secret(command) => secret::run(&command, &Admin::open(&flags)?),
        Command::Migrate(MigrateCommand::Status) => show::migrations(&Config::load(&flags)?),
        Command::Migrate(MigrateCommand::Up) => show::migrate(&Config::load(&flags)?),
        Command::Migrate(MigrateCommand::Distribute { isolate }) => {
            distribute::run(isolate, &Admin::open(&flags)?)
        }
        Command::Doctor { deep, fix } => {
            let asked = doctor::Asked { deep, fix };
            Ok(doctor::diagnose(&Config::load(&flags)?, asked))
        }
        Command::Backup(args) => transfer::backup(&args, &Admin::open(&flags)?, cli.global.json),
        Command::Restore(args) => match args.project {
            Some(project) => {
                transfer::restore_project(&args, project, &Admin::open(&flags)?, cli.global.json)
            }
            None => transfer::restore(&args, &flags, cli.global.json),
        },
        Command::Verify { path } => transfer::verify(&path),
        Command::Copy(args) => transfer::copy(&args, cli.global.json),
        Command::Export(args) => moving::export(&args, &Admin::open(&flags)?, cli.global.json),
        Command::Import(args) => moving::import(&args, &Admin::open(&flags)?, cli.global.json),
        Command::Upgrade(command) => upgrade::run(command, &Config::load(&flags)?),
        Command::Openapi { version } => Ok(show::openapi(version)),
        Command::Routes => Ok(routes::list()),
        Command::Config => Ok(show::config(&Config::load(&flags)?)),
        Command::Health { url } => show::health(url, &flags),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { directory } => generate::man_pages(&directory),
    }
}

/// An error without its code: the command line speaks to people.
fn plain(error: Error) -> String {
    match error {
        Error::Refused(refusal) => {
            refusal.message.unwrap_or_else(|| refusal.fault.message.to_owned())
        }
        other => other.to_string(),
    }
}

/// Asks before something that cannot be undone; elsewhere than on a terminal, `--yes` is needed.
fn confirm(question: &str, yes: bool) -> CommandResult<()> {
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(format!("{question} Say so with --yes."));
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| error.to_string())?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err("nothing was changed".to_owned()),
    }
}

fn version(text: &str) -> Result<Version, String> {
    Version::from_segment(text).ok_or_else(|| "there is v6, v7 and v8".to_owned())
}

fn project_id(text: &str) -> Result<ProjectId, String> {
    text.parse().map_err(ToString::to_string)
}

fn key_id(text: &str) -> Result<KeyId, String> {
    text.parse().map_err(ToString::to_string)
}

fn job_id(text: &str) -> Result<JobId, String> {
    text.parse().map_err(ToString::to_string)
}

fn queue_id(text: &str) -> Result<QueueId, String> {
    text.parse().map_err(ToString::to_string)
}

fn user_id(text: &str) -> Result<UserId, String> {
    text.parse().map_err(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_message_is_one_line_whatever_it_quotes() {
        assert_eq!(one_line("ä: no number: 8\n62\u{1b}[1m"), "ä: no number: 8\\n62\\u{1b}[1m");
    }
}
