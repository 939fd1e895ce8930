//! Logs: pretty for people, JSON for machines. Written on another thread, so a full or blocked pipe loses
//! lines but never delays a request.

use std::io::{IsTerminal as _, stderr};

use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Starts logging to standard error; buffered lines are written when the guard is dropped.
pub fn start(config: &Config) -> WorkerGuard {
    let (writer, guard) = NonBlocking::new(stderr());
    let level = EnvFilter::new(&config.log_filter);
    let terminal = stderr().is_terminal();
    let format = config.log.unwrap_or(if terminal { LogFormat::Pretty } else { LogFormat::Json });
    let logs = tracing_subscriber::fmt().with_env_filter(level).with_writer(writer);
    // Only the first start of a process takes effect; a second one is no error.
    let _ = match format {
        LogFormat::Pretty => logs.with_ansi(terminal).with_target(false).try_init(),
        LogFormat::Json => logs.json().flatten_event(true).with_target(false).try_init(),
    };
    guard
}
