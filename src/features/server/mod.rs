//! The server's own operations: health, metrics, OpenAPI documents, and Verify Service Key.

pub mod document_cache;
mod documents;
pub mod readiness;
mod service_key;

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::auth::credential::bearer;
use crate::error::{Result, faults};
use crate::features::search;
use crate::http::input::Invalid;
use crate::http::operation::{Operation, ServerCall};
use crate::http::reply::Text;
use crate::installation;
use crate::rate_limits::RateLimit;
use crate::state::App;
use crate::values::time::Timestamp;

faults! {
    METRICS_CLOSED = 403 "server/metrics-closed": "Metrics need the token of the operator";
    INVALID_QUERY = 400 "server/invalid-query": "Invalid query";
}

pub fn operations() -> Vec<Operation> {
    vec![
        service_key::operation(),
        Operation::server("/livez", "Liveness", live),
        Operation::server("/readyz", "Readiness", readiness::ready),
        Operation::server("/metrics", "Metrics", metrics).errors(&[METRICS_CLOSED]),
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

/// Open with the operator's token; if none is set, from this machine.
async fn metrics(call: ServerCall) -> Result<Text> {
    let allowed = match &call.app.config.metrics_token {
        Some(token) => bearer(&call.headers).is_some_and(|given| {
            verify_slices_are_equal(given.as_bytes(), token.as_bytes()).is_ok()
        }),
        // Behind a proxy on this machine, every client's socket looks local.
        None => call.client.is_loopback() && !call.is_forwarded,
    };
    if !allowed {
        return Err(METRICS_CLOSED.into());
    }
    let app = &call.app;
    let (db, realtime) = (app.db.stats(), app.realtime.figures());
    let backup = last_backup(app).await;
    let search = search::index::figures(app).await;
    Ok(Text(app.metrics.render(&db, realtime, app.connections.figures(), backup, search)))
}

/// None if there is no schedule, or while the database does not answer: the other figures matter then.
async fn last_backup(app: &App) -> Option<i64> {
    app.config.backup.as_ref()?;
    let last = app.db.read(installation::store::last_backup).await.ok()?;
    Some(last.map_or(0, Timestamp::seconds))
}
