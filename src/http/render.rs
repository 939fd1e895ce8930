//! Errors as bytes. Most are `{error, code}`; credential failures and rate limits have the form that clients
//! of each version expect.

use http::StatusCode;
use serde_json::{Map, Value};

use crate::error::{Error, Fault, Refusal, WindowState, faults};
use crate::http::reply::{self, Response, TEXT, with_body};
use crate::http::version::Version;

/// The context of an error, as far as its form depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    pub version: Option<Version>,
    pub feature: &'static str,
    /// v7 replies to a bad token like v8: the operator's setting, or the operation's own rule.
    pub v7_forbids: bool,
}

faults! {
    pub UNAUTHORIZED = 401 "auth/unauthorized": "Unauthorized";
    pub BUSY = 503 "server/busy": "The server is busy";
}

/// The feature whose error texts only repeat the status; the cause is in `details`.
const BRIEF: &str = "database";
/// `Retry-After` in seconds when the server is busy.
const RETRY_AFTER: &str = "1";

pub fn error(error: Error, context: Context) -> Response {
    let json_credentials = context.version == Some(Version::V7) && !context.v7_forbids;
    match error {
        Error::Refused(refusal) => refused(*refusal, context),
        Error::NoCredential | Error::BadCredential if json_credentials => fault(UNAUTHORIZED),
        Error::NoCredential => with_body(StatusCode::UNAUTHORIZED, TEXT, "Unauthorized"),
        Error::BadCredential => with_body(StatusCode::FORBIDDEN, TEXT, "Forbidden"),
        Error::RateLimited(exceeded) => {
            let mut response = with_body(StatusCode::TOO_MANY_REQUESTS, TEXT, exceeded.text);
            rate_headers(&mut response, exceeded.window);
            reply::set(&mut response, "retry-after", &exceeded.window.reset.to_string());
            response
        }
        Error::Busy(why) => {
            let mut response = body(BUSY.status, why.to_owned(), BUSY.code.to_owned(), Map::new());
            reply::set(&mut response, "retry-after", RETRY_AFTER);
            response
        }
        Error::Internal(_) => {
            let mut extra = Map::new();
            if context.version == Some(Version::V6) {
                extra.insert("details".to_owned(), Value::from("Unexpected failure"));
            }
            let code = format!("{}/server-error", context.feature);
            let message = match context.feature {
                BRIEF => "Internal Server Error",
                _ => "Internal server error",
            };
            body(500, message.to_owned(), code, extra)
        }
    }
}

pub fn rate_headers(response: &mut Response, window: WindowState) {
    reply::set(response, "x-ratelimit-limit", &window.limit.to_string());
    reply::set(response, "x-ratelimit-remaining", &window.remaining.to_string());
    reply::set(response, "x-ratelimit-reset", &window.reset.to_string());
}

pub fn fault(fault: Fault) -> Response {
    body(fault.status, fault.message.to_owned(), fault.code.to_owned(), Map::new())
}

fn refused(refusal: Refusal, context: Context) -> Response {
    let Refusal { fault, message, mut extra } = refusal;
    if context.feature == BRIEF && fault.code.starts_with("database/") {
        extra.extend(message.map(|message| ("details".to_owned(), Value::String(message))));
        return body(fault.status, fault.message.to_owned(), fault.code.to_owned(), extra);
    }
    let message = message.unwrap_or_else(|| fault.message.to_owned());
    body(fault.status, message, fault.code.to_owned(), extra)
}

fn body(status: u16, message: String, code: String, extra: Map<String, Value>) -> Response {
    let mut body = Map::new();
    body.insert("error".to_owned(), Value::String(message));
    body.insert("code".to_owned(), Value::String(code));
    body.extend(extra);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    with_body(status, reply::JSON, Value::Object(body).to_string())
}
