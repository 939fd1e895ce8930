//! Replies: what a handler returns, how it becomes bytes, and how OpenAPI describes it.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, HeaderName, LOCATION, VARY};
use http::{HeaderValue, StatusCode};
use hyper::body::{Frame, SizeHint};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::error::{Error, Result};
use crate::storage::Chunks;

pub type Response = http::Response<Body>;

/// Bytes in memory, the chunks of a file as they are read, or a stream.
#[derive(Debug)]
pub enum Body {
    Whole(Bytes),
    File(FileBody),
    /// Parts as they are made; their producer notices when the client is gone.
    Stream(mpsc::Receiver<Bytes>),
    /// The same, if making them can fail: then the connection is aborted.
    Download(mpsc::Receiver<io::Result<Bytes>>),
}

pub struct FileBody {
    chunks: Chunks,
    left: u64,
}

impl Body {
    /// Exactly `size` bytes: if the file is shorter, the connection is aborted.
    pub fn file(chunks: Chunks, size: u64) -> Self {
        Body::File(FileBody { chunks, left: size })
    }
}

impl Default for Body {
    fn default() -> Self {
        Body::Whole(Bytes::new())
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Body::Whole(whole) => {
                let bytes = mem::take(whole);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Body::File(file) => file.poll_next(context).map_ok(Frame::data),
            Body::Stream(parts) => {
                parts.poll_recv(context).map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
            }
            Body::Download(parts) => {
                parts.poll_recv(context).map(|part| part.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(whole) => whole.is_empty(),
            Body::File(file) => file.left == 0,
            Body::Stream(_) | Body::Download(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Body::File(file) => SizeHint::with_exact(file.left),
            Body::Stream(_) | Body::Download(_) => SizeHint::default(),
        }
    }
}

impl FileBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.chunks.poll_next_unpin(context).map(|chunk| match chunk {
            Some(Ok(mut chunk)) => {
                chunk.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= chunk.len() as u64;
                Some(Ok(chunk))
            }
            Some(Err(error)) => {
                tracing::error!(%error, "a stored file could not be read to its end");
                Some(Err(error))
            }
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }
}

impl fmt::Debug for FileBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileBody({} bytes)", self.left)
    }
}

pub const JSON: &str = "application/json; charset=utf-8";
pub const TEXT: &str = "text/plain; charset=utf-8";
pub const HTML: &str = "text/html; charset=utf-8";
/// What a thread keeps of its buffer for replies: most lists fit.
const MAX_KEPT_BUFFER: usize = 256 << 10;

/// One status that an operation may reply with, and the form of its body.
#[derive(Debug)]
pub struct ReplyDoc {
    pub status: u16,
    pub content: Option<(&'static str, Schema)>,
}

pub trait Reply: Send + 'static {
    fn into_response(self) -> Result<Response>;
    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc>;
}

/// A reply that no document describes: a page.
impl Reply for Response {
    fn into_response(self) -> Result<Response> {
        Ok(self)
    }

    fn describe(_: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        Vec::new()
    }
}

pub fn with_body(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::Whole(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

pub fn json(status: StatusCode, value: &impl Serialize) -> Result<Response> {
    Ok(with_body(status, JSON, serialized(value).map_err(Error::internal)?))
}

/// A buffer of a reply's own would grow, and be copied, ten times on the way to the size of a list.
fn serialized(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    thread_local! {
        static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.clear();
        serde_json::to_writer(&mut *buffer, value)?;
        let body = buffer.to_vec();
        if buffer.capacity() > MAX_KEPT_BUFFER {
            *buffer = Vec::new();
        }
        Ok(body)
    })
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

/// Another reply, and whether the request used a deprecated name.
#[derive(Debug)]
pub struct MaybeDeprecated<T> {
    pub reply: T,
    pub is_deprecated: bool,
}

impl<T: Reply> Reply for MaybeDeprecated<T> {
    fn into_response(self) -> Result<Response> {
        let mut response = self.reply.into_response()?;
        if self.is_deprecated {
            response.headers_mut().insert("deprecation", HeaderValue::from_static("true"));
        }
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        T::describe(generator)
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

/// 202: a job does it.
#[derive(Debug)]
pub struct Accepted<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> Reply for Accepted<T> {
    fn into_response(self) -> Result<Response> {
        json(StatusCode::ACCEPTED, &self.0)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        vec![json_doc::<T>(202, generator)]
    }
}

/// 200 for an existing thing, 201 for a new one.
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

/// A page for a browser. It loads nothing from elsewhere and sends no referrer, because its address may hold
/// a secret.
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

/// Sets a header whose value is known to be valid.
pub fn set(response: &mut Response, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// Adds the name of a request header to `Vary`.
pub fn add_vary(response: &mut Response, name: &'static str) {
    let before = response.headers().get(VARY).and_then(|value| value.to_str().ok());
    match before.map(|before| format!("{before}, {name}")) {
        Some(all) => set(response, "vary", &all),
        None => set(response, "vary", name),
    }
}

/// `{success: true, message?}`: the reply of operations without a result.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Success")]
pub struct Done {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

impl Done {
    pub const SILENT: Done = Done { success: true, message: None };

    pub const fn saying(message: &'static str) -> Self {
        Done { success: true, message: Some(message) }
    }
}
