//! The spaces of a project, also those that only their members find; one of them with its members and its log. A ban by an
//! operator is a decision like any other: the user gets a statement of reasons and may appeal.

use maud::{Markup, html};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::pages::content::{items, text};
use crate::features::admin::pages::queue::moderator;
use crate::features::admin::pages::queue_item::reason;
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::moderation::decisions;
use crate::features::spaces::rules::Reason;
use crate::features::spaces::store::{self, SpaceRow};
use crate::http::query::percent_encode;
use crate::http::reply::Response;
use crate::values::ids::{SpaceBanId, SpaceId, UserId, new_id};

const PAGE_SIZE: usize = 50;
const STATUSES: [&str; 4] = ["active", "pending", "banned", "rejected"];

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let before = visit.query("before").and_then(|id| id.parse().ok());
    let before = before.unwrap_or(SpaceId(Uuid::max()));
    let part = visit.query("q").unwrap_or_default().to_lowercase();
    let found = visit.app.db.read_slow(move |c| store::all(c, project, before, &part, PAGE_SIZE));
    let rows = found.await?;
    let content = html! {
        form.search method="get" role="search" {
            label { "Part of the name or slug" input name="q" value=[visit.query("q")]; }
            button { "Show" }
        }
        table {
            thead { tr { th { "Space" } th { "Slug" } th { "Members" } th { "Found by" } th { "Reading" } th { "Posting" } th { "Since" } } }
            tbody { @for row in &rows { tr {
                td { a href={ "/admin/p/" (project) "/spaces/" (row.id) } { (row.name) } }
                td { (or_dash(row.slug.as_deref())) } td { (row.members_count) } td { (row.visibility.name()) }
                td { (row.reading_permission.name()) } td { (row.posting_permission.name()) } td { (time(row.created_at)) }
            } } }
        }
        @if let Some(last) = rows.last().filter(|_| rows.len() == PAGE_SIZE) {
            p { a rel="next" href={ "?q=" (percent_encode(visit.query("q").unwrap_or_default())) "&before=" (last.id) } { "More" } }
        }
    };
    Ok(layout::page(&visit, "Spaces", &content))
}

fn space(visit: &Visit) -> Result<SpaceId> {
    visit.param("spaceId").parse().map_err(|_| NOT_FOUND.into())
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let (project, id) = (visit.project()?.id, space(&visit)?);
    let row = visit.app.db.read(move |c| store::find(c, project, id)).await?.ok_or(NOT_FOUND)?;
    let status = visit.query("status").filter(|status| STATUSES.contains(status));
    let (status, params) = (status.unwrap_or("active"), json!({ "spaceId": id }));
    let page = visit.query("page").unwrap_or("1");
    let members = Request {
        query: json!({ "status": status, "page": page, "limit": "50" }),
        ..Request::params(params.clone())
    };
    let members = api::call(&visit, "List Members", members).await?;
    let log = api::call(&visit, "Fetch Moderation Log", Request::params(params)).await?;
    let here = format!("/admin/p/{project}/spaces/{id}");
    let content = html! {
        (facts(&visit, &row, &format!("/admin/p/{project}")))
        section aria-labelledby="members" {
            h2 #members { "Members" }
            p { @for one in STATUSES {
                a href={ (here) "?status=" (one) } aria-current=[(one == status).then_some("true")] { (one) } " "
            } }
            ul.plain { @for one in items(&members["data"]) { li { (member(&visit, &here, one)) } } }
            (pages(&here, status, &members["pagination"]))
        }
        section aria-labelledby="log" {
            h2 #log { "What was moderated here" }
            ol.timeline { @for one in items(&log["data"]) {
                li { (text(one, "createdAt")) " " (text(one, "decidedBy")) ": " (text(one, "action")) " " (text(one, "targetType")) " "
                    code { (text(one, "targetId")) } " " (text(one, "reason")) }
            } }
        }
    };
    Ok(layout::page(&visit, &row.name, &content))
}

fn facts(visit: &Visit, row: &SpaceRow, base: &str) -> Markup {
    let url = &visit.app.config.public_url;
    let project = base.rsplit('/').next().unwrap_or_default();
    html! {
        dl {
            dt { "Id" } dd { code { (row.id) } }
            dt { "Slug" } dd { (or_dash(row.slug.as_deref())) }
            dt { "Description" } dd { (or_dash(row.description.as_deref())) }
            dt { "Creator" } dd {
                @if let Some(user) = row.user_id { a href={ (base) "/users/" (user) } { (user) } } @else { "–" }
            }
            dt { "Members" } dd { (row.members_count) }
            dt { "Since" } dd { (time(row.created_at)) }
        }
        p { a href={ (base) "/content?spaceId=" (row.id) } { "Its posts" } " · "
            a href={ (base) "/queue?space=" (row.id) } { "Its reports" } }
        details { summary { "As curl" } pre { "curl " (url) "/v8/" (project) "/spaces/" (row.id) } }
    }
}

/// Bans or unbans a member. The user receives the reason.
fn member(visit: &Visit, here: &str, one: &Value) -> Markup {
    let user = &one["user"];
    let id = user["id"].as_str().unwrap_or_default();
    let name = user["name"].as_str().or(user["username"].as_str()).unwrap_or(id);
    let base = here.split("/spaces/").next().unwrap_or_default();
    html! {
        p.by { a href={ (base) "/users/" (id) } { (name) } " · " (text(one, "role")) " · " (text(one, "joinedAt")) }
        form.actions method="post" action=(here) {
            (csrf(visit)) input type="hidden" name="member" value=(text(one, "membershipId"));
            @if one["status"] == "banned" {
                button name="do" value="unban" { "Lift the ban of " (name) }
            } @else {
                input type="hidden" name="user" value=(id);
                (reason(&format!("Reason, for {name}")))
                button.danger name="do" value="ban" { "Ban from this space" }
            }
        }
    }
}

fn pages(here: &str, status: &str, pagination: &Value) -> Markup {
    let page = pagination["page"].as_u64().unwrap_or(1);
    let to = |page: u64| format!("{here}?status={status}&page={page}");
    html! {
        nav.paging aria-label="Pages of members" {
            @if page > 1 { a rel="prev" href=(to(page - 1)) { "Before" } }
            @if pagination["hasMore"] == true { a rel="next" href=(to(page + 1)) { "More" } }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, id, now) = (visit.project()?.id, space(&visit)?, visit.now);
    match visit.required("do")? {
        "ban" => {
            let user: UserId = visit.required("user")?.parse().map_err(|_| Error::from(INVALID))?;
            let reason = visit.field("reason").map(|text| Reason::try_from(text.to_owned()));
            let reason = reason.transpose().map_err(|why| INVALID.because(why))?;
            let entry = visit.entry("Ban from Space", format!("{user} from {id}"));
            let change = json!({ "reason": reason.as_ref().map(Reason::as_str) });
            let entry = entry.change(None::<&()>, Some(&change));
            let (app, of, by) = (visit.app.clone(), visit.project()?.clone(), moderator(&visit));
            let ban = SpaceBanId(new_id(now, &visit.app.random));
            let banned = visit.write(entry, move |tx| {
                let context = Context { app: &app, project: &of, now };
                let reason = reason.as_ref().map(Reason::as_str);
                decisions::ban_now(tx, context, &by, (id, user), (ban, reason))
            });
            banned.await?;
        }
        "unban" => {
            let params = json!({ "spaceId": id, "memberId": visit.required("member")? });
            api::call(&visit, "Unban Member", Request::params(params)).await?;
        }
        _ => return Err(INVALID.into()),
    }
    layout::see_other(&format!("/admin/p/{project}/spaces/{id}"))
}
