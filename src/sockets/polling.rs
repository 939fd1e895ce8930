//! Long polling: a GET waits for packets, a POST delivers some.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use hyper::body::Incoming;

use crate::error::Error;
use crate::http::body::Source;
use crate::http::reply::{self, Response, TEXT, with_body};
use crate::network::client::Peer;
use crate::realtime::packet::Text;
use crate::realtime::registry::Ending;
use crate::realtime::send_queue::Taken;
use crate::realtime::session::{Request, Session, Transport};
use crate::sockets::client::{self, Flow};
use crate::sockets::engine::{self, Refusal, SEPARATOR};
use crate::state::App;

/// While an upgrade to WebSocket is under way, polls return quickly with a NOOP: the client waits for them.
const PROBING: Duration = Duration::from_millis(100);

/// Returns packets for the client as soon as there are some.
pub(crate) async fn get(app: &App, session: &Arc<Session>) -> Response {
    let Some(_turn) = session.begin(Request::Get) else { return overlap(app, session) };
    let gone = Gone { app, session: Some(session) };
    let taken = match session.transport() {
        Transport::Probing => {
            let soon = tokio::time::timeout(PROBING, session.outbox.take());
            soon.await.unwrap_or_else(|_| Taken::Packets(Vec::new()))
        }
        _ => session.outbox.take().await,
    };
    gone.not();
    let body = match taken {
        Taken::Packets(packets) if packets.is_empty() => engine::NOOP.to_owned(),
        Taken::Packets(packets) => joined(&packets),
        // The close packet comes with the next poll: a client that reads both at once would handle the close
        // first.
        Taken::Last(packets) if !packets.is_empty() => joined(&packets),
        Taken::Last(_) => {
            app.realtime.end(session, Ending::Cut, app.clock.uptime());
            engine::CLOSE.to_owned()
        }
        Taken::Cut => return Refusal::SessionUnknown.response(),
    };
    text(body)
}

/// A client that disconnects while it waits is closed at once, not only after its heartbeat fails.
struct Gone<'a> {
    app: &'a App,
    session: Option<&'a Arc<Session>>,
}

impl Gone<'_> {
    fn not(mut self) {
        self.session = None;
    }
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.session
            && session.transport() != Transport::WebSocket
        {
            self.app.realtime.end(session, Ending::Cut, self.app.clock.uptime());
        }
    }
}

/// Packets from the client.
pub(crate) async fn post(
    app: &App,
    peer: &Peer,
    session: &Arc<Session>,
    body: Incoming,
) -> Response {
    let Some(_turn) = session.begin(Request::Post) else { return overlap(app, session) };
    let refusal = match read(app, Source::new(app, peer, session.network, body)).await {
        Ok(text) => match receive_all(app, session, &text).await {
            Flow::On => return self::text("ok".to_owned()),
            Flow::Close => Refusal::BadRequest,
        },
        Err(refusal) => refusal,
    };
    app.realtime.end(session, Ending::Closed, app.clock.uptime());
    refusal.response()
}

async fn read(app: &App, mut source: Source<'_>) -> Result<String, Refusal> {
    // Waiting for a body counts as a running request.
    let _in_flight = app.metrics.enter();
    let most = app.config.realtime.max_payload as u64;
    source.total = Some(app.config.body_timeout);
    let mut whole = Vec::new();
    while source.announced() + source.read <= most {
        match source.next_within_pace().await {
            Ok(Some(data)) => whole.extend_from_slice(&data),
            Ok(None) => return String::from_utf8(whole).map_err(|_| Refusal::BadRequest),
            Err(Error::Busy(_)) => return Err(Refusal::Full),
            Err(_) => return Err(Refusal::BadRequest),
        }
    }
    Err(Refusal::TooLarge)
}

async fn receive_all(app: &App, session: &Arc<Session>, body: &str) -> Flow {
    let most = app.config.realtime.max_packets;
    if body.split(SEPARATOR).nth(most).is_some() {
        return Flow::Close;
    }
    for packet in body.split(SEPARATOR) {
        // A client that closes gets a normal reply, and so does its last poll.
        if packet == engine::CLOSE {
            let ending = if session.waits() { Ending::Closed } else { Ending::Cut };
            app.realtime.end(session, ending, app.clock.uptime());
            return Flow::On;
        }
        if client::receive(app, session, packet).await == Flow::Close {
            return Flow::Close;
        }
    }
    Flow::On
}

/// Two concurrent requests of one kind: the connection is shared, or the client is broken.
fn overlap(app: &App, session: &Arc<Session>) -> Response {
    app.realtime.end(session, Ending::Closed, app.clock.uptime());
    Refusal::BadRequest.response()
}

fn joined(packets: &[Text]) -> String {
    let size = packets.iter().map(|packet| packet.len() + 1).sum();
    let mut body = String::with_capacity(size);
    for packet in packets {
        if !body.is_empty() {
            body.push(SEPARATOR);
        }
        body.push_str(packet);
    }
    body
}

pub(crate) fn text(body: String) -> Response {
    let mut response = with_body(StatusCode::OK, TEXT, body);
    reply::set(&mut response, "cache-control", "no-store");
    response
}
