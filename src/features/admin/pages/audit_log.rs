//! The audit log of a project or of the installation, as a page or as CSV.

use http::StatusCode;
use maud::{Markup, html};

use crate::audit::store::{self, Filter};
use crate::audit::{self, Entry, INSTALLATION};
use crate::error::{Error, Result};
use crate::features::admin::layout::{self, or_dash, time};
use crate::features::admin::visit::Visit;
use crate::http::query::percent_encode;
use crate::http::reply::{self, Response};
use crate::values::ids::ProjectId;

const PAGE_SIZE: i64 = 50;
/// Bytes of a value on the page; the CSV file has all of it.
const SHOWN_BYTES: usize = 300;
const MOST_OF_CSV: i64 = 100_000;

pub(super) async fn installation(visit: Visit) -> Result<Response> {
    show(visit, INSTALLATION).await
}

pub(super) async fn project(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    show(visit, project).await
}

async fn show(visit: Visit, project: ProjectId) -> Result<Response> {
    let filter = Filter {
        actor: visit.query("actor").map(ToOwned::to_owned),
        action: visit.query("action").map(ToOwned::to_owned),
        before: visit.query("before").and_then(|id| id.parse().ok()),
    };
    let is_csv = visit.query("format") == Some("csv");
    let most = if is_csv { MOST_OF_CSV } else { PAGE_SIZE };
    let entries = visit.app.db.read_slow(move |c| store::list(c, project, &filter, most)).await?;
    if is_csv {
        let mut response =
            reply::with_body(StatusCode::OK, "text/csv; charset=utf-8", csv(&entries));
        reply::set(&mut response, "content-disposition", "attachment; filename=\"audit.csv\"");
        return Ok(response);
    }
    let kept =
        |name: &str| visit.query(name).map(|value| format!("{name}={}&", percent_encode(value)));
    let filters = [kept("actor"), kept("action")].into_iter().flatten().collect::<String>();
    let here = match visit.project() {
        Ok(project) => format!("/admin/p/{}/audit", project.id),
        Err(_) => "/admin/audit".to_owned(),
    };
    let content = html! {
        form.search method="get" role="search" {
            label { "Who" input name="actor" value=[visit.query("actor")]; }
            label { "Action" input name="action" value=[visit.query("action")]; }
            button { "Show" }
        }
        (table(&entries))
        @if let Some(last) = entries.last().filter(|_| entries.len() as i64 == PAGE_SIZE) {
            p { a rel="next" href={ "?" (filters) "before=" (last.id) } { "Older" } }
        }
        p { a href={ "?" (filters) "format=csv" } { "Download as CSV" } " "
            (layout::button(&visit, &here, &[], "Check it against its seals")) }
        @if let Some(keep) = visit.app.config.audit_keep {
            p.hint { "Entries stay for " (keep.as_secs() / 86_400) " days." }
        }
    };
    Ok(layout::page(&visit, "Audit log", &content))
}

/// Reads every sealed entry: of the project, or of the installation and all projects.
pub(super) async fn verify(visit: Visit) -> Result<Response> {
    let (db, project) = (visit.app.db.clone(), visit.project().map(|project| project.id).ok());
    let reading = tokio::task::spawn_blocking(move || {
        db.snapshot(|c| match project {
            Some(project) => audit::verify(c, project),
            None => audit::verify_all(c),
        })
    });
    let findings = reading.await.map_err(Error::internal)??;
    let content = html! {
        @if findings.is_empty() { p { "Every entry is as it was sealed." } }
        @else { ul { @for (project, finding) in &findings { li.wrong {
            code { (project) } ": " (finding.text) " between "
            @match finding.after { Some(id) => code { (id) }, None => "the beginning" } " and " code { (finding.last) }
        } } } }
        p { a href="audit" { "Back to the log" } }
    };
    Ok(layout::page(&visit, "Check of the audit log", &content))
}

fn table(entries: &[Entry]) -> Markup {
    html! {
        table {
            thead { tr { th { "When" } th { "Who" } th { "From" } th { "Action" } th { "What" } th { "Change" } } }
            tbody { @for entry in entries { tr {
                td { (time(entry.at)) } td { (entry.actor_name) " (" (entry.actor_kind) ")" } td { (or_dash(entry.client.as_deref())) }
                td { (entry.action) } td { code { (short(&entry.target)) } }
                td { @if let Some(old) = &entry.old_state { del { code { (short(old)) } } " " } @if let Some(new) = &entry.new_state { ins { code { (short(new)) } } } }
            } } }
        }
    }
}

fn short(text: &str) -> String {
    match text.floor_char_boundary(SHOWN_BYTES) {
        end if end < text.len() => format!("{} …", &text[..end]),
        _ => text.to_owned(),
    }
}

/// As RFC 4180 has it. A cell that a spreadsheet would take for a formula gets an apostrophe.
pub(in crate::features::admin) fn csv(entries: &[Entry]) -> String {
    let mut text = String::from("at,actorKind,actor,client,action,target,oldState,newState\r\n");
    for entry in entries {
        let at = entry.at.to_string();
        let cells = [
            &*at,
            &entry.actor_kind,
            &entry.actor_name,
            entry.client.as_deref().unwrap_or_default(),
            &entry.action,
            &entry.target,
            entry.old_state.as_deref().unwrap_or_default(),
            entry.new_state.as_deref().unwrap_or_default(),
        ];
        text.push_str(&cells.map(quoted).join(","));
        text.push_str("\r\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    let apostrophe = if cell.starts_with(['=', '+', '-', '@', '\t']) { "'" } else { "" };
    format!("\"{apostrophe}{}\"", cell.replace('"', "\"\""))
}
