//! Numbers for the operator, in Prometheus' text format. Labels are patterns, kinds and statuses, never ids, so their
//! number is bounded; ids of projects are labels only where the operator asks for them.

mod page;
mod process;
pub mod recent;
mod render;

pub use render::{Backlog, JobState, ProjectCount, Readings, SearchFigures};

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use db::Histogram;
use http::Method;

use self::recent::Recent;

#[derive(Debug, Default)]
pub struct Metrics {
    in_flight: AtomicI64,
    /// By method and pattern. Read by every request, and changed by the first one of each route.
    routes: RwLock<HashMap<Route, Arc<RouteFigures>>>,
    limited: Mutex<BTreeMap<&'static str, u64>>,
    jobs: Mutex<BTreeMap<&'static str, JobFigures>>,
    /// Not for Prometheus: for operators who look at this server.
    pub recent: Recent,
}

type Route = (&'static str, &'static str);

#[derive(Debug, Default)]
struct RouteFigures {
    statuses: Mutex<BTreeMap<u16, u64>>,
    durations: Histogram,
}

/// Runs of one kind of job, by this process.
#[derive(Debug, Default)]
struct JobFigures {
    runs: BTreeMap<JobOutcome, u64>,
    durations: Histogram,
}

/// How a run of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobOutcome {
    Done,
    /// It is tried again.
    Failed,
    GivenUp,
}

impl JobOutcome {
    const ALL: [JobOutcome; 3] = [JobOutcome::Done, JobOutcome::Failed, JobOutcome::GivenUp];

    fn label(self) -> &'static str {
        match self {
            JobOutcome::Done => "done",
            JobOutcome::Failed => "failed",
            JobOutcome::GivenUp => "given_up",
        }
    }
}

/// A running request; counted until this is dropped.
#[derive(Debug)]
pub struct InFlight<'m>(&'m Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub fn enter(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    pub fn in_flight(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub fn record(
        &self,
        route: Option<&'static str>,
        method: &Method,
        status: u16,
        took: Duration,
    ) {
        let figures = self.of_route((method_label(method), route.unwrap_or("unknown")));
        figures.durations.record(took);
        let mut statuses = figures.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        *statuses.entry(status).or_default() += 1;
    }

    fn of_route(&self, route: Route) -> Arc<RouteFigures> {
        // One statement, so that the read lock is released before the write lock is taken.
        let found = self.routes.read().unwrap_or_else(PoisonError::into_inner).get(&route).cloned();
        found.unwrap_or_else(|| {
            let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
            routes.entry(route).or_default().clone()
        })
    }

    pub fn limited(&self, route: &'static str) {
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        *limited.entry(route).or_default() += 1;
    }

    pub fn job_ran(&self, kind: &'static str, outcome: JobOutcome, took: Duration) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = jobs.entry(kind).or_default();
        *figures.runs.entry(outcome).or_default() += 1;
        figures.durations.record(took);
    }
}

/// Unknown methods share a label, or a client could create any number of them.
pub fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
