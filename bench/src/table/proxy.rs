//! A proxy between a server and PostgreSQL that counts statements and round trips from outside. It is never part
//! of a timed measurement.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::wire::{Conversation, Log};

#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    log: Arc<Mutex<Log>>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Between clients and the database on this port of the loopback address.
    pub async fn start(database: u16) -> Result<Self, String> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let log = Arc::new(Mutex::new(Log::default()));
        let shared = log.clone();
        let serving = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, database)).await {
                    connect(client, server, shared.clone());
                }
            }
        });
        Ok(Proxy { address, log, serving })
    }

    /// What was sent since the last call.
    pub fn take(&self) -> Log {
        std::mem::take(&mut lock(&self.log))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn connect(client: TcpStream, server: TcpStream, log: Arc<Mutex<Log>>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) =
        (client.into_split(), server.into_split());
    let conversation = Arc::new(Mutex::new(Conversation::default()));
    let shared = conversation.clone();
    tokio::spawn(copy(from_client, to_server, move |bytes| {
        lock(&shared).client_sends(bytes, &mut lock(&log));
    }));
    tokio::spawn(copy(from_server, to_client, move |bytes| {
        lock(&conversation).server_sends(bytes);
    }));
}

/// Notes bytes before it passes them on: once a reply has arrived, everything before it is counted.
async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, note: impl Fn(&[u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        note(&buffer[..length]);
        if to.write_all(&buffer[..length]).await.is_err() {
            break;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
