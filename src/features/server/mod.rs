//! The server's own operations: health, metrics, its OpenAPI document, and the check that a
//! server-side client makes of its key at start.

mod service_key;

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use aws_lc_rs::constant_time::verify_slices_are_equal;

use crate::auth::caller::OptionalViewer;
use crate::auth::credential::bearer;
use crate::error::{Error, Fault, Result};
use crate::features::tables::{self, catalogue};
use crate::http::input::Invalid;
use crate::http::openapi;
use crate::http::operation::{Call, Operation, ServerCall};
use crate::http::reply::{JSON, Json, Reply, ReplyDoc, Response, Text, json, with_body};

const METRICS_CLOSED: Fault =
    Fault::new(403, "server/metrics-closed", "Metrics need the token of the operator");
const INVALID_QUERY: Fault = Fault::new(400, "server/invalid-query", "Invalid query");

/// A database that takes longer to say hello is not ready.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn operations() -> Vec<Operation> {
    vec![
        service_key::operation(),
        Operation::server("/livez", "Liveness", live),
        Operation::server("/readyz", "Readiness", ready),
        Operation::server("/metrics", "Metrics", metrics).errors(&[METRICS_CLOSED]),
        Operation::server("/openapi.json", "OpenAPI Document", openapi_document),
        Operation::new(
            http::Method::GET,
            "/openapi.json",
            "OpenAPI Document of a Project",
            "server",
            Invalid::all(INVALID_QUERY),
            project_openapi_document,
        ),
    ]
}

async fn live(_: ServerCall) -> Result<Text> {
    Ok(Text("ok".to_owned()))
}

#[derive(Debug, Serialize, JsonSchema)]
struct Readiness {
    status: Status,
    checks: Checks,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Checks {
    accepting: Status,
    database: Status,
    storage: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Pass,
    Fail,
}

impl From<bool> for Status {
    fn from(passes: bool) -> Self {
        if passes { Status::Pass } else { Status::Fail }
    }
}

impl Reply for Readiness {
    fn into_response(self) -> Result<Response> {
        let passes = self.status == Status::Pass;
        json(if passes { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &self)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let schema = generator.subschema_for::<Readiness>();
        let doc = |status| ReplyDoc { status, content: Some(("application/json", schema.clone())) };
        vec![doc(200), doc(503)]
    }
}

async fn ready(call: ServerCall) -> Result<Readiness> {
    let app = &call.app;
    let accepting = !app.is_draining();
    let database = matches!(tokio::time::timeout(PATIENCE, app.db.ping()).await, Ok(Ok(())));
    let stored = tokio::time::timeout(PATIENCE, app.storage.check()).await;
    let storage = app.config.data_dir_is_writable() && matches!(stored, Ok(Ok(())));
    Ok(Readiness {
        status: (accepting && database && storage).into(),
        checks: Checks {
            accepting: accepting.into(),
            database: database.into(),
            storage: storage.into(),
        },
    })
}

/// Open to whoever has the operator's token; without one, to this machine.
async fn metrics(call: ServerCall) -> Result<Text> {
    let allowed = match &call.app.config.metrics_token {
        Some(token) => bearer(&call.headers).is_some_and(|given| {
            verify_slices_are_equal(given.as_bytes(), token.as_bytes()).is_ok()
        }),
        // To the socket, everybody behind a proxy on this machine looks local.
        None => call.client.is_loopback() && !call.is_forwarded,
    };
    if !allowed {
        return Err(METRICS_CLOSED.into());
    }
    let app = &call.app;
    let (db, realtime) = (app.db.stats(), app.realtime.figures());
    Ok(Text(app.metrics.render(&db, realtime, app.connections.figures())))
}

/// The document, made once: the operations do not change while the server runs.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| openapi::document(None));
static DOCUMENT_TEXT: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(DOCUMENT.to_string()));

struct Document(Bytes);

impl Reply for Document {
    fn into_response(self) -> Result<Response> {
        Ok(with_body(StatusCode::OK, JSON, self.0))
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        Json::<Value>::describe(generator)
    }
}

async fn openapi_document(_: ServerCall) -> Result<Document> {
    Ok(Document(DOCUMENT_TEXT.clone()))
}

/// The same document with the project's own tables, as far as the caller may see their rows.
async fn project_openapi_document(call: Call<OptionalViewer>, (): ()) -> Result<Document> {
    let project = call.project.id;
    let tables = call.app.db.read(move |c| catalogue::list(c, project)).await?;
    if tables.is_empty() {
        return Ok(Document(DOCUMENT_TEXT.clone()));
    }
    // A hundred tables take a while to describe.
    let described = tokio::task::spawn_blocking(move || {
        let mut document = DOCUMENT.clone();
        tables::openapi::describe(&mut document, &tables, call.caller);
        Bytes::from(document.to_string())
    });
    described.await.map(Document).map_err(Error::internal)
}
