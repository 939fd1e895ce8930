//! In-app notifications. Other features add them in the transaction that causes them; users list them and
//! mark them as read, and a project may send its own.

mod about_user;
mod list;
mod mark;
mod model;
mod rules;
pub mod store;
mod system;

use db::Tx;
use http::Method;

pub use about_user::{about_user, initiator};
pub use model::{About, NewNotification, Notification, Subject};

use crate::domain_events::{self, Context, EventKind};
use crate::error::{Result, faults};
use crate::features::users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

faults! {
    NOT_FOUND = 404 "app-notification/not-found": "Notification not found";
    MISSING_USER_ID = 400 "app-notification/missing-user-id": "A key must name the user in userId";
    INVALID_PARAMS = 400 "app-notification/invalid-params": "Invalid notification id";
    INVALID_QUERY = 400 "app-notification/invalid-query": "Invalid query";
    INVALID_BODY = 400 "app-notification/invalid-body": "Invalid body";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// A key acts as the user it names; the parameter is ignored for a user's token.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};

/// The type of what a project sends itself.
pub const SYSTEM: &str = "system";

/// A user was notified.
pub const CREATED: EventKind<NewNotification> = EventKind::new("notification.created");

/// Stores unread notifications in the transaction that causes them. Skips unknown recipients and repeats of
/// an unread notification. The caller checks whether the project has the bundle.
pub fn add(tx: &Tx<'_>, context: Context<'_>, new: &[Notification<'_>]) -> Result<()> {
    let (project, now) = (context.project.id, context.now);
    match new {
        [one] => store::insert::insert_one(tx, project, now, one)?,
        many => drop(store::insert::insert(tx, project, now, many)?),
    }
    created(tx, context, new)
}

/// Tells observers of those that were stored.
pub fn created(tx: &Tx<'_>, context: Context<'_>, new: &[Notification<'_>]) -> Result<()> {
    if new.is_empty() || !domain_events::is_observed(context.app, context.project, &CREATED) {
        return Ok(());
    }
    let project = context.project.id;
    let stored = store::insert::stored(tx, project, new)?;
    let mut told: Vec<_> = new.iter().filter(|one| stored.contains(&one.id)).collect();
    // Observers lock rows of the users.
    told.sort_by_key(|one| one.user);
    told.into_iter().try_for_each(|one| {
        let shown = NewNotification::new(project, one, context.now)?;
        domain_events::happened(tx, context, &CREATED, || CREATED.event(&shown))
    })
}

pub fn operations() -> Vec<Operation> {
    let (get, patch, post) = (Method::GET, Method::PATCH, Method::POST);
    let feature = "app-notification";
    let operations = vec![
        Operation::new(
            get.clone(),
            "/app-notifications",
            "List Notifications",
            feature,
            INVALID,
            list::list_notifications,
        )
        .acts_as(ACTS_AS),
        Operation::new(
            get,
            "/app-notifications/count",
            "Count Unread Notifications",
            feature,
            INVALID,
            list::count_unread,
        )
        .acts_as(ACTS_AS),
        Operation::new(
            patch.clone(),
            "/app-notifications/mark-all-as-read",
            "Mark All Notifications as Read",
            feature,
            INVALID,
            mark::mark_all_as_read,
        )
        .open_to_suspended()
        .acts_as(ACTS_AS),
        Operation::new(
            patch,
            "/app-notifications/{notificationId}/mark-as-read",
            "Mark Notification as Read",
            feature,
            INVALID,
            mark::mark_as_read,
        )
        .rate(RateLimit::per_5_minutes(100))
        .open_to_suspended()
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND]),
        Operation::new(
            post,
            "/app-notifications/system",
            "Send System Notification",
            feature,
            INVALID,
            system::send_system_notification,
        ),
    ];
    let all = operations.into_iter();
    all.map(|one| one.bundle(Bundle::Notifications).plain_refusals().no_store()).collect()
}
