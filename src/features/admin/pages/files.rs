//! Stored files, for pages that show them.

use serde_json::json;

use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::visit::{NOT_FOUND, Visit};
use crate::http::reply::{self, Response};

/// To the signed address of a file.
pub(super) async fn show(visit: Visit) -> Result<Response> {
    let params = json!({ "fileId": visit.param("fileId") });
    let file = api::call(&visit, "Fetch File", Request::params(params)).await?;
    let address = file["originalPath"].as_str().or(file["publicPath"].as_str()).ok_or(NOT_FOUND)?;
    reply::redirect(address)
}
