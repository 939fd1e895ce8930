//! Stored files: all of a project or of a user, newest first, for admins, as attachments of messages and exports of users are
//! among them; and the bytes of one for pages that show them.

use maud::{Markup, html};
use serde_json::json;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::admin::api::{self, Request};
use crate::features::admin::charts::bytes;
use crate::features::admin::layout::{self, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::files::store::{self, FileRow};
use crate::http::reply::{self, Response};
use crate::values::ids::{FileId, ProjectId, UserId};

const PAGE_SIZE: usize = 50;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let before = visit.query("before").and_then(|id| id.parse().ok());
    let before = before.unwrap_or(FileId(Uuid::max()));
    let user: Option<UserId> = match visit.query("userId") {
        Some(id) => Some(id.parse().map_err(|_| INVALID.because("This is no id of a user."))?),
        None => None,
    };
    let find = move |c: &db::Conn<'_>| store::newest(c, project, user, before, PAGE_SIZE);
    let rows = visit.app.db.read_slow(find).await?;
    let here = format!("/admin/p/{project}/files");
    let content = html! {
        form.search method="get" role="search" {
            label { "Of the user with this id" input name="userId" value=[visit.query("userId")]; }
            button { "Show" }
        }
        table {
            thead { tr { th { "File" } th { "Type" } th { "Size" } th { "User" } th { "Part of" } th { "Since" }
                th { span.hidden { "Delete" } } } }
            tbody { @for row in &rows { tr {
                td { a href={ "/admin/p/" (project) "/files/" (row.id) } { (name(row)) } }
                td { (row.mime) } td { (bytes(row.size)) } td { (user_of(project, row)) } td { (holder(project, row)) }
                td { (time(row.created_at)) }
                td { (layout::button(&visit, &here, &[("file", &row.id.to_string())], "Delete")) }
            } } }
        }
        @if let Some(last) = rows.last().filter(|_| rows.len() == PAGE_SIZE) {
            p { a rel="next" href={ "?" @if let Some(user) = user { "userId=" (user) "&" } "before=" (last.id) } { "Older" } }
        }
    };
    Ok(layout::page(&visit, "Files", &content))
}

fn name(row: &FileRow) -> &str {
    row.path.rsplit('/').next().unwrap_or(&row.path)
}

fn user_of(project: ProjectId, row: &FileRow) -> Markup {
    html! {
        @if let Some(user) = row.user_id { a href={ "/admin/p/" (project) "/users/" (user) } { (user) } } @else { "–" }
    }
}

fn holder(project: ProjectId, row: &FileRow) -> Markup {
    html! {
        @if let Some(id) = row.entity_id { a href={ "/admin/p/" (project) "/content/" (id) } { "a post" } }
        @else if let Some(id) = row.space_id { a href={ "/admin/p/" (project) "/spaces/" (id) } { "a space" } }
        @else if row.comment_id.is_some() { "a comment" }
        @else if row.chat_message_id.is_some() { "a message" }
        @else if row.event_id.is_some() { "an event" }
        @else { "–" }
    }
}

/// To the signed address of a file.
pub(super) async fn show(visit: Visit) -> Result<Response> {
    let params = json!({ "fileId": visit.param("fileId") });
    let file = api::call(&visit, "Fetch File", Request::params(params)).await?;
    let address = file["originalPath"].as_str().or(file["publicPath"].as_str()).ok_or(NOT_FOUND)?;
    reply::redirect(address)
}

pub(super) async fn delete(visit: Visit) -> Result<Response> {
    let file: FileId = visit.required("file")?.parse().map_err(|_| Error::from(INVALID))?;
    api::call(&visit, "Delete File", Request::params(json!({ "fileId": file }))).await?;
    layout::see_other(&format!("/admin/p/{}/files", visit.project()?.id))
}
