//! Runs operations of the API for an operator, exactly as a request with the master key of the project would: the same
//! inputs, rules and stores. What an operation changes is in the audit log.

use std::sync::OnceLock;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth::credential::Presented;
use crate::error::{Error, Result};
use crate::features::admin::visit::Visit;
use crate::http::multipart::Uploads;
use crate::http::operation::{CheckedRequest, Operation, Operations, Run};
use crate::http::reply::Body;
use crate::http::version::Version;
use crate::tenancy::keys::KeyKind;
use crate::values::detail::Detail;
use crate::values::ids::KeyId;

/// What is asked of an operation.
#[derive(Debug, Default)]
pub(super) struct Request {
    pub params: Value,
    pub query: Value,
    pub body: Value,
}

impl Request {
    pub fn params(params: Value) -> Self {
        Request { params, ..Request::default() }
    }

    pub fn query(query: Value) -> Self {
        Request { query, ..Request::default() }
    }

    pub fn body(self, body: Value) -> Self {
        Request { body, ..self }
    }
}

/// Runs the operation of this name; returns its reply.
pub(super) async fn call(visit: &Visit, name: &str, request: Request) -> Result<Value> {
    let operation = find(visit, name)?;
    let Run::Project(run) = &operation.run else { return Err(Error::internal("not of a project")) };
    let project = visit.project()?.clone();
    for bundle in operation.bundle.iter().chain(&operation.further_bundles) {
        project.require(*bundle)?;
    }
    let object = |value: Value| if value.is_null() { json!({}) } else { value };
    let (params, query) = (object(request.params), object(request.query));
    let fields: Vec<&String> =
        request.body.as_object().into_iter().flat_map(|body| body.keys()).collect();
    let entry = visit.entry(operation.name, params.to_string());
    let entry = entry.change(None::<&Value>, Some(&json!({ "fields": fields })));
    let checked = CheckedRequest {
        app: visit.app.clone(),
        operation,
        project,
        version: Version::V8,
        now: visit.now,
        presented: Presented::Key { kind: KeyKind::Master, id: KeyId(Uuid::nil()) },
        is_open: false,
        detail: Detail::Documented,
        query_text: query_text(&query),
        params,
        query,
        body: Bytes::new(),
        parsed_body: OnceLock::from(object(request.body)),
        uploads: Uploads::default(),
        form: false,
        wants_html: false,
        headers: HeaderMap::new(),
        network: None,
    };
    let running = run(checked);
    let response = if operation.is_read() {
        running.await?
    } else {
        db::accompanied(move |tx| entry.write(tx), running).await?
    };
    match response.into_body() {
        Body::Whole(bytes) if bytes.is_empty() => Ok(Value::Null),
        Body::Whole(bytes) => serde_json::from_slice(&bytes).map_err(Error::internal),
        Body::File(_) | Body::Stream(_) | Body::Download(_) => {
            Err(Error::internal("a reply that is no JSON"))
        }
    }
}

fn find(visit: &Visit, name: &str) -> Result<&'static Operation> {
    let all = visit.app.lists.of::<Operations>().first().map_or(&[][..], |all| all.0);
    let found = all.iter().find(|operation| operation.name == name && operation.is_in(Version::V8));
    found.ok_or_else(|| Error::internal(format!("there is no operation {name}")))
}

fn query_text(query: &Value) -> String {
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.as_object().into_iter().flatten() {
        text.append_pair(name, value.as_str().unwrap_or_default());
    }
    text.finish()
}
