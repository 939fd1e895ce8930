//! Torture: faults and attacks on a real server, on this machine alone. Each trial is bounded in
//! count and time, prints one figure, and fails the run when its promise does not hold.

mod attacks;
mod contention;
mod deliveries;
mod fuzz;
mod http;
mod kill;
mod trial;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use bench::store::Engine;
use clap::Parser;

use trial::{Figure, Setup};

/// Attacks a server of its own, on the loopback address. Ends by itself, in under seven minutes.
#[derive(Debug, Parser)]
#[command(name = "torture")]
struct Args {
    /// Only the trials whose name holds this text; may be repeated.
    #[arg(long)]
    only: Vec<String>,
    /// List the trials.
    #[arg(long)]
    list: bool,
    /// What the dice begin with: the same number makes the same requests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many times a server is killed under load, for each engine.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    kills: u32,
    /// Mutated requests, over both engines.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=100_000_000))]
    requests: u32,
    /// The server's program: `townhall` beside this one when not given.
    #[arg(long)]
    server: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.list {
        trials().iter().for_each(|(name, _)| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    match run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("torture: {why}");
            ExitCode::FAILURE
        }
    }
}

type Trial = fn(&tokio::runtime::Runtime, &Setup) -> Result<Figure, String>;

/// Every trial, by name. Each starts its own server and database.
fn trials() -> Vec<(&'static str, Trial)> {
    vec![
        ("kill-sqlite", |runtime, setup| runtime.block_on(kill::trial(setup, Engine::Sqlite))),
        ("kill-postgres", |runtime, setup| runtime.block_on(kill::trial(setup, Engine::Postgres))),
        ("kill-deliveries", |runtime, setup| runtime.block_on(deliveries::trial(setup))),
        ("contention-sqlite", |runtime, setup| {
            runtime.block_on(contention::trial(setup, Engine::Sqlite))
        }),
        ("contention-postgres", |runtime, setup| {
            runtime.block_on(contention::trial(setup, Engine::Postgres))
        }),
        ("fuzz-sqlite", |runtime, setup| runtime.block_on(fuzz::trial(setup, Engine::Sqlite))),
        ("fuzz-postgres", |runtime, setup| runtime.block_on(fuzz::trial(setup, Engine::Postgres))),
        ("documents", |runtime, setup| runtime.block_on(attacks::documents::trial(setup))),
        ("slow-bodies", |runtime, setup| runtime.block_on(attacks::bodies::trial(setup))),
        ("connections", |runtime, setup| runtime.block_on(attacks::connections::trial(setup))),
        ("idle-connections", |runtime, setup| runtime.block_on(attacks::connections::idle(setup))),
        ("pictures", |runtime, setup| runtime.block_on(attacks::pictures::trial(setup))),
        ("silent-database", |runtime, setup| runtime.block_on(attacks::silence::trial(setup))),
        ("shutdown", |runtime, setup| runtime.block_on(attacks::shutdown::trial(setup))),
        ("mail", |runtime, setup| runtime.block_on(attacks::mail::trial(setup))),
    ]
}

/// Whether every trial held.
fn run(args: Args) -> Result<bool, String> {
    let setup = Setup {
        program: args.server.map_or_else(bench::beside_this_program, Ok)?,
        seed: args.seed,
        kills: args.kills,
        requests: args.requests,
    };
    let chosen = |name: &str| args.only.is_empty() || args.only.iter().any(|o| name.contains(o));
    let mut failed = 0;
    for (name, trial) in trials().into_iter().filter(|(name, _)| chosen(name)) {
        let started = bench::clock::now();
        // A runtime of its own: what a trial leaves behind ends with it.
        let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
        let outcome = trial(&runtime, &setup);
        runtime.shutdown_background();
        let took = (bench::clock::now() - started).as_secs_f64();
        let (word, text) = match outcome {
            Ok(Figure { holds: true, text }) => ("holds", text),
            Ok(Figure { holds: false, text }) => ("FAILS", text),
            Err(why) => ("FAILS", why),
        };
        failed += u32::from(word == "FAILS");
        println!("{word}  {name:<20} {text}  [{took:.0} s]");
    }
    Ok(failed == 0)
}
