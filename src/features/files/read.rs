//! Read Stored File: bytes by a signed address. The signature proves that the address was shown to a caller;
//! the row proves that the file still exists.

use std::ops::Range;

use http::header::{ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH};
use http::header::{CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::header::{ETAG, IF_RANGE, RANGE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use images::Encoding;
use schemars::{JsonSchema, SchemaGenerator, json_schema};

use crate::error::{Error, Result, faults};
use crate::features::files::model::ImageFacts;
use crate::features::files::rules::is_inline;
use crate::features::files::store::FileRow;
use crate::features::files::{FILE_NOT_FOUND, store};
use crate::http::negotiation::Negotiation;
use crate::http::operation::{Operation, ServerCall};
use crate::http::reply::{self, Body, Reply, ReplyDoc, Response};
use crate::values::ids::{FileId, ProjectId};

faults! {
    INVALID_SIGNATURE = 403 "storage/invalid-signature": "The address is forged or has expired";
    RANGE_NOT_SATISFIABLE = 416 "storage/range-not-satisfiable": "The file has no such part";
}

/// In case a browser shows one as a page: no scripts, no forms, no external resources.
const POLICY: &str = "sandbox; default-src 'none'";

#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "for the document alone")]
struct StoredPath {
    project_id: ProjectId,
    /// The file's path below its project, with slashes.
    path: String,
}

#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "for the document alone")]
struct Signature {
    /// Unix seconds; absent in an address that does not expire.
    expires: Option<i64>,
    signature: String,
}

pub(super) fn operations() -> Vec<Operation> {
    const PATH: &str = "/internal/files/{projectId}/{*path}";
    let operation = |name: &'static str| {
        Operation::server(PATH, name, read_stored_file)
            .parameters::<StoredPath, Signature>()
            .errors(&[INVALID_SIGNATURE, FILE_NOT_FOUND, RANGE_NOT_SATISFIABLE])
    };
    vec![operation("Read Stored File"), operation("Read Stored File Head").method(Method::HEAD)]
}

/// A stored object as its row describes it.
#[derive(Debug)]
struct Object {
    size: u64,
    mime: String,
    /// A strong ETag with its quotes: an address always has the same bytes.
    etag: String,
}

impl Object {
    /// The original or one of the variants; `None` for an unknown path.
    fn find(row: &FileRow, path: &str) -> Result<Option<Self>> {
        // The id identifies the bytes as well; older files have no hash.
        let etag = |sha256: Option<&String>| match sha256 {
            Some(sha256) => format!("\"{sha256}\""),
            None => format!("\"{}\"", row.id),
        };
        let Some(facts) = ImageFacts::of(row)? else {
            let size = u64::try_from(row.size).map_err(Error::internal)?;
            let (mime, etag) = (row.mime.clone(), etag(row.sha256.as_ref()));
            return Ok((row.path == path).then_some(Object { size, mime, etag }));
        };
        let found = facts.all().find(|one| one.path == path);
        let mime = |format: &str| {
            let encodings = [Encoding::Webp, Encoding::Jpeg, Encoding::Png];
            let known = encodings.into_iter().find(|encoding| encoding.name() == format);
            known.map_or("application/octet-stream", Encoding::mime).to_owned()
        };
        Ok(found.map(|one| Object {
            size: one.size,
            mime: mime(&one.format),
            etag: etag(one.sha256.as_ref()),
        }))
    }
}

#[derive(Debug)]
struct StoredBytes(Response);

impl Reply for StoredBytes {
    fn into_response(self) -> Result<Response> {
        Ok(self.0)
    }

    fn describe(_: &mut SchemaGenerator) -> Vec<ReplyDoc> {
        let bytes = || json_schema!({ "description": "The file's bytes." });
        let doc = |status| ReplyDoc { status, content: Some(("*/*", bytes())) };
        vec![doc(200), doc(206), ReplyDoc { status: 304, content: None }]
    }
}

async fn read_stored_file(call: ServerCall) -> Result<StoredBytes> {
    let app = &call.app;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let project: ProjectId = text(&call.params["projectId"]).parse().map_err(|_| FILE_NOT_FOUND)?;
    let path = text(&call.params["path"]);
    let (expires, signature) = (text(&call.query["expires"]), text(&call.query["signature"]));
    let left = app.signer.verify(project, &path, &expires, &signature, app.clock.now());
    let left = left.ok_or(INVALID_SIGNATURE)?;

    // `…/<fileId>/<name>`
    let id = path.rsplit('/').nth(1).and_then(|id| id.parse::<FileId>().ok());
    let id = id.ok_or(FILE_NOT_FOUND)?;
    let row = app.db.read(move |c| store::find(c, project, id)).await?.ok_or(FILE_NOT_FOUND)?;
    let object = Object::find(&row, &path)?.ok_or(FILE_NOT_FOUND)?;

    // Checked before any range.
    if Negotiation::of(&call.headers).has(&object.etag) {
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        identify(response.headers_mut(), &object, left)?;
        return Ok(StoredBytes(response));
    }
    let asked = match asked_range(&call.headers, &object) {
        Ok(asked) => asked,
        Err(Unsatisfiable) => return Ok(StoredBytes(unsatisfiable(object.size))),
    };
    let part = asked.clone().unwrap_or(0..object.size);
    let length = part.end - part.start;
    let body = if call.method == Method::HEAD {
        Body::default()
    } else {
        let chunks = app.storage.read(&format!("{project}/{path}"), asked.clone()).await?;
        Body::file(chunks.ok_or(FILE_NOT_FOUND)?, length)
    };
    let mut response = Response::new(body);
    describe(response.headers_mut(), &object, length, left)?;
    if let Some(range) = asked {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        let (from, to, size) = (range.start, range.end - 1, object.size);
        reply::set(&mut response, CONTENT_RANGE.as_str(), &format!("bytes {from}-{to}/{size}"));
    }
    Ok(StoredBytes(response))
}

fn describe(headers: &mut HeaderMap, object: &Object, length: u64, left: i64) -> Result<()> {
    identify(headers, object, left)?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(&object.mime).map_err(Error::internal)?);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    if !is_inline(&object.mime) {
        headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
    Ok(())
}

/// Caching headers. The bytes never change, so caches need not revalidate while the address is valid.
fn identify(headers: &mut HeaderMap, object: &Object, left: i64) -> Result<()> {
    let age = format!("private, immutable, max-age={left}");
    headers.insert(CACHE_CONTROL, HeaderValue::from_str(&age).map_err(Error::internal)?);
    headers.insert(ETAG, HeaderValue::from_str(&object.etag).map_err(Error::internal)?);
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Unsatisfiable;

/// The one requested range. Multiple ranges, other units, malformed ones and an `If-Range` that does not
/// match get the whole file, as the standard allows.
fn asked_range(headers: &HeaderMap, object: &Object) -> Result<Option<Range<u64>>, Unsatisfiable> {
    let is_of_these = headers.get(IF_RANGE).is_none_or(|etag| *etag == object.etag);
    match headers.get(RANGE).and_then(|value| value.to_str().ok()) {
        Some(range) if is_of_these => parse_range(range, object.size),
        _ => Ok(None),
    }
}

fn parse_range(text: &str, size: u64) -> Result<Option<Range<u64>>, Unsatisfiable> {
    // A number that overflows lies beyond the end of every file.
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let parsed = text.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-'));
    let Some((first, last)) = parsed else { return Ok(None) };
    let (start, end) = match (number(first), number(last)) {
        (Some(start), None) if last.is_empty() => (start, size),
        (Some(start), Some(end)) if start <= end => (start, end.saturating_add(1).min(size)),
        (None, Some(suffix)) if first.is_empty() => (size.saturating_sub(suffix), size),
        _ => return Ok(None),
    };
    if start < end { Ok(Some(start..end)) } else { Err(Unsatisfiable) }
}

fn unsatisfiable(size: u64) -> Response {
    let mut response = crate::http::render::fault(RANGE_NOT_SATISFIABLE);
    reply::set(&mut response, CONTENT_RANGE.as_str(), &format!("bytes */{size}"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_understood() {
        for (text, expected) in [
            ("bytes=0-0", Ok(Some(0..1))),
            ("bytes=2-5", Ok(Some(2..6))),
            ("bytes=2-", Ok(Some(2..10))),
            ("bytes=2-99", Ok(Some(2..10))),
            ("bytes=-3", Ok(Some(7..10))),
            ("bytes=-99", Ok(Some(0..10))),
            ("bytes=0-18446744073709551615", Ok(Some(0..10))),
            ("bytes=-0", Err(Unsatisfiable)),
            ("bytes=10-", Err(Unsatisfiable)),
            ("bytes=99999999999999999999-", Err(Unsatisfiable)),
            ("bytes=5-1", Ok(None)),
            ("bytes=0-1,3-4", Ok(None)),
            ("bytes=", Ok(None)),
            ("bytes=-", Ok(None)),
            ("bytes=a-b", Ok(None)),
            ("bytes=+1-2", Ok(None)),
            ("items=0-1", Ok(None)),
            ("", Ok(None)),
        ] {
            assert_eq!(parse_range(text, 10), expected, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Err(Unsatisfiable));
        assert_eq!(parse_range("bytes=-5", 0), Err(Unsatisfiable));
    }
}
