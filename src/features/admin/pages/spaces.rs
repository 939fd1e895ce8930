//! The spaces of a project.

use maud::html;
use serde_json::json;

use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout;
use crate::features::admin::pages::content::{items, paging, text};
use crate::features::admin::visit::Visit;
use crate::http::reply::Response;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let query =
        json!({ "page": visit.query("page").unwrap_or("1"), "limit": "50", "sortBy": "new" });
    let found = api::call(&visit, "Fetch Spaces", Request::query(query)).await?;
    let project = visit.project()?.id;
    let content = html! {
        table {
            thead { tr { th { "Space" } th { "Slug" } th { "Members" } th { "Reading" } th { "Posting" } } }
            tbody { @for row in items(&found["data"]) { tr {
                td { a href={ "/admin/p/" (project) "/content?spaceId=" (text(row, "id")) } { (text(row, "name")) } }
                td { (text(row, "slug")) } td { (row["membersCount"]) }
                td { (text(row, "readingPermission")) } td { (text(row, "postingPermission")) }
            } } }
        }
        (paging(&visit, &found["pagination"]))
    };
    Ok(layout::page(&visit, "Spaces", &content))
}
