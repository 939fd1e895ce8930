//! The `townhall` program.

use std::process::ExitCode;

use clap::Parser as _;
use townhall::cli;

/// Releases are linked statically with musl, whose own allocator makes threads wait for each other.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse())
}
