//! `/metrics`: open with the operator's token; if none is set, from this machine.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use schemars::JsonSchema;

use super::{INVALID_QUERY, METRICS_CLOSED, store};
use crate::auth::credential::bearer;
use crate::config::free_space;
use crate::error::Result;
use crate::features::search;
use crate::http::operation::ServerCall;
use crate::http::reply::Text;
use crate::installation;
use crate::jobs;
use crate::metrics::Readings;
use crate::state::App;
use crate::values::time::Timestamp;

#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "for the document alone")]
pub(super) struct MetricsQuery {
    /// `on`: also how much each project has, which reads whole tables.
    projects: Option<String>,
}

pub(super) async fn metrics(call: ServerCall) -> Result<Text> {
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
    let projects = match call.query.get("projects").and_then(|asked| asked.as_str()) {
        None | Some("off") => None,
        Some("on") => Some(app.db.read_slow(store::project_counts).await?),
        Some(_) => return Err(INVALID_QUERY.because("projects: must be on or off")),
    };
    let readings = Readings {
        db: app.db.stats(),
        realtime: app.realtime.figures(),
        connections: app.connections.figures(),
        mail: app.mailer.figures(),
        storage: app.storage.figures(),
        traces: app.traces.as_ref().map(|traces| traces.figures()),
        free_space: free_space(&app.config.data_dir).ok(),
        backup: last_backup(app).await,
        search: search::index::figures(app).await,
        jobs: jobs::figures::backlog(app).await,
        projects,
    };
    Ok(Text(app.metrics.render(&readings)))
}

/// None if there is no schedule, or while the database does not answer: the other figures matter then.
async fn last_backup(app: &App) -> Option<i64> {
    app.config.backup.as_ref()?;
    let last = app.db.read(installation::store::last_backup).await.ok()?;
    Some(last.map_or(0, Timestamp::seconds))
}
