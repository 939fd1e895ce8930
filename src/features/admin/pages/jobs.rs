//! Background jobs of a project or of all: those that wait, and those that were given up.

use maud::html;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::http::reply::Response;
use crate::jobs::store;
use crate::values::ids::JobId;

const MOST: i64 = 50;

/// Where the page is, of a project or of the installation.
fn here(visit: &Visit) -> String {
    match visit.project() {
        Ok(project) => format!("/admin/p/{}/jobs", project.id),
        Err(_) => "/admin/jobs".to_owned(),
    }
}

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project().map(|project| project.id).ok();
    let failed = visit.query("failed").is_some();
    let rows = visit.app.db.read_slow(move |c| store::list(c, project, failed, MOST)).await?;
    let here = here(&visit);
    let content = html! {
        p { @if failed { a href=(here) { "All" } } @else { a href={ (here) "?failed=1" } { "Only those that were given up" } } }
        @if rows.is_empty() { p { @if failed { "None was given up." } @else { "Nothing waits." } } }
        @else { table {
            thead { tr {
                th { "Kind" } @if project.is_none() { th { "Project" } } th { "Since" } th { "Due" } th { "Attempts" }
                th { "Last error" } th { span.hidden { "Actions" } }
            } }
            tbody { @for row in &rows { tr {
                td { (kind(&row.payload.0)) }
                @if project.is_none() { td { a href={ "/admin/p/" (row.project_id) "/jobs" } { code { (row.project_id) } } } }
                td { (time(row.created_at)) } td { (time(row.run_at)) } td { (row.attempts) }
                td { (or_dash(row.last_error.as_deref())) }
                td { form.inline method="post" action=(here) {
                    (csrf(&visit)) input type="hidden" name="job" value=(row.id);
                    @if project.is_none() { input type="hidden" name="project" value=(row.project_id); }
                    button name="do" value="retry" { "Run now" } button name="do" value="drop" { "Drop" }
                } }
            } } }
        } }
        @if rows.len() as i64 == MOST { p.hint { "These are the newest " (MOST) "." } }
    };
    Ok(layout::page(&visit, "Jobs", &content))
}

fn kind(payload: &str) -> String {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    payload["event"].as_str().or(payload["kind"].as_str()).unwrap_or("unknown").to_owned()
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let now = visit.now;
    let project = match visit.project() {
        Ok(project) => project.id,
        Err(_) => visit.required("project")?.parse().map_err(|_| Error::from(NOT_FOUND))?,
    };
    let id: JobId = visit.required("job")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
    let drops = match visit.required("do")? {
        "retry" => false,
        "drop" => true,
        _ => return Err(INVALID.into()),
    };
    let entry = visit.entry(if drops { "Drop Job" } else { "Retry Job" }, id.to_string());
    let changed = visit.write(entry, move |tx| {
        let is_there = if drops {
            store::delete(tx, project, id)?
        } else {
            store::retry(tx, project, id, now)?
        };
        if is_there { Ok(()) } else { Err(Error::from(NOT_FOUND)) }
    });
    changed.await?;
    layout::see_other(&here(&visit))
}
