//! What is sent to a URL.

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT,
};
use http::{Method, Request, Version};
use http_body_util::Full;

use super::{Failure, Schemes, Target};

const AGENT: &str = concat!("Mozilla/5.0 (compatible; Townhall/", env!("CARGO_PKG_VERSION"), ")");

#[derive(Debug, Clone)]
pub struct Message {
    method: Method,
    accept: &'static str,
    authorization: Option<String>,
    content_type: Option<&'static str>,
    headers: Vec<(&'static str, String)>,
    schemes: Schemes,
    is_http2: bool,
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
            schemes: Schemes::Both,
            is_http2: false,
            body: Bytes::new(),
        }
    }

    pub fn post(accept: &'static str, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let content_type = Some(content_type);
        Message { method: Method::POST, content_type, body: body.into(), ..Message::get(accept) }
    }

    pub fn authorized(self, authorization: String) -> Self {
        Message { authorization: Some(authorization), ..self }
    }

    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Not for plain HTTP, except to addresses that the operator has opened.
    pub fn secured(self) -> Self {
        Message { schemes: Schemes::Https, ..self }
    }

    /// For a server that speaks HTTP/2.
    pub fn over_http2(self) -> Self {
        Message { is_http2: true, ..self }
    }

    pub(super) fn schemes(&self) -> Schemes {
        self.schemes
    }

    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }
}

pub(super) fn request(target: &Target, message: Message) -> Result<Request<Full<Bytes>>, Failure> {
    let mut request = Request::builder()
        .method(message.method)
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, message.accept)
        // A compressed body could expand a thousandfold.
        .header(ACCEPT_ENCODING, "identity");
    request = if message.is_http2 {
        request.version(Version::HTTP_2).uri(target.url().as_str())
    } else {
        let request = request.uri(target.path_and_query()?);
        request.header(HOST, target.authority()).header(CONNECTION, "close")
    };
    if let Some(authorization) = message.authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    if let Some(content_type) = message.content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    for (name, value) in message.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(message.body)).map_err(Failure::broken)
}
