//! Models outside, by addresses of the OpenAI API that the operator names in the settings (`config/models.rs`). They may
//! be private ones and are called as the collector of traces is. Nothing of what is sent or received is logged.

pub mod answers;
pub mod embeddings;
mod links;
mod prompt;

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::Value;

use crate::config::Model;
use crate::outbound::dialer::{self, OperatorClient};
use crate::values::clock::Clock;

/// Until the first byte of a reply.
const FIRST_BYTE: Duration = Duration::from_secs(30);

/// Why a model did not reply; for the log, so without a word of what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// It does not take what it was sent; sending it again does not help.
    Refused(StatusCode),
    Status(StatusCode),
    Unreachable,
    Late,
    /// The reply is not what the API says.
    Unreadable,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(status) | Failure::Status(status) => write!(f, "it replied {status}"),
            Failure::Unreachable => f.write_str("it cannot be reached"),
            Failure::Late => f.write_str("it did not reply in time"),
            Failure::Unreadable => f.write_str("its reply cannot be read"),
        }
    }
}

struct Client(OperatorClient<Full<Bytes>>);

impl Default for Client {
    fn default() -> Self {
        // The address is the operator's, and so is the choice of its scheme.
        Client(dialer::client(true))
    }
}

impl Client {
    /// Posts a document; the body of the reply is still to be read.
    async fn post(
        &self,
        clock: &Clock,
        model: &Model,
        accept: &'static str,
        document: &Value,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::post(&model.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept);
        if let Some(key) = &model.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = Full::new(Bytes::from(document.to_string()));
        let request = request.body(body).map_err(|_| Failure::Unreachable)?;
        let replied = clock.timeout(FIRST_BYTE, self.0.request(request)).await;
        let reply = replied.ok_or(Failure::Late)?.map_err(|_| Failure::Unreachable)?;
        match reply.status() {
            StatusCode::OK => Ok(reply),
            status @ (StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY) => Err(Failure::Refused(status)),
            status => Err(Failure::Status(status)),
        }
    }
}
