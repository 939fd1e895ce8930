//! The server's own operations: health, metrics, OpenAPI documents, the start page, and Verify Service Key.

pub mod checks;
pub mod document_cache;
mod documents;
mod metrics;
pub mod readiness;
mod service_key;
mod start_page;
pub mod store;

use crate::error::{Result, faults};
use crate::http::dispatch::ROUTE_NOT_FOUND;
use crate::http::input::Invalid;
use crate::http::operation::{Operation, ServerCall};
use crate::http::reply::Text;
use crate::rate_limits::RateLimit;

faults! {
    METRICS_CLOSED = 403 "server/metrics-closed": "Metrics need the token of the operator";
    INVALID_QUERY = 400 "server/invalid-query": "Invalid query";
}

pub fn operations() -> Vec<Operation> {
    vec![
        service_key::operation(),
        Operation::server("/livez", "Liveness", live),
        Operation::server("/readyz", "Readiness", readiness::ready),
        Operation::server("/metrics", "Metrics", metrics::metrics)
            .parameters::<(), metrics::MetricsQuery>()
            .errors(&[METRICS_CLOSED, INVALID_QUERY]),
        Operation::server("/", "Start Page", start_page::start_page).errors(&[ROUTE_NOT_FOUND]),
        Operation::server("/openapi.json", "OpenAPI Document", documents::server_document)
            .parameters::<(), documents::DocumentQuery>()
            .rate(RateLimit::per_5_minutes(100))
            .errors(&[INVALID_QUERY]),
        Operation::new(
            http::Method::GET,
            "/openapi.json",
            "OpenAPI Document of a Project",
            "server",
            Invalid::all(INVALID_QUERY),
            documents::project_document,
        )
        .rate(RateLimit::per_5_minutes(100)),
    ]
}

async fn live(_: ServerCall) -> Result<Text> {
    Ok(Text("ok".to_owned()))
}
