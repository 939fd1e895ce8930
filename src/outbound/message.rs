//! What is sent to a URL.

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT,
};
use http::{Method, Request};
use http_body_util::Full;

use super::{Failure, Target};

const AGENT: &str = concat!("Mozilla/5.0 (compatible; Townhall/", env!("CARGO_PKG_VERSION"), ")");

#[derive(Debug, Clone)]
pub struct Message {
    method: Method,
    accept: &'static str,
    authorization: Option<String>,
    content_type: Option<&'static str>,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Message {
    pub fn get(accept: &'static str) -> Self {
        Message {
            method: Method::GET,
            accept,
            authorization: None,
            content_type: None,
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    pub fn post(accept: &'static str, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let content_type = Some(content_type);
        Message { method: Method::POST, content_type, body: body.into(), ..Message::get(accept) }
    }

    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn authorized(self, authorization: String) -> Self {
        Message { authorization: Some(authorization), ..self }
    }
}

pub(super) fn request(target: &Target, message: Message) -> Result<Request<Full<Bytes>>, Failure> {
    let Message { method, accept, authorization, content_type, headers, body } = message;
    let mut request = Request::builder()
        .method(method)
        .uri(target.path_and_query()?)
        .header(HOST, target.authority())
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, accept)
        // A compressed body could expand a thousandfold.
        .header(ACCEPT_ENCODING, "identity")
        .header(CONNECTION, "close");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(Full::new(body)).map_err(Failure::broken)
}
