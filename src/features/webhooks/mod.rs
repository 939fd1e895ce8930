//! Webhooks: a project's events, sent to endpoints of its own. Nine kinds of events are also sent before anything is
//! stored, and the endpoint may refuse them. Each endpoint is a queue of jobs, so it gets its events in order, at least
//! once, whatever becomes of this server.

pub mod admin;
mod body;
mod config;
pub mod deliver;
mod observer;
mod signature;
pub mod store;
mod validate;

use http::Method;

pub use observer::Webhooks;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::Operation;

faults! {
    INVALID_BODY = 400 "webhook/invalid-body": "Invalid body";
}

/// The events that are sent before something is stored; with `.complete` after them, once it is.
const VALIDATING: [&str; 9] = [
    "user.created",
    "user.updated",
    "entity.created",
    "entity.updated",
    "comment.created",
    "comment.updated",
    "space.created",
    "space.updated",
    "message.created",
];

/// Other events, which are only sent afterwards.
const BROADCAST: [&str; 8] = [
    "notification.created",
    "workspace.invite.created",
    "workspace.invite.accepted",
    "workspace.invite.declined",
    "workspace.invite.revoked",
    "workspace.deleted",
    "workspace.member.added",
    "workspace.member.removed",
];

const COMPLETE: &str = ".complete";

/// Whether an endpoint can subscribe to events of this name.
fn is_event(name: &str) -> bool {
    let validating = name.strip_suffix(COMPLETE).unwrap_or(name);
    VALIDATING.contains(&validating) || BROADCAST.contains(&name)
}

pub fn operations() -> Vec<Operation> {
    let (invalid, path) = (Invalid::all(INVALID_BODY), "/webhook-config");
    vec![
        Operation::new(
            Method::GET,
            path,
            "Get Webhook Config",
            "webhook",
            invalid,
            config::get_webhook_config,
        )
        .no_store(),
        Operation::new(
            Method::PUT,
            path,
            "Set Webhook Config",
            "webhook",
            invalid,
            config::set_webhook_config,
        )
        .no_store(),
    ]
}
