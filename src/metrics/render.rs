//! The page that Prometheus reads: what requests have counted, and what is read when it is asked for.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use db::Stats;

use super::page::Page;
use super::{JobOutcome, Metrics, process};
use crate::mail;
use crate::network::places;
use crate::realtime::Figures;
use crate::storage;
use crate::traces;
use crate::values::ids::ProjectId;

/// What is read for the page. None: it is not configured, or the database cannot be asked; the other figures matter
/// then.
#[derive(Debug)]
pub struct Readings {
    pub db: Stats,
    pub realtime: Figures,
    pub connections: places::Figures,
    pub mail: mail::Figures,
    pub storage: storage::Figures,
    pub traces: Option<traces::Figures>,
    /// Bytes free for the data directory.
    pub free_space: Option<u64>,
    /// If there is a schedule, when the last one succeeded, in seconds; 0 for never.
    pub backup: Option<i64>,
    pub search: Option<SearchFigures>,
    pub jobs: Option<Vec<Backlog>>,
    /// Only if they were asked for.
    pub projects: Option<Vec<ProjectCount>>,
}

/// The search index of all projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchFigures {
    pub waiting: i64,
    pub documents: i64,
    /// By this process.
    pub indexed: u64,
}

/// Jobs of one kind in one state, of all projects.
#[derive(Debug, Clone)]
pub struct Backlog {
    pub kind: String,
    pub state: JobState,
    pub jobs: i64,
    /// How long the first of them has been due, in seconds.
    pub overdue: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    Waiting,
    /// It runs now, or has failed and is tried again.
    Retrying,
    /// Given up within the last day.
    Failed,
}

/// How much of something a project has.
#[derive(Debug, Clone, Copy)]
pub struct ProjectCount {
    pub project: ProjectId,
    pub what: &'static str,
    pub count: i64,
}

impl Metrics {
    pub fn render(&self, readings: &Readings) -> String {
        let mut page = Page::default();
        page.head("townhall_build_info", "gauge", "The running version.");
        let version = concat!("version=\"", env!("CARGO_PKG_VERSION"), "\"");
        page.line("townhall_build_info", version, 1);
        self.requests(&mut page);
        connections(&mut page, readings.connections);
        database(&mut page, &readings.db);
        self.job_runs(&mut page);
        if let Some(backlog) = &readings.jobs {
            jobs(&mut page, backlog);
        }
        mails(&mut page, readings.mail);
        stored_files(&mut page, &readings.storage);
        if let Some(free) = readings.free_space {
            let help = "Bytes that are free for the data directory.";
            page.gauge("townhall_disk_free_bytes", help, free);
        }
        if let Some(last) = readings.backup {
            let name = "townhall_backup_last_success_timestamp_seconds";
            page.gauge(name, "When the last backup that succeeded began; 0: never.", last);
        }
        if let Some(figures) = readings.search {
            search_index(&mut page, figures);
        }
        sockets(&mut page, readings.realtime);
        if let Some(figures) = readings.traces {
            traces(&mut page, figures);
        }
        if let Some(counts) = &readings.projects {
            projects(&mut page, counts);
        }
        process::render(&mut page);
        page.into_text()
    }

    fn requests(&self, page: &mut Page) {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner).clone();
        let routes: BTreeMap<_, _> = routes.into_iter().collect();
        let name = "townhall_http_requests_total";
        page.head(name, "counter", "Requests answered.");
        for ((method, route), figures) in &routes {
            let statuses = figures.statuses.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (status, count) in statuses {
                let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
                page.line(name, &labels, count);
            }
        }
        page.gauge("townhall_http_requests_in_flight", "Requests under way.", self.in_flight());
        let name = "townhall_http_request_duration_seconds";
        page.head(name, "histogram", "Time from a request's head to its answer.");
        for ((method, route), figures) in &routes {
            let labels = format!("method=\"{method}\",route=\"{route}\"");
            page.histogram(name, &labels, &figures.durations.snapshot());
        }
        let name = "townhall_rate_limited_total";
        page.head(name, "counter", "Requests beyond a limit.");
        let limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (route, count) in limited {
            page.line(name, &format!("route=\"{route}\""), count);
        }
    }

    fn job_runs(&self, page: &mut Page) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let name = "townhall_job_runs_total";
        page.head(name, "counter", "Jobs that this server has run, by how that ended.");
        for (kind, figures) in &*jobs {
            for outcome in JobOutcome::ALL {
                let count = figures.runs.get(&outcome).copied().unwrap_or(0);
                page.line(name, &format!("kind=\"{kind}\",outcome=\"{}\"", outcome.label()), count);
            }
        }
        let name = "townhall_job_duration_seconds";
        page.head(name, "histogram", "Time of one run of a job.");
        for (kind, figures) in &*jobs {
            page.histogram(name, &format!("kind=\"{kind}\""), &figures.durations.snapshot());
        }
    }
}

fn connections(page: &mut Page, figures: places::Figures) {
    let help = "Open connections, WebSockets included.";
    page.gauge("townhall_http_connections_open", help, figures.open);
    let help = "Connections beyond the cap or their network's share.";
    page.counter("townhall_http_connections_refused_total", help, figures.refused);
}

fn database(page: &mut Page, db: &Stats) {
    let name = "townhall_db_job_duration_seconds";
    page.head(name, "histogram", "Time of a unit of database work, waiting included.");
    page.histogram(name, "kind=\"read\"", &db.reads);
    page.histogram(name, "kind=\"write\"", &db.writes);
    page.gauge("townhall_db_queue_depth", "Database work that waits.", db.queue_depth);
    let help = "1 while the database server does not answer and work is refused.";
    page.gauge("townhall_db_silent", help, u8::from(db.silent));
    if let Some(pool) = db.pool {
        let name = "townhall_db_connections";
        page.head(name, "gauge", "Connections of the pool, by whether they work.");
        page.line(name, "state=\"busy\"", pool.busy);
        page.line(name, "state=\"idle\"", pool.size - pool.busy);
    }
    if let Some(replica) = &db.replica {
        let name = "townhall_db_replica_lag_seconds";
        let help = "How old the replica's data may be; absent while it cannot be asked.";
        page.head(name, "gauge", help);
        if let Some(lag) = replica.lag {
            page.line(name, "", lag.as_secs_f64());
        }
        let name = "townhall_db_replica_reads_total";
        page.head(name, "counter", "Reads for the replica, by who answered them.");
        page.line(name, "by=\"replica\"", replica.reads);
        page.line(name, "by=\"primary\"", replica.fallbacks);
    }
}

fn jobs(page: &mut Page, backlog: &[Backlog]) {
    let state = |state| match state {
        JobState::Waiting => "waiting",
        JobState::Retrying => "retrying",
        JobState::Failed => "failed",
    };
    let name = "townhall_jobs";
    page.head(name, "gauge", "Jobs of all projects; failed ones for a day.");
    for one in backlog {
        page.line(name, &format!("kind=\"{}\",state=\"{}\"", one.kind, state(one.state)), one.jobs);
    }
    let name = "townhall_jobs_overdue_seconds";
    page.head(name, "gauge", "How long the first job of a kind has been due and not begun.");
    for one in backlog.iter().filter(|one| one.state != JobState::Failed) {
        let labels = format!("kind=\"{}\",state=\"{}\"", one.kind, state(one.state));
        page.line(name, &labels, one.overdue);
    }
}

fn mails(page: &mut Page, figures: mail::Figures) {
    let name = "townhall_mails_total";
    page.head(name, "counter", "Mails that this server has handed over, or could not.");
    page.line(name, "outcome=\"sent\"", figures.sent);
    page.line(name, "outcome=\"failed\"", figures.failed);
}

fn stored_files(page: &mut Page, figures: &storage::Figures) {
    let name = "townhall_storage_duration_seconds";
    page.head(
        name,
        "histogram",
        "Time of an operation of the file storage; reads until they begin.",
    );
    for (operation, one) in figures {
        page.histogram(name, &format!("operation=\"{operation}\""), &one.durations);
    }
    let name = "townhall_storage_failures_total";
    page.head(name, "counter", "Operations of the file storage that failed.");
    for (operation, one) in figures {
        page.line(name, &format!("operation=\"{operation}\""), one.failures);
    }
}

fn search_index(page: &mut Page, figures: SearchFigures) {
    let SearchFigures { waiting, documents, indexed } = figures;
    let help = "Changed records that are not indexed yet, of all projects.";
    page.gauge("townhall_search_waiting", help, waiting);
    let help = "Indexed records that anybody may read, of all projects.";
    page.gauge("townhall_search_documents", help, documents);
    page.counter("townhall_search_indexed_total", "Records that this server has indexed.", indexed);
}

fn sockets(page: &mut Page, figures: Figures) {
    let Figures { connections, polls, sockets, delivered, slow } = figures;
    let help = "Realtime connections, by polling or WebSocket.";
    page.gauge("townhall_realtime_connections", help, connections);
    let help = "Polls that wait for something to tell.";
    page.gauge("townhall_realtime_polls", help, polls);
    let help = "Realtime connections of a known user.";
    page.gauge("townhall_realtime_sockets", help, sockets);
    let help = "Events handed to a socket.";
    page.counter("townhall_realtime_events_delivered_total", help, delivered);
    let help = "Sockets closed because they read too slowly.";
    page.counter("townhall_realtime_sockets_dropped_total", help, slow);
}

fn traces(page: &mut Page, figures: traces::Figures) {
    let help = "Spans that the collector has taken.";
    page.counter("townhall_traces_exported_total", help, figures.exported);
    let help = "Spans that were dropped: the queue was full, or the collector did not take them.";
    page.counter("townhall_traces_dropped_total", help, figures.dropped);
}

fn projects(page: &mut Page, counts: &[ProjectCount]) {
    let name = "townhall_project_items";
    page.head(name, "gauge", "How much a project has, by what it is.");
    for ProjectCount { project, what, count } in counts {
        page.line(name, &format!("project=\"{project}\",what=\"{what}\""), count);
    }
}
