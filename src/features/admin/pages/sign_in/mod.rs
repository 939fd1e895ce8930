//! How users of a project sign in with accounts elsewhere: OAuth providers, issuers of JWTs, and the project's own key
//! pair. Secrets go in and never come out.

pub(super) mod issuers;
pub(super) mod providers;

use maud::html;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::admin::layout;
use crate::features::admin::visit::{NOT_FOUND, Visit};
use crate::features::identities::store::issuers as issuer_store;
use crate::features::oauth::store as oauth_store;
use crate::features::projects::admin;
use crate::http::reply::Response;
use crate::tenancy::store;

pub(super) async fn show(visit: Visit) -> Result<Response> {
    let project = visit.project()?.id;
    let found = visit.app.db.read(move |c| {
        let providers = oauth_store::list_providers(c, project)?.into_iter().map(providers::stored);
        Ok::<_, Error>((
            providers.collect::<Result<Vec<Value>>>()?,
            issuer_store::list(c, project)?,
        ))
    });
    let (providers, issuers) = found.await?;
    let content = html! {
        (providers::section(&visit, &providers)?)
        (issuers::section(&visit, &issuers)?)
        section aria-labelledby="own" {
            h2 #own { "Tokens of your own backend" }
            p { "Your backend signs users in with the private key of this project. A new pair leaves the previous public key valid." }
            (layout::button(&visit, &format!("/admin/p/{project}/jwt-key"), &[], "Make a new key pair"))
        }
    };
    Ok(layout::page(&visit, "Sign-in", &content))
}

pub(super) async fn rotate_key(visit: Visit) -> Result<Response> {
    let (project, now) = (visit.project()?.id, visit.now);
    let pair = tokio::task::spawn_blocking(admin::generate_jwt_pair);
    let pair = pair.await.map_err(Error::internal)??;
    let entry = visit.entry("Rotate JWT Key", project.to_string());
    let public = pair.public.clone();
    let rotated = visit.write(entry, move |tx| {
        if store::rotate_public_key(tx, project, &public, now)? {
            Ok(())
        } else {
            Err(NOT_FOUND.into())
        }
    });
    rotated.await?;
    visit.app.projects.forget(project);
    let content = html! {
        p { "This is the private key. It is not shown again." }
        pre { (pair.private) }
        p { a href={ "/admin/p/" (project) "/sign-in" } { "Back" } }
    };
    Ok(layout::page(&visit, "A new key pair", &content))
}
