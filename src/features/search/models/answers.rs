//! A model's answer, piece by piece as it is made. Dropping it ends the request to the provider.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize;

use super::links::LinkFilter;
use super::{Client, Failure, prompt};
use crate::config::Model;
use crate::state::App;
use crate::values::random::hex;

/// Between two pieces, and for the whole answer.
const IDLE: Duration = Duration::from_secs(20);
const WHOLE: Duration = Duration::from_secs(90);
/// Bytes of an answer; the rest is cut off.
const MAX_ANSWER: usize = 16_000;
/// One line of the stream.
const MAX_LINE: usize = 256 * 1024;

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
}

pub struct ModelAnswer {
    body: Incoming,
    /// Bytes of a line that is not whole yet.
    line: Vec<u8>,
    filter: Option<LinkFilter>,
    length: usize,
    app: App,
    /// In the time since the start.
    began: Duration,
}

/// What comes next of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    End,
}

impl ModelAnswer {
    /// `texts`: of the sources, in the order of their numbers.
    pub async fn begin(
        app: &App,
        model: &Model,
        question: &str,
        texts: Vec<String>,
    ) -> Result<Self, Failure> {
        let sources = prompt::sources(texts);
        let mark = hex(&app.random.bytes::<8>());
        let request = prompt::request(model, question, &sources, &mark);
        let client = app.features.get::<Client>();
        let began = app.clock.uptime();
        let reply = client.post(&app.clock, model, "text/event-stream", &request).await?;
        let filter = Some(LinkFilter::new(sources.iter().map(String::as_str)));
        let body = reply.into_body();
        Ok(ModelAnswer { body, line: Vec::new(), filter, length: 0, app: app.clone(), began })
    }

    /// The next piece that can be shown; not to be called after the end.
    pub async fn next(&mut self) -> Result<Piece, Failure> {
        loop {
            let Some(content) = self.content().await? else {
                let rest = self.filter.take().map(LinkFilter::finish).unwrap_or_default();
                return Ok(if rest.is_empty() { Piece::End } else { Piece::Text(rest) });
            };
            let Some(filter) = &mut self.filter else { return Ok(Piece::End) };
            let mut shown = filter.push(&content);
            let left = MAX_ANSWER - self.length;
            if shown.len() >= left {
                shown.truncate(shown.floor_char_boundary(left));
                self.filter = None;
            }
            self.length += shown.len();
            if !shown.is_empty() {
                return Ok(Piece::Text(shown));
            }
        }
    }

    /// What the next event adds; none at the end.
    async fn content(&mut self) -> Result<Option<String>, Failure> {
        loop {
            if self.filter.is_none() {
                return Ok(None);
            }
            while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                let Some(data) = line.strip_prefix("data:").map(str::trim) else { continue };
                if data == "[DONE]" {
                    return Ok(None);
                }
                let chunk: Chunk = serde_json::from_str(data).map_err(|_| Failure::Unreadable)?;
                let content = chunk.choices.into_iter().find_map(|choice| choice.delta.content);
                if let Some(content) = content.filter(|content| !content.is_empty()) {
                    return Ok(Some(content));
                }
            }
            if self.line.len() > MAX_LINE {
                return Err(Failure::Unreadable);
            }
            let clock = &self.app.clock;
            let left = (self.began + WHOLE).saturating_sub(clock.uptime());
            if left.is_zero() {
                return Err(Failure::Late);
            }
            match clock.timeout(IDLE.min(left), self.body.frame()).await {
                None => return Err(Failure::Late),
                // Without `[DONE]` the answer is not whole.
                Some(None) => return Err(Failure::Unreadable),
                Some(Some(Err(_))) => return Err(Failure::Unreachable),
                Some(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.line.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}
