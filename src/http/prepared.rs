//! Replies that are built once and sent to many: the bytes are shared, compressed ahead of time, and not sent
//! again to a client that has them.

use std::io::Write as _;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};
use schemars::SchemaGenerator;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::reply::{self, JSON, Json, Reply, ReplyDoc, Response, with_body};
use crate::values::random::hex;

/// A JSON document, plain and compressed.
#[derive(Debug)]
pub struct Prepared {
    pub(super) fingerprint: String,
    plain: Bytes,
    pub(super) gzip: Bytes,
}

impl Prepared {
    pub fn json(text: Vec<u8>) -> Result<Self> {
        let fingerprint = hex(&digest(&SHA256, &text).as_ref()[..16]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text).map_err(Error::internal)?;
        let compressed = encoder.finish().map_err(Error::internal)?;
        Ok(Prepared { fingerprint, gzip: shrunk(compressed), plain: shrunk(text) })
    }

    /// Bytes in memory.
    pub fn size(&self) -> usize {
        self.plain.len() + self.gzip.len()
    }
}

/// Without the buffer's spare capacity.
fn shrunk(bytes: Vec<u8>) -> Bytes {
    Bytes::from(bytes.into_boxed_slice())
}

/// A prepared document; `representation` picks the form for the client.
#[derive(Debug)]
pub struct PreparedReply {
    pub document: Arc<Prepared>,
    /// The credential decides which document it is, so shared caches must not store it.
    pub is_private: bool,
}

impl Reply for PreparedReply {
    fn into_response(self) -> Result<Response> {
        let mut response = with_body(StatusCode::OK, JSON, self.document.plain.clone());
        let cache = if self.is_private {
            reply::add_vary(&mut response, "Authorization");
            "private, no-cache"
        } else {
            "public, no-cache"
        };
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        response.extensions_mut().insert(self.document);
        Ok(response)
    }

    fn describe(generator: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let mut docs = Json::<Value>::describe(generator);
        docs.push(ReplyDoc { status: StatusCode::NOT_MODIFIED.as_u16(), content: None });
        docs
    }
}
