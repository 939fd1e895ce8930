//! Where events of a project are sent, and what became of them.

use maud::{Markup, html};

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::webhooks::admin::{self, Change};
use crate::features::webhooks::store::{self, EndpointRow};
use crate::http::reply::Response;
use crate::jobs::store::{self as jobs, JobRecord};
use crate::values::ids::{JobId, QueueId};

const DELIVERIES: i64 = 20;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let found = visit.app.db.read(move |c| {
        let endpoints = store::list(c, project)?;
        let mut with_deliveries = Vec::new();
        for endpoint in endpoints {
            let deliveries = jobs::list_queue(c, project, endpoint.id, DELIVERIES)?;
            with_deliveries.push((endpoint, deliveries));
        }
        Ok::<_, Error>(with_deliveries)
    });
    let endpoints = found.await?;
    let here = format!("/admin/p/{project}/webhooks");
    let content = html! {
        @if endpoints.is_empty() { p { "Nothing is sent anywhere yet." } }
        @for (row, deliveries) in &endpoints { (endpoint(&visit, &here, row, deliveries)) }
        section aria-labelledby="first" {
            h2 #first { "Set up the first endpoint" }
            form.stack method="post" action=(here) {
                (csrf(&visit)) input type="hidden" name="do" value="set";
                label { "Address" input name="url" type="url" required; }
                label { "Secret (empty: as it is)" input name="secret" type="password" autocomplete="off"; }
                label { "Events, separated by spaces" input name="events" value="entity.created comment.created"; }
                button { "Save" }
            }
        }
    };
    Ok(layout::page(&visit, "Webhooks", &content))
}

fn endpoint(visit: &Visit, here: &str, row: &EndpointRow, deliveries: &[JobRecord]) -> Markup {
    let id = row.id.to_string();
    html! {
        section aria-label=(or_dash(row.url.as_deref())) {
            h2 { (or_dash(row.url.as_deref())) }
            p { (admin::events(row).join(", ")) }
            (layout::button(visit, here, &[("do", "test"), ("endpoint", &id)], "Send a test event"))
            (layout::button(visit, here, &[("do", "resume"), ("endpoint", &id)], "Resume"))
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
    let endpoint: Option<QueueId> = visit.field("endpoint").and_then(|id| id.parse().ok());
    match visit.required("do")? {
        "set" => {
            let change = Change {
                url: Some(Some(visit.required("url")?.to_owned())),
                secret: visit.field("secret").map(ToOwned::to_owned),
                events: visit
                    .field("events")
                    .map(|names| names.split_whitespace().map(ToOwned::to_owned).collect()),
                keeps_previous_secret: true,
            };
            let entry = visit.entry("Set Webhook", visit.required("url")?);
            db::accompanied(
                move |tx| entry.write(tx),
                admin::set_first(&visit.app, project, change, now),
            )
            .await?;
        }
        "test" => {
            let id = endpoint.ok_or(NOT_FOUND)?;
            let row =
                visit.app.db.read(move |c| store::find(c, project, id)).await?.ok_or(NOT_FOUND)?;
            let sent =
                admin::send_test(&visit.app.outbound, &visit.app.sealer, project, &row, now).await;
            let text = match sent {
                Ok(status) => format!("The endpoint replied {status}."),
                Err(error) => format!("It could not be sent: {error}"),
            };
            let content = html! { p { (text) } p { a href={ "/admin/p/" (project) "/webhooks" } { "Back" } } };
            return Ok(layout::page(&visit, "Test event", &content));
        }
        "resume" => {
            let id = endpoint.ok_or(NOT_FOUND)?;
            let entry = visit.entry("Resume Webhook", id.to_string());
            let resumed = visit.write(entry, move |tx| {
                jobs::resume(tx, project, id, now)?;
                Ok(())
            });
            resumed.await?;
        }
        "redeliver" => {
            let id: JobId = visit.required("job")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
            let entry = visit.entry("Redeliver Webhook", id.to_string());
            let again = visit.write(entry, move |tx| {
                if !jobs::retry(tx, project, id, now)? {
                    return Err(Error::from(NOT_FOUND));
                }
                Ok(())
            });
            again.await?;
        }
        _ => return Err(INVALID.into()),
    }
    layout::see_other(&format!("/admin/p/{project}/webhooks"))
}
