//! Notifications by mail, for projects that have switched it on: soon, in a daily or a weekly digest, or not at all, as
//! each user wants. What happens in a short time becomes one mail, and a user gets at most one in an hour. Only verified
//! addresses get any.

mod compose;
mod deliver;
mod observer;
mod preferences;
mod rules;
mod schedule;
pub mod store;
pub mod template;
mod unsubscribe;

use http::Method;

pub use deliver::{MailNotifications, enqueue_due};
pub use observer::Mails;

use crate::error::faults;
use crate::features::users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::{Bundle, Project};

faults! {
    INVALID_BODY = 400 "mail-preferences/invalid-body": "Invalid body";
    MISSING_USER_ID = 400 "mail-preferences/missing-user-id": "A key must name the user in userId";
    UNAUTHORIZED = 403 "mail-preferences/unauthorized": "These are another user's preferences";
}

const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: Some(UNAUTHORIZED),
};
const PREFERENCES: &str = "/mail-preferences";
/// Needs no credential: the token in its query is one.
const UNSUBSCRIBE: &str = "/mail-preferences/unsubscribe";
const FEATURE: &str = "mail-preferences";
const INVALID: Invalid = Invalid::all(INVALID_BODY);

/// Whether the project sends notifications by mail.
fn are_sent_by(project: &Project) -> bool {
    project.notification_mails && project.has(Bundle::Notifications)
}

pub fn operations() -> Vec<Operation> {
    let all = of_users().into_iter().chain(of_links());
    all.map(|one| one.since(Version::V7).open_to_suspended().plain_refusals().no_store()).collect()
}

fn of_users() -> [Operation; 2] {
    let operations = [
        Operation::new(
            Method::GET,
            PREFERENCES,
            "Get Mail Preferences",
            FEATURE,
            INVALID,
            preferences::get_preferences,
        ),
        Operation::new(
            Method::PUT,
            PREFERENCES,
            "Update Mail Preferences",
            FEATURE,
            INVALID,
            preferences::update_preferences,
        ),
    ];
    let rate = RateLimit::per_5_minutes(50);
    operations.map(|one| one.bundle(Bundle::Notifications).rate(rate).acts_as(ACTS_AS))
}

/// Without a bundle, so that the links of mails that were sent keep working. The limit is high because a mail provider
/// sends the clicks of all its users from few networks.
fn of_links() -> [Operation; 2] {
    let operations = [
        Operation::new(
            Method::GET,
            UNSUBSCRIBE,
            "Unsubscribe Page",
            FEATURE,
            INVALID,
            unsubscribe::unsubscribe_page,
        ),
        Operation::new(
            Method::POST,
            UNSUBSCRIBE,
            "Unsubscribe From Mails",
            FEATURE,
            INVALID,
            unsubscribe::unsubscribe,
        )
        .takes_forms(),
    ];
    operations.map(|one| one.rate(RateLimit::per_5_minutes(1000)))
}
