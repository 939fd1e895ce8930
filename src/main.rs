//! The `townhall` program.

use std::process::ExitCode;

use clap::Parser as _;
use tikv_jemallocator::Jemalloc;
use townhall::cli;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}
