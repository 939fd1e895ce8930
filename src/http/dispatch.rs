//! One request, from its head to its reply. The checks run in the contract's order: route, project, its
//! state, origin, credential, rate limit, required credential, bundle; then the operation checks suspension,
//! input and its own rules.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, EXPECT, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Request};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::sync::SemaphorePermit;

use crate::auth::caller::Credential;
use crate::auth::credential::Presented;
use crate::error::{Error, Fault, Result, WindowState, faults};
use crate::http::access::check_credential;
use crate::http::account::{Recorded, Served, account};
use crate::http::address::{self, Address, Dialect, Scope};
use crate::http::admission::{HEAD_TOO_LARGE, URI_TOO_LONG, check_head, check_room};
use crate::http::body::{
    BODY_BROKEN, BODY_TIMEOUT, BODY_TOO_LARGE, Source, UNSUPPORTED_ENCODING, check_encoding,
    drop_arrived, read_whole,
};
use crate::http::multipart::{ReadForm, Uploads, read_form};
use crate::http::negotiation::Negotiation;
use crate::http::operation::{CheckedRequest, Operation, Run};
use crate::http::query::pairs;
use crate::http::render::{self, Context};
use crate::http::reply::{self, Response};
use crate::http::router::Router;
use crate::http::version::Version;
use crate::http::{audited, cors, legacy, outside, representation, shared_reads, unnamed, writers};
use crate::network::client::Peer;
use crate::network::{client, forwarding};
use crate::state::App;
use crate::tenancy::{self, Project, ProjectState};
use crate::values::detail::Detail;
use crate::values::ids::ProjectId;

faults! {
    pub ROUTE_NOT_FOUND = 404 "route/not-found": "Route not found";
    pub INVALID_JSON = 400 "request/invalid-json": "Invalid JSON";
}

/// Faults that any operation may reply with.
pub const GENERAL_FAULTS: &[Fault] = &[
    BODY_TOO_LARGE,
    URI_TOO_LONG,
    UNSUPPORTED_ENCODING,
    BODY_TIMEOUT,
    BODY_BROKEN,
    HEAD_TOO_LARGE,
    tenancy::INVALID_PROJECT_ID,
    tenancy::NOT_FOUND,
    tenancy::PENDING_DELETION,
    tenancy::MIGRATING,
    cors::ORIGIN_NOT_ALLOWED,
    crate::auth::credential::PROJECT_MISMATCH,
];

const FORM: &str = "application/x-www-form-urlencoded";
pub(super) const MULTIPART: &str = "multipart/form-data";

/// Handles a request, whatever happens, and records it in metrics and log.
pub async fn handle(
    app: &App,
    router: &Router,
    peer: &Peer,
    request: Request<Incoming>,
) -> Response {
    let started = app.clock.uptime();
    let (head, body) = request.into_parts();
    let recorded = Recorded::begin(app, &head.headers);
    let id = client::request_id(&head.headers, &app.request_ids);
    let origin = head.headers.get(ORIGIN).cloned();
    let method = head.method.clone();
    let negotiation = Negotiation::of(&head.headers);
    // Reading the body of such a request would make the client send it.
    let asks_before_sending = head.headers.contains_key(EXPECT);
    let takes_cookies = address::takes_cookies(head.uri.path());
    let in_flight = app.metrics.enter();

    let mut trace = RequestTrace::default();
    let mut body = Some(body);
    let (answered, in_database) = {
        // A future that takes another by value keeps it twice; this is the largest of a request.
        let answering = std::pin::pin!(answer(app, router, peer, head, &mut body, &mut trace));
        db::timed(catch_panic(answering)).await
    };
    let result = answered.unwrap_or_else(|| Err(Error::internal("the handler panicked")));

    // A refusal by the operation's own limit reports that limit, not the client's.
    let is_limited = matches!(&result, Err(Error::RateLimited(_)));
    let context = Context {
        version: trace.version,
        feature: trace.feature(),
        v7_forbids: trace.v7_auth_forbids.unwrap_or(app.config.v7_auth_forbids)
            || trace.operation.is_some_and(|operation| operation.plain_refusals),
    };
    let failure = result.as_ref().err().and_then(Error::chain);
    let code = result.as_ref().err().map(Error::code);
    let mut response = result.unwrap_or_else(|error| render::error(error, context));
    let (operation, fingerprints) = (trace.operation, &app.fingerprints);
    representation::negotiate(&mut response, &negotiation, operation, fingerprints).await;

    if let Some(window) = trace.window.filter(|_| !is_limited) {
        render::rate_headers(&mut response, window);
    }
    if trace.operation.is_some_and(|operation| operation.no_store) {
        reply::set(&mut response, "cache-control", "no-store");
    }
    let is_page = trace.operation.is_some_and(|operation| operation.audience.is_some());
    if let Some(origin) = origin.filter(|_| !trace.foreign_origin && !is_page) {
        cors::allow(&mut response, origin);
        if takes_cookies {
            cors::allow_credentials(&mut response);
        }
    }
    reply::set(&mut response, "x-content-type-options", "nosniff");
    reply::set(&mut response, "x-request-id", &id);
    drop(in_flight);
    if let Some(body) = body.filter(|_| !asks_before_sending) {
        drop_arrived(peer, body).await;
    }

    let took = app.clock.uptime().saturating_sub(started);
    let status = response.status().as_u16();
    let served = Served { method, status, took, in_database, id, failure, code };
    account(app, &trace, served, recorded);
    response
}

/// What is known about a request when the reply is sent.
#[derive(Debug, Default)]
pub(super) struct RequestTrace {
    pub(super) operation: Option<&'static Operation>,
    is_legacy: bool,
    pub(super) version: Option<Version>,
    pub(super) project: Option<ProjectId>,
    /// The project's setting for how version 7 replies to a bad token.
    v7_auth_forbids: Option<bool>,
    pub(super) caller: Presented,
    pub(super) window: Option<WindowState>,
    /// The page's origin is not on the project's list and may not read the reply.
    foreign_origin: bool,
}

impl RequestTrace {
    /// The feature that the code of a failure names.
    fn feature(&self) -> &'static str {
        match self.operation {
            Some(operation) if self.is_legacy => legacy::feature(operation),
            Some(operation) => operation.feature,
            None => "server",
        }
    }
}

async fn answer(
    app: &App,
    router: &Router,
    peer: &Peer,
    head: http::request::Parts,
    body: &mut Option<Incoming>,
    trace: &mut RequestTrace,
) -> Result<Response> {
    let address = Address::parse(head.uri.path());
    check_room(app, peer, address.as_ref())?;
    check_head(&head)?;
    let address = address.ok_or(ROUTE_NOT_FOUND)?;
    let is_forwarded = forwarding::is_untrusted(peer.address, &head.headers, &app.config);
    if is_forwarded {
        app.forwarding_notice.give(peer.address, &app.config);
    }
    let (version, dialect, named_project) = match &address.scope {
        Scope::Project { version, dialect, project } => (*version, *dialect, project.as_deref()),
        Scope::Server => {
            let request = outside::ServerRequest { head, body, is_forwarded };
            return outside::answer(app, router, peer, request, &address, trace).await;
        }
    };
    trace.version = Some(version);
    trace.is_legacy = dialect == Dialect::Legacy;
    if head.method == Method::OPTIONS {
        return preflight(app, &head, named_project, trace).await;
    }

    let route = match (dialect, router.project(&head.method, &address.endpoint)) {
        (Dialect::Legacy, None) => legacy::alias(&head.method, &address.endpoint)
            .and_then(|endpoint| router.project(&head.method, &endpoint)),
        (_, route) => route,
    };
    let route = route.ok_or(ROUTE_NOT_FOUND)?;
    let operation = route.operation;
    if !operation.is_in(version) {
        return Err(ROUTE_NOT_FOUND.into());
    }
    trace.operation = Some(operation);
    let client = client::address(peer.address, &head.headers, &app.config.trusted_proxies);
    let project = match named_project {
        Some(named) => find_project(app, named).await?,
        None => {
            let of_token = unnamed::token_project(app, &head.headers);
            if of_token.is_none() {
                trace.window = limit(app, operation, None, client).await?;
            }
            unnamed::project(app, operation, of_token, &head.headers, &route.params).await?
        }
    };
    trace.project = Some(project.id);
    trace.v7_auth_forbids = project.v7_auth_forbids;
    check_state(&project)?;
    let form = operation.takes_forms && header_has(&head.headers, CONTENT_TYPE, FORM);
    if let Err(refusal) = check_origin(&head.headers, Some(&project)) {
        trace.foreign_origin = true;
        // The server's own page posts its form with a null origin, and the form holds its credential.
        if !form {
            return Err(refusal);
        }
    }

    let now = app.clock.now();
    let public_url = &app.config.public_url;
    let presented = match Presented::read(&head.headers, &project, &app.tokens, public_url, now) {
        // Operations that ignore credentials reply the same with any of them.
        Err(_) if operation.credential == Credential::Ignored => Presented::Nothing,
        presented => presented?,
    };
    trace.caller = presented;
    let network = client::bucket(client);
    let has_key = matches!(presented, Presented::Key { .. });
    if !has_key {
        trace.window = limit(app, operation, Some(project.id), client).await?;
    }
    let query = pairs(head.uri.query().unwrap_or_default());
    let is_open = dialect == Dialect::Legacy && legacy::is_open(operation, &app.config);
    if !is_open {
        check_credential(presented, operation, operation.credential_in(version), &query)?;
    }
    audited::check_key(app, &project, presented, operation, now)?;
    for bundle in operation.bundle.iter().chain(&operation.further_bundles) {
        project.require(*bundle)?;
    }

    let body = body.take().ok_or_else(|| Error::internal("the body is gone"))?;
    let source = Source::new(app, peer, network, body);
    let content = read_content(app, operation, version, &project, &head.headers, source).await?;
    let Run::Project(run) = &operation.run else { return Err(ROUTE_NOT_FOUND.into()) };
    let checked = CheckedRequest {
        app: app.clone(),
        operation,
        project,
        version,
        now,
        presented,
        is_open,
        detail: Detail::Documented,
        params: route.params,
        query,
        query_text: head.uri.query().unwrap_or_default().to_owned(),
        body: content.body,
        parsed_body: content.parsed,
        uploads: content.uploads,
        form,
        wants_html: header_has(&head.headers, ACCEPT, "text/html"),
        headers: head.headers,
        network: (!has_key).then_some(network),
    };
    let work = async |checked| match dialect {
        Dialect::Reference => run(checked).await,
        Dialect::Legacy => legacy::run(run, checked).await,
    };
    let shared = async |checked| shared_reads::run(checked, dialect, work).await;
    let written = async |checked| writers::run(checked, network, shared).await;
    audited::run(checked, client, written).await
}

async fn preflight(
    app: &App,
    head: &http::request::Parts,
    named_project: Option<&str>,
    trace: &mut RequestTrace,
) -> Result<Response> {
    if let Some(Ok(id)) = named_project.map(str::parse) {
        let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
        if let Err(refusal) = check_origin(&head.headers, project.as_deref()) {
            trace.foreign_origin = true;
            return Err(refusal);
        }
    }
    Ok(cors::preflight(head.uri.path(), &head.headers))
}

pub(super) fn header_has(headers: &HeaderMap, name: HeaderName, text: &str) -> bool {
    headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|v| v.contains(text))
}

/// Refuses requests to a project that is being deleted or maintained.
pub fn check_state(project: &tenancy::Project) -> Result<()> {
    match project.state {
        ProjectState::Active => Ok(()),
        ProjectState::PendingDeletion => Err(tenancy::PENDING_DELETION.into()),
        ProjectState::Migrating => Err(tenancy::MIGRATING.into()),
    }
}

async fn find_project(app: &App, named: &str) -> Result<Arc<Project>> {
    let id = named.parse().map_err(|_| Error::from(tenancy::INVALID_PROJECT_ID))?;
    let project = app.projects.get(&app.db, id, app.clock.uptime()).await?;
    project.ok_or(tenancy::NOT_FOUND.into())
}

fn check_origin(headers: &HeaderMap, project: Option<&Project>) -> Result<()> {
    let allowed = project.map_or(&[][..], |project| &project.allowed_origins);
    if cors::is_allowed(headers, allowed) { Ok(()) } else { Err(cors::ORIGIN_NOT_ALLOWED.into()) }
}

pub(super) async fn limit(
    app: &App,
    operation: &Operation,
    project: Option<ProjectId>,
    client: IpAddr,
) -> Result<Option<WindowState>> {
    let Some(rate) = operation.rate else { return Ok(None) };
    let bucket = client::bucket(client).to_be_bytes();
    app.limiter.settled(rate, &operation.id, project, &bucket).await;
    let now = app.clock.uptime();
    app.limiter.count(rate, &operation.id, project, &bucket, now).map_err(|exceeded| {
        app.metrics.limited(operation.path);
        Error::RateLimited(exceeded)
    })
}

/// The body of a request, read by its operation's rules and its content type.
struct Content<'a> {
    body: Bytes,
    parsed: OnceLock<Value>,
    uploads: Uploads,
    /// Held as long as the request runs.
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
        read_form(app, Some(project), form, invalid, headers, source).await?;
    let (body, parsed) = (Bytes::new(), OnceLock::from(texts));
    Ok(Content { body, parsed, uploads, _memory: Some(memory) })
}

/// The future's outcome, or `None` if it panicked: the request fails, the connection survives.
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
