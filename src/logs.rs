//! Logs: pretty for people, JSON for machines. Written on another thread, so a full or blocked pipe loses
//! lines but never delays a request.

use std::io::{IsTerminal as _, stderr};

use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::config::{Config, LogFormat};

/// Starts logging to standard error; buffered lines are written when the guard is dropped.
pub fn start(config: &Config) -> WorkerGuard {
    let (writer, guard) = NonBlocking::new(stderr());
    let terminal = stderr().is_terminal();
    let format = config.log.unwrap_or(if terminal { LogFormat::Pretty } else { LogFormat::Json });
    let logs = tracing_subscriber::registry().with(config.log_filter.clone());
    let lines = fmt::layer().with_writer(writer).with_target(false);
    // Only the first start of a process takes effect; a second one is no error.
    let _ = match format {
        LogFormat::Pretty => logs.with(lines.with_ansi(terminal)).try_init(),
        LogFormat::Json => logs.with(lines.json().flatten_event(true)).try_init(),
    };
    guard
}
