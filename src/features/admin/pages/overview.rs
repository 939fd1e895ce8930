//! The start page of a project: three first steps, then its numbers.

use std::time::Duration;

use maud::{Markup, html};

use crate::auth::operators::Role;
use crate::error::Result;
use crate::features::admin::charts::{bars, bounded, bytes, seconds, tile};
use crate::features::admin::layout;
use crate::features::admin::store::figures;
use crate::features::admin::visit::Visit;
use crate::http::reply::Response;

/// Days of the charts.
const DAYS: i64 = 14;
const SIGN_UP: &str = r#"-d '{"email":"ada@example.com","password":"correct horse battery"}'"#;
const POST: &str =
    r#"-H 'Authorization: Bearer ACCESS_TOKEN_OF_THE_REPLY_ABOVE' -d '{"title":"Hello"}'"#;

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.clone();
    let (id, now) = (project.id, visit.now);
    let figures = visit.app.db.read_slow(move |c| figures::read(c, id, now, DAYS)).await?;
    let waited = figures.first_due.map_or(0, |due| now.millis() - due.millis()).max(0);
    let overdue = seconds(Duration::from_millis(waited.unsigned_abs()).as_secs_f64());
    let at = |path: &str| format!("{}/v8/{id}/{path}", visit.app.config.public_url);
    let steps = [
        (figures.users > 0, "First user", curl(&at("auth/sign-up"), SIGN_UP)),
        (figures.entities > 0, "First post", curl(&at("entities"), POST)),
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
            (tile("Users", &bounded(figures.users))) (tile("Active in 7 days", &bounded(figures.active_users)))
            (tile("Posts", &bounded(figures.entities))) (tile("Comments", &bounded(figures.comments)))
            (tile("Open reports", &bounded(figures.open_reports))) (tile("Files", &bytes(figures.file_bytes)))
            (tile("Jobs waiting", &bounded(figures.waiting_jobs))) (tile("Jobs given up", &bounded(figures.failed_jobs)))
            (tile("First job due since", &overdue))
        }
        section aria-labelledby="posts" { h2 #posts { "Posts a day" } (bars("Posts a day", "Day", &figures.entities_by_day)) }
        section aria-labelledby="signups" { h2 #signups { "New users a day" } (bars("New users a day", "Day", &figures.users_by_day)) }
        @if visit.role() >= Some(Role::Owner) {
            p { a href={ "/admin/p/" (id) "/settings#export" } { "Export this project" } }
        }
    };
    Ok(layout::page(&visit, "Overview", &content))
}

fn curl(address: &str, flags: &str) -> String {
    format!("curl {address} -H 'Content-Type: application/json' {flags}")
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
