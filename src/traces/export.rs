//! The exporter: gathers spans and posts them. A batch that the collector does not take is dropped: nothing piles up
//! while it is down.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Request, Uri};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Span, Traces};
use crate::outbound::dialer::{self, OperatorClient};

const BATCH_SIZE: usize = 512;
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn run(traces: &Traces, mut queue: mpsc::Receiver<Span>) {
    let client = dialer::client(traces.settings.url.starts_with("http://"));
    let mut is_down = false;
    let mut batch = Vec::new();
    while gather(traces, &mut queue, &mut batch).await {
        let spans = batch.len() as u64;
        let sent = tokio::time::timeout(TIMEOUT, send(traces, &client, &batch)).await;
        let sent = sent.unwrap_or_else(|_| Err("not answered in time".to_owned()));
        batch.clear();
        match sent {
            Ok(()) => {
                traces.exported.fetch_add(spans, Relaxed);
                is_down = false;
            }
            Err(error) => {
                traces.dropped.fetch_add(spans, Relaxed);
                // Once, not for every batch.
                if !is_down {
                    tracing::warn!(error, "the collector of traces takes no spans");
                }
                is_down = true;
            }
        }
    }
}

/// Waits for spans; false once it is stopped and all have been taken.
async fn gather(traces: &Traces, queue: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>) -> bool {
    let more = async |queue: &mut mpsc::Receiver<Span>, batch: &mut Vec<Span>| {
        let room = BATCH_SIZE - batch.len();
        tokio::select! {
            taken = queue.recv_many(batch, room) => taken > 0,
            () = traces.stop.notified() => {
                queue.close();
                queue.recv_many(batch, room).await > 0
            }
        }
    };
    if !more(queue, batch).await {
        return false;
    }
    let _ = tokio::time::timeout(traces.settings.delay, async {
        while batch.len() < BATCH_SIZE && more(queue, batch).await {}
    })
    .await;
    true
}

async fn send(
    traces: &Traces,
    client: &OperatorClient<Full<Bytes>>,
    batch: &[Span],
) -> Result<(), String> {
    let settings = &traces.settings;
    let address: Uri = settings.url.parse().map_err(|_| "the endpoint is no address".to_owned())?;
    let mut request = Request::post(address).header(CONTENT_TYPE, "application/json");
    for (name, value) in &settings.headers {
        request = request.header(name, value);
    }
    let body = document(&settings.service, batch).to_string();
    let request = request.body(Full::new(Bytes::from(body))).map_err(|error| error.to_string())?;
    let reply = client.request(request).await.map_err(|error| {
        let cause = std::error::Error::source(&error);
        cause.map_or_else(|| error.to_string(), ToString::to_string)
    })?;
    let status = reply.status();
    if status.is_success() { Ok(()) } else { Err(format!("it replied {status}")) }
}

/// `ExportTraceServiceRequest` in the JSON of OTLP: ids in hex, times as text.
fn document(service: &str, batch: &[Span]) -> Value {
    let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    let version = env!("CARGO_PKG_VERSION");
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            text("service.name", service),
            text("service.version", version),
        ] },
        "scopeSpans": [{
            "scope": { "name": "townhall", "version": version },
            "spans": batch.iter().map(described).collect::<Value>(),
        }],
    }] })
}

fn described(span: &Span) -> Value {
    const SERVER: u8 = 2;
    const ERROR: u8 = 2;
    let began = u128::from(span.began.millis().unsigned_abs()) * 1_000_000;
    let mut attributes = vec![
        attribute("http.request.method", json!({ "stringValue": span.method.as_str() })),
        attribute("http.response.status_code", json!({ "intValue": span.status.to_string() })),
        attribute("townhall.request_id", json!({ "stringValue": span.request_id })),
        attribute(
            "townhall.database_seconds",
            json!({ "doubleValue": span.in_database.as_secs_f64() }),
        ),
    ];
    let route = span.route.map(|route| ("http.route", route.to_owned()));
    let version = span.version.map(|version| ("townhall.api_version", version.to_owned()));
    let project = span.project.map(|project| ("townhall.project_id", project.to_string()));
    for (key, value) in [route, version, project].into_iter().flatten() {
        attributes.push(attribute(key, json!({ "stringValue": value })));
    }
    let method = span.method.as_str();
    let name = span.route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
    json!({
        "traceId": span.context.trace,
        "spanId": span.context.span,
        "parentSpanId": span.context.parent.as_deref().unwrap_or_default(),
        "name": name,
        "kind": SERVER,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": (began + span.took.as_nanos()).to_string(),
        "attributes": attributes,
        "status": if span.status >= 500 { json!({ "code": ERROR }) } else { json!({}) },
    })
}

fn attribute(key: &str, value: Value) -> Value {
    json!({ "key": key, "value": value })
}
