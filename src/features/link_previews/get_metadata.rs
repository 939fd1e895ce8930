//! Get URL Metadata: fetches a page on the caller's behalf and returns its metadata. Every failure gets the
//! same reply, so that it reveals nothing about the server's network (SSRF).

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::cache::Cache;
use super::extract::extract;
use super::model::UrlMetadata;
use super::page::{Page, charset_parameter};
use super::{INVALID_QUERY, METADATA_EXTRACTION_FAILED};
use crate::auth::caller::Admitted;
use crate::error::{Error, Result};
use crate::http::input::Query;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::outbound::{Answer, Failure, Limits, Target};
use crate::state::App;

const LIMITS: Limits =
    Limits { time: Duration::from_secs(10), body: 2 * 1024 * 1024, redirects: 5 };
/// Pages fetched concurrently, each of some megabytes; more callers queue.
const CONCURRENCY: usize = 16;
const ACCEPT: &str = "text/html,application/xhtml+xml";

/// The state of this operation.
#[derive(Debug)]
pub struct Previews {
    cache: Cache,
    places: Semaphore,
}

impl Default for Previews {
    fn default() -> Self {
        Previews { cache: Cache::default(), places: Semaphore::new(CONCURRENCY) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UrlQuery {
    /// An absolute http or https address.
    url: String,
}

pub(super) async fn get_metadata(
    call: Call<Admitted>,
    Query(query): Query<UrlQuery>,
) -> Result<Json<UrlMetadata>> {
    let (project, app) = (call.project.id, &call.app);
    let target = Target::parse(&query.url).map_err(refuse)?;
    // The text as it was sent: the reply contains it.
    let previews = app.features.get::<Previews>();
    if let Some(known) = previews.cache.get(project, &query.url, app.clock.uptime()) {
        return Ok(Json(UrlMetadata::clone(&known)));
    }
    let metadata = Arc::new(read_page(app, target, query.url).await?);
    previews.cache.put(project, &metadata.request_url, metadata.clone(), app.clock.uptime());
    Ok(Json(UrlMetadata::clone(&metadata)))
}

async fn read_page(app: &App, target: Target, requested: String) -> Result<UrlMetadata> {
    let previews = app.features.get::<Previews>();
    let place = tokio::time::timeout(LIMITS.time, previews.places.acquire()).await;
    let _place = place.map_err(|_| Error::Busy("too many pages are being read"))?;
    let answer = app.outbound.get(target, ACCEPT, LIMITS).await.map_err(refuse)?;
    if !answer.status.is_success() || !is_html(&answer.headers) {
        return Err(METADATA_EXTRACTION_FAILED.into());
    }
    // Parsing two megabytes of tags takes a while: not on an async worker.
    let read = tokio::task::spawn_blocking(move || {
        let Answer { url, headers, body, .. } = answer;
        extract(
            Page::read(&body, content_type(&headers).and_then(charset_parameter)),
            &url,
            &requested,
        )
    });
    let metadata = read.await.map_err(Error::internal)?;
    if metadata.has_content() { Ok(metadata) } else { Err(METADATA_EXTRACTION_FAILED.into()) }
}

fn refuse(failure: Failure) -> Error {
    match failure {
        Failure::Url(why) => INVALID_QUERY.because(why),
        other => {
            tracing::debug!(%other, "a page could not be read");
            METADATA_EXTRACTION_FAILED.into()
        }
    }
}

/// A page without a content type may be HTML.
fn is_html(headers: &HeaderMap) -> bool {
    content_type(headers).is_none_or(|content_type| {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        ["text/html", "application/xhtml+xml"].iter().any(|html| media.eq_ignore_ascii_case(html))
    })
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}
