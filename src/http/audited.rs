//! What keys do: whether they may, and an entry in the audit log for each write.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::audit::{Actor, Entry};
use crate::auth::credential::{KEY_SCOPE, Presented};
use crate::error::Result;
use crate::http::input::body_value;
use crate::http::operation::{CheckedRequest, Operation};
use crate::http::reply::Response;
use crate::state::App;
use crate::tenancy::{Project, store};
use crate::values::time::Timestamp;

/// Refuses a key that is not for the operation. Notes now and then that it was used.
pub(super) fn check_key(
    app: &App,
    project: &Project,
    presented: Presented,
    operation: &Operation,
    now: Timestamp,
) -> Result<()> {
    let Presented::Key { id, .. } = presented else { return Ok(()) };
    let Some(key) = project.key(id) else { return Ok(()) };
    if !key.covers(operation.area(), operation.is_read()) {
        return Err(KEY_SCOPE.into());
    }
    if key.note_use(now) {
        let (db, project) = (app.db.clone(), project.id);
        // The reply does not wait for it, nor fails with it.
        tokio::spawn(async move {
            let noted = db.write(move |tx| store::use_key(tx, project, id, now)).await;
            if let Err(error) = noted {
                tracing::warn!(%error, "the use of a key could not be noted");
            }
        });
    }
    Ok(())
}

/// Runs a request; if a key makes it, what it writes is committed together with an entry.
pub(super) async fn run(
    request: CheckedRequest,
    client: IpAddr,
    work: impl AsyncFnOnce(CheckedRequest) -> Result<Response>,
) -> Result<Response> {
    let entry = entry(&request, client);
    let work = std::pin::pin!(work(request));
    match entry {
        Some(entry) => db::accompanied(move |tx| entry.write(tx), work).await,
        None => work.await,
    }
}

/// Texts that users wrote are no part of it: the log outlives them. The names of the fields are.
fn entry(request: &CheckedRequest, client: IpAddr) -> Option<Entry> {
    let Presented::Key { id, .. } = request.presented else { return None };
    if request.operation.is_read() {
        return None;
    }
    let key = request.project.key(id)?;
    let name = key.label.clone().unwrap_or_else(|| format!("{} key", key.kind.name()));
    let actor = Actor::Key { id: key.id, name, client };
    let body = body_value(request).ok();
    let fields: Vec<&String> =
        body.and_then(Value::as_object).into_iter().flat_map(|body| body.keys()).collect();
    let made = (request.now, &request.app.random);
    let target = request.params.to_string();
    let entry = Entry::new(request.project.id, &actor, request.operation.name, target, made);
    Some(entry.change(None::<&Value>, Some(&json!({ "fields": fields }))))
}
