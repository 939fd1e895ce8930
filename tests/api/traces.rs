//! OpenTelemetry traces: a server that plays the collector takes what `townhall serve` sends.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use db::Engine;
use serde_json::{Value, json};

use crate::operator::value_of;
use crate::support::fake::Fake;
use crate::support::{Installation, Running};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A request with a header of its own; the status.
fn get(server: &Running, path: &str, header: &str) -> u16 {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split(' ').nth(1).unwrap().parse().unwrap()
}

fn spans(collector: &Fake) -> Vec<Value> {
    let mut spans = Vec::new();
    for request in collector.requests("/v1/traces") {
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("x-api-key"), Some("hush hush"));
        let document: Value = serde_json::from_str(&request.body).unwrap();
        let resource = &document["resourceSpans"][0];
        assert_eq!(attribute(&resource["resource"], "service.name")["stringValue"], "forum");
        spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().clone());
    }
    spans
}

fn attribute(of: &Value, key: &str) -> Value {
    let found = of["attributes"].as_array().unwrap().iter().find(|one| one["key"] == key);
    found.map_or(Value::Null, |one| one["value"].clone())
}

async fn a_request_becomes_a_span(engine: Engine) {
    let collector = Fake::start().await;
    collector.reply("/v1/traces", 200, json!({}));
    let endpoint = collector.url("");
    let sent = tokio::task::spawn_blocking(move || {
        let town = Installation::new(engine);
        let made = town.json(&["project", "create", "--name", "Forum"]);
        let id = made["projectId"].as_str().unwrap().to_owned();
        let server = town.launch(
            &["serve"],
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
                ("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=hush%20hush"),
                ("OTEL_SERVICE_NAME", "forum"),
            ],
        );
        let feed = format!("/v8/{id}/entities");
        let traceparent = |flags: &str| format!("traceparent: 00-{TRACE}-{PARENT}-{flags}");
        assert_eq!(
            get(&server, &feed, &format!("{}\r\nX-Request-Id: abc", traceparent("01"))),
            200
        );
        assert_eq!(get(&server, &feed, &traceparent("00")), 200, "its caller does not record it");
        assert_eq!(get(&server, "/nowhere", "X-None: x"), 404);
        assert_eq!(get(&server, "/livez", "X-None: x"), 200);
        // What waits is sent before the server ends.
        server.signal("TERM");
        assert_eq!(server.wait().code(), Some(0));
        id
    });
    let id = sent.await.unwrap();
    let spans = spans(&collector);
    assert_eq!(spans.len(), 2, "{spans:?}");
    let feed = &spans[0];
    assert_eq!((&feed["traceId"], &feed["parentSpanId"]), (&json!(TRACE), &json!(PARENT)));
    assert_eq!(feed["spanId"].as_str().unwrap().len(), 16);
    assert_eq!((&feed["name"], &feed["kind"]), (&json!("GET /entities"), &json!(2)));
    assert_eq!(attribute(feed, "http.route")["stringValue"], "/entities");
    assert_eq!(attribute(feed, "http.response.status_code")["intValue"], "200");
    assert_eq!(attribute(feed, "townhall.request_id")["stringValue"], "abc");
    assert_eq!(attribute(feed, "townhall.project_id")["stringValue"], id);
    let nanos = |key: &str| feed[key].as_str().unwrap().parse::<u128>().unwrap();
    let took = nanos("endTimeUnixNano") - nanos("startTimeUnixNano");
    let in_database = attribute(feed, "townhall.database_seconds")["doubleValue"].as_f64().unwrap();
    assert!(in_database > 0.0 && in_database < took as f64 / 1e9, "{in_database} of {took} ns");
    let unknown = &spans[1];
    assert_eq!((&unknown["name"], &unknown["parentSpanId"]), (&json!("GET"), &json!("")));
    assert_ne!(unknown["traceId"], TRACE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_span_sqlite() {
    a_request_becomes_a_span(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_becomes_a_span_postgres() {
    a_request_becomes_a_span(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_refuses_is_counted_and_disturbs_nobody() {
    let collector = Fake::start().await;
    collector.reply("/v1/traces", 503, json!({}));
    let endpoint = collector.url("");
    let served = tokio::task::spawn_blocking(move || {
        let town = Installation::new(Engine::Sqlite);
        let settings =
            [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "1")];
        let server = town.launch(&["serve"], &settings);
        let dropped = || {
            let (status, text) = server.request("GET", "/metrics", "", "");
            assert_eq!(status, 200);
            value_of(&text, "townhall_traces_dropped_total").unwrap()
        };
        assert_eq!(dropped(), 0.0);
        assert_eq!(get(&server, "/nowhere", "X-None: x"), 404);
        assert!((0..20_000).any(|_| dropped() == 1.0));
        assert_eq!(get(&server, "/nowhere", "X-None: x"), 404);
    });
    served.await.unwrap();
}
