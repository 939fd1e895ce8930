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
use tokio::task::{JoinHandle, JoinSet};

use crate::clock::{Window, now};
use crate::dice::Dice;
use crate::load::{Load, ReadMode};
use crate::scenario::Bare;
use crate::server::get;
use crate::tally::Tally;

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

/// The work of a bare handler without HTTP: tasks of this process that do nothing else.
pub async fn run_loop(work: &Bare, tasks: usize, window: Window) -> Result<Tally, String> {
    let mut running = JoinSet::new();
    for task in 0..tasks {
        let work = work.clone();
        running.spawn(async move {
            let (mut tally, mut dice) = (Tally::new()?, Dice::new(task as u64));
            let mut begun = now();
            while begun < window.to {
                work.once(&mut dice).await?;
                let done = now();
                if window.holds(done) {
                    tally.answered(done - begun);
                }
                // Reads of SQLite never wait: the other tasks would not get their turn.
                tokio::task::yield_now().await;
                begun = done;
            }
            Ok::<_, String>(tally)
        });
    }
    let mut total = Tally::new()?;
    while let Some(tally) = running.join_next().await {
        total.add(tally.map_err(|error| error.to_string())??)?;
    }
    Ok(total)
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
