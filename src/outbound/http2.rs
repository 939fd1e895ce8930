//! HTTP/2: one connection for each server, shared by all calls and kept for a while, because services such as
//! APNs take frequent new connections for an attack.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2::{self, Connection, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Failure, MAX_HEAD};

/// Then a new connection is opened, whose addresses are checked again.
const MAX_AGE: Duration = Duration::from_secs(10 * 60);

type Sender = SendRequest<Full<Bytes>>;
/// Locked while a connection is opened, so that calls that begin together share it.
type Slot = Arc<tokio::sync::Mutex<Option<Sender>>>;

/// By scheme, host and port.
#[derive(Default)]
pub(super) struct Connections(Mutex<HashMap<String, Slot>>);

impl Connections {
    /// The connection to a server, which `open` opens if there is none.
    pub(super) async fn get(
        &self,
        server: String,
        open: impl Future<Output = Result<Opened, Failure>>,
    ) -> Result<Sender, Failure> {
        let slot = self.slot(server);
        let mut kept = slot.lock().await;
        if let Some(sender) = kept.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let Opened { sender, running } = open.await?;
        *kept = Some(sender.clone());
        tokio::spawn(keep(running, Arc::clone(&slot)));
        Ok(sender)
    }

    fn slot(&self, server: String) -> Slot {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(server).or_default())
    }
}

pub(super) struct Opened {
    sender: Sender,
    running: Running,
}

type Running = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Until the server closes it or it is old; then until the calls on it are answered.
async fn keep(running: Running, slot: Slot) {
    let mut running = pin!(running);
    if tokio::time::timeout(MAX_AGE, &mut running).await.is_err() {
        *slot.lock().await = None;
        running.await;
    }
}

pub(super) async fn open<S>(stream: S) -> Result<Opened, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = http2::Builder::new(TokioExecutor::new())
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .handshake(TokioIo::new(stream));
    let (sender, connection): (Sender, Connection<_, _, _>) =
        handshake.await.map_err(Failure::broken)?;
    // Its error is also the error of the calls on it.
    let running = Box::pin(async { drop(connection.await) });
    Ok(Opened { sender, running })
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}
