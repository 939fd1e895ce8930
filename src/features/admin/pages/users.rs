//! Users: found by address, name or id; what support and moderators do for and about one.

use std::time::Duration;

use maud::{Markup, html};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::auth::operators::Role;
use crate::auth::store::suspensions::{self, NewSuspension};
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::pages::queue::moderator;
use crate::features::admin::pages::user_records;
use crate::features::admin::visit::{INVALID, NOT_ALLOWED, NOT_FOUND, Visit};
use crate::features::auth::store as auth;
use crate::features::moderation::decisions;
use crate::features::moderation::people::{self, Event, Timeline};
use crate::features::users::store::{self as users, UserRow};
use crate::http::reply::Response;
use crate::realtime;
use crate::values::ids::{ProjectId, SuspensionId, UserId, new_id};

const PAGE_SIZE: usize = 50;
const TIMELINE: i64 = 50;
const DAY: u64 = 86_400;
/// How long a suspension may be: name, and days unless it is for ever.
pub(super) const TERMS: [(&str, &str, Option<u64>); 4] = [
    ("1", "1 day", Some(1)),
    ("7", "7 days", Some(7)),
    ("30", "30 days", Some(30)),
    ("ever", "for ever", None),
];

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let asked = visit.query("q").map(ToOwned::to_owned);
    let after: UserId =
        visit.query("after").and_then(|id| id.parse().ok()).unwrap_or(UserId(Uuid::nil()));
    let found = visit.app.db.read_slow(move |c| match &asked {
        Some(text) => users::find_by_any(c, project, text),
        None => {
            let ids = users::ids_after(c, project, after, PAGE_SIZE)?;
            let mut rows = users::find_all(c, project, &ids)?;
            rows.sort_by_key(|row| row.id);
            Ok(rows)
        }
    });
    let rows = found.await?;
    let content = html! {
        form.search method="get" role="search" {
            label { "E-mail address, username, id or foreign id" input type="search" name="q" value=[visit.query("q")]; }
            button { "Find" }
        }
        @if rows.is_empty() { p { "Nobody found." } }
        (table(project, &rows))
        @if let Some(last) = rows.last().filter(|_| rows.len() == PAGE_SIZE) {
            p { a rel="next" href={ "?after=" (last.id) } { "More" } }
        }
    };
    Ok(layout::page(&visit, "Users", &content))
}

fn table(project: ProjectId, rows: &[UserRow]) -> Markup {
    html! {
        table {
            thead { tr { th { "User" } th { "E-mail address" } th { "Foreign id" } th { "Since" } } }
            tbody { @for row in rows { tr {
                td { a href={ "/admin/p/" (project) "/users/" (row.id) } { (name(row)) } }
                td { (or_dash(row.email.as_deref())) } td { (or_dash(row.foreign_id.as_deref())) }
                td { (time(row.created_at)) }
            } } }
        }
    }
}

fn name(row: &UserRow) -> String {
    let named = row.name.as_ref().or(row.username.as_ref());
    named.cloned().unwrap_or_else(|| row.id.to_string())
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let (id, now) = (user(&visit)?, visit.now);
    let found = visit.app.db.read_slow(move |c| {
        let row = users::find(c, project, id)?.ok_or(NOT_FOUND)?;
        let suspended = suspensions::active(c, project, id, now)?;
        let record = people::record(c, project, id, now)?;
        let timeline = people::timeline(c, project, id, None, TIMELINE)?;
        let sessions = auth::sessions(c, project, id, now)?;
        Ok::<_, Error>((row, suspended, sessions, record, timeline))
    });
    let (row, suspended, sessions, record, timeline) = found.await?;
    let here = format!("/admin/p/{project}/users/{id}");
    let is_admin = visit.role() >= Some(Role::Admin);
    let content = html! {
        dl {
            dt { "Id" } dd { code { (row.id) } }
            dt { "Username" } dd { (or_dash(row.username.as_deref())) }
            dt { "E-mail address" } dd { (or_dash(row.email.as_deref())) @if row.is_verified { " (verified)" } }
            dt { "Foreign id" } dd { (or_dash(row.foreign_id.as_deref())) }
            dt { "Since" } dd { (time(row.created_at)) }
            dt { "Strikes" } dd { (record.map_or(0, |record| record.strikes)) }
            dt { "Suspended" } dd { @if suspended.is_empty() { "no" } @else { ul.plain { @for one in &suspended { li {
                @match one.end_date { Some(end) => { "until " (time(end)) } None => "for ever" }
                @if let Some(reason) = &one.reason { ": " (reason) }
            } } } } }
        }
        @if let Some(bio) = &row.bio { p { (bio) } }
        p { a href={ "/admin/p/" (project) "/content?userId=" (id) } { "Posts of this user" } " · "
            a href={ "/admin/p/" (project) "/queue?author=" (id) } { "Reports about them" } }
        section aria-labelledby="act" {
            h2 #act { "What to do" }
            form.stack method="post" action=(here) {
                (csrf(&visit)) input type="hidden" name="do" value="suspend";
                label { "Suspend for" select name="term" { @for (value, text, _) in TERMS { option value=(value) { (text) } } } }
                label { "Reason" input name="reason" required maxlength="1000"; }
                button.danger { "Suspend" }
            }
            @if !suspended.is_empty() { (layout::button(&visit, &here, &[("do", "unsuspend")], "Lift suspension")) }
            @if is_admin {
                (layout::button(&visit, &here, &[("do", "export")], "Export everything about them"))
                details { summary { "Erase for good" }
                    form.stack method="post" action=(here) {
                        (csrf(&visit)) input type="hidden" name="do" value="erase";
                        label { "Type the id to confirm" input name="confirm" required; }
                        button.danger { "Erase with everything that is theirs alone" }
                    }
                }
            }
        }
    };
    let sessions = user_records::sessions(&visit, &here, &sessions);
    let content = html! { (content) (sessions) (history(&visit, project, id, &timeline)) };
    Ok(layout::page(&visit, &name(&row), &content))
}

/// Notes of moderators, and everything that happened around the user.
fn history(visit: &Visit, project: ProjectId, id: UserId, timeline: &Timeline) -> Markup {
    let here = format!("/admin/p/{project}/users/{id}");
    html! {
        section aria-labelledby="history" {
            h2 #history { "Timeline" }
            form.search method="post" action={ "/admin/p/" (project) "/queue/note" } {
                (csrf(visit)) input type="hidden" name="user" value=(id); input type="hidden" name="next" value=(here);
                label { "Note for moderators" input name="text" required maxlength="5000"; }
                button { "Add note" }
            }
            ol.timeline { @for entry in &timeline.entries {
                li { (time(entry.at)) " " (happened(&entry.event)) }
            } }
        }
    }
}

fn happened(event: &Event) -> Markup {
    let because =
        |reason: Option<&String>| reason.map_or_else(String::new, |text| format!(": {text}"));
    html! { @match event {
        Event::SignedUp => "Signed up",
        Event::Decided(decision) => {
            (decision.decided_by) " decided to " (decision.action.name()) " (" (decision.state.name()) ")" (because(decision.reason.as_ref()))
        },
        Event::Suspended { reason, end_date } => {
            "Suspended " @match end_date { Some(end) => { "until " (time(*end)) }, None => "for ever" } (because(reason.as_ref()))
        },
        Event::Noted(note) => { "Note by " (note.written_by) ": " (note.text) },
        Event::Reported { target, reason, status, .. } => {
            "Reported a " (target.kind.name()) " for " (reason) " (" (status.name()) ")"
        },
        Event::WasReported { target, reporter_count, status, .. } => {
            "A " (target.kind.name()) " of theirs was reported by " (reporter_count) " (" (status.name()) ")"
        },
    } }
}

pub(super) fn user(visit: &Visit) -> Result<UserId> {
    visit.param("userId").parse().map_err(|_| NOT_FOUND.into())
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, id, now) = (visit.project()?.id, user(&visit)?, visit.now);
    let back = format!("/admin/p/{project}/users/{id}");
    match visit.required("do")? {
        "suspend" => {
            let term = visit.required("term")?;
            let term = TERMS.iter().find(|(value, _, _)| *value == term).ok_or(INVALID)?.2;
            let reason = visit.required("reason")?.to_owned();
            let new = NewSuspension {
                id: SuspensionId(new_id(now, &visit.app.random)),
                user: id,
                end_date: term.map(|days| now.plus(Duration::from_secs(days * DAY))),
                reason: Some(reason),
                created_by: "operator",
            };
            let entry = visit.entry("Suspend User", id.to_string());
            let entry = entry.change(
                None::<&Value>,
                Some(&json!({ "reason": new.reason, "until": new.end_date })),
            );
            let (app, of, by) = (visit.app.clone(), visit.project()?.clone(), moderator(&visit));
            let suspended = visit.write(entry, move |tx| {
                let context = Context { app: &app, project: &of, now };
                decisions::suspend_now(tx, context, &by, &new)
            });
            suspended.await?;
        }
        "unsuspend" => {
            let entry = visit.entry("Lift Suspension", id.to_string());
            let lifted = visit.write(entry, move |tx| {
                suspensions::lift(tx, project, id, now)?;
                Ok(())
            });
            lifted.await?;
        }
        "sign-out" => {
            let entry = visit.entry("End Sessions of User", id.to_string());
            let ended = visit.write(entry, move |tx| {
                auth::delete_families(tx, project, id, None)?;
                realtime::end_user(tx, project, id)?;
                Ok(())
            });
            ended.await?;
        }
        "export" | "erase" if visit.role() < Some(Role::Admin) => return Err(NOT_ALLOWED.into()),
        "erase" if visit.field("confirm") != Some(&*id.to_string()) => {
            return Err(INVALID.because("This is not the id of the user. Nothing was erased."));
        }
        "export" => return user_records::export(&visit, id).await,
        "erase" => return user_records::erase(&visit, id).await,
        _ => return Err(INVALID.into()),
    }
    layout::see_other(&back)
}
