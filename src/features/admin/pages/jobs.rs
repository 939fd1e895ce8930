//! Background jobs of a project: those that wait, and those that were given up.

use maud::html;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, or_dash, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::http::reply::Response;
use crate::jobs::store;
use crate::values::ids::JobId;

const MOST: i64 = 100;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let failed = visit.query("failed").is_some();
    let rows = visit.app.db.read_slow(move |c| store::list(c, Some(project), failed, MOST)).await?;
    let here = format!("/admin/p/{project}/jobs");
    let content = html! {
        p { @if failed { a href=(here) { "All" } } @else { a href={ (here) "?failed=1" } { "Only those that were given up" } } }
        table {
            thead { tr { th { "Kind" } th { "Since" } th { "Due" } th { "Attempts" } th { "Last error" } th { span.hidden { "Actions" } } } }
            tbody { @for row in &rows { tr {
                td { (kind(&row.payload.0)) } td { (time(row.created_at)) } td { (time(row.run_at)) } td { (row.attempts) }
                td { (or_dash(row.last_error.as_deref())) }
                td {
                    (layout::button(&visit, &here, &[("do", "retry"), ("job", &row.id.to_string())], "Run now"))
                    (layout::button(&visit, &here, &[("do", "drop"), ("job", &row.id.to_string())], "Drop"))
                }
            } } }
        }
        @if rows.is_empty() { p { "Nothing waits." } }
    };
    Ok(layout::page(&visit, "Jobs", &content))
}

fn kind(payload: &str) -> String {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    payload["event"].as_str().or(payload["kind"].as_str()).unwrap_or("unknown").to_owned()
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
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
        if !is_there {
            return Err(Error::from(NOT_FOUND));
        }
        Ok(())
    });
    changed.await?;
    layout::see_other(&format!("/admin/p/{project}/jobs"))
}
