//! Requests that this node has answered lately, found by their ids. Nothing of them is stored: a restart forgets them.

use maud::{Markup, html};

use crate::error::Result;
use crate::features::admin::fields;
use crate::features::admin::layout::{self, or_dash, time};
use crate::features::admin::visit::Visit;
use crate::http::reply::Response;
use crate::metrics::recent::{KEPT, RecentRequest};
use crate::values::ids::ProjectId;

const PAGE_SIZE: usize = 100;
const WHICH: &[(&str, &str)] = &[("", "all"), ("refused", "429"), ("failed", "5xx")];

/// Of all projects, and those of none.
pub(super) async fn installation(visit: Visit) -> Result<Response> {
    Ok(show(&visit, None))
}

pub(super) async fn project(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    Ok(show(&visit, Some(project)))
}

fn show(visit: &Visit, project: Option<ProjectId>) -> Response {
    let (id, which) = (visit.query("id"), visit.query("which").unwrap_or_default());
    let fits = |request: &RecentRequest| {
        let status = request.status;
        project.is_none_or(|project| request.project == Some(project))
            && id.is_none_or(|id| request.id == id)
            && match which {
                "refused" => status == 429,
                "failed" => status >= 500,
                _ => true,
            }
    };
    let found = visit.app.metrics.recent.find(PAGE_SIZE, fits);
    let content = html! {
        form.search method="get" role="search" {
            label { "X-Request-Id" input name="id" value=[id]; }
            (fields::choice("Answered", "which", WHICH, which))
            button { "Show" }
        }
        p.hint { "Every reply has its id in the header " code { "X-Request-Id" } ". The last " (KEPT)
            " requests of this node are known, until it restarts; its log has them all." }
        @if found.is_empty() { p { "There is none." } } @else { (table(&found)) }
    };
    layout::page(visit, "Requests", &content)
}

fn table(requests: &[RecentRequest]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Requests" { table {
            thead { tr { th { "When" } th { "Id" } th { "Route" } th { "Status" } th { "Error" } th { "Took" } th { "Database" } th { "Caller" } th { "Project" } } }
            tbody { @for request in requests { tr {
                td { (time(request.at)) } td { code { (request.id) } }
                td { code { (request.method) " " (or_dash(request.version)) " " (or_dash(request.route)) } }
                td { (request.status) } td { (or_dash(request.code)) }
                td { (format!("{:.1} ms", request.took.as_secs_f64() * 1000.0)) }
                td { (format!("{:.1} ms", request.in_database.as_secs_f64() * 1000.0)) }
                td { (request.caller) } td { @if let Some(project) = request.project { code { (project) } } @else { "–" } }
            } } }
        } }
    }
}
