//! The service and master keys of a project.

use std::time::Duration;

use maud::{Markup, html};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::features::admin::layout::{self, csrf, or_dash, time};
use crate::features::admin::visit::{INVALID, NOT_FOUND, Visit};
use crate::features::projects::admin::{self, Limits};
use crate::http::reply::Response;
use crate::tenancy::keys::{KeyKind, parse_scopes};
use crate::tenancy::store::{self, KeyRow};
use crate::values::ids::KeyId;

pub(super) async fn list(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let rows = visit.app.db.read(move |c| store::keys(c, project)).await?;
    let here = format!("/admin/p/{project}/keys");
    let content = html! {
        table {
            thead { tr { th { "Label" } th { "Kind" } th { "For" } th { "Since" } th { "Last used" } th { "Until" } th { span.hidden { "Actions" } } } }
            tbody { @for row in &rows { tr {
                td { (or_dash(row.label.as_deref())) } td { (row.kind) }
                td { @if row.scopes.is_empty() { "everything" } @else { (row.scopes) } }
                td { (time(row.created_at)) } td { @if let Some(at) = row.used_at { (time(at)) } @else { "never" } }
                td { (state(row)) }
                td { @if row.revoked_at.is_none() {
                    (layout::button(&visit, &here, &[("do", "revoke"), ("key", &row.id.to_string())], "Revoke"))
                } }
            } } }
        }
        section aria-labelledby="new" {
            h2 #new { "New key" }
            form.stack method="post" action=(here) {
                (csrf(&visit)) input type="hidden" name="do" value="create";
                label { "Kind" select name="kind" { option value="service" { "service" } option value="master" { "master" } } }
                label { "What it is for" input name="label" maxlength="100"; }
                label { "Only for these areas, such as entities:read chat:write (empty: everything)" input name="scopes"; }
                label { "Valid for so many days (empty: until revoked)" input name="days" type="number" min="1" max="3650"; }
                button { "Make a key" }
            }
        }
    };
    Ok(layout::page(&visit, "Keys", &content))
}

/// How long a key is valid.
fn state(row: &KeyRow) -> Markup {
    html! {
        @if let Some(at) = row.revoked_at { "revoked " (time(at)) }
        @else if let Some(at) = row.expires_at { (time(at)) }
        @else { "until revoked" }
    }
}

fn limits(visit: &Visit) -> Result<Limits> {
    let days: Option<u64> = visit
        .field("days")
        .map(str::parse)
        .transpose()
        .map_err(|_| INVALID.because("days is a number."))?;
    let scopes = parse_scopes(visit.field("scopes").unwrap_or_default())
        .map_err(|why| INVALID.because(why))?;
    Ok(Limits {
        label: visit.field("label").map(ToOwned::to_owned),
        scopes,
        expires_at: days.map(|days| visit.now.plus(Duration::from_secs(days * 86_400))),
    })
}

fn described(kind: KeyKind, limits: &Limits) -> Value {
    let scopes: Vec<String> = limits.scopes.iter().map(ToString::to_string).collect();
    json!({ "kind": kind, "label": limits.label, "scopes": scopes, "expiresAt": limits.expires_at })
}

pub(super) async fn change(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    match visit.required("do")? {
        "create" => {
            let kind = KeyKind::from_name(visit.required("kind")?).ok_or(INVALID)?;
            let limits = limits(&visit)?;
            let key = admin::new_key(kind, now, &visit.app.random);
            let entry = visit
                .entry("Create Key", key.id.to_string())
                .change(None::<&()>, Some(&described(kind, &limits)));
            let secret = key.secret.clone();
            let made =
                visit.write(entry, move |tx| admin::add_key(tx, project, &key, &limits, now));
            made.await?;
            visit.app.projects.forget(project);
            let content = html! {
                p { "This is the key. It is not shown again." }
                p { input.wide readonly value=(secret) aria-label="Key"; }
                p { a href={ "/admin/p/" (project) "/keys" } { "Back to the keys" } }
            };
            Ok(layout::page(&visit, "A new key", &content))
        }
        "revoke" => {
            let key: KeyId = visit.required("key")?.parse().map_err(|_| Error::from(NOT_FOUND))?;
            let entry = visit.entry("Revoke Key", key.to_string());
            let revoked = visit.write(entry, move |tx| {
                // A key of another project is not this operator's.
                if !store::keys(tx, project)?.iter().any(|row| row.id == key) {
                    return Err(Error::from(NOT_FOUND));
                }
                store::revoke_key(tx, key, now)?;
                Ok(())
            });
            revoked.await?;
            visit.app.projects.forget(project);
            layout::see_other(&format!("/admin/p/{project}/keys"))
        }
        _ => Err(INVALID.into()),
    }
}
