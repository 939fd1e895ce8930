//! One connection, from its first byte to its end. While idle it is only a socket: hyper's buffers exist from
//! a request's first byte to the last byte of its reply.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, StatusCode};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::http::dispatch;
use crate::http::reply::Body;
use crate::http::router::Router;
use crate::network::client::Peer;
use crate::network::places::Place;
use crate::server::stream::{Activity, Stream, Turn};
use crate::sockets;
use crate::state::App;

/// How long a client may leave a reply unread.
const STALL: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 100;
const MAX_HEAD: usize = 64 * 1024;
/// Timeouts of a connection in the reserve: for its head, and in total.
const RESERVE_HEAD: Duration = Duration::from_secs(2);
const RESERVE_LIFETIME: Duration = Duration::from_secs(5);
/// After the last reply, further input is read and dropped up to these limits: if the connection closed at
/// once, the client would get a reset instead of the reply.
const LINGER: Duration = Duration::from_secs(2);
const MAX_LINGER: usize = 8 * 1024 * 1024;
/// The part of the drain time in which an idle connection stays open: its client may have just sent a
/// request, and gets a reply with `Connection: close`.
const GRACE: u32 = 10;

struct Connection {
    app: App,
    router: &'static Router,
    place: Place,
    peer: Peer,
}

/// Serves requests until the client, a limit or the shutdown closes the connection.
pub(super) async fn run(
    app: App,
    router: &'static Router,
    tcp: TcpStream,
    address: SocketAddr,
    place: Place,
) {
    let _ = tcp.set_nodelay(true);
    // Also closes a connection whose client has stopped reading.
    let stall = u32::try_from(STALL.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&tcp, stall);
    let is_in_reserve = place.is_in_reserve();
    let peer = Peer::new(address.ip(), is_in_reserve);
    let connection = Arc::new(Connection { app, router, place, peer });
    let served = serve(connection, tcp);
    if is_in_reserve {
        let _ = tokio::time::timeout(RESERVE_LIFETIME, served).await;
    } else {
        served.await;
    }
}

async fn serve(connection: Arc<Connection>, tcp: TcpStream) {
    let head_timeout = connection.app.config.head_timeout;
    let patience = if connection.place.is_in_reserve() { RESERVE_HEAD } else { head_timeout };
    let activity = Arc::new(Activity::default());
    let mut stream = Stream { tcp, read_before: Bytes::new(), activity };
    // A partial head that came with the previous request is not waited for.
    while !stream.read_before.is_empty()
        || request_begins(&connection.app, &stream.tcp, patience).await
    {
        match serve_busy(&connection, stream, patience / 2).await {
            Some(idle) => stream = idle,
            None => return,
        }
    }
    close(stream.tcp).await;
}

/// Waits for the first bytes of the next request; false if none come.
async fn request_begins(app: &App, tcp: &TcpStream, patience: Duration) -> bool {
    let came = tokio::select! {
        came = tokio::time::timeout(patience, tcp.readable()) => came,
        () = app.draining() => {
            tokio::time::timeout(app.config.drain / GRACE, tcp.readable()).await
        }
    };
    matches!(came, Ok(Ok(())))
}

/// Serves consecutive requests, and returns the socket once it is idle; `None` if the connection has ended or
/// become a WebSocket.
async fn serve_busy(
    connection: &Arc<Connection>,
    stream: Stream,
    head_timeout: Duration,
) -> Option<Stream> {
    let activity = stream.activity.clone();
    let service = {
        let (connection, activity) = (connection.clone(), activity.clone());
        service_fn(move |request| answer(connection.clone(), Turn::begin(&activity), request))
    };
    // On the heap, so that it is freed while the connection is idle.
    let mut serving = Box::new(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades(),
    );
    // Nothing is lost when hyper is dropped between two requests: it has sent everything, read the last body
    // to its end, and returns what it read beyond that.
    let ended = std::future::poll_fn(|context| match Pin::new(&mut *serving).poll(context) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if activity.is_idle() && !connection.peer.has_body_left() => {
            Poll::Ready(None)
        }
        Poll::Pending => Poll::Pending,
    });
    let ended = ended.await;
    let parts = serving.into_parts()?;
    let stream = parts.io.into_inner();
    match ended {
        None => Some(Stream { read_before: parts.read_buf, ..stream }),
        // The client disconnected, was too slow, or does not speak HTTP, for which it got an error.
        Some(Err(error)) if error.is_timeout() => None,
        Some(_) => {
            close(stream.tcp).await;
            None
        }
    }
}

async fn answer(
    connection: Arc<Connection>,
    turn: Turn,
    mut request: Request<Incoming>,
) -> Result<http::Response<Answer>, Infallible> {
    let Connection { app, router, place, peer } = &*connection;
    peer.request_begins(!request.body().is_end_stream());
    let is_realtime = sockets::is_ours(request.uri().path()) && !peer.is_in_reserve;
    let mut response = if is_realtime {
        request.extensions_mut().insert(place.clone());
        sockets::handle(app, peer, request).await
    } else {
        dispatch::handle(app, router, peer, request).await
    };
    let closes = app.is_draining() || peer.is_in_reserve || peer.has_body_left();
    if closes && response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response.map(|body| Answer { body, _turn: turn }))
}

/// The body of a reply; the request counts as running until this is dropped.
struct Answer {
    body: Body,
    _turn: Turn,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Closes so that the client can still read everything.
async fn close(mut tcp: TcpStream) {
    if tcp.shutdown().await.is_err() {
        return;
    }
    let rest = async {
        let mut left = MAX_LINGER;
        while left > 0 && tcp.readable().await.is_ok() {
            // Not kept across the wait, or every connection would hold this buffer.
            let mut dropped = [0; 8192];
            match tcp.try_read(&mut dropped) {
                Ok(0) => break,
                Ok(size) => left = left.saturating_sub(size),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, rest).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every open connection costs, whether anything happens on it or not.
    #[test]
    fn the_task_of_a_connection_is_small() {
        fn size_of_task<A, B, C, D, E, F>(_: impl Fn(A, B, C, D, E) -> F) -> usize {
            size_of::<F>()
        }
        let size = size_of_task(run);
        assert!(size < 2048, "{size} bytes");
    }
}
