//! The projects of an operator, and a form for a new one.

use maud::html;

use crate::auth::operators::Role;
use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, time};
use crate::features::admin::pages::health;
use crate::features::admin::visit::Visit;
use crate::features::projects::admin::{self, NewProject, ProjectSecrets};
use crate::http::reply::Response;
use crate::tenancy::{Bundle, store};
use crate::values::ids::{ProjectId, new_id};

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let rows = visit.app.db.read(store::list).await?;
    let own: Vec<_> =
        rows.iter().filter(|row| visit.who.roles.in_project(row.id).is_some()).collect();
    let runs_server = visit.who.roles.everywhere() >= Some(Role::Admin);
    let content = html! {
        @if own.is_empty() { p { "There is no project for you yet." } }
        @else {
            table {
                thead { tr { th { "Project" } th { "Id" } th { "State" } th { "Since" } } }
                tbody { @for row in own { tr {
                    td { a href={ "/admin/p/" (row.id) } { (row.name) } }
                    td { code { (row.id) } } td { (row.state) } td { (time(row.created_at)) }
                } } }
            }
        }
        @if runs_server {
            (health::summary(&visit).await?)
            section aria-labelledby="new" {
                h2 #new { "New project" }
                form.stack method="post" action="/admin/projects" {
                    (csrf(&visit))
                    label { "Name" input name="name" required maxlength="100"; }
                    fieldset { legend { "Bundles" } @for bundle in Bundle::ALL { label.check {
                        input type="checkbox" name="bundle" value=(bundle.name()) checked; (bundle.name())
                    } } }
                    button { "Create project" }
                }
            }
        }
    };
    Ok(layout::page(&visit, "Projects", &content))
}

pub(super) async fn create(visit: Visit) -> Result<Response> {
    let name = visit.required("name")?.to_owned();
    let (now, random) = (visit.now, visit.app.random.clone());
    let secrets = tokio::task::spawn_blocking(move || ProjectSecrets::generate(now, &random));
    let secrets = secrets.await.map_err(Error::internal)??;
    let id = ProjectId(new_id(now, &visit.app.random));
    let shown = secrets.clone();
    let entry = visit.entry("Create Project", id.to_string()).change(None::<&()>, Some(&name));
    let named: Vec<&str> = visit.fields("bundle").collect();
    let bundles = Bundle::ALL.into_iter().filter(|bundle| named.contains(&bundle.name()));
    let new = NewProject { id, name, bundles: bundles.collect() };
    let created = visit.write(entry, move |tx| {
        admin::create_project(tx, &new, &secrets, now)?;
        Ok(())
    });
    created.await?;
    let content = html! {
        p { "These are shown this once. Keep them in a safe place." }
        dl {
            dt { "Project id" } dd { code { (id) } }
            dt { "Service key" } dd { code { (shown.service.secret) } }
            dt { "Master key" } dd { code { (shown.master.secret) } }
            dt { "Private key for signing users in" } dd { pre { (shown.jwt.private) } }
        }
        p { a href={ "/admin/p/" (id) } { "To the project" } }
    };
    Ok(layout::page(&visit, "A new project", &content))
}
