//! WebSocket: the handshake, the upgrade from polling, and the one task that reads and writes.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::http::reply::{Body, Response};
use crate::network::places::Place;
use crate::realtime::packet::Text;
use crate::realtime::registry::Ending;
use crate::realtime::send_queue::Taken;
use crate::realtime::session::{Session, Transport};
use crate::sockets::client::{self, Flow};
use crate::sockets::engine;
use crate::state::App;

type Stream = WebSocketStream<TokioIo<Upgraded>>;

/// Timeout for sending the end of a connection.
const FAREWELL: Duration = Duration::from_secs(2);
const BUFFER: usize = 4 * 1024;
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The response to a WebSocket handshake; `None` if the request is none.
pub(crate) fn handshake(headers: &HeaderMap) -> Option<Response> {
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        let mut words = values.flat_map(|value| value.split(','));
        words.any(|found| found.trim().eq_ignore_ascii_case(word))
    };
    if !has(CONNECTION, "upgrade")
        || !has(UPGRADE, "websocket")
        || !has(SEC_WEBSOCKET_VERSION, "13")
    {
        return None;
    }
    let key = headers.get(SEC_WEBSOCKET_KEY)?.as_bytes();
    let hashed = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, MAGIC.as_bytes()].concat());
    let accept = HeaderValue::from_str(&BASE64.encode(hashed.as_ref())).ok()?;
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let out = response.headers_mut();
    out.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    out.insert(UPGRADE, HeaderValue::from_static("websocket"));
    out.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Some(response)
}

/// Serves a connection that began as a WebSocket, or a polling one that upgrades.
pub(crate) async fn serve(
    app: App,
    session: Arc<Session>,
    upgrade: OnUpgrade,
    _place: Option<Place>,
) {
    let _wire = app.realtime.wire();
    let probes = session.transport() == Transport::Probing;
    let opening = async {
        let limits = &app.config.realtime;
        let upgraded = upgrade.await.ok()?;
        // Buffers grow on demand; most sockets send little.
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(limits.max_payload))
            .max_frame_size(Some(limits.max_payload));
        let stream = TokioIo::new(upgraded);
        let mut stream = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        let ready = !probes || probe(&mut stream, &session).await.is_some();
        ready.then_some(stream)
    };
    let in_time = tokio::time::timeout(app.config.realtime.upgrade_timeout, opening);
    let stream = in_time.await.ok().flatten();
    if probes {
        let way = if stream.is_some() { Transport::WebSocket } else { Transport::Polling };
        session.end_probe(way);
    }
    match stream {
        Some(stream) => {
            run(&app, &session, stream).await;
            app.realtime.end(&session, Ending::Cut, app.clock.uptime());
        }
        None if probes => {}
        None => app.realtime.end(&session, Ending::Cut, app.clock.uptime()),
    }
}

/// The client probes the WebSocket, waits for its last poll, and confirms the upgrade.
async fn probe(stream: &mut Stream, session: &Session) -> Option<()> {
    let says = |message: Option<_>, word: &str| match message {
        Some(Ok(Message::Text(text))) if text.as_str() == word => Some(()),
        _ => None,
    };
    says(stream.next().await, engine::PROBE)?;
    stream.send(Message::Text(Text::from_static(engine::PROBED))).await.ok()?;
    session.outbox.nudge();
    says(stream.next().await, engine::UPGRADE)
}

async fn run(app: &App, session: &Arc<Session>, mut stream: Stream) {
    loop {
        let taken = tokio::select! {
            biased;
            taken = session.outbox.take() => taken,
            message = stream.next() => match message {
                Some(Ok(message)) => {
                    if receive(app, session, message).await == Flow::Close {
                        break;
                    }
                    continue;
                }
                // Disconnected, or it sent an invalid frame.
                Some(Err(_)) | None => break,
            },
        };
        let (packets, is_last) = match taken {
            Taken::Packets(packets) => (packets, false),
            Taken::Last(packets) => (packets, true),
            Taken::Cut => return,
        };
        let sent = tokio::select! {
            sent = send(&mut stream, packets) => sent,
            // A half-written frame is abandoned.
            () = session.outbox.overdue(FAREWELL) => return,
        };
        if sent.is_none() || is_last {
            break;
        }
    }
    // Waits for the client's close frame, too: closing earlier might lose the last packets.
    let farewell = async {
        let _ = stream.close(None).await;
        while let Some(Ok(_)) = stream.next().await {}
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

async fn send(stream: &mut Stream, packets: Vec<Text>) -> Option<()> {
    for packet in packets {
        stream.feed(Message::Text(packet)).await.ok()?;
    }
    stream.flush().await.ok()
}

async fn receive(app: &App, session: &Arc<Session>, message: Message) -> Flow {
    match message {
        Message::Text(text) => client::receive(app, session, &text).await,
        Message::Ping(_) | Message::Pong(_) => Flow::On,
        _ => Flow::Close,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_answered_as_the_standard_says() {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        assert!(handshake(&headers).is_none());
        let key = HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==");
        headers.insert(SEC_WEBSOCKET_KEY, key);
        let response = handshake(&headers).unwrap();
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
