//! Upper bounds: the same server with a constant reply, and for each scenario a bare handler that only does
//! its work and replies with the same bytes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::dice::Dice;
use crate::load::{Load, ReadMode};
use crate::scenario::Bare;
use crate::server::get;

/// A `GET` as fast as it goes.
pub fn load(address: SocketAddr, path: &str, connections: usize, threads: usize) -> Load {
    let requests = Arc::from([get(path)]);
    Load {
        address,
        requests,
        expected_status: &[200],
        connections,
        threads,
        pace: ReadMode::Closed,
    }
}

/// A server in this process that does one piece of work for each request, whatever it asks.
#[derive(Debug)]
pub struct BareHandler {
    pub address: SocketAddr,
    serving: JoinHandle<()>,
}

impl BareHandler {
    pub async fn start(work: Bare) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let serving = tokio::spawn(async move {
            let mut connections = 0;
            while let Ok((stream, _)) = listener.accept().await {
                connections += 1;
                tokio::spawn(serve(stream, work.clone(), connections));
            }
        });
        Ok(BareHandler { address, serving })
    }
}

impl Drop for BareHandler {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(stream: TcpStream, work: Bare, number: u64) {
    let _ = stream.set_nodelay(true);
    let dice = Mutex::new(Dice::new(number));
    let service = service_fn(|_| {
        let doing = work.once(&mut dice.lock().unwrap_or_else(PoisonError::into_inner));
        async move {
            let (status, body) = match doing.await {
                Ok(body) => (StatusCode::OK, body),
                Err(why) => (StatusCode::INTERNAL_SERVER_ERROR, why.into_bytes()),
            };
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }
    });
    // An error is the end of the connection, which the load counts.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
