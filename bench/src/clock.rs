//! Real time: the one place that reads the machine's clock, and the window in which things count.

use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "a measurement is about real time, not the app's")]
pub fn now() -> Instant {
    Instant::now()
}

/// How long to warm up and how long to measure.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub warm_up: Duration,
    pub duration: Duration,
}

/// One measurement in time. Work begins at `start` and ends at `to`; what ends between `from` and
/// `to` counts.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub start: Instant,
    pub from: Instant,
    pub to: Instant,
}

impl Window {
    pub fn opening_now(span: Span) -> Self {
        let start = now();
        let from = start + span.warm_up;
        Window { start, from, to: from + span.duration }
    }

    pub fn holds(&self, instant: Instant) -> bool {
        self.from <= instant && instant < self.to
    }

    pub fn seconds(&self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }
}
