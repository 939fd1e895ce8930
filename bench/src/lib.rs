//! Measures the server: starts it on a database of its own, sends it the requests of scenarios,
//! and says how fast it was beside how fast it could have been. `README.md` explains the numbers.

mod alone;
mod ceiling;
mod chat;
pub mod client;
pub mod clock;
mod connections;
mod deliveries;
pub mod dice;
mod entities;
mod events;
mod fixture;
mod load;
mod report;
mod run;
mod scenario;
mod scenarios;
mod search;
pub mod server;
mod sockets;
mod spaces;
pub mod store;
mod table;
mod tables;
mod tally;
pub mod usage;
pub mod webhooks;

pub use sockets::make_room;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::builder::PossibleValuesParser;

use clock::Span;
use fixture::Scale;
use load::ReadMode;
use report::Report;
use run::Run;
use store::Engine;
use table::{Results, Table};

/// Load on a server of its own, on this machine. Every measurement ends by itself.
#[derive(Debug, Parser)]
#[command(name = "bench", after_help = scenarios_help())]
struct Args {
    /// Measure the rows of docs/performance.md on both engines and print them beside their goals.
    #[arg(long, conflicts_with_all = ["rate", "sockets", "page"])]
    table: bool,
    /// Index so many entities and search them, instead of the scenarios.
    #[arg(long, value_name = "ENTITIES", conflicts_with_all = ["table", "scenarios", "events", "deliveries"])]
    search: Option<usize>,
    /// List so many events, instead of the scenarios.
    #[arg(long, conflicts_with_all = ["table", "scenarios", "deliveries"])]
    events: Option<usize>,
    /// Send so many webhook deliveries that wait in the queue, instead of the scenarios.
    #[arg(long, conflicts_with_all = ["table", "scenarios"])]
    deliveries: Option<usize>,
    /// Which database; may be given twice. SQLite when not given, both for --table.
    #[arg(long = "engine", value_enum)]
    engines: Vec<Engine>,
    /// Which scenario or row of the table; may be repeated. All of them when not given.
    #[arg(long = "scenario", value_parser = scenario_names())]
    scenarios: Vec<String>,
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    connections: u32,
    /// Open loop: so many requests per second, whether or not the server keeps up.
    #[arg(long, value_parser = rate)]
    rate: Option<f64>,
    /// Seconds that are measured: 10 when not given, 3 for --table.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    duration: Option<u64>,
    /// Seconds before that, which do not count: 2 when not given, 1 for --table.
    #[arg(long, value_parser = clap::value_parser!(u64).range(0..=60))]
    warm_up: Option<u64>,
    /// Measure so many times and keep the better result. For --table: rounds, of which the median is shown, 3 when
    /// not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=20))]
    repeat: Option<u32>,
    /// Users in the database.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(16..=10_000_000))]
    users: u32,
    /// Entities in the database: 10,000 when not given, 100,000 for --table.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    entities: Option<u32>,
    /// Comments on the first entity.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    comments: u32,
    /// Rows of the custom table.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rows: u32,
    /// Messages in the conversation of 1,000 members.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(50..=10_000_000))]
    messages: u32,
    /// Members of each group that messages are sent into.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    group_members: u32,
    /// Sockets that are open: 1,000 for fan-out and 5,000 for idle-sockets when not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=9_500))]
    sockets: Option<u32>,
    /// Which page of 20 the lists ask for.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=500_000))]
    page: u32,
    /// Threads of the load generator: half of the cores when not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    threads: Option<u32>,
    /// The server's program: `townhall` beside this one when not given. May be repeated for --table: all of them
    /// answer each round in turn, on the same database.
    #[arg(long = "server", value_name = "PROGRAM")]
    servers: Vec<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

fn scenario_names() -> PossibleValuesParser {
    PossibleValuesParser::new(all_scenarios().map(|(name, _)| name))
}

/// Names, and what they are about.
fn all_scenarios() -> impl Iterator<Item = (&'static str, &'static str)> {
    let with_requests = scenario::ALL.iter().map(|scenario| (scenario.name, scenario.about));
    let with_sockets = sockets::Scenario::ALL.iter().map(|s| (s.name(), s.about()));
    with_requests.chain(with_sockets)
}

fn scenarios_help() -> String {
    let lines = all_scenarios().map(|(name, about)| format!("  {name:<18} {about}\n"));
    format!("Scenarios:\n{}", lines.collect::<String>())
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (1.0..=1e6).contains(rate));
    rate.ok_or_else(|| "must be between 1 and 1000000".to_owned())
}

/// The program: its exit code says whether every request was answered as expected.
pub fn main() -> ExitCode {
    match measure(Args::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(errors) => {
            eprintln!("bench: {errors} requests failed, so the numbers mean little");
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Comments of the table, spread over all entities.
const TABLE_COMMENTS: usize = 300_000;

impl Args {
    fn scale(&self) -> Scale {
        let entities = self.entities.unwrap_or(if self.table { 100_000 } else { 10_000 });
        Scale {
            users: self.users as usize,
            entities: entities as usize,
            comments: self.comments as usize,
            spread_comments: if self.table { TABLE_COMMENTS } else { 0 },
            rows: self.rows as usize,
            chat: chat::Size {
                messages: self.messages as usize,
                group_members: self.group_members as usize,
            },
            page: self.page,
        }
    }

    fn span(&self) -> Span {
        let (warm_up, duration) = if self.table { (1, 3) } else { (2, 10) };
        Span {
            warm_up: Duration::from_secs(self.warm_up.unwrap_or(warm_up)),
            duration: Duration::from_secs(self.duration.unwrap_or(duration)),
        }
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        match self.servers.as_slice() {
            [] => Ok(vec![beside_this_program()?]),
            programs => Ok(programs.to_vec()),
        }
    }

    /// For what measures one program.
    fn program(&self) -> Result<PathBuf, String> {
        match self.programs()?.as_slice() {
            [program] => Ok(program.clone()),
            _ => Err("only --table compares several servers".to_owned()),
        }
    }

    fn threads(&self, cores: usize) -> usize {
        self.threads.map_or((cores / 2).max(1), |threads| threads as usize)
    }
}

/// Prints the report; how many requests failed.
fn measure(args: Args) -> Result<u64, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    let measured = runtime.block_on(async {
        tokio::select! {
            measured = measure_all(&args, cores) => measured,
            // The server and the database go away with what is dropped here.
            _ = tokio::signal::ctrl_c() => Err("interrupted".to_owned()),
        }
    });
    runtime.shutdown_background();
    let Printed { text, errors } = measured?;
    print!("{text}");
    Ok(errors)
}

/// What is printed at the end, and how many requests failed.
struct Printed {
    text: String,
    errors: u64,
}

impl Printed {
    fn new<T: serde::Serialize>(
        args: &Args,
        report: &T,
        table: fn(&T) -> String,
        errors: u64,
    ) -> Result<Self, String> {
        let json = || serde_json::to_string_pretty(report).map_err(|error| error.to_string());
        let text = if args.json { json()? + "\n" } else { table(report) };
        Ok(Printed { text, errors })
    }
}

async fn measure_all(args: &Args, cores: usize) -> Result<Printed, String> {
    if args.table {
        let both = || vec![Engine::Sqlite, Engine::Postgres];
        let engines = Some(args.engines.clone()).filter(|engines| !engines.is_empty());
        let table = Table {
            programs: args.programs()?,
            scenarios: args.scenarios.clone(),
            engines: engines.unwrap_or_else(both),
            connections: args.connections as usize,
            threads: args.threads(cores),
            span: args.span(),
            rounds: args.repeat.unwrap_or(3),
            scale: args.scale(),
        };
        let results = table.run(cores).await?;
        return Printed::new(args, &results, Results::table, results.errors());
    }
    if args.search.is_some() || args.events.is_some() || args.deliveries.is_some() {
        return alone(args).await;
    }
    let report = report(args, cores).await?;
    Printed::new(args, &report, Report::table, report.errors())
}

/// The measurements that have a database of their own, as Markdown.
async fn alone(args: &Args) -> Result<Printed, String> {
    let engines = if args.engines.is_empty() { &[Engine::Sqlite][..] } else { &args.engines };
    let (program, span) = (args.program()?, args.span());
    let mut text = String::new();
    for engine in engines {
        let (head, line) = match (args.search, args.events, args.deliveries) {
            (Some(count), ..) => {
                (search::HEAD, search::measure(*engine, count, &program, span).await?)
            }
            (_, Some(count), _) => {
                (events::HEAD, events::measure(*engine, count, &program, span).await?)
            }
            (.., count) => {
                let count = count.unwrap_or_default();
                (deliveries::HEAD, deliveries::measure(*engine, count, &program).await?)
            }
        };
        text += if text.is_empty() { head } else { "" };
        text += &line;
    }
    Ok(Printed { text, errors: 0 })
}

async fn report(args: &Args, cores: usize) -> Result<Report, String> {
    let chosen = |name: &str| args.scenarios.is_empty() || args.scenarios.iter().any(|s| s == name);
    let run = Run {
        program: args.program()?,
        scenarios: scenario::ALL.iter().filter(|scenario| chosen(scenario.name)).collect(),
        with_sockets: sockets::Scenario::ALL.into_iter().filter(|s| chosen(s.name())).collect(),
        sockets: args.sockets.map(|sockets| sockets as usize),
        connections: args.connections as usize,
        threads: args.threads(cores),
        pace: args.rate.map_or(ReadMode::Closed, ReadMode::Open),
        span: args.span(),
        repeat: args.repeat.unwrap_or(1),
        scale: args.scale(),
    };
    let engines = if args.engines.is_empty() { &[Engine::Sqlite][..] } else { &args.engines };
    let mut measurements = Vec::new();
    for engine in engines {
        measurements.extend(run.on(*engine).await?);
    }
    Ok(Report {
        cores,
        connections: run.connections,
        users: run.scale.users,
        entities: run.scale.entities,
        comments: run.scale.comments,
        rows: run.scale.rows,
        messages: run.scale.chat.messages,
        group_members: run.scale.chat.group_members,
        page: run.scale.page,
        seconds: run.span.duration.as_secs_f64(),
        measurements,
    })
}

/// The server's program, which the build puts beside this one.
pub fn beside_this_program() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(this.with_file_name("townhall"))
}
