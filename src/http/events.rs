//! Server-sent events: a reply that is sent piece by piece.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use schemars::SchemaGenerator;
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::{Error, Result};
use crate::http::reply::{Body, Reply, ReplyDoc, Response};
use crate::values::clock::Clock;

const MEDIA: &str = "text/event-stream";
/// Events that wait for a slow client; a producer of more waits as well.
const QUEUE: usize = 16;
/// How long a client receives nothing at most.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b": keep-alive\n\n";

/// The reply, which the client reads while events are sent.
#[derive(Debug)]
pub struct Events(mpsc::Receiver<Bytes>);

/// Sends events to one client.
#[derive(Debug, Clone)]
pub struct Sender(mpsc::Sender<Bytes>);

/// A reply without events yet, and what sends them.
pub fn channel() -> (Sender, Events) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    (Sender(sender), Events(receiver))
}

impl Sender {
    /// False if the client is gone.
    pub async fn send(&self, event: &str, data: &impl Serialize) -> Result<bool> {
        // JSON on one line: line feeds inside of it are escaped.
        let data = serde_json::to_string(data).map_err(Error::internal)?;
        Ok(self.0.send(format!("event: {event}\ndata: {data}\n\n").into()).await.is_ok())
    }

    /// Waits for something slow, and meanwhile keeps the connection from looking dead.
    pub async fn waiting_for<T>(&self, clock: &Clock, slow: impl Future<Output = T>) -> T {
        let mut slow = std::pin::pin!(slow);
        loop {
            match clock.timeout(KEEP_ALIVE, &mut slow).await {
                Some(done) => return done,
                // Whether the client is gone is noticed by `closed`.
                None => drop(self.0.send(Bytes::from_static(COMMENT)).await),
            }
        }
    }

    /// Completes when the client is gone.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Reply for Events {
    fn into_response(self) -> Result<Response> {
        let mut response = Response::new(Body::Stream(self.0));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // A proxy that collects the reply would take the point out of it.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let schema = generator.subschema_for::<String>();
        vec![ReplyDoc { status: 200, content: Some((MEDIA, schema)) }]
    }
}
