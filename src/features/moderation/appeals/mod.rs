//! Appeals: a user objects to a decision against them, once. An appeal is an item of the operators' queue;
//! what they decide about it is a decision like any other, which can be undone for ten seconds: the first one stands
//! (upheld), or is taken back (reversed).

mod create;
mod list;
pub mod model;
mod queue;
mod settle;
pub mod store;

pub use model::{AppealCursor, AppealItem, AppealState, OpenAppeals};
pub use queue::open;
pub(super) use settle::settle;

use std::time::Duration;

use http::Method;

use crate::error::faults;
use crate::features::users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

faults! {
    DECISION_NOT_FOUND = 404 "moderation/decision-not-found": "Decision not found";
    ALREADY_APPEALED = 409 "moderation/already-appealed": "There is an appeal against this decision already";
    TOO_LATE = 400 "moderation/appeal-too-late": "It is too late to appeal against this decision";
    INVALID_BODY = 400 "moderation/invalid-body": "Invalid body";
    INVALID_QUERY = 400 "moderation/invalid-query": "Invalid query";
    MISSING_USER_ID = 400 "moderation/missing-user-id": "A key must name the user in userId";
}

/// How long a decision can be appealed against: a little more than six months.
pub const APPEAL_WITHIN: Duration = Duration::from_secs(184 * 24 * 3600);
/// Where appeals are sent, below the address of the project.
pub const PATH: &str = "/moderation/appeals";

const INVALID: Invalid = Invalid { query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// A key acts as the user it names; the parameter is ignored for a user's token.
const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};

pub(super) fn operations() -> Vec<Operation> {
    let feature = "moderation";
    let operations = vec![
        Operation::new(
            Method::POST,
            PATH,
            "Create Appeal",
            feature,
            INVALID,
            create::create_appeal,
        )
        .rate(RateLimit::per_5_minutes(10))
        .open_to_suspended()
        .errors(&[DECISION_NOT_FOUND, ALREADY_APPEALED, TOO_LATE]),
        Operation::new(Method::GET, PATH, "List Appeals", feature, INVALID, list::list_appeals),
    ];
    let all = operations.into_iter().map(|one| one.since(Version::V8).acts_as(ACTS_AS));
    all.map(|one| one.bundle(Bundle::Moderation).no_store()).collect()
}
