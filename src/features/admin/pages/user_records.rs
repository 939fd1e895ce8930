//! Everything about a user: an export of it, and its erasure with a receipt.

use maud::html;
use serde_json::json;

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::admin::api::{self, Request};
use crate::features::admin::layout::{self, time};
use crate::features::admin::visit::Visit;
use crate::features::exports::{Receipt, erase_with_receipt};
use crate::http::reply::Response;
use crate::values::ids::UserId;

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
