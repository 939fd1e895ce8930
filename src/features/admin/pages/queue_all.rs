//! One decision about everything that a filter of the queue matches: it is confirmed on a page of its own, can be undone until
//! it begins, and shows how far it is.

use maud::{Markup, html};
use serde_json::json;

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, or_dash};
use crate::features::admin::pages::queue::{
    CONFIRM_ABOVE, action, filter, given, moderator, parameters,
};
use crate::features::admin::pages::queue_item::reason;
use crate::features::admin::pages::users::TERMS;
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::moderation::decisions::bulk::{self, BulkState, DecideAll};
use crate::features::moderation::queue::Filter;
use crate::http::reply::Response;
use crate::values::ids::JobId;
use crate::values::time::Timestamp;

fn here(visit: &Visit) -> Result<String> {
    Ok(format!("/admin/p/{}/queue/all", visit.project()?.id))
}

/// How many there are that came into the queue until then.
async fn count(visit: &Visit, until: Timestamp) -> Result<(Filter, i64)> {
    let (project, now) = (visit.project()?.id, visit.now);
    let wanted = Filter { until: Some(until), ..filter(visit) };
    let filter = wanted.clone();
    let total = visit.app.db.read_slow(move |c| filter.count_all(c, project, now)).await?;
    Ok((wanted, total))
}

fn is_large(total: i64) -> bool {
    usize::try_from(total).is_ok_and(|total| total > CONFIRM_ABOVE)
}

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let (_, total) = count(&visit, visit.now).await?;
    let query = parameters(&visit);
    let query = query.trim_end_matches('&');
    let content = html! {
        p { strong #total { (total) } " reports match. Appeals are not among them, nor what comes in from now on." }
        (asked(&visit))
        @if total > 0 {
            p { "It begins in ten seconds, and can be undone until then. Once it has begun it can be stopped; what is decided by then stays decided." }
            form.stack method="post" action={ (here(&visit)?) "?" (query) } {
                (csrf(&visit))
                input type="hidden" name="total" value=(total);
                input type="hidden" name="until" value=(visit.now.millis());
                (reason("Reason, for the authors"))
                @if is_large(total) { label { "Type " (total) " to confirm" input name="confirm" required inputmode="numeric" autocomplete="off"; } }
                div.actions {
                    button name="do" value="approve" { "Approve all" }
                    button.danger name="do" value="remove" { "Remove all" }
                    label { "Suspend for" select name="term" { @for (value, name, _) in TERMS { option value=(value) { (name) } } } }
                    button.danger name="do" value="suspend" { "Suspend all authors" }
                    button name="do" value="warn" { "Warn all authors" }
                }
            }
        }
        p { a href={ "/admin/p/" (visit.project()?.id) "/queue?" (query) } { "Back to the queue" } }
    };
    Ok(layout::page(&visit, "Decide about all that match", &content))
}

/// The filter, in words of the address.
fn asked(visit: &Visit) -> Markup {
    html! {
        p { "Filter: "
            @if given(visit).next().is_none() { "none, so everything that is open" }
            @for (n, (name, value)) in given(visit).enumerate() { @if n > 0 { ", " } (name) " " code { (value) } }
        }
    }
}

pub(super) async fn start(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let number = |name: &str| visit.field(name).and_then(|text| text.parse::<i64>().ok());
    let (shown, until) = (number("total").ok_or(INVALID)?, number("until").ok_or(INVALID)?);
    let until = Timestamp::from_millis(until).min(now);
    if is_large(shown) && number("confirm") != Some(shown) {
        return Err(INVALID.because(format!("Type {shown} to confirm so many decisions.")));
    }
    let (filter, total) = count(&visit, until).await?;
    if total == 0 {
        return Err(INVALID.because("Nothing matches any more."));
    }
    // Never more than was confirmed.
    let of = (filter, total.min(shown));
    let how = (action(&visit)?, visit.field("reason"));
    let work = DecideAll::new(&visit.app, &moderator(&visit), of, how, now)?;
    let entry = visit.entry("Decide All Matching", work.action.verdict().name());
    let about = json!({ "filter": work.filter, "total": work.total, "reason": work.reason });
    let entry = entry.change(None::<&()>, Some(&about));
    let job = work.job;
    visit.write(entry, move |tx| work.enqueue(tx, project, now)).await?;
    layout::see_other(&format!("{}/{job}", here(&visit)?))
}

fn job(visit: &Visit) -> Result<JobId> {
    visit.param("jobId").parse().map_err(|_| Error::from(NOT_FOUND))
}

pub(super) async fn progress(visit: Visit) -> Result<Response> {
    let (project, job, now) = (visit.project()?.id, job(&visit)?, visit.now);
    let found = visit.app.db.read(move |c| bulk::find(c, project, job, now)).await?;
    let (work, state) = found.ok_or(NOT_FOUND)?;
    let at = format!("{}/{job}", here(&visit)?);
    let is_over = matches!(state, BulkState::Done | BulkState::Stopped);
    let DecideAll { progress: done, total, .. } = &work;
    let content = html! {
        p { (work.action.verdict().name()) ", by " (work.by.name) ": " (or_dash(work.reason.as_deref())) }
        p role="status" data-progress=[(!is_over).then_some("")] {
            progress max=(total) value=(done.decided + done.refused) aria-label="Decided" {}
            " " strong { (done.decided) " of " (total) " decided" }
            @if done.refused > 0 { ", " (done.refused) " left to others, who work on them or have decided" }
            ". " (match state {
                BulkState::Waits => "It has not begun.",
                BulkState::Runs => "It runs.",
                BulkState::Stopped if done.decided == 0 => "It was undone.",
                BulkState::Stopped => "It was stopped.",
                BulkState::Done => "It is done.",
            })
        }
        @match state {
            BulkState::Waits => (layout::button(&visit, &at, &[], "Undo")),
            BulkState::Runs => (layout::button(&visit, &at, &[], "Stop")),
            BulkState::Stopped | BulkState::Done => {}
        }
        p { @if !is_over { a href=(at) { "Look again" } " · " } a href={ "/admin/p/" (project) "/queue" } { "To the queue" } }
    };
    Ok(layout::scripted(&visit, "Decisions about all that match", Some("progress.js"), &content))
}

pub(super) async fn stop(visit: Visit) -> Result<Response> {
    let (project, job, now) = (visit.project()?.id, job(&visit)?, visit.now);
    let entry = visit.entry("Stop Decisions", job.to_string());
    let stopped = visit.write(entry, move |tx| {
        bulk::find(tx, project, job, now)?.ok_or(NOT_FOUND)?;
        match bulk::stop(tx, project, job, now)? {
            true => Ok(()),
            false => Err(INVALID.because("It is over.")),
        }
    });
    stopped.await?;
    layout::see_other(&format!("{}/{job}", here(&visit)?))
}
