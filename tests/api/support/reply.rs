//! A reply and the questions tests ask of it. A wrong answer shows the whole reply.

use std::borrow::Cow;
use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::HeaderMap;
use serde_json::Value;

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    pub(super) fn new(status: u16, headers: HeaderMap, body: Bytes) -> Self {
        Reply { status, headers, body }
    }

    /// The body without its content coding.
    pub fn decoded(&self) -> Cow<'_, [u8]> {
        let mut plain = Vec::new();
        let mut encoded = &self.body[..];
        match self.header("content-encoding") {
            None => return Cow::Borrowed(&self.body),
            Some("zstd") => plain = zstd::decode_all(encoded).unwrap(),
            Some("br") => brotli::BrotliDecompress(&mut encoded, &mut plain).unwrap(),
            Some("gzip") => drop(GzDecoder::new(encoded).read_to_end(&mut plain).unwrap()),
            Some(other) => panic!("unknown content coding {other}"),
        }
        Cow::Owned(plain)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.decoded()).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.decoded()).unwrap_or(Value::Null)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The body of a reply with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// A refusal with this status and code; its body, for what else it says.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{}", self.text());
        assert!(body["error"].is_string(), "{}", self.text());
        body
    }

    /// The status with what tells replies of that status apart: the code, or the plain text.
    /// For tables of who may do what.
    pub fn outcome(&self) -> String {
        let body = self.json();
        let plain =
            self.header("content-type").is_some_and(|media| media.starts_with("text/plain"));
        match body["code"].as_str() {
            Some(code) => format!("{} {code}", self.status),
            None if plain => format!("{} {}", self.status, self.text()),
            None => self.status.to_string(),
        }
    }

    /// The names of the body's keys, sorted.
    pub fn keys(&self) -> Vec<String> {
        keys(&self.json())
    }

    /// A reply of plain text.
    #[track_caller]
    pub fn says(&self, status: u16, text: &str) {
        assert_eq!((self.status, self.text().as_str()), (status, text));
        assert_eq!(self.header("content-type"), Some("text/plain; charset=utf-8"));
    }
}

/// The names of an object's keys, sorted.
pub fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}
