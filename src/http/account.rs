//! What is kept of a request that was served: its figures, its place among the recent ones, one log line and, if a
//! collector is configured, a span. All of them have the route's pattern, never the address, a body or a credential.

use std::time::Duration;

use http::{HeaderMap, Method};

use crate::http::dispatch::RequestTrace;
use crate::http::version::Version;
use crate::metrics::method_label;
use crate::metrics::recent::RecentRequest;
use crate::state::App;
use crate::traces::{Context, Span};
use crate::values::time::Timestamp;

/// Asked for by machines every few seconds: no trace of anybody's request.
const UNTRACED: [&str; 3] = ["/livez", "/readyz", "/metrics"];

/// A request whose span is recorded, since its beginning.
#[derive(Debug)]
pub(super) struct Recorded {
    context: Context,
    began: Timestamp,
}

impl Recorded {
    pub(super) fn begin(app: &App, headers: &HeaderMap) -> Option<Recorded> {
        let context = app.traces.as_ref()?.begin(headers, &app.random)?;
        Some(Recorded { context, began: app.clock.now() })
    }
}

/// A request that was served.
#[derive(Debug)]
pub(super) struct Served {
    pub method: Method,
    pub status: u16,
    pub took: Duration,
    pub in_database: Duration,
    pub id: String,
    pub failure: Option<String>,
    pub code: Option<&'static str>,
}

pub(super) fn account(app: &App, trace: &RequestTrace, served: Served, recorded: Option<Recorded>) {
    let route = trace.operation.map(|operation| operation.path);
    app.metrics.record(route, &served.method, served.status, served.took);
    let is_of_machines = route.is_some_and(|route| UNTRACED.contains(&route));
    let recorded = recorded.filter(|_| !is_of_machines);
    log(trace, &served, recorded.as_ref());
    if !is_of_machines {
        app.metrics.recent.keep(recent(app, trace, &served));
    }
    if let (Some(traces), Some(recorded)) = (&app.traces, recorded) {
        let Served { method, status, took, in_database, id, .. } = served;
        let Recorded { context, began } = recorded;
        let (version, project) = (trace.version.map(Version::segment), trace.project);
        let request_id = id;
        traces.record(Span {
            context,
            method,
            route,
            version,
            project,
            status,
            request_id,
            began,
            took,
            in_database,
        });
    }
}

fn recent(app: &App, trace: &RequestTrace, served: &Served) -> RecentRequest {
    RecentRequest {
        id: served.id.clone(),
        at: app.clock.now(),
        method: method_label(&served.method),
        route: trace.operation.map(|operation| operation.path),
        version: trace.version.map(Version::segment),
        project: trace.project,
        caller: trace.caller.kind(),
        status: served.status,
        took: served.took,
        in_database: served.in_database,
        code: served.code,
    }
}

fn log(trace: &RequestTrace, served: &Served, recorded: Option<&Recorded>) {
    let Served { method, status, took, in_database, id, failure, .. } = served;
    let route = trace.operation.map(|operation| operation.path);
    let version = trace.version.map(Version::segment);
    let project = trace.project.map(tracing::field::display);
    let caller = tracing::field::display(trace.caller);
    let micros = |duration: &Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    let (took_us, db_us) = (micros(took), micros(in_database));
    let trace_id = recorded.map(|recorded| recorded.context.trace.as_str());
    let failure = failure.as_deref();
    if *status >= 500 {
        tracing::error!(%method, route, version, project, caller, status, took_us, db_us, id, trace_id, failure, "request");
    } else {
        tracing::info!(%method, route, version, project, caller, status, took_us, db_us, id, trace_id, "request");
    }
}
