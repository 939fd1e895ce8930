//! The `townhall` program.

use std::process::ExitCode;

use clap::Parser as _;
use townhall::cli;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}
