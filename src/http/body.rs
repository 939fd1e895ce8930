//! The body of a request as it arrives: bounded in size, in time, and in the memory that all
//! bodies together may take.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{SemaphorePermit, TryAcquireError};

use crate::error::{Error, Result, faults};
use crate::network::body_waits::BodyWait;
use crate::network::client::Peer;
use crate::state::App;

faults! {
    pub BODY_TOO_LARGE = 413 "request/body-too-large": "The body is larger than 2 MiB";
    pub UNSUPPORTED_ENCODING = 415 "request/unsupported-encoding":
        "Compressed bodies are not supported";
    pub BODY_TIMEOUT = 408 "request/timeout": "The body did not arrive in time";
    pub BODY_BROKEN = 400 "request/broken": "The body could not be read";
}

pub const MAX_JSON_BODY: usize = 2 * 1024 * 1024;
/// This much of a body that is too large is still read and dropped: otherwise a client that is still sending
/// would get a broken pipe instead of the reply.
const MAX_DISCARDED: usize = 4 * MAX_JSON_BODY;
/// Maximum bytes of all bodies in memory.
pub const BODY_MEMORY: usize = 256 * 1024 * 1024;
/// This much of an unwanted body is dropped while the reply is sent.
const MAX_ARRIVED: usize = 64 * 1024;

/// Compressed bodies are not read at all.
pub fn check_encoding(headers: &HeaderMap) -> Result<()> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err(UNSUPPORTED_ENCODING.into());
    }
    Ok(())
}

/// The whole body, within its limits of size and time. Its share of the memory for bodies is held as long as
/// the request runs.
pub async fn read_whole<'a>(
    app: &'a App,
    mut source: Source<'_>,
) -> Result<(Bytes, Option<SemaphorePermit<'a>>)> {
    if source.body.is_end_stream() {
        return Ok((Bytes::new(), None));
    }
    source.total = Some(app.config.body_timeout);
    let mut whole = BytesMut::new();
    let mut memory = app.body_memory.try_acquire_many(0).map_err(no_memory)?;
    let mut too_large = source.announced() > MAX_JSON_BODY as u64;
    while let Some(data) = source.next_within_pace().await? {
        too_large |= source.read > MAX_JSON_BODY as u64;
        if !too_large {
            let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
            memory.merge(app.body_memory.try_acquire_many(size).map_err(no_memory)?);
            whole.extend_from_slice(&data);
        } else if source.read > MAX_DISCARDED as u64 {
            break;
        }
    }
    if too_large { Err(BODY_TOO_LARGE.into()) } else { Ok((whole.freeze(), Some(memory))) }
}

pub fn no_memory(_: TryAcquireError) -> Error {
    Error::Busy("too many bodies are being read")
}

async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Error::from(BODY_BROKEN))?;
        if let Ok(data) = frame.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The next bytes, if they have arrived: hyper passes on what it has read when its task runs again.
async fn next_arrived(body: &mut Incoming) -> Option<Result<Option<Bytes>>> {
    tokio::select! {
        biased;
        data = next_data(body) => Some(data),
        () = tokio::task::yield_now() => None,
    }
}

/// Drops an unwanted body as far as it has arrived, so that the connection can be reused.
pub async fn drop_arrived(peer: &Peer, mut body: Incoming) {
    let mut left = MAX_ARRIVED;
    while left > 0 {
        match next_arrived(&mut body).await {
            Some(Ok(Some(data))) => left = left.saturating_sub(data.len()),
            Some(Ok(None)) => return peer.body_was_read(),
            _ => return,
        }
    }
}

/// A body, read as it arrives.
#[derive(Debug)]
pub struct Source<'a> {
    app: &'a App,
    peer: &'a Peer,
    network: u128,
    body: Incoming,
    /// Bytes received so far.
    pub read: u64,
    /// Bytes received since the client's rate was last checked.
    since: u64,
    /// Since when the server has been waiting for data.
    wait: Option<BodyWait<'a>>,
    /// Deadline for the whole body.
    pub total: Option<Duration>,
}

impl<'a> Source<'a> {
    /// `network` is the one that the wait counts against.
    pub fn new(app: &'a App, peer: &'a Peer, network: u128, body: Incoming) -> Self {
        Source { app, peer, network, body, read: 0, since: 0, wait: None, total: None }
    }

    /// Bytes still to come, from the announced length.
    pub fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }

    /// The next bytes; `None` at the end.
    pub async fn next_within_pace(&mut self) -> Result<Option<Bytes>> {
        let data = match next_arrived(&mut self.body).await {
            Some(data) => data?,
            None => self.wait_for_next().await?,
        };
        match &data {
            Some(data) => {
                self.read += data.len() as u64;
                self.since += data.len() as u64;
            }
            None => self.peer.body_was_read(),
        }
        Ok(data)
    }

    async fn wait_for_next(&mut self) -> Result<Option<Bytes>> {
        let wait = match &mut self.wait {
            Some(wait) => wait,
            none => {
                let (app, network) = (self.app, self.network);
                none.insert(app.body_waits.begin(network, &app.config, self.total)?)
            }
        };
        loop {
            tokio::select! {
                biased;
                data = next_data(&mut self.body) => return data,
                () = &mut wait.deadline => {
                    if !wait.pay(std::mem::take(&mut self.since)) {
                        return Err(BODY_TIMEOUT.into());
                    }
                }
            }
        }
    }

    /// Reads and drops more for a while, so that a client that is still sending gets the reply.
    pub async fn discard(&mut self) {
        let mut left = MAX_DISCARDED;
        while left > 0 && !self.body.is_end_stream() {
            match self.next_within_pace().await {
                Ok(Some(data)) => left = left.saturating_sub(data.len()),
                _ => return,
            }
        }
    }
}
