//! The results, as a table for people and as JSON for machines.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use crate::clock::Window;
use crate::load::ReadMode;
use crate::sockets::Memory;
use crate::tally::Tally;
use crate::usage::Cpu;

#[derive(Debug, Serialize)]
pub struct Report {
    pub cores: usize,
    pub connections: usize,
    pub users: usize,
    pub entities: usize,
    pub comments: usize,
    pub rows: usize,
    pub messages: usize,
    pub group_members: usize,
    /// Of the lists.
    pub page: u32,
    pub seconds: f64,
    pub measurements: Vec<Measurement>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    pub engine: &'static str,
    /// The scenario, or the ceiling's name.
    pub name: String,
    pub kind: Kind,
    /// Open loop: requests per second that were to be sent.
    pub rate: Option<f64>,
    pub requests: u64,
    pub requests_per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
    pub max_ms: f64,
    pub errors: u64,
    pub first_error: Option<String>,
    pub unsent: u64,
    /// Of the server; absent where none takes part.
    pub rss_bytes: Option<u64>,
    pub cpu_seconds: Option<f64>,
    /// The server's processor time for one request: what a disturbance changes least.
    pub cpu_us_per_request: Option<f64>,
    pub generator_cpu_seconds: f64,
    pub elsewhere_cpu_seconds: f64,
    pub ceilings: Vec<Ceiling>,
    pub memory: Option<Memory>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Constant,
    Bare,
    Closed,
    Open,
    /// Sockets that wait.
    Idle,
    /// Something that belongs to the scenario above, by itself.
    Part,
}

/// What part of a ceiling a scenario reached.
#[derive(Debug, Clone, Serialize)]
pub struct Ceiling {
    pub name: String,
    pub requests_per_second: f64,
    pub share: f64,
}

/// A server's memory and everybody's processor time over a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    pub rss_bytes: Option<u64>,
    pub cpu: Cpu,
}

impl Measurement {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 requests")]
    pub fn new(
        engine: &'static str,
        name: impl Into<String>,
        kind: Kind,
        tally: &Tally,
        window: Window,
        resources: Resources,
    ) -> Self {
        let requests = tally.requests();
        let cpu_seconds = resources.rss_bytes.map(|_| resources.cpu.server);
        let quantile = |share| millis(tally.quantile(share));
        Measurement {
            engine,
            name: name.into(),
            kind,
            rate: None,
            requests,
            requests_per_second: requests as f64 / window.seconds(),
            p50_ms: quantile(0.5),
            p99_ms: quantile(0.99),
            p999_ms: quantile(0.999),
            max_ms: quantile(1.0),
            errors: tally.errors,
            first_error: tally.first_error.clone(),
            unsent: tally.unsent,
            rss_bytes: resources.rss_bytes,
            cpu_seconds,
            cpu_us_per_request: cpu_seconds
                .filter(|_| requests > 0)
                .map(|seconds| seconds * 1e6 / requests as f64),
            generator_cpu_seconds: resources.cpu.generator,
            elsewhere_cpu_seconds: resources.cpu.elsewhere,
            ceilings: Vec::new(),
            memory: None,
        }
    }

    pub fn paced(self, pace: ReadMode) -> Self {
        match pace {
            ReadMode::Closed => self,
            ReadMode::Open(rate) => Measurement { rate: Some(rate), ..self },
        }
    }

    /// Beside its ceilings, which are measurements of the same run.
    pub fn under<'a>(mut self, ceilings: impl IntoIterator<Item = &'a Measurement>) -> Self {
        self.ceilings = ceilings
            .into_iter()
            .map(|ceiling| Ceiling {
                name: ceiling.name.clone(),
                requests_per_second: ceiling.requests_per_second,
                share: self.requests_per_second / ceiling.requests_per_second,
            })
            .collect();
        self
    }

    /// Of two runs the one that was disturbed less.
    pub fn or_better(self, earlier: Option<Measurement>) -> Measurement {
        match earlier {
            Some(earlier) if !self.is_better_than(&earlier) => earlier,
            _ => self,
        }
    }

    /// A fixed rate is the same in every run, there the latency decides.
    fn is_better_than(&self, other: &Measurement) -> bool {
        match self.kind {
            Kind::Open => self.p99_ms < other.p99_ms,
            _ => self.requests_per_second > other.requests_per_second,
        }
    }

    /// What the table calls it.
    fn title(&self) -> String {
        match self.kind {
            Kind::Constant => "constant answer".to_owned(),
            Kind::Bare => format!("  bare {}", self.name),
            Kind::Closed | Kind::Idle => self.name.clone(),
            Kind::Part => format!("  {}", self.name),
            Kind::Open => format!("{} at {}/s", self.name, self.rate.unwrap_or_default()),
        }
    }
}

impl Report {
    pub fn errors(&self) -> u64 {
        self.measurements.iter().map(|measurement| measurement.errors).sum()
    }

    pub fn table(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{} cores, {} connections, {} users, {} entities, {} comments, {} rows, {} messages, page {}, {} s each\n\n\
             {:<9} {:<26} {:>9} {:>8} {:>8} {:>8} {:>7} {:>8} {:>7} {:>8} {:>7} {:>7}  of ceilings",
            self.cores,
            self.connections,
            self.users,
            self.entities,
            self.comments,
            self.rows,
            self.messages,
            self.page,
            self.seconds,
            "engine",
            "what",
            "req/s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "errors",
            "RSS MiB",
            "CPU s",
            "us/req",
            "gen. s",
            "other s",
        );
        for measurement in &self.measurements {
            let _ = writeln!(out, "{}", row(measurement));
        }
        out
    }
}

fn row(m: &Measurement) -> String {
    let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    #[expect(clippy::cast_precision_loss, reason = "memory in MiB")]
    let rss = m.rss_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    let mut row = format!(
        "{:<9} {:<26} {:>9.0} {:>8.3} {:>8.3} {:>8.3} {:>7} {:>8} {:>7} {:>8} {:>7.1} {:>7.1} ",
        m.engine,
        m.title(),
        m.requests_per_second,
        m.p50_ms,
        m.p99_ms,
        m.p999_ms,
        m.errors,
        or_dash(rss),
        or_dash(m.cpu_seconds),
        or_dash(m.cpu_us_per_request),
        m.generator_cpu_seconds,
        m.elsewhere_cpu_seconds,
    );
    for ceiling in &m.ceilings {
        let _ = write!(row, " {:.0}% of {}", ceiling.share * 100.0, ceiling.name);
    }
    if let Some(memory) = &m.memory {
        let _ = write!(row, " {memory}");
    }
    if m.unsent > 0 {
        let _ = write!(row, " {} unsent", m.unsent);
    }
    if let Some(error) = &m.first_error {
        let _ = write!(row, " first error: {error}");
    }
    row.trim_end().to_owned()
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Span;

    fn measurement(name: &str, kind: Kind, requests: u64) -> Measurement {
        let mut tally = Tally::new().unwrap();
        for _ in 0..requests {
            tally.answered(Duration::from_millis(2));
        }
        let span = Span { warm_up: Duration::ZERO, duration: Duration::from_secs(2) };
        let resources = Resources { rss_bytes: Some(3 << 20), cpu: Cpu::default() };
        Measurement::new("sqlite", name, kind, &tally, Window::opening_now(span), resources)
    }

    #[test]
    fn a_scenario_stands_beside_its_ceilings() {
        let constant = measurement("constant", Kind::Constant, 400);
        let fetch = measurement("fetch-user", Kind::Closed, 100).under([&constant]);
        assert_eq!((fetch.requests_per_second, fetch.ceilings[0].share), (50.0, 0.25));
        let row = row(&fetch);
        assert!(row.ends_with("25% of constant"), "{row}");
        assert!(row.contains(" 2.0") && row.contains(" 3.0 "), "{row}");
        let json = serde_json::to_value(&fetch).unwrap();
        assert_eq!((&json["kind"], &json["requests"]), (&"closed".into(), &100.into()));
    }

    #[test]
    fn of_two_runs_the_better_one_is_kept() {
        let slow = measurement("x", Kind::Closed, 10);
        let fast = measurement("x", Kind::Closed, 20);
        assert_eq!(slow.clone().or_better(Some(fast.clone())).requests, 20);
        assert_eq!(fast.or_better(Some(slow.clone())).requests, 20);
        assert_eq!(slow.or_better(None).requests, 10);
    }
}
