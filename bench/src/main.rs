//! The load generator; see `lib.rs`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::main()
}
