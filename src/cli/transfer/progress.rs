//! How far a transfer is, and how much time is left.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use crate::cli::CommandResult;
use crate::values::clock::Clock;

const BETWEEN_LINES: Duration = Duration::from_millis(100);

/// One line on a terminal that is written over.
pub(in crate::cli) struct Progress {
    is_shown: bool,
    clock: Clock,
    /// Rows that there are in all, if that is known.
    total: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    begun: Option<Duration>,
    last: Option<Duration>,
    what: String,
    count: u64,
    /// Of what came before.
    done: u64,
}

impl Progress {
    pub(in crate::cli) fn new(quiet: bool, clock: &Clock) -> Self {
        let is_shown = !quiet && io::stderr().is_terminal();
        Progress { is_shown, clock: clock.clone(), total: 0, state: Mutex::default() }
    }

    /// Also shows how much time is left.
    pub(in crate::cli) fn of(
        self,
        count: impl FnOnce() -> CommandResult<u64>,
    ) -> CommandResult<Self> {
        let total = if self.is_shown { count()? } else { 0 };
        Ok(Progress { total, ..self })
    }

    pub(in crate::cli) fn show(&self, what: &str, count: u64) {
        if !self.is_shown {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.clock.uptime();
        if state.what != what {
            state.done += state.count;
            what.clone_into(&mut state.what);
        }
        state.count = count;
        let begun = *state.begun.get_or_insert(now);
        if state.last.is_none_or(|last| now - last >= BETWEEN_LINES) {
            state.last = Some(now);
            let left = time_left(now - begun, state.done + count, self.total);
            let _ = write!(io::stderr(), "\r\x1b[K{what}: {count}{left}");
        }
    }

    pub(in crate::cli) fn clear(&self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// As far as it can be told from what was done so far.
fn time_left(taken: Duration, done: u64, total: u64) -> String {
    if total == 0 || done == 0 || done >= total {
        return String::new();
    }
    let seconds = taken.as_secs().saturating_mul(total - done) / done;
    let percent = done.saturating_mul(100) / total;
    format!(", {percent} %, {}:{:02} left", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_time_taken() {
        let of = |seconds, done| time_left(Duration::from_secs(seconds), done, 400);
        assert_eq!(of(60, 100), ", 25 %, 3:00 left");
        assert_eq!(of(7, 300), ", 75 %, 0:02 left");
        assert_eq!((of(0, 0), of(9, 400)), (String::new(), String::new()));
    }
}
