//! The queue: what users have reported, one below the other, to be decided with the keyboard.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout::{self, csrf, or_dash};
use crate::features::admin::pages::content::{items, paging, text};
use crate::features::admin::visit::{INVALID, Visit};
use crate::http::reply::Response;

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let query = json!({
        "status": "open", "sortBy": visit.query("sortBy").unwrap_or("old"),
        "page": visit.query("page").unwrap_or("1"), "limit": "50",
    });
    let found = api::call(&visit, "List Reports", Request::query(query)).await?;
    let project = visit.project()?.id;
    let here = format!("/admin/p/{project}/queue");
    let reports = items(&found["data"]);
    let content = html! {
        p.hint { kbd { "j" } " " kbd { "k" } " move · " kbd { "a" } " approve · " kbd { "r" } " remove · " kbd { "s" } " suspend · " kbd { "?" } " help" }
        @if reports.is_empty() { p { "Nothing is reported. Well done." } }
        ol.queue { @for report in reports { (item(&visit, &here, report)) } }
        (paging(&visit, &found["pagination"]))
    };
    Ok(layout::scripted(&visit, "Queue", Some("queue.js"), &content))
}

fn item(visit: &Visit, here: &str, report: &Value) -> Markup {
    let target = &report["target"];
    let author = target["userId"].as_str();
    html! {
        li.item tabindex="-1" data-report=(text(report, "id")) {
            p.by { (text(report, "targetType")) " · " (report["reporterCount"]) " reports · " (text(report, "createdAt")) }
            @if let Some(title) = target["title"].as_str() { h2 { (title) } }
            p.text { (or_dash(target["content"].as_str())) }
            ul.reasons { @for one in items(&report["userReports"]) {
                li { (text(one, "reason")) @if let Some(details) = one["details"].as_str() { ": " (details) } }
            } }
            form.actions method="post" action=(here) {
                (csrf(visit))
                input type="hidden" name="report" value=(text(report, "id"));
                @if let Some(author) = author { input type="hidden" name="author" value=(author); }
                label { "Reason" input name="reason" maxlength="1000"; }
                button name="do" value="approve" { "Approve" }
                button.danger name="do" value="remove" { "Remove" }
                @if author.is_some() { button.danger name="do" value="suspend" { "Suspend author" } }
            }
        }
    }
}

pub(super) async fn decide(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let reason = visit.field("reason").unwrap_or("Decided by a moderator");
    let actions: &[&str] = match visit.required("do")? {
        "approve" => &["dismiss"],
        "remove" => &["remove-content"],
        "suspend" => &["suspend-user"],
        _ => return Err(INVALID.into()),
    };
    for report in visit.fields("report") {
        let body = json!({ "actions": actions, "summary": reason, "reason": reason, "userId": visit.field("author") });
        api::call(
            &visit,
            "Handle Report",
            Request::params(json!({ "reportId": report })).body(body),
        )
        .await?;
    }
    layout::see_other(&format!("/admin/p/{project}/queue"))
}
