//! The accept loop: connections are bounded in number, slow heads are cut off, and running requests are
//! finished on shutdown.

mod connection;
mod open_files;
mod stream;
mod supervisor;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::http::router::Router;
use crate::network::forwarding;
use crate::sockets;
use crate::state::App;

pub use open_files::connections_that_fit;
pub use supervisor::Supervisor;

/// Pause after a failed accept (out of file descriptors, say), to avoid a busy loop.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The system's maximum backlog.
const BACKLOG: usize = 1024;

/// Serves until the application drains, then until the last request is finished.
pub async fn serve(app: App, router: &'static Router, listener: TcpListener) {
    forwarding::forget_untrusted_proxy(&app.config.data_dir);
    let mut connections = JoinSet::new();
    let hearing = tokio::spawn(sockets::dispatch(app.clone()));
    accept(&app, router, &mut connections, &listener).await;
    accept_the_rest(&app, router, &mut connections, listener);
    let finished = tokio::time::timeout(app.config.drain, async {
        // Closes every WebSocket, so that none delays the shutdown.
        let _ = hearing.await;
        while connections.join_next().await.is_some() {}
        app.realtime.unwired().await;
    });
    if finished.await.is_err() {
        tracing::warn!(left = connections.len(), "requests were cut off by the shutdown");
    }
}

/// Accepts connections until the application drains.
async fn accept(
    app: &App,
    router: &'static Router,
    connections: &mut JoinSet<()>,
    listener: &TcpListener,
) {
    let mut draining = std::pin::pin!(app.draining());
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // A finished task keeps its memory until it is joined.
            Some(_) = connections.join_next() => continue,
            () = draining.as_mut() => break,
        };
        match accepted {
            Ok((stream, peer)) => admit(app, router, connections, stream, peer),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Serves a second address until the application drains.
pub async fn serve_pages(app: App, router: &'static Router, listener: TcpListener) {
    let mut connections = JoinSet::new();
    accept(&app, router, &mut connections, &listener).await;
    accept_the_rest(&app, router, &mut connections, listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(app.config.drain, finished).await;
}

/// Without a slot, not even in the reserve, the connection is closed at once.
fn admit(
    app: &App,
    router: &'static Router,
    connections: &mut JoinSet<()>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    if let Some(place) = app.connections.take(peer.ip(), &app.config) {
        connections.spawn(connection::run(app.clone(), router, stream, peer, place));
    }
}

/// Connections in the backlog would be reset together with the listener.
fn accept_the_rest(
    app: &App,
    router: &'static Router,
    connections: &mut JoinSet<()>,
    listener: TcpListener,
) {
    let Ok(listener) = listener.into_std() else { return };
    for _ in 0..BACKLOG {
        let Ok((stream, peer)) = listener.accept() else { return };
        if stream.set_nonblocking(true).is_ok()
            && let Ok(stream) = TcpStream::from_std(stream)
        {
            admit(app, router, connections, stream, peer);
        }
    }
}
