//! One request, from its head to its answer. The checks run in the contract's order: route,
//! project, its state, origin, credential, rate limit, required credential, bundle; then the
//! operation takes over with suspension, input and its own rules.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, EXPECT, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Request};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use crate::app::App;
use crate::auth::caller::Credential;
use crate::auth::credential::Presented;
use crate::error::{Error, Fault, Result};
use crate::features::projects::{self, Project, ProjectState};
use crate::http::address::{Address, Scope};
use crate::http::admission::{HEAD_TOO_LARGE, URI_TOO_LONG, check_head, check_room};
use crate::http::body::{
    BODY_BROKEN, BODY_TIMEOUT, BODY_TOO_LARGE, Source, UNSUPPORTED_ENCODING, check_encoding,
    drop_arrived, read_whole,
};
use crate::http::client::Peer;
use crate::http::limits::Standing;
use crate::http::multipart::{ReadForm, Uploads, read_form};
use crate::http::operation::{Arrival, Operation, Run, ServerCall};
use crate::http::query::pairs;
use crate::http::render::{self, Context};
use crate::http::reply::{self, Response};
use crate::http::version::Version;
use crate::http::{client, cors, forwarding};
use crate::ids::ProjectId;

pub const ROUTE_NOT_FOUND: Fault = Fault::new(404, "route/not-found", "Route not found");
pub const INVALID_JSON: Fault = Fault::new(400, "request/invalid-json", "Invalid JSON");

/// Faults that any operation may answer with, whatever it does.
pub const GENERAL_FAULTS: &[Fault] = &[
    BODY_TOO_LARGE,
    URI_TOO_LONG,
    UNSUPPORTED_ENCODING,
    BODY_TIMEOUT,
    BODY_BROKEN,
    HEAD_TOO_LARGE,
    projects::INVALID_PROJECT_ID,
    projects::NOT_FOUND,
    projects::PENDING_DELETION,
    projects::MIGRATING,
    cors::ORIGIN_NOT_ALLOWED,
    crate::auth::credential::PROJECT_MISMATCH,
];

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";

/// Answers a request, whatever happens, and accounts for it in metrics and log.
pub async fn handle(app: &App, peer: &Peer, request: Request<Incoming>) -> Response {
    let started = app.clock.uptime();
    let (head, body) = request.into_parts();
    let id = client::request_id(&head.headers, &app.request_ids);
    let origin = head.headers.get(ORIGIN).cloned();
    let method = head.method.clone();
    // Asked for the rest, the client would send it.
    let asks_before_sending = head.headers.contains_key(EXPECT);
    let in_flight = app.metrics.enter();

    let mut seen = Seen::default();
    let mut body = Some(body);
    let answered = catch_panic(answer(app, peer, head, &mut body, &mut seen)).await;
    let result = answered.unwrap_or_else(|| Err(Error::internal("the handler panicked")));

    // A refusal by a limit of the operation's own speaks of that limit, not of the client's.
    let is_limited = matches!(&result, Err(Error::RateLimited(_)));
    let context = Context {
        version: seen.version,
        feature: seen.operation.map_or("server", |operation| operation.feature),
        v7_forbids: app.config.v7_auth_forbids
            || seen.operation.is_some_and(|operation| operation.plain_refusals),
    };
    let failure = result.as_ref().err().and_then(Error::chain);
    let mut response = result.unwrap_or_else(|error| render::error(error, context));

    if let Some(standing) = seen.standing.filter(|_| !is_limited) {
        render::rate_headers(&mut response, standing);
    }
    if seen.operation.is_some_and(|operation| operation.no_store) {
        reply::set(&mut response, "cache-control", "no-store");
    }
    if let Some(origin) = origin.filter(|_| !seen.foreign_origin) {
        cors::allow(&mut response, origin);
    }
    reply::set(&mut response, "x-content-type-options", "nosniff");
    reply::set(&mut response, "x-request-id", &id);
    drop(in_flight);
    if let Some(body) = body.filter(|_| !asks_before_sending) {
        drop_arrived(peer, body).await;
    }

    let took = app.clock.uptime().saturating_sub(started);
    account(app, &method, &seen, response.status().as_u16(), took, &id, failure.as_deref());
    response
}

/// What is known about a request by the time it is answered.
#[derive(Debug, Default)]
struct Seen {
    operation: Option<&'static Operation>,
    version: Option<Version>,
    project: Option<ProjectId>,
    caller: Presented,
    standing: Option<Standing>,
    /// The page that asks is not on the project's list, and may read nothing.
    foreign_origin: bool,
}

/// One line for each request: the route's pattern, never the address, a body or a credential.
fn account(
    app: &App,
    method: &Method,
    seen: &Seen,
    status: u16,
    took: Duration,
    id: &str,
    failure: Option<&str>,
) {
    let route = seen.operation.map_or("unknown", |operation| operation.path);
    app.metrics.record(seen.operation, method, status, took);
    let version = seen.version.map(Version::segment);
    let project = seen.project.map(tracing::field::display);
    let caller = tracing::field::display(seen.caller);
    let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if status >= 500 {
        tracing::error!(%method, route, version, project, caller, status, took_us, id, failure, "request");
    } else {
        tracing::info!(%method, route, version, project, caller, status, took_us, id, "request");
    }
}

async fn answer(
    app: &App,
    peer: &Peer,
    head: http::request::Parts,
    body: &mut Option<Incoming>,
    seen: &mut Seen,
) -> Result<Response> {
    let address = Address::parse(head.uri.path());
    check_room(app, peer, address.as_ref())?;
    check_head(&head)?;
    let address = address.ok_or(ROUTE_NOT_FOUND)?;
    let is_forwarded = forwarding::is_untrusted(peer.address, &head.headers, &app.config);
    if is_forwarded {
        app.forwarding_notice.give(peer.address, &app.config);
    }
    let (version, named_project) = match &address.scope {
        Scope::Project { version, project } => (*version, project),
        Scope::Server => {
            return server_operation(app, peer, head, &address, is_forwarded, seen).await;
        }
    };
    seen.version = Some(version);
    if head.method == Method::OPTIONS {
        return preflight(app, &head.headers, named_project, seen).await;
    }

    let route = app.router.project(&head.method, &address.endpoint).ok_or(ROUTE_NOT_FOUND)?;
    let operation = route.operation;
    if !operation.is_in(version) {
        return Err(ROUTE_NOT_FOUND.into());
    }
    seen.operation = Some(operation);
    let project = find_project(app, named_project).await?;
    seen.project = Some(project.id);
    match project.state {
        ProjectState::Active => {}
        ProjectState::PendingDeletion => return Err(projects::PENDING_DELETION.into()),
        ProjectState::Migrating => return Err(projects::MIGRATING.into()),
    }
    let form = operation.takes_forms && header_has(&head.headers, CONTENT_TYPE, FORM);
    if let Err(refusal) = check_origin(&head.headers, Some(&project)) {
        seen.foreign_origin = true;
        // Our own page posts its form from no origin at all, and what it posts is its credential.
        if !form {
            return Err(refusal);
        }
    }

    let now = app.clock.now();
    let presented = match Presented::read(&head.headers, &project, &app.tokens, now) {
        // Where credentials are not looked at, none of them changes the answer.
        Err(_) if operation.credential == Credential::Ignored => Presented::Nothing,
        presented => presented?,
    };
    seen.caller = presented;
    let client = client::address(peer.address, &head.headers, &app.config.trusted_proxies);
    let network = client::bucket(client);
    let has_key = matches!(presented, Presented::Key(_));
    if !has_key {
        seen.standing = limit(app, operation, Some(project.id), client)?;
    }
    operation.credential.check(presented, operation)?;
    for bundle in operation.bundle.iter().chain(&operation.further_bundles) {
        project.require(*bundle)?;
    }

    let body = body.take().ok_or_else(|| Error::internal("the body is gone"))?;
    let source = Source::new(app, peer, network, body);
    let content = read_content(app, operation, version, &project, &head.headers, source).await?;
    let Run::Project(run) = &operation.run else { return Err(ROUTE_NOT_FOUND.into()) };
    let arrival = Arrival {
        app: app.clone(),
        operation,
        project,
        version,
        now,
        presented,
        params: route.params,
        query: pairs(head.uri.query().unwrap_or_default()),
        query_text: head.uri.query().unwrap_or_default().to_owned(),
        body: content.body,
        parsed_body: content.parsed,
        uploads: content.uploads,
        form,
        wants_html: header_has(&head.headers, ACCEPT, "text/html"),
        network: (!has_key).then_some(network),
    };
    run(arrival).await
}

async fn preflight(
    app: &App,
    headers: &HeaderMap,
    named_project: &str,
    seen: &mut Seen,
) -> Result<Response> {
    if let Ok(id) = named_project.parse() {
        let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
        if let Err(refusal) = check_origin(headers, project.as_deref()) {
            seen.foreign_origin = true;
            return Err(refusal);
        }
    }
    Ok(cors::preflight(headers))
}

fn header_has(headers: &HeaderMap, name: HeaderName, text: &str) -> bool {
    headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|v| v.contains(text))
}

async fn server_operation(
    app: &App,
    peer: &Peer,
    head: http::request::Parts,
    address: &Address,
    is_forwarded: bool,
    seen: &mut Seen,
) -> Result<Response> {
    if head.method == Method::OPTIONS {
        return Ok(cors::preflight(&head.headers));
    }
    let route = app.router.server(&head.method, &address.endpoint).ok_or(ROUTE_NOT_FOUND)?;
    seen.operation = Some(route.operation);
    let client = client::address(peer.address, &head.headers, &app.config.trusted_proxies);
    seen.standing = limit(app, route.operation, None, client)?;
    let Run::Server(run) = &route.operation.run else { return Err(ROUTE_NOT_FOUND.into()) };
    run(ServerCall {
        app: app.clone(),
        method: head.method,
        params: route.params,
        query: pairs(head.uri.query().unwrap_or_default()),
        headers: head.headers,
        client,
        is_forwarded,
    })
    .await
}

async fn find_project(app: &App, named: &str) -> Result<Arc<Project>> {
    let id = named.parse().map_err(|_| Error::from(projects::INVALID_PROJECT_ID))?;
    let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
    project.ok_or(projects::NOT_FOUND.into())
}

fn check_origin(headers: &HeaderMap, project: Option<&Project>) -> Result<()> {
    let allowed = project.map_or(&[][..], |project| &project.allowed_origins);
    if cors::is_allowed(headers, allowed) { Ok(()) } else { Err(cors::ORIGIN_NOT_ALLOWED.into()) }
}

fn limit(
    app: &App,
    operation: &Operation,
    project: Option<ProjectId>,
    client: IpAddr,
) -> Result<Option<Standing>> {
    let Some(rate) = operation.rate else { return Ok(None) };
    let bucket = client::bucket(client).to_be_bytes();
    let now = app.clock.uptime();
    app.limiter.count(rate, &operation.id, project, &bucket, now).map_err(|exceeded| {
        app.metrics.limited(operation);
        Error::RateLimited(exceeded)
    })
}

/// The body of a request, read in the way that its operation and its type ask for.
struct Content<'a> {
    body: Bytes,
    parsed: OnceLock<Value>,
    uploads: Uploads,
    /// Held as long as the request is under way.
    _memory: Option<SemaphorePermit<'a>>,
}

async fn read_content<'a>(
    app: &'a App,
    operation: &Operation,
    version: Version,
    project: &Project,
    headers: &HeaderMap,
    source: Source<'_>,
) -> Result<Content<'a>> {
    check_encoding(headers)?;
    let Some(form) = operation.form.filter(|_| header_has(headers, CONTENT_TYPE, MULTIPART)) else {
        let (body, memory) = read_whole(app, source).await?;
        let (parsed, uploads) = (OnceLock::new(), Uploads::default());
        return Ok(Content { body, parsed, uploads, _memory: memory });
    };
    let invalid = operation.invalid.body_in(version);
    let ReadForm { texts, uploads, memory } =
        read_form(app, project, form, invalid, headers, source).await?;
    let (body, parsed) = (Bytes::new(), OnceLock::from(texts));
    Ok(Content { body, parsed, uploads, _memory: Some(memory) })
}

/// The future's outcome, or `None` if it panicked: the request fails, the connection lives.
pub(crate) async fn catch_panic<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(poll) => poll.map(Some),
            Err(_) => std::task::Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_nothing_and_goes_no_further() {
        assert_eq!(catch_panic(async { 7 }).await, Some(7));
        assert_eq!(catch_panic(async { panic!("on purpose") }).await, None::<()>);
    }
}
