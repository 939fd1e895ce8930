//! Posts and their comments, as the API shows them to a key.

use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::auth::operators::Role;
use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout::{self, csrf, or_dash};
use crate::features::admin::pages::queue;
use crate::features::admin::pages::queue_item::reason;
use crate::features::admin::visit::{INVALID, NOT_ALLOWED, NOT_FOUND, Visit};
use crate::features::moderation::decisions::Item;
use crate::features::moderation::target::{Target, TargetKind};
use crate::http::query::percent_encode;
use crate::http::reply::Response;
use crate::values::ids::parse_uuid;

/// The filters that the page offers; each is a parameter of its address and of the API.
const FILTERS: [(&str, &str); 4] = [
    ("userId", "Author id"),
    ("spaceId", "Space id"),
    ("sourceId", "Source"),
    ("keywordsFilters[includes]", "Keyword"),
];

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let mut query = Map::new();
    for (name, _) in FILTERS {
        query.extend(visit.query(name).map(|value| (name.to_owned(), Value::from(value))));
    }
    let sort = visit.query("sortBy").unwrap_or("new");
    query.insert("sortBy".to_owned(), sort.into());
    query.insert("page".to_owned(), visit.query("page").unwrap_or("1").into());
    query.insert("limit".to_owned(), "50".into());
    let found = api::call(&visit, "Fetch Many Entities", Request::query(query.into())).await?;
    let project = visit.project()?.id;
    let content = html! {
        form.search method="get" role="search" {
            @for (name, text) in FILTERS { label { (text) input name=(name) value=[visit.query(name)]; } }
            label { "Order" select name="sortBy" {
                @for order in ["new", "hot", "top", "controversial"] { option value=(order) selected[order == sort] { (order) } }
            } }
            button { "Show" }
        }
        table {
            thead { tr { th { "Post" } th { "Author" } th { "Replies" } th { "Views" } th { "Since" } } }
            tbody { @for row in items(&found["data"]) { tr {
                td { a href={ "/admin/p/" (project) "/content/" (text(row, "id")) } { (title(row)) } }
                td { (author(project, row)) } td { (row["repliesCount"]) } td { (row["views"]) } td { (text(row, "createdAt")) }
            } } }
        }
        (paging(&visit, &found["pagination"]))
    };
    Ok(layout::page(&visit, "Content", &content))
}

pub(super) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

fn title(row: &Value) -> &str {
    let named = ["title", "content"]
        .into_iter()
        .find_map(|name| row[name].as_str().filter(|text| !text.is_empty()));
    let title = named.unwrap_or("(no text)");
    title.char_indices().nth(100).map_or(title, |(end, _)| &title[..end])
}

fn author(project: crate::values::ids::ProjectId, row: &Value) -> Markup {
    html! {
        @if let Some(id) = row["userId"].as_str() {
            @let user = &row["user"];
            a href={ "/admin/p/" (project) "/users/" (id) } {
                (user["name"].as_str().or(user["username"].as_str()).unwrap_or("user"))
            }
        } @else { "–" }
    }
}

/// Links to the page before and the next one, with the same filters.
pub(super) fn paging(visit: &Visit, pagination: &Value) -> Markup {
    let page = pagination["page"].as_u64().unwrap_or(1);
    let to = |page: u64| {
        let kept = FILTERS.iter().map(|(name, _)| *name).chain(["sortBy", "q"]);
        let kept = kept.filter_map(|name| {
            Some(format!("{}={}&", percent_encode(name), percent_encode(visit.query(name)?)))
        });
        format!("?{}page={page}", kept.collect::<String>())
    };
    html! {
        nav.paging aria-label="Pages" {
            @if page > 1 { a rel="prev" href=(to(page - 1)) { "Newer" } }
            span { "Page " (page) @if let Some(all) = pagination["totalPages"].as_u64() { " of " (all) } }
            @if pagination["hasMore"] == true { a rel="next" href=(to(page + 1)) { "Older" } }
        }
    }
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let id = visit.param("entityId").to_owned();
    let entity = api::call(
        &visit,
        "Fetch Entity",
        Request {
            params: json!({ "entityId": id }),
            query: json!({ "include": "user,space" }),
            body: Value::Null,
        },
    )
    .await?;
    let comments = api::call(
        &visit,
        "Fetch Many Comments",
        Request::query(
            json!({ "entityId": id, "sortBy": "new", "limit": "50", "include": "user" }),
        ),
    )
    .await?;
    let project = visit.project()?.id;
    let here = format!("/admin/p/{project}/content/{id}");
    let url = &visit.app.config.public_url;
    let content = html! {
        dl {
            dt { "Author" } dd { (author(project, &entity)) }
            dt { "Space" } dd { (or_dash(entity["space"]["name"].as_str())) }
            dt { "Since" } dd { (text(&entity, "createdAt")) }
            dt { "Moderation" } dd { (or_dash(entity["moderationStatus"].as_str())) }
            dt { "Reactions" } dd { code { (entity["reactionCounts"]) } }
        }
        div.post { (text(&entity, "content")) }
        @if visit.query("decided").is_some() {
            p role="status" { "Decided. It takes effect in ten seconds; until then, " a href={ "/admin/p/" (project) "/queue#pending" } { "undo it" } "." }
        }
        (decisions(&visit, &here, &entity, None))
        @if visit.role() >= Some(Role::Admin) {
            details { summary { "Delete for good" }
                form.inline method="post" action=(here) { (csrf(&visit)) button.danger name="do" value="delete" { "Delete the post with its comments" } }
            }
        }
        details { summary { "As curl" } pre { "curl " (url) "/v8/" (project) "/entities/" (id) } }
        section aria-labelledby="comments" {
            h2 #comments { "Comments" }
            @for comment in items(&comments["data"]) {
                article.comment {
                    p.by { (author(project, comment)) " · " (text(comment, "createdAt"))
                        @if comment["moderationStatus"] == "removed" { " · " strong { "removed" } } }
                    p { (text(comment, "content")) }
                    details { summary { "Decide" } (decisions(&visit, &here, comment, Some(text(comment, "id")))) }
                }
            }
        }
    };
    Ok(layout::page(&visit, title(&entity), &content))
}

/// What a moderator decides about the post, or about one of its comments.
fn decisions(visit: &Visit, here: &str, content: &Value, comment: Option<&str>) -> Markup {
    html! {
        form.actions method="post" action=(here) {
            (csrf(visit))
            @if let Some(id) = comment { input type="hidden" name="comment" value=(id); }
            (reason("Reason, for the author"))
            button.danger name="do" value="remove" { "Remove" }
            button name="do" value="approve" { "Approve" }
            @if content["userId"].is_string() { button.quiet name="do" value="warn" { "Warn" } }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, id) = (visit.project()?.id, visit.param("entityId").to_owned());
    match visit.required("do")? {
        "remove" | "approve" | "warn" => {
            let (kind, about) = match visit.field("comment") {
                Some(comment) => (TargetKind::Comment, comment),
                None => (TargetKind::Entity, &*id),
            };
            let target = Target { kind, id: parse_uuid(about).ok_or(NOT_FOUND)? };
            let what = json!({ (kind.name()): about });
            let outcome = queue::decide_about(&visit, &[Item::Target(target)], &what).await?;
            match queue::refusals(&outcome) {
                Some(why) => Err(INVALID.because(why)),
                None => layout::see_other(&format!("/admin/p/{project}/content/{id}?decided=1")),
            }
        }
        "delete" if visit.role() < Some(Role::Admin) => Err(NOT_ALLOWED.into()),
        "delete" => {
            api::call(&visit, "Delete Entity", Request::params(json!({ "entityId": id }))).await?;
            layout::see_other(&format!("/admin/p/{project}/content"))
        }
        _ => Err(INVALID.into()),
    }
}
