//! The sessions of a user, and everything about them: an export of it, and its erasure with a receipt.

use maud::{Markup, html};
use serde_json::json;

use crate::auth::operators::Role;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout::{self, time};
use crate::features::admin::pages::users;
use crate::features::admin::visit::{NOT_FOUND, Visit};
use crate::features::auth::session::{self, TokenSeed, refresh_token};
use crate::features::auth::store::LiveSession;
use crate::features::exports::{Receipt, erase_with_receipt};
use crate::features::users::store;
use crate::http::reply::Response;
use crate::values::ids::UserId;

/// Where the user is signed in. Owners may start a session, too, to see what the user sees.
pub(super) fn sessions(visit: &Visit, here: &str, live: &[LiveSession]) -> Markup {
    html! {
        section aria-labelledby="sessions" {
            h2 #sessions { "Sessions" }
            @if live.is_empty() { p { "Signed in nowhere." } }
            @else {
                table {
                    thead { tr { th { "Renewed" } th { "Ends" } } }
                    tbody { @for one in live { tr { td { (time(one.renewed_at)) } td { (time(one.expires_at)) } } } }
                }
                (layout::button(visit, here, &[("do", "sign-out")], "End all sessions"))
            }
            @if visit.role() >= Some(Role::Owner) {
                details { summary { "Sign in as this user" }
                    p { "For support: what is done with these tokens is done in their name. The audit log says who has asked for them." }
                    (layout::button(visit, &format!("{here}/token"), &[], "Start a session"))
                }
            }
        }
    }
}

/// Starts a session, as `townhall user token` does, and shows its tokens this once.
pub(super) async fn token(visit: Visit) -> Result<Response> {
    let (project, id, now) = (visit.project()?.id, users::user(&visit)?, visit.now);
    let tokens = &visit.app.tokens;
    let seed = TokenSeed::draw(tokens, &visit.app.random, now);
    let entry = visit.entry("Start Session as User", id.to_string());
    let opened = visit.write(entry, move |tx| {
        store::find(tx, project, id)?.ok_or(NOT_FOUND)?;
        session::open(tx, project, id, seed)
    });
    let opened = opened.await?;
    let access = tokens.access(project, id, opened.family_id, now);
    let refresh = refresh_token(tokens, project, &opened);
    let content = html! {
        p { "These are shown this once. The session is among those of the user, and ends with them." }
        form.stack {
            label { "Access token" input readonly value=(access); }
            label { "Refresh token" input readonly value=(refresh); }
        }
        p { a href={ "/admin/p/" (project) "/users/" (id) } { "Back to the user" } }
    };
    Ok(layout::page(&visit, "A session", &content))
}

/// Starts the same job as Export User, and shows where the archive will be.
pub(super) async fn export(visit: &Visit, id: UserId) -> Result<Response> {
    let started = api::call(visit, "Export User", Request::params(json!({ "userId": id }))).await?;
    let (url, until) = (started["url"].as_str(), started["expiresAt"].as_str());
    let content = html! {
        p { "The archive is made in the background. It will be here in a moment, until "
            (until.unwrap_or_default()) ":" }
        p { a href=(url.unwrap_or_default()) { "Download the archive" } }
        p { "Anybody with this address can read it. The user gets it by mail, too, if they have an address." }
        p { a href={ "/admin/p/" (visit.project()?.id) "/users/" (id) } { "Back to the user" } }
    };
    Ok(layout::page(visit, "Export", &content))
}

/// Deletes the user, and shows what there was: the receipt for the person who asked for it.
pub(super) async fn erase(visit: &Visit, id: UserId) -> Result<Response> {
    let (app, project, now) = (visit.app.clone(), visit.project()?.clone(), visit.now);
    let entry = visit.entry("Erase User", id.to_string());
    let erased = visit.write(entry, move |tx| {
        let context = Context { app: &app, project: &project, now };
        erase_with_receipt(tx, context, id)
    });
    let receipt = erased.await?;
    let Receipt { erased_at, member_since, files, sessions, documents, .. } = &receipt;
    let content = html! {
        dl {
            dt { "User" } dd { code { (id) } }
            dt { "Erased" } dd { (time(*erased_at)) }
            dt { "Here since" } dd { (time(*member_since)) }
            dt { "Files" } dd { (files) }
            dt { "Sessions" } dd { (sessions) }
        }
        @if !documents.is_empty() {
            table {
                thead { tr { th { "What there was" } th { "How many" } } }
                tbody { @for (name, count) in documents { tr { td { (name) } td { (count) } } } }
            }
        }
        p { "What others have built on stays without a name. This receipt is not kept: save it for the person who asked." }
        details { summary { "As a document" } pre { (json!(receipt)) } }
        p { a href={ "/admin/p/" (visit.project()?.id) "/users" } { "Back to the users" } }
    };
    Ok(layout::page(visit, "Receipt", &content))
}
