//! Numbers for the operator, in Prometheus' text format. Labels are patterns and statuses, never
//! ids, so their number is bounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use db::{Histogram, Latency, Stats};
use http::Method;

use crate::network::places;
use crate::realtime::Figures;

#[derive(Debug, Default)]
pub struct Metrics {
    in_flight: AtomicI64,
    requests: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    limited: Mutex<BTreeMap<&'static str, u64>>,
    durations: Histogram,
}

/// The search index of all projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchFigures {
    pub waiting: i64,
    pub documents: i64,
    /// By this process.
    pub indexed: u64,
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
        let route = route.unwrap_or("unknown");
        let key = (method_label(method), route, status);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry(key).or_default() += 1;
        drop(requests);
        self.durations.record(took);
    }

    pub fn limited(&self, route: &'static str) {
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        *limited.entry(route).or_default() += 1;
    }

    /// `backup`: if there is a schedule, when the last one succeeded, in seconds; 0 for never.
    pub fn render(
        &self,
        db: &Stats,
        realtime: Figures,
        connections: places::Figures,
        backup: Option<i64>,
        search: Option<SearchFigures>,
    ) -> String {
        let mut out = String::new();
        head(&mut out, "townhall_build_info", "gauge", "The running version.");
        let version = env!("CARGO_PKG_VERSION");
        let _ = writeln!(out, "townhall_build_info{{version=\"{version}\"}} 1");

        head(&mut out, "townhall_http_requests_total", "counter", "Requests answered.");
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for ((method, route, status), count) in requests {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(out, "townhall_http_requests_total{{{labels}}} {count}");
        }
        head(&mut out, "townhall_http_requests_in_flight", "gauge", "Requests under way.");
        let _ = writeln!(out, "townhall_http_requests_in_flight {}", self.in_flight());

        let name = "townhall_http_connections_open";
        head(&mut out, name, "gauge", "Open connections, WebSockets included.");
        let _ = writeln!(out, "{name} {}", connections.open);
        let name = "townhall_http_connections_refused_total";
        head(&mut out, name, "counter", "Connections beyond the cap or their network's share.");
        let _ = writeln!(out, "{name} {}", connections.refused);

        let name = "townhall_http_request_duration_seconds";
        head(&mut out, name, "histogram", "Time from a request's head to its answer.");
        histogram(&mut out, name, "", &self.durations.snapshot());

        head(&mut out, "townhall_rate_limited_total", "counter", "Requests beyond a limit.");
        let limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (route, count) in limited {
            let _ = writeln!(out, "townhall_rate_limited_total{{route=\"{route}\"}} {count}");
        }

        let name = "townhall_db_job_duration_seconds";
        head(&mut out, name, "histogram", "Time of a unit of database work, waiting included.");
        histogram(&mut out, name, "kind=\"read\"", &db.reads);
        histogram(&mut out, name, "kind=\"write\"", &db.writes);
        head(&mut out, "townhall_db_queue_depth", "gauge", "Database work that waits.");
        let _ = writeln!(out, "townhall_db_queue_depth {}", db.queue_depth);
        let help = "1 while the database server does not answer and work is refused.";
        head(&mut out, "townhall_db_silent", "gauge", help);
        let _ = writeln!(out, "townhall_db_silent {}", u8::from(db.silent));
        if let Some(replica) = &db.replica {
            let help = "How old the replica's data may be; absent while it cannot be asked.";
            head(&mut out, "townhall_db_replica_lag_seconds", "gauge", help);
            if let Some(lag) = replica.lag {
                let _ = writeln!(out, "townhall_db_replica_lag_seconds {}", lag.as_secs_f64());
            }
            let name = "townhall_db_replica_reads_total";
            head(&mut out, name, "counter", "Reads for the replica, by who answered them.");
            let _ = writeln!(out, "{name}{{by=\"replica\"}} {}", replica.reads);
            let _ = writeln!(out, "{name}{{by=\"primary\"}} {}", replica.fallbacks);
        }
        if let Some(last) = backup {
            let name = "townhall_backup_last_success_timestamp_seconds";
            head(&mut out, name, "gauge", "When the last backup that succeeded began; 0: never.");
            let _ = writeln!(out, "{name} {last}");
        }
        if let Some(figures) = search {
            search_index(&mut out, figures);
        }
        sockets(&mut out, realtime);
        process(&mut out);
        out
    }
}

/// Unknown methods share a label, or a client could create any number of them.
fn method_label(method: &Method) -> &'static str {
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

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn histogram(out: &mut String, name: &str, label: &str, latency: &Latency) {
    let comma = if label.is_empty() { "" } else { "," };
    let mut cumulative = 0;
    for (bound, count) in latency.buckets.iter().zip(&latency.counts) {
        cumulative += count;
        let _ = writeln!(out, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {cumulative}");
    }
    let (count, sum) = (latency.count, latency.sum_seconds);
    let _ = writeln!(out, "{name}_bucket{{{label}{comma}le=\"+Inf\"}} {count}");
    let braces = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
    let _ = writeln!(out, "{name}_sum{braces} {sum}\n{name}_count{braces} {count}");
}

fn search_index(out: &mut String, figures: SearchFigures) {
    let SearchFigures { waiting, documents, indexed } = figures;
    let name = "townhall_search_waiting";
    head(out, name, "gauge", "Changed records that are not indexed yet, of all projects.");
    let _ = writeln!(out, "{name} {waiting}");
    let name = "townhall_search_documents";
    head(out, name, "gauge", "Indexed records that anybody may read, of all projects.");
    let _ = writeln!(out, "{name} {documents}");
    let name = "townhall_search_indexed_total";
    head(out, name, "counter", "Records that this server has indexed.");
    let _ = writeln!(out, "{name} {indexed}");
}

fn sockets(out: &mut String, figures: Figures) {
    let Figures { connections, polls, sockets, delivered, slow } = figures;
    for (name, kind, help, value) in [
        (
            "connections",
            "gauge",
            "Realtime connections, by polling or WebSocket.",
            connections as u64,
        ),
        ("polls", "gauge", "Polls that wait for something to tell.", polls as u64),
        ("sockets", "gauge", "Realtime connections of a known user.", sockets as u64),
        ("events_delivered_total", "counter", "Events handed to a socket.", delivered),
        ("sockets_dropped_total", "counter", "Sockets closed because they read too slowly.", slow),
    ] {
        let name = format!("townhall_realtime_{name}");
        head(out, &name, kind, help);
        let _ = writeln!(out, "{name} {value}");
    }
}

/// Memory, processor time and open files of this process, where the system reports them.
fn process(out: &mut String) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    if let Some(kilobytes) = kilobytes {
        head(out, "process_resident_memory_bytes", "gauge", "Memory in use.");
        let _ = writeln!(out, "process_resident_memory_bytes {}", kilobytes * 1024);
    }
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields after the command's closing parenthesis; 12th and 13th are ticks of 10 ms.
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>());
    let ticks = |at: usize| fields.as_ref()?.get(at)?.parse::<u64>().ok();
    if let (Some(user), Some(system)) = (ticks(11), ticks(12)) {
        head(out, "process_cpu_seconds_total", "counter", "Processor time used.");
        let centiseconds = user + system;
        let (whole, part) = (centiseconds / 100, centiseconds % 100);
        let _ = writeln!(out, "process_cpu_seconds_total {whole}.{part:02}");
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        head(out, "process_open_fds", "gauge", "Open file descriptors.");
        let _ = writeln!(out, "process_open_fds {}", files.count());
    }
}
