//! Where events of a project are sent, and what became of them; by the rules of `townhall webhooks`.

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::features::admin::fields::{does, owned, secret};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::webhooks::admin::{self, Change};
use crate::features::webhooks::store::{self, EndpointRow};
use crate::http::reply::Response;
use crate::jobs::store::{self as jobs, JobRecord, queues};
use crate::tenancy;
use crate::values::ids::{JobId, QueueId, new_id};
use crate::values::random::hex;

const DELIVERIES: i64 = 20;
const USUAL_EVENTS: &str = "entity.created comment.created";

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let found = visit.app.db.read(move |c| {
        let endpoints = store::list(c, project)?;
        let mut with_deliveries = Vec::new();
        for endpoint in endpoints {
            let deliveries = queues::list(c, project, endpoint.id, DELIVERIES)?;
            with_deliveries.push((endpoint, deliveries));
        }
        Ok::<_, Error>(with_deliveries)
    });
    let endpoints = found.await?;
    let here = format!("/admin/p/{project}/webhooks");
    let content = html! {
        @if endpoints.is_empty() { p { "Nothing is sent anywhere yet." } }
        @for (row, deliveries) in &endpoints { (endpoint(&visit, &here, row, deliveries)) }
        section aria-labelledby="new" {
            h2 #new { "Set up an endpoint" }
            (form(&visit, &here, None))
        }
    };
    Ok(layout::page(&visit, "Webhooks", &content))
}

fn form(visit: &Visit, here: &str, row: Option<&EndpointRow>) -> Markup {
    let events = row.map_or_else(|| USUAL_EVENTS.to_owned(), |row| admin::events(row).join(" "));
    html! {
        form.stack method="post" action=(here) {
            (csrf(visit)) (does("set"))
            @if let Some(row) = row { input type="hidden" name="endpoint" value=(row.id); }
            label { "Address (empty: send nothing)" input name="url" type="url" value=[row.and_then(|row| row.url.as_deref())]; }
            (secret("Secret (empty: as it is, or a new one)", "secret"))
            label { "Events, separated by spaces" input name="events" value=(events); }
            button { "Save" }
        }
    }
}

fn endpoint(visit: &Visit, here: &str, row: &EndpointRow, deliveries: &[JobRecord]) -> Markup {
    let id = row.id.to_string();
    let button = |what: &str, text: &str| {
        layout::button(visit, here, &[("do", what), ("endpoint", &id)], text)
    };
    html! {
        section aria-label=(or_dash(row.url.as_deref())) {
            h2 { (or_dash(row.url.as_deref())) }
            p { (admin::events(row).join(", ")) }
            @if row.previous_secret.is_some() { p.hint { "The secret before the present one signs too, as X-Signature-Previous." } }
            (button("test", "Send a test event")) (button("resume", "Resume"))
            (button("rotate", "New secret")) (button("remove", "Remove"))
            details { summary { "Change" } (form(visit, here, Some(row))) }
            table {
                thead { tr { th { "X-Webhook-Id" } th { "When" } th { "Attempts" } th { "Error" } th { span.hidden { "Actions" } } } }
                tbody { @for job in deliveries { tr {
                    td { code { (job.id) } } td { (time(job.created_at)) } td { (job.attempts) }
                    td { (or_dash(job.last_error.as_deref())) }
                    td { (layout::button(visit, here, &[("do", "redeliver"), ("job", &job.id.to_string())], "Send again")) }
                } } }
            }
        }
    }
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let endpoint = visit.field("endpoint").map(str::parse::<QueueId>).transpose();
    let endpoint = endpoint.map_err(|_| Error::from(NOT_FOUND))?;
    let named = || endpoint.ok_or(Error::from(NOT_FOUND));
    match visit.required("do")? {
        "set" => return set(&visit, endpoint).await,
        "rotate" => {
            let new = new_secret(&visit);
            let change = Change {
                secret: Some(new.clone()),
                keeps_previous_secret: true,
                ..Change::default()
            };
            put(&visit, Some(named()?), change, "Rotate Webhook Secret").await?;
            return Ok(show_secret(&visit, &new));
        }
        "test" => return test(&visit, named()?).await,
        "remove" => {
            let id = named()?;
            let entry = visit.entry("Remove Webhook", id.to_string());
            let removed = visit.app.db.write(move |tx| {
                let row = store::find(tx, project, id)?.ok_or(NOT_FOUND)?;
                queues::delete(tx, project, id)?;
                store::delete(tx, project, id)?;
                Ok::<_, Error>(entry.clone().change(Some(&shown(&row)), None::<&()>).write(tx)?)
            });
            removed.await?;
            visit.app.projects.forget(project);
        }
        "resume" => {
            let id = named()?;
            let entry = visit.entry("Resume Webhook", id.to_string());
            let resumed = visit.write(entry, move |tx| {
                store::find(tx, project, id)?.ok_or(NOT_FOUND)?;
                queues::resume(tx, project, id, now)
            });
            resumed.await?;
        }
        "redeliver" => {
            let id: JobId = visit.required("job")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
            let entry = visit.entry("Redeliver Webhook", id.to_string());
            let again = visit.write(entry, move |tx| {
                if jobs::retry(tx, project, id, now)? { Ok(()) } else { Err(NOT_FOUND.into()) }
            });
            again.await?;
        }
        _ => return Err(INVALID.into()),
    }
    layout::see_other(&format!("/admin/p/{project}/webhooks"))
}

fn new_secret(visit: &Visit) -> String {
    hex(&visit.app.random.bytes::<32>())
}

/// Changes an endpoint or adds one. A new one without a secret gets one, which is shown this once.
async fn set(visit: &Visit, endpoint: Option<QueueId>) -> Result<Response> {
    let made = (endpoint.is_none() && visit.field("secret").is_none()).then(|| new_secret(visit));
    let events = visit.field("events").unwrap_or_default().split_whitespace();
    let change = Change {
        url: Some(owned(visit, "url")),
        secret: owned(visit, "secret").or(made.clone()),
        events: Some(events.map(ToOwned::to_owned).collect()),
        keeps_previous_secret: true,
    };
    put(visit, endpoint, change, "Set Webhook").await?;
    match made {
        Some(secret) => Ok(show_secret(visit, &secret)),
        None => layout::see_other(&format!("/admin/p/{}/webhooks", visit.project()?.id)),
    }
}

async fn put(
    visit: &Visit,
    endpoint: Option<QueueId>,
    change: Change,
    action: &'static str,
) -> Result<()> {
    let (project, now, app) = (visit.project()?.id, visit.now, visit.app.clone());
    admin::check(&visit.app.outbound, &change).await?;
    let new_id = QueueId(new_id(now, &app.random));
    let entry = visit.entry(action, endpoint.unwrap_or(new_id).to_string());
    let written = visit.app.db.write(move |tx| {
        // Before it is read: two changes come one after another.
        tenancy::store::lock(tx, project)?;
        let known = match endpoint {
            Some(id) => Some(store::find(tx, project, id)?.ok_or(NOT_FOUND)?),
            None => None,
        };
        let before = known.as_ref().map(shown);
        let row = match known {
            Some(row) => row,
            None => admin::blank(new_id, store::find_first(tx, project)?.is_none(), now),
        };
        let row = admin::put(tx, project, row, change.clone(), (&app.sealer, &app.random), now)?;
        let after = shown(&row);
        Ok::<_, Error>(entry.clone().change(before.as_ref(), Some(&after)).write(tx)?)
    });
    written.await?;
    visit.app.projects.forget(project);
    Ok(())
}

/// For the log: without secrets.
fn shown(row: &EndpointRow) -> Value {
    json!({ "url": row.url, "events": admin::events(row), "hasPreviousSecret": row.previous_secret.is_some() })
}

fn show_secret(visit: &Visit, secret: &str) -> Response {
    let content = html! {
        p { "Requests are signed with this secret. It is not shown again. A secret that was there before signs too, until the next change." }
        p { input.wide readonly value=(secret) aria-label="Secret"; }
        p { a href="webhooks" { "Back to the webhooks" } }
    };
    layout::page(visit, "A new secret", &content)
}

async fn test(visit: &Visit, id: QueueId) -> Result<Response> {
    let (project, now, app) = (visit.project()?.id, visit.now, &visit.app);
    let row = app.db.read(move |c| store::find(c, project, id)).await?.ok_or(NOT_FOUND)?;
    let text = match admin::send_test(&app.outbound, &app.sealer, project, &row, now).await {
        Ok(status) => format!("The endpoint replied {status}."),
        Err(error) => format!("It could not be sent: {error}"),
    };
    let content = html! { p { (text) } p { a href="webhooks" { "Back to the webhooks" } } };
    Ok(layout::page(visit, "Test event", &content))
}
