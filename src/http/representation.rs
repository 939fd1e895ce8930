//! The last step of a reply: it is not sent again to a client that has it (`ETag`, 304), and compressed for a
//! client that accepts that.
//!
//! A tag identifies the bytes: it is made from the serialized reply and names the coding, so it is strong and
//! differs from coding to coding. Nothing cheaper is safe. A reply depends on more than the rows of its
//! subject: on counts and views, on the viewer's reaction, on authors, files with addresses that change with
//! time, blocks and roles, and no stored version covers all of them. So a 304 saves compressing and sending,
//! and the handler runs as always: it counts views and checks permissions. Documents that are built ahead of
//! time have their tags and get 304 without any work.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG};
use http::{HeaderValue, StatusCode};

use crate::http::compression::{MAX_UNCOMPRESSED, compress};
use crate::http::negotiation::{Coding, Negotiation};
use crate::http::operation::Operation;
use crate::http::prepared::Prepared;
use crate::http::reply::{self, Body, HTML, JSON, Response, TEXT};
use crate::values::fingerprint::Fingerprints;

/// The reply of an operation as this client gets it.
///
/// Replies that must not be stored are left alone: they hold tokens and personal data. Compressed beside
/// text that somebody else chose, a secret could be guessed from the length of the reply (BREACH). In
/// other replies a stranger's text stands beside content that is shown to many. Browsers send no credential
/// by themselves (the one cookie is for two operations of the first kind), so a foreign page cannot make them
/// ask again and again either.
pub async fn negotiate(
    response: &mut Response,
    client: &Negotiation,
    operation: Option<&Operation>,
    fingerprints: &Fingerprints,
) {
    if operation.is_some_and(|operation| operation.no_store) {
        return;
    }
    let prepared = response.extensions_mut().remove::<Arc<Prepared>>();
    let Some(plain) = text_of(response) else { return };
    let offered: &[Coding] = match &prepared {
        Some(_) => &[Coding::Gzip],
        None if plain.len() > MAX_UNCOMPRESSED => &Coding::ALL,
        None => &[],
    };
    if !offered.is_empty() {
        reply::add_vary(response, "Accept-Encoding");
    }
    let coding = client.choose(offered);

    let fingerprint = match &prepared {
        Some(prepared) => Some(prepared.fingerprint.clone()),
        None if is_conditional(response, operation) => fingerprints.of(&plain).ok(),
        None => None,
    };
    if let Some(fingerprint) = fingerprint {
        let tag = tag(&fingerprint, coding);
        reply::set(response, "etag", &tag);
        // Whose reply it is depends on the credential, so shared caches must not store it.
        let headers = response.headers_mut();
        let private = HeaderValue::from_static("private, no-cache");
        headers.entry(CACHE_CONTROL).or_insert(private);
        if client.has(&tag) {
            headers.remove(CONTENT_TYPE);
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::default();
            return;
        }
    }

    let Some(coding) = coding else { return };
    let encoded = match &prepared {
        Some(prepared) => Ok(prepared.gzip.clone()),
        None => compress(plain, coding).await,
    };
    match encoded {
        Ok(encoded) => {
            *response.body_mut() = Body::Whole(encoded);
            let name = HeaderValue::from_static(coding.name());
            response.headers_mut().insert(CONTENT_ENCODING, name);
        }
        Err(error) => {
            tracing::error!(%error, coding = coding.name(), "a reply could not be compressed");
            response.headers_mut().remove(ETAG);
        }
    }
}

/// The body if it is text in memory. Stored files, their ranges and streams never are.
fn text_of(response: &Response) -> Option<Bytes> {
    let media = response.headers().get(CONTENT_TYPE)?;
    match response.body() {
        Body::Whole(bytes) if [JSON, TEXT, HTML].iter().any(|text| media == text) => {
            Some(bytes.clone())
        }
        _ => None,
    }
}

fn is_conditional(response: &Response, operation: Option<&Operation>) -> bool {
    response.status() == StatusCode::OK
        && operation.is_some_and(Operation::is_conditional)
        && response.headers().get(CONTENT_TYPE).is_some_and(|media| media == JSON)
}

/// `"<fingerprint>-gzip"`
fn tag(fingerprint: &str, coding: Option<Coding>) -> String {
    match coding {
        None => format!("\"{fingerprint}\""),
        Some(coding) => format!("\"{fingerprint}-{}\"", coding.name()),
    }
}
