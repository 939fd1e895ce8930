//! What concerns a project as a whole: its search index, whether it works, everything in it as a download, and its end.

use maud::{Markup, html};
use serde_json::json;

use crate::auth::operators::Role;
use crate::error::{Error, Result};
use crate::features::admin::fields::{self, choice, required};
use crate::features::admin::layout::{self, csrf};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::exports::download::{self, Format, Wanted};
use crate::features::project_deletion;
use crate::features::search::admin::{self as search, IndexStatus};
use crate::http::reply::{self, Body, Response};
use crate::installation::store as installation;
use crate::tenancy::{PENDING_DELETION, Project, ProjectState, store};

const STATES: &[(&str, &str)] = &[
    ("active", "works"),
    ("migrating", "is under maintenance: every call gets 503"),
    ("pending-deletion", "is marked for deletion: every call gets 423"),
];

const FORMATS: &[(&str, &str)] =
    &[("jsonl", "as JSON, one on each line"), ("csv", "as tables (CSV), one for each type")];

/// For the page of settings.
pub(super) async fn sections(visit: &Visit, project: &Project) -> Result<Markup> {
    let status = search::status(&visit.app.db, project).await?;
    let at = |path: &str| format!("/admin/p/{}/{path}", project.id);
    Ok(html! {
        section aria-labelledby="index" {
            h2 #index { "Search index" }
            (index(visit, &at("reindex"), status.as_ref()))
        }
        section aria-labelledby="state" {
            h2 #state { "State" }
            form.stack method="post" action=(at("state")) {
                (csrf(visit)) (choice("This project", "state", STATES, project.state.name()))
                button { "Set state" }
            }
        }
        @if visit.role() >= Some(Role::Owner) {
            section aria-labelledby="export" {
                h2 #export { "Export" }
                p { "Everything in this project, with all stored files, as one archive (tar.gz). It holds the users' e-mail addresses and "
                    "hashes of their passwords. Unpacked it is what " code { "townhall import" } " reads." }
                form.stack method="post" action=(at("export")) {
                    (csrf(visit)) (choice("Documents", "format", FORMATS, "jsonl"))
                    button { "Download" }
                }
            }
            section aria-labelledby="end" {
                h2 #end { "Delete this project" }
                p { "With everything in it, for good. It begins at once and cannot be taken back." }
                form.stack method="post" action=(at("delete")) {
                    (csrf(visit)) (required(&format!("Type its name, {}, to confirm", project.name), "confirm", None))
                    button.danger { "Delete project" }
                }
            }
        }
    })
}

fn index(visit: &Visit, action: &str, status: Option<&IndexStatus>) -> Markup {
    let Some(status) = status else {
        return html! { p { "There is none: the project lacks the bundle ai-search, or search is off." } };
    };
    html! {
        p { (status.documents) " documents, " (status.words) " words, " (status.waiting) " waiting; " (status.language) ", "
            @if status.is_filled { "complete" } @else { "being filled" } "." }
        (layout::button(visit, action, &[], "Build it again"))
    }
}

pub(super) async fn reindex(visit: Visit) -> Result<Response> {
    let project = visit.project()?;
    let entry = visit.entry("Rebuild Search Index", project.id.to_string());
    let begun = db::accompanied(move |tx| entry.write(tx), search::reindex(&visit.app.db, project));
    if !begun.await? {
        return Err(INVALID.because("The project has no search index."));
    }
    layout::see_other(&format!("/admin/p/{}/settings#index", project.id))
}

pub(super) async fn set_state(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?, visit.now);
    let (id, before) = (project.id, project.state.name());
    let state = ProjectState::from_name(visit.required("state")?).ok_or(INVALID)?.name();
    let entry = visit.entry("Set State of Project", id.to_string());
    let entry = entry.change(Some(&before), Some(&state));
    let set = visit.write(entry, move |tx| {
        if installation::deletion_began(tx, id)?.is_some() {
            return Err(PENDING_DELETION.because("The project is being deleted."));
        }
        if store::set_state(tx, id, state, now)? { Ok(()) } else { Err(NOT_FOUND.into()) }
    });
    set.await?;
    visit.app.projects.forget(id);
    layout::see_other(&format!("/admin/p/{id}/settings#state"))
}

/// The log says that it began: by then data may have left.
pub(super) async fn export(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let name = visit.required("format")?;
    let format = match name {
        "jsonl" => Format::Jsonl,
        "csv" => Format::Csv,
        _ => return Err(INVALID.into()),
    };
    let parts = download::begin(&visit.app, Wanted { project, format }).await?;
    let entry = visit.entry("Export Project", project.to_string());
    let entry = entry.change(None::<&()>, Some(&json!({ "format": name })));
    visit.write(entry, |_| Ok::<_, Error>(())).await?;
    let mut response = Response::new(Body::Download(parts));
    reply::set(&mut response, "content-type", "application/gzip");
    let file = format!("attachment; filename=\"townhall-{project}.tar.gz\"");
    reply::set(&mut response, "content-disposition", &file);
    Ok(response)
}

pub(super) async fn delete(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?, visit.now);
    fields::confirmed(&visit, &project.name)?;
    // The log of the project goes with it.
    let entry = visit.entry_of_installation("Delete Project", project.id.to_string());
    let entry = entry.change(Some(&project.name), None::<&()>);
    let id = project.id;
    let begun = visit.write(entry, move |tx| {
        project_deletion::begin(tx, id, now)?;
        Ok::<_, Error>(())
    });
    begun.await?;
    visit.app.projects.forget(id);
    layout::see_other("/admin")
}
