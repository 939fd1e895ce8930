//! Replies that are built once and sent to many: the bytes are shared, compressed ahead of time, and not sent
//! again to a client that has them.

use std::io::Write as _;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderName, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::input::{Input, InputDoc};
use crate::http::operation::CheckedRequest;
use crate::http::reply::{Body, JSON, Json, Reply, ReplyDoc, Response, with_body};
use crate::values::random::hex;

/// A JSON document in its encodings.
#[derive(Debug)]
pub struct Prepared {
    plain: Form,
    gzip: Form,
}

/// A strong ETag.
#[derive(Debug)]
struct Form {
    tag: String,
    bytes: Bytes,
}

impl Prepared {
    pub fn json(text: Vec<u8>) -> Result<Self> {
        let name = hex(&digest(&SHA256, &text).as_ref()[..16]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).map_err(Error::internal)?;
        let compressed = encoder.finish().map_err(Error::internal)?;
        Ok(Prepared {
            gzip: Form { tag: format!("\"{name}-gzip\""), bytes: shrunk(compressed) },
            plain: Form { tag: format!("\"{name}\""), bytes: shrunk(text) },
        })
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        self.plain.bytes.len() + self.gzip.bytes.len()
    }
}

/// Without the buffer's spare capacity.
fn shrunk(bytes: Vec<u8>) -> Bytes {
    Bytes::from(bytes.into_boxed_slice())
}

/// The client's `Accept-Encoding` and `If-None-Match`.
#[derive(Debug)]
pub struct Negotiation {
    takes_gzip: bool,
    held: Vec<String>,
}

impl Negotiation {
    pub fn of(headers: &HeaderMap) -> Self {
        Negotiation {
            takes_gzip: takes_gzip(&items(headers, ACCEPT_ENCODING)),
            held: items(headers, IF_NONE_MATCH),
        }
    }

    /// Whether the client has these bytes already. Weak comparison, as the standard says.
    pub fn has(&self, tag: &str) -> bool {
        self.held.iter().any(|held| held == "*" || held.strip_prefix("W/").unwrap_or(held) == tag)
    }
}

impl Input for Negotiation {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        Ok(Negotiation::of(&request.headers))
    }

    fn describe(_: &mut InputDoc, _: &mut SchemaGenerator) {}
}

/// The items of a list header, over all its lines.
fn items(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    let items = lines.flat_map(|line| line.split(',')).map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Whether the client accepts gzip, and prefers it at least as much as no compression.
fn takes_gzip(accepted: &[String]) -> bool {
    let weight = |names: &[&str]| {
        accepted.iter().find_map(|item| {
            let mut parts = item.split(';').map(str::trim);
            let name = parts.next()?.to_ascii_lowercase();
            names.contains(&name.as_str()).then(|| weight_of(parts))
        })
    };
    let any = weight(&["*"]);
    let gzip = weight(&["gzip", "x-gzip"]).or(any).unwrap_or(0.0);
    let identity = weight(&["identity"]).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity
}

/// The `q` of an item; an invalid one counts as a refusal.
fn weight_of<'a>(mut parameters: impl Iterator<Item = &'a str>) -> f64 {
    let weight = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
    });
    let parse = |value: &str| value.parse::<f64>().ok().filter(|q| (0.0..=1.0).contains(q));
    weight.map_or(1.0, |value| parse(value).unwrap_or(0.0))
}

/// A prepared document for one client.
#[derive(Debug)]
pub struct PreparedReply {
    pub document: Arc<Prepared>,
    pub client: Negotiation,
    /// The credential decides which document it is, so shared caches must not store it.
    pub is_private: bool,
}

impl Reply for PreparedReply {
    fn into_response(self) -> Result<Response> {
        let gzip = self.client.takes_gzip;
        let form = if gzip { &self.document.gzip } else { &self.document.plain };
        let mut response = if self.client.has(&form.tag) {
            let mut response = Response::new(Body::default());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = with_body(StatusCode::OK, JSON, form.bytes.clone());
            if gzip {
                response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            response
        };
        let (cache, vary) = if self.is_private {
            ("private, no-cache", "Accept-Encoding, Authorization")
        } else {
            ("public, no-cache", "Accept-Encoding")
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, HeaderValue::from_str(&form.tag).map_err(Error::internal)?);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        headers.insert(VARY, HeaderValue::from_static(vary));
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let mut docs = Json::<Value>::describe(generator);
        docs.push(ReplyDoc { status: StatusCode::NOT_MODIFIED.as_u16(), content: None });
        docs
    }
}
