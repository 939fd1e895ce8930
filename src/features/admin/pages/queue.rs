//! The queue: what users have reported and rules have held, one below the other, to be decided with the keyboard or
//! the mouse. Forms work without a script; with it (`assets/queue.js`) nothing is loaded again.

use db::Conn;
use maud::{Markup, html};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::pages::queue_item::item;
use crate::features::admin::pages::{queue_appeals, queue_live};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::moderation::Moderator;
use crate::features::moderation::decisions::{self, Action, DecisionState, Item, Outcome, Suspend};
use crate::features::moderation::people;
use crate::features::moderation::queue::{
    self, ClaimFilter, Cursor, Filter, ItemKind, Order, Page,
};
use crate::features::moderation::reports::model::Reason;
use crate::features::moderation::target::TargetKind;
use crate::http::query::percent_encode;
use crate::http::reply::{self, Response};
use crate::values::ids::{DecisionId, UserId};
use crate::values::time::Timestamp;

const PAGE_SIZE: i64 = 20;
/// Decisions about more items have to be confirmed by typing their number.
pub(super) const CONFIRM_ABOVE: usize = 20;
const KINDS: [ItemKind; 3] = [ItemKind::Reported, ItemKind::Flagged, ItemKind::Held];
const TARGETS: [TargetKind; 4] =
    [TargetKind::Entity, TargetKind::Comment, TargetKind::Message, TargetKind::User];
const ORDERS: [(&str, Order); 3] =
    [("oldest", Order::Oldest), ("newest", Order::Newest), ("most-reported", Order::MostReported)];
/// What digits open, unless the moderator has saved a view under them.
const VIEWS: [(&str, &str); 7] = [
    ("All, oldest first", ""),
    ("Newest first", "?order=newest"),
    ("Most reported first", "?order=most-reported"),
    ("Held", "?kind=held"),
    ("Nobody works on", "?claim=free"),
    ("Mine", "?claim=mine"),
    ("Appeals", "?kind=appeal"),
];
/// The parameters of a page's address.
const PARAMETERS: [&str; 9] =
    ["kind", "target", "reason", "space", "claim", "rule", "author", "q", "order"];

pub(super) fn filter(visit: &Visit) -> Filter {
    let one = |name| visit.query(name);
    Filter {
        kinds: KINDS.into_iter().filter(|kind| one("kind") == Some(kind.name())).collect(),
        targets: TARGETS.into_iter().filter(|kind| one("target") == Some(kind.name())).collect(),
        reason: one("reason").and_then(|name| serde_json::from_value::<Reason>(name.into()).ok()),
        space: one("space").and_then(|id| id.parse().ok()),
        claim: match one("claim") {
            Some("mine") => Some(ClaimFilter::By(visit.who.operator.id)),
            Some("free") => Some(ClaimFilter::Free),
            _ => None,
        },
        rule: one("rule").and_then(|id| id.parse().ok()),
        author: one("author").and_then(|id| id.parse().ok()),
        search: one("q").map(ToOwned::to_owned),
        until: None,
    }
}

fn order(visit: &Visit) -> (&'static str, Order) {
    let found = ORDERS.into_iter().find(|(name, _)| visit.query("order") == Some(name));
    found.unwrap_or(ORDERS[0])
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let appeals = queue_appeals::load(&visit).await?;
    // Reports come behind all appeals.
    let page = if appeals.next.is_some() || visit.query("kind") == Some(queue_appeals::KIND) {
        Page::default()
    } else {
        reports(&visit).await?
    };
    let here = format!("/admin/p/{project}/queue");
    let next = match appeals.next {
        Some(cursor) => Some(format!("{}{cursor}", queue_appeals::PREFIX)),
        None => page.next.map(|cursor| cursor.to_string()),
    };
    let is_filtered = given(&visit).next().is_some();
    let is_empty = appeals.items.is_empty() && page.items.is_empty();
    let waiting = queue_live::Waiting::count(&visit.app, project, visit.now).await?;
    let content = html! {
        (views(&visit, &here))
        (filters(&visit))
        p { strong #open { (waiting.open) } " open" span #appeals { (waiting.appeals_text()) }
            @if is_filtered && appeals.items.is_empty() { " · " (page.total) @if page.total_is_capped { "+" } " of them here" }
            a #fresh href="" hidden { "New ones came in: show them" } }
        @if is_empty { p { @if is_filtered { "Nothing here." } @else { "Nothing waits. Well done." } } }
        form #bulk method="post" action=(here) { (csrf(&visit)) }
        ol.queue data-live={ (here) "/live" } data-undo={ (here) "/undo" } data-claim={ (here) "/claim" } data-note={ (here) "/note" }
            data-filtered[is_filtered] {
            @for one in &appeals.items { (queue_appeals::item(&visit, &here, one)) }
            @for one in &page.items { (item(&visit, &here, one)) }
        }
        @if let Some(next) = next { p { a #next rel="next" href=(address(&visit, &next)) { "More" } } }
        (all_matching(&visit, &here, &page))
        (decided_lately(&visit).await?)
        (help())
    };
    Ok(layout::scripted(&visit, "Queue", Some("queue.js"), &content))
}

async fn reports(visit: &Visit) -> Result<Page> {
    let (project, now) = (visit.project()?.id, visit.now);
    let (filter, (_, order)) = (filter(visit), order(visit));
    let after: Option<Cursor> = visit.query("after").and_then(|cursor| cursor.parse().ok());
    let list = move |c: &Conn<'_>| queue::list(c, project, &filter, order, after, PAGE_SIZE, now);
    visit.app.db.read_slow(list).await
}

/// The same page behind a cursor.
fn address(visit: &Visit, cursor: &str) -> String {
    format!("?{}after={}", parameters(visit), percent_encode(cursor))
}

/// Those that are given.
pub(super) fn given(visit: &Visit) -> impl Iterator<Item = (&'static str, &str)> {
    PARAMETERS.into_iter().filter_map(|name| visit.query(name).map(|value| (name, value)))
}

/// The same in an address, each with an ampersand behind it.
pub(super) fn parameters(visit: &Visit) -> String {
    given(visit).map(|(name, value)| format!("{name}={}&", percent_encode(value))).collect()
}

/// The way to a decision about more than this page shows.
fn all_matching(visit: &Visit, here: &str, page: &Page) -> Markup {
    let shown = i64::try_from(page.items.len()).unwrap_or(i64::MAX);
    html! {
        @if page.total > shown && shown > 0 {
            p { a #all href={ (here) "/all?" (parameters(visit).trim_end_matches('&')) } {
                "Decide about all " (page.total) @if page.total_is_capped { "+" } " of them …" } }
        }
    }
}

fn views(visit: &Visit, here: &str) -> Markup {
    let asked: Vec<String> = given(visit).map(|(name, value)| format!("{name}={value}")).collect();
    let is_current = |query: &str| query.trim_start_matches('?') == asked.join("&");
    html! {
        ol.views aria-label="Views" { @for (n, (name, query)) in VIEWS.iter().enumerate() {
            li { a href={ (here) (query) } data-view=(n + 1) aria-current=[is_current(query).then_some("page")] {
                kbd { (n + 1) } " " (name) } }
        } }
    }
}

fn filters(visit: &Visit) -> Markup {
    let options = |name: &str, all: &str, values: &[&str]| {
        html! {
            option value="" { (all) }
            @for value in values { option value=(value) selected[visit.query(name) == Some(value)] { (value) } }
        }
    };
    html! {
        form.search method="get" role="search" {
            label { "Text" input #search type="search" name="q" value=[visit.query("q")]; }
            label { "How" select name="kind" { (options("kind", "any way", &["reported", "flagged", "held", queue_appeals::KIND])) } }
            label { "What" select name="target" { (options("target", "anything", &TARGETS.map(TargetKind::name))) } }
            label { "Order" select name="order" { (options("order", "oldest", &["newest", "most-reported"])) } }
            button { "Show" }
        }
    }
}

/// What can still be undone, for those who use no script.
async fn decided_lately(visit: &Visit) -> Result<Markup> {
    let (project, operator) = (visit.project()?.id, visit.who.operator.id);
    let newest = (Timestamp::from_millis(i64::MAX), DecisionId(Uuid::max()));
    let listed = visit.app.db.read(move |c| decisions::store::list(c, project, newest, PAGE_SIZE));
    let mut pending = listed.await?;
    pending.retain(|one| one.state == DecisionState::Pending && one.operator_id == Some(operator));
    let here = format!("/admin/p/{project}/queue/undo");
    Ok(html! {
        section #pending aria-label="Decided just now" hidden[pending.is_empty()] {
            h2 { "Decided just now" }
            ul { @for one in &pending { li {
                (one.action.name()) " " (one.target_type.name()) " until " (time(one.apply_at)) " "
                (layout::button(visit, &here, &[("decision", &one.id.to_string())], "Undo"))
            } } }
        }
    })
}

fn help() -> Markup {
    let keys = [
        ("j k", "next, previous"),
        ("a", "approve"),
        ("r", "remove"),
        ("a, r on an appeal", "take the decision back, let it stand"),
        ("e", "write the reason, Enter when it is done"),
        ("s, then 1 2 3 4", "suspend the author for 1 day, 7 days, 30 days, ever"),
        ("w", "warn the author"),
        ("n", "note about the author"),
        ("x", "select"),
        ("Shift x", "select up to here"),
        ("*", "decide about all that match"),
        ("z", "undo, for ten seconds"),
        ("1–9", "views"),
        ("v, then 1–9", "save this view"),
        ("i", "show images"),
        ("/", "search"),
        ("?", "this help"),
    ];
    html! {
        dialog #help aria-labelledby="keys" {
            h2 #keys { "Keys" }
            dl { @for (key, what) in keys { dt { kbd { (key) } } dd { (what) } } }
            form method="dialog" { button { "Close" } }
        }
        p.hint { "Press " kbd { "?" } " for the keys." }
    }
}

fn wants_json(visit: &Visit) -> bool {
    visit.headers.get("accept").is_some_and(|accept| accept == "application/json")
}

pub(super) fn moderator(visit: &Visit) -> Moderator {
    Moderator { operator: Some(visit.who.operator.id), name: visit.who.operator.email.clone() }
}

fn back(visit: &Visit) -> Result<Response> {
    layout::see_other(&format!("/admin/p/{}/queue", visit.project()?.id))
}

pub(super) async fn decide(visit: Visit) -> Result<Response> {
    let items: Option<Vec<Item>> = visit.fields("item").map(named_item).collect();
    let items = items.ok_or(NOT_FOUND)?;
    if items.len() > CONFIRM_ABOVE && visit.field("confirm") != Some(&*items.len().to_string()) {
        return Err(INVALID.because(format!("Type {} to confirm so many decisions.", items.len())));
    }
    let ids: Vec<&str> = visit.fields("item").collect();
    let outcome = decide_about(&visit, &items, &json!({ "reports": ids })).await?;
    let refused = refusals(&outcome);
    if wants_json(&visit) {
        let shown = json!({ "decided": outcome.decided, "message": refused });
        return reply::json(http::StatusCode::OK, &shown);
    }
    match refused {
        None => back(&visit),
        Some(text) => Err(INVALID.because(text)),
    }
}

/// What the form says to do.
pub(super) fn action(visit: &Visit) -> Result<Action> {
    Ok(match visit.required("do")? {
        "approve" => Action::Approve,
        "remove" => Action::Remove,
        "warn" => Action::Warn,
        "suspend" => Action::Suspend(match visit.field("term") {
            Some("7") => Suspend::Week,
            Some("30") => Suspend::Month,
            Some("ever") => Suspend::Forever,
            _ => Suspend::Day,
        }),
        _ => return Err(INVALID.into()),
    })
}

/// Decides as the form says; `about` names the items in the audit log.
pub(super) async fn decide_about(visit: &Visit, items: &[Item], about: &Value) -> Result<Outcome> {
    let action = action(visit)?;
    let (project, reason) = (visit.project()?, visit.field("reason"));
    let mut about = about.clone();
    about["reason"] = json!(reason);
    let entry = visit.entry("Decide Reports", action.verdict().name());
    let entry = entry.change(None::<&()>, Some(&about));
    let by = moderator(visit);
    let deciding = decisions::decide(&visit.app, project, &by, items, action, reason, visit.now);
    db::accompanied(move |tx| entry.write(tx), deciding).await
}

/// A report, or an appeal.
fn named_item(text: &str) -> Option<Item> {
    match text.strip_prefix(queue_appeals::PREFIX) {
        Some(id) => id.parse().map(Item::Appeal).ok(),
        None => text.parse().map(Item::Report).ok(),
    }
}

pub(super) fn refusals(outcome: &Outcome) -> Option<String> {
    let first = outcome.refused.first()?;
    Some(format!("{} refused: {}", outcome.refused.len(), first.why))
}

pub(super) async fn undo(visit: Visit) -> Result<Response> {
    let ids = visit.fields("decision").map(str::parse::<DecisionId>);
    let ids: Vec<DecisionId> = ids.collect::<Result<_, _>>().map_err(|_| Error::from(NOT_FOUND))?;
    let entry = visit.entry("Undo Decisions", json!(ids).to_string());
    let undoing = decisions::undo(&visit.app, visit.project()?, &ids);
    let undone = db::accompanied(move |tx| entry.write(tx), undoing).await?;
    if wants_json(&visit) {
        return reply::json(http::StatusCode::OK, &json!({ "undone": undone }));
    }
    if undone.is_empty() {
        Err(INVALID.because("It is too late to undo this."))
    } else {
        back(&visit)
    }
}

/// Nobody else decides about an item while somebody looks at it. The one that they looked at before is free again.
pub(super) async fn claim(visit: Visit) -> Result<Response> {
    let who = (visit.who.operator.id, &*visit.who.operator.name);
    if let Some(left) = visit.field("release").and_then(named_item) {
        queue::release(&visit.app, visit.project()?, left, who.0).await?;
    }
    let Some(item) = visit.field("item") else {
        return reply::json(http::StatusCode::OK, &json!({}));
    };
    let item = named_item(item).ok_or(NOT_FOUND)?;
    match queue::claim(&visit.app, visit.project()?, item, who, visit.now).await {
        Ok(claim) => reply::json(http::StatusCode::OK, &claim),
        Err(Error::Refused(refusal)) => {
            let status =
                http::StatusCode::from_u16(refusal.fault.status).map_err(Error::internal)?;
            let body = json!({ "error": refusal.fault.message, "by": refusal.extra.get("by") });
            reply::json(status, &body)
        }
        Err(error) => Err(error),
    }
}

pub(super) async fn note(visit: Visit) -> Result<Response> {
    let user: UserId = visit.required("user")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
    let text = visit.required("text")?;
    let entry = visit.entry("Add Note", user.to_string());
    let by = moderator(&visit);
    let adding = people::add_note(&visit.app, visit.project()?, &by, user, text, visit.now);
    let note = db::accompanied(move |tx| entry.write(tx), adding).await?;
    if wants_json(&visit) {
        return reply::json(http::StatusCode::OK, &json!({ "id": note.id }));
    }
    match visit.next() {
        Some(next) => layout::see_other(next),
        None => back(&visit),
    }
}
