//! The `townhall` program.

use std::process::ExitCode;

use clap::Parser as _;
use townhall::cli;

/// A page of a list is hundreds of small allocations, where this one takes a fifth less time than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}
