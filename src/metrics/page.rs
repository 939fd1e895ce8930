//! Prometheus' text format.

use std::fmt::{Display, Write as _};

use db::Latency;

/// The text under construction.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// Begins a metric: its lines follow.
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One value. `labels` is such as `kind="read"`, or empty.
    pub(super) fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "counter", help);
        self.line(name, "", value);
    }

    pub(super) fn histogram(&mut self, name: &str, labels: &str, latency: &Latency) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        let mut cumulative = 0;
        for (bound, count) in latency.buckets.iter().zip(&latency.counts) {
            cumulative += count;
            self.line(&bucket, &format!("{labels}{comma}le=\"{bound}\""), cumulative);
        }
        self.line(&bucket, &format!("{labels}{comma}le=\"+Inf\""), latency.count);
        self.line(&format!("{name}_sum"), labels, latency.sum_seconds);
        self.line(&format!("{name}_count"), labels, latency.count);
    }
}
