//! The body of a request as it arrives: bounded in size, in time, and in the memory that all
//! bodies together may take.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{SemaphorePermit, TryAcquireError};
use tokio::time::Sleep;

use crate::app::App;
use crate::error::{Error, Fault, Result};

pub const BODY_TOO_LARGE: Fault =
    Fault::new(413, "request/body-too-large", "The body is larger than 2 MiB");
pub const UNSUPPORTED_ENCODING: Fault =
    Fault::new(415, "request/unsupported-encoding", "Compressed bodies are not supported");
pub const BODY_TIMEOUT: Fault =
    Fault::new(408, "request/timeout", "The body did not arrive in time");
pub const BODY_BROKEN: Fault = Fault::new(400, "request/broken", "The body could not be read");

pub const MAX_JSON_BODY: usize = 2 * 1024 * 1024;
/// So much of a body that is too large is read all the same, and dropped: a client that is still
/// sending would otherwise meet a broken pipe instead of the answer.
const MAX_DISCARDED: usize = 4 * MAX_JSON_BODY;
/// Bytes of all bodies under way together.
pub const BODY_MEMORY: usize = 256 * 1024 * 1024;
/// Bytes a second: whoever sends a form slower than this only holds a place.
const SLOWEST: u64 = 1024;

/// Compressed bodies are not read at all.
pub fn check_encoding(headers: &HeaderMap) -> Result<()> {
    let encoding = headers.get(CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        return Err(UNSUPPORTED_ENCODING.into());
    }
    Ok(())
}

/// The whole body, within its size and time, and its share of the memory for bodies, which is
/// held as long as the request is under way.
pub async fn read_whole(
    app: &App,
    mut body: Incoming,
) -> Result<(Bytes, Option<SemaphorePermit<'_>>)> {
    if body.is_end_stream() {
        return Ok((Bytes::new(), None));
    }
    let reading = async {
        let mut whole = BytesMut::new();
        let mut memory = app.body_memory.try_acquire_many(0).map_err(no_memory)?;
        let mut too_large = body.size_hint().lower() > MAX_JSON_BODY as u64;
        let mut read = 0;
        while let Some(data) = next_data(&mut body).await? {
            read += data.len();
            too_large |= read > MAX_JSON_BODY;
            if !too_large {
                let size = u32::try_from(data.len()).unwrap_or(u32::MAX);
                memory.merge(app.body_memory.try_acquire_many(size).map_err(no_memory)?);
                whole.extend_from_slice(&data);
            } else if read > MAX_DISCARDED {
                break;
            }
        }
        if too_large { Err(BODY_TOO_LARGE.into()) } else { Ok((whole.freeze(), Some(memory))) }
    };
    let in_time = tokio::time::timeout(app.config.body_timeout, reading).await;
    in_time.unwrap_or_else(|_| Err(BODY_TIMEOUT.into()))
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

/// A large body, read as it comes for as long as it keeps coming.
#[derive(Debug)]
pub struct Source {
    body: Incoming,
    /// How many bytes have come so far.
    pub read: u64,
    window: Duration,
    ends: Pin<Box<Sleep>>,
    in_window: u64,
}

impl Source {
    /// Within each `window`, a second's worth of bytes must come for each of its seconds.
    pub fn new(body: Incoming, window: Duration) -> Self {
        let ends = Box::pin(tokio::time::sleep(window));
        Source { body, read: 0, window, ends, in_window: 0 }
    }

    /// The next bytes; `None` at the end.
    pub async fn next_within_pace(&mut self) -> Result<Option<Bytes>> {
        loop {
            tokio::select! {
                biased;
                data = next_data(&mut self.body) => {
                    let data = data?;
                    let size = data.as_ref().map_or(0, Bytes::len) as u64;
                    self.read += size;
                    self.in_window += size;
                    return Ok(data);
                }
                () = &mut self.ends => {
                    let enough = SLOWEST.saturating_mul(self.window.as_millis() as u64) / 1000;
                    if self.in_window < enough {
                        return Err(BODY_TIMEOUT.into());
                    }
                    let next = self.ends.deadline() + self.window;
                    self.ends.as_mut().reset(next);
                    self.in_window = 0;
                }
            }
        }
    }

    /// Reads on for a while and forgets it, so that a client which is still sending hears what
    /// was decided.
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
