//! Answers: what a handler returns, how it becomes bytes, and how it is described in OpenAPI.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION};
use http::{HeaderValue, StatusCode};
use http_body_util::Full;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::error::{Error, Result};

pub type Body = Full<Bytes>;
pub type Response = http::Response<Body>;

pub const JSON: &str = "application/json; charset=utf-8";
pub const TEXT: &str = "text/plain; charset=utf-8";
pub const HTML: &str = "text/html; charset=utf-8";

/// One status an operation may answer with, and the form of its body.
#[derive(Debug)]
pub struct ReplyDoc {
    pub status: u16,
    pub content: Option<(&'static str, Schema)>,
}

pub trait Reply: Send + 'static {
    fn into_response(self) -> Result<Response>;
    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc>;
}

pub fn with_body(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Response> {
    let body = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok(with_body(status, JSON, body))
}

fn json_doc<T: JsonSchema>(status: u16, generator: &mut SchemaGenerator) -> ReplyDoc {
    ReplyDoc { status, content: Some(("application/json", generator.subschema_for::<T>())) }
}

/// 200 with a JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Reply for Json<T> {
    fn into_response(self) -> Result<Response> {
        json(StatusCode::OK, &self.0)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![json_doc::<T>(200, generator)]
    }
}

/// 201 with the created thing.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Reply for Created<T> {
    fn into_response(self) -> Result<Response> {
        json(StatusCode::CREATED, &self.0)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![json_doc::<T>(201, generator)]
    }
}

/// 200 for what was there already, 201 for what this request made.
#[derive(Debug)]
pub enum FoundOrCreated<T> {
    Found(T),
    Created(T),
}

impl<T: Serialize + JsonSchema + Send + 'static> Reply for FoundOrCreated<T> {
    fn into_response(self) -> Result<Response> {
        match self {
            FoundOrCreated::Found(value) => json(StatusCode::OK, &value),
            FoundOrCreated::Created(value) => json(StatusCode::CREATED, &value),
        }
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![json_doc::<T>(200, generator), json_doc::<T>(201, generator)]
    }
}

/// 204, no body.
#[derive(Debug)]
pub struct NoContent;

impl Reply for NoContent {
    fn into_response(self) -> Result<Response> {
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    fn describe(_: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![ReplyDoc { status: 204, content: None }]
    }
}

/// 200, no body.
#[derive(Debug)]
pub struct Empty;

impl Reply for Empty {
    fn into_response(self) -> Result<Response> {
        Ok(Response::new(Body::default()))
    }

    fn describe(_: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![ReplyDoc { status: 200, content: None }]
    }
}

/// 200 with plain text.
#[derive(Debug)]
pub struct Text(pub String);

impl Reply for Text {
    fn into_response(self) -> Result<Response> {
        Ok(with_body(StatusCode::OK, TEXT, self.0))
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let schema = generator.subschema_for::<String>();
        vec![ReplyDoc { status: 200, content: Some(("text/plain", schema)) }]
    }
}

/// A page for a person's browser. It loads nothing from elsewhere and tells nobody where the
/// person came from, because its address may hold a secret.
#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    pub html: String,
}

impl Page {
    pub fn into_response(self) -> Response {
        let mut response = with_body(self.status, HTML, self.html);
        let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
        let headers = response.headers_mut();
        headers.insert("content-security-policy", HeaderValue::from_static(policy));
        headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
        response
    }
}

/// 302 to another address.
pub fn redirect(to: &str) -> Result<Response> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::FOUND;
    response.headers_mut().insert(LOCATION, HeaderValue::from_str(to).map_err(Error::internal)?);
    Ok(response)
}

/// Sets a header whose value is known to be plain.
pub fn set(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
