//! The accept loop: connections are bounded in number, slow heads are cut off, and on shutdown
//! what has begun is finished.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::app::App;
use crate::http::dispatch;
use crate::realtime;

/// How long requests in flight may go on after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(20);
/// Rest after a failed accept (out of file descriptors, say), so that it is no busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long a client may leave what was sent to it unread.
const STALL: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 100;
const MAX_HEAD: usize = 64 * 1024;

/// The place of a connection, for whoever keeps it after its request.
#[derive(Debug, Clone)]
pub struct Place(#[expect(dead_code, reason = "held, not looked at")] Arc<OwnedSemaphorePermit>);

/// Serves until the application drains, then until the last request is answered.
pub async fn serve(app: App, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(app.config.max_connections));
    let mut connections = JoinSet::new();
    let hearing = tokio::spawn(realtime::hear(app.clone()));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = app.draining() => break,
        };
        match accepted {
            Ok((stream, peer, place)) => {
                connections.spawn(connection(app.clone(), stream, peer, place));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let finished = tokio::time::timeout(DRAIN, async {
        // Ends every socket, so that none of them holds up what follows.
        let _ = hearing.await;
        while connections.join_next().await.is_some() {}
        app.realtime.unwired().await;
    });
    if finished.await.is_err() {
        tracing::warn!(left = connections.len(), "requests were cut off by the shutdown");
    }
}

/// The next connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, place))
}

async fn connection(app: App, stream: TcpStream, peer: SocketAddr, place: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    // Also ends a connection whose client has stopped reading its answer.
    let stall = u32::try_from(STALL.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, stall);
    let place = Place(Arc::new(place));
    let service = service_fn(|mut request: Request<Incoming>| {
        let (app, place) = (&app, &place);
        async move {
            if !realtime::is_ours(request.uri().path()) {
                return Ok::<_, Infallible>(dispatch::handle(app, peer, request).await);
            }
            request.extensions_mut().insert(place.clone());
            Ok(realtime::handle(app, peer, request).await)
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(app.config.head_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut serving = std::pin::pin!(serving);
    // An error here is the client's: it went away, was too slow, or does not speak HTTP.
    let _ = tokio::select! {
        done = serving.as_mut() => done,
        () = app.draining() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
}
