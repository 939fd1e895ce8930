//! Requests to `/socket.io/`: finds their connection and transport. They are not operations: a poll waits,
//! and would count as a running request all the time.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::ORIGIN;
use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use serde_json::Value;

use crate::http::cors;
use crate::http::dispatch::catch_panic;
use crate::http::query::pairs;
use crate::http::reply::{self, Response};
use crate::network::client;
use crate::network::client::Peer;
use crate::network::places::Place;
use crate::realtime::packet::Text;
use crate::realtime::session::{Session, Transport};
use crate::sockets::connect::secret;
use crate::sockets::engine::{self, Refusal};
use crate::sockets::{polling, websocket};
use crate::state::App;
use crate::values::ids::ProjectId;

const PATH: &str = "/socket.io/";
/// Maximum length of a query.
const LONGEST_QUERY: usize = 2048;

pub(crate) fn is_ours(path: &str) -> bool {
    path == PATH || path == PATH.trim_end_matches('/')
}

/// Always replies, whatever happens.
pub(crate) async fn handle(app: &App, peer: &Peer, request: Request<Incoming>) -> Response {
    let id = client::request_id(request.headers(), &app.request_ids);
    let origin = request.headers().get(ORIGIN).cloned();
    let answered = catch_panic(answer(app, peer, request)).await;
    let answered = answered.unwrap_or_else(|| {
        tracing::error!(id, "a request of the realtime layer panicked");
        Err(Refusal::BadRequest)
    });
    let is_foreign = matches!(answered, Err(Refusal::Forbidden));
    let mut response = answered.unwrap_or_else(Refusal::response);
    if let Some(origin) = origin.filter(|_| !is_foreign) {
        cors::allow(&mut response, origin);
    }
    reply::set(&mut response, "x-content-type-options", "nosniff");
    reply::set(&mut response, "x-request-id", &id);
    response
}

async fn answer(
    app: &App,
    peer: &Peer,
    mut request: Request<Incoming>,
) -> Result<Response, Refusal> {
    let query = request.uri().query().unwrap_or_default();
    if query.len() > LONGEST_QUERY {
        return Err(Refusal::BadRequest);
    }
    let query = pairs(query);
    let project = text(&query, "projectId").and_then(|id| id.parse().ok());
    let session = match text(&query, "sid") {
        Some(sid) => Some(find(app, sid)?),
        None => None,
    };
    // A connection stays with the project it was opened for.
    let project = session.as_ref().map_or(project, |session| session.project);
    check_origin(app, request.headers(), project).await?;
    if *request.method() == Method::OPTIONS {
        return Ok(cors::preflight(request.uri().path(), request.headers()));
    }
    if text(&query, "EIO") != Some("4") {
        return Err(Refusal::UnsupportedVersion);
    }
    let transport = match text(&query, "transport") {
        Some("polling") => Transport::Polling,
        Some("websocket") => Transport::WebSocket,
        _ => return Err(Refusal::TransportUnknown),
    };
    let Some(session) = session else {
        if *request.method() != Method::GET {
            return Err(Refusal::BadHandshakeMethod);
        }
        return open(app, peer.address, project, transport, &mut request);
    };
    match (transport, request.method()) {
        (Transport::WebSocket, &Method::GET) => {
            let response = websocket::handshake(request.headers()).ok_or(Refusal::BadRequest)?;
            if !session.begin_probe() {
                return Err(Refusal::BadRequest);
            }
            upgrade(app, session, &mut request);
            Ok(response)
        }
        (Transport::Polling, _) if session.transport() == Transport::WebSocket => {
            Err(Refusal::BadRequest)
        }
        (Transport::Polling, &Method::GET) => Ok(polling::get(app, &session).await),
        (Transport::Polling, &Method::POST) => {
            Ok(polling::post(app, peer, &session, request.into_body()).await)
        }
        _ => Err(Refusal::BadRequest),
    }
}

fn find(app: &App, sid: &str) -> Result<Arc<Session>, Refusal> {
    if let Some(session) = app.realtime.directory().sessions.get(sid) {
        return Ok(session.clone());
    }
    if !app.nodes.is_elsewhere(sid, app.clock.uptime()) {
        return Err(Refusal::SessionUnknown);
    }
    if app.nodes.warns() {
        tracing::warn!("a polling client was sent to another node: {}", engine::OTHER_NODE);
    }
    Err(Refusal::OtherNode)
}

/// A new connection. Its first packet holds the secret that identifies it from then on.
fn open(
    app: &App,
    peer: IpAddr,
    project: Option<ProjectId>,
    transport: Transport,
    request: &mut Request<Incoming>,
) -> Result<Response, Refusal> {
    let handshake = match transport {
        Transport::WebSocket => {
            Some(websocket::handshake(request.headers()).ok_or(Refusal::BadRequest)?)
        }
        _ => None,
    };
    let address = client::address(peer, request.headers(), &app.config.trusted_proxies);
    let (network, limits) = (client::bucket(address), &app.config.realtime);
    let now = app.clock.uptime();
    let sid = format!("{}{}", app.nodes.own(), secret(app));
    let session = Session::new(sid, project, network, transport, limits, now);
    let session = app.realtime.directory().open(session, limits).ok_or(Refusal::Full)?;
    let hello = engine::open(&session.sid, limits, handshake.is_none());
    match handshake {
        None => Ok(polling::text(hello)),
        Some(response) => {
            let _ = session.outbox.push(Text::from(hello));
            upgrade(app, session, request);
            Ok(response)
        }
    }
}

fn upgrade(app: &App, session: Arc<Session>, request: &mut Request<Incoming>) {
    let place = request.extensions_mut().remove::<Place>();
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(websocket::serve(app.clone(), session, upgrade, place));
}

async fn check_origin(
    app: &App,
    headers: &HeaderMap,
    project: Option<ProjectId>,
) -> Result<(), Refusal> {
    let Some(id) = project else { return Ok(()) };
    let found = app.projects.get(&app.db, id, app.clock.uptime()).await;
    let allowed = match found.map_err(|_| Refusal::Full)? {
        Some(project) => cors::is_allowed(headers, &project.allowed_origins),
        None => true,
    };
    if allowed { Ok(()) } else { Err(Refusal::Forbidden) }
}

fn text<'a>(query: &'a Value, name: &str) -> Option<&'a str> {
    query.get(name).and_then(Value::as_str)
}
