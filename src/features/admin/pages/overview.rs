//! The start page of a project: three first steps, then its numbers.

use maud::{Markup, html};

use crate::error::Result;
use crate::features::admin::layout;
use crate::features::admin::store::figures;
use crate::features::admin::visit::Visit;
use crate::http::reply::Response;

/// Days of the charts.
const DAYS: i64 = 14;

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let (id, now) = (project.id, visit.now);
    let figures = visit.app.db.read_slow(move |c| figures::read(c, id, now, DAYS)).await?;
    let url = &visit.app.config.public_url;
    let steps = [
        (figures.users > 0, "First user", "POST /auth/sign-up".to_owned()),
        (figures.entities > 0, "First post", curl(url, &id.to_string())),
        (
            !visit.app.config.lacks_public_url(),
            "Own domain",
            "TOWNHALL_PUBLIC_URL=https://…".to_owned(),
        ),
    ];
    let is_new = steps.iter().any(|(is_done, _, _)| !is_done);
    let content = html! {
        @if is_new { (first_steps(&steps)) }
        div.tiles {
            (tile("Users", figures.users)) (tile("Posts", figures.entities))
            (tile("Comments", figures.comments)) (tile("Open reports", figures.open_reports))
            (tile("Jobs waiting", figures.waiting_jobs)) (tile("Jobs given up", figures.failed_jobs))
        }
        section aria-labelledby="posts" { h2 #posts { "Posts a day" } (chart("Posts a day", &figures.entities_by_day)) }
        section aria-labelledby="signups" { h2 #signups { "New users a day" } (chart("New users a day", &figures.users_by_day)) }
    };
    Ok(layout::page(&visit, "Overview", &content))
}

fn curl(url: &str, project: &str) -> String {
    format!(
        "curl -X POST {url}/v8/{project}/entities -H 'Content-Type: application/json' -d '{{\"title\":\"Hello\"}}'"
    )
}

fn first_steps(steps: &[(bool, &str, String)]) -> Markup {
    html! {
        section aria-labelledby="steps" {
            h2 #steps { "First steps" }
            ol.steps { @for (is_done, name, snippet) in steps {
                li.done[*is_done] {
                    span { @if *is_done { "✓ " } (name) @if *is_done { span.hidden { " (done)" } } }
                    @if !is_done { pre { (snippet) } }
                }
            } }
        }
    }
}

fn tile(name: &str, number: i64) -> Markup {
    html! { div.tile { span.number { (number) } span { (name) } } }
}

/// Bars, drawn by the server.
fn chart(title: &str, days: &[(String, i64)]) -> Markup {
    let highest = days.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let width = 24;
    let total = i64::try_from(days.len()).unwrap_or(1) * width;
    html! {
        svg.chart role="img" aria-label=(title) viewBox={ "0 0 " (total) " 100" } {
            @for (n, (day, count)) in days.iter().enumerate() {
                @let height = (count * 96 + highest - 1) / highest;
                rect x=(i64::try_from(n).unwrap_or(0) * width + 2) y=(100 - height) width=(width - 4) height=(height) {
                    title { (day) ": " (count) }
                }
            }
        }
        details { summary { "As a table" } table {
            thead { tr { th { "Day" } th { "Number" } } }
            tbody { @for (day, count) in days { tr { td { (day) } td { (count) } } } }
        } }
    }
}
