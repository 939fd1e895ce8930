//! Reputation grants: points that a user gives from their own to another, or that the project gives or takes. They may
//! be for an entity, a comment or a message, whose features say what that is (`targets.rs`).

mod give;
mod history;
mod list;
pub mod model;
mod notify;
pub mod rules;
pub mod store;
pub mod targets;

use http::Method;

use crate::error::{Fault, faults};
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::rate_limits::RateLimit;
use crate::tenancy::{Bundle, TABLES_NOT_AVAILABLE};

faults! {
    INVALID_BODY = 400 "reputation-grant/invalid-body": "Invalid body";
    INVALID_QUERY = 400 "reputation-grant/invalid-query": "Invalid query";
    MISSING_FILTER = 400 "reputation-grant/missing-filter":
        "recipientId, senderId, or targetType and targetId are needed";
    INVALID_FILTER = 400 "reputation-grant/invalid-filter":
        "Only one of recipientId, senderId, and targetType with targetId";
    SELF_GRANT = 400 "reputation-grant/self-grant": "Nobody gives reputation to themselves";
    MISSING_USER_ID = 400 "reputation-grant/missing-user-id":
        "A key must name the sender in actingUserId";
    UNAUTHORIZED = 403 "reputation-grant/unauthorized": "A user gives only their own reputation";
    USER_GRANTS_DISABLED = 403 "reputation-grant/user-grants-disabled":
        "Users of this project do not give reputation";
    SPACE_NOT_FOUND = 404 "reputation-grant/space-not-found": "Space not found";
    USER_NOT_FOUND = 404 "reputation-grant/user-not-found": "User not found";
    TARGET_NOT_FOUND = 404 "reputation-grant/target-not-found":
        "What the reputation is given for was not found";
    CONFLICT = 409 "reputation-grant/conflict":
        "Others changed the same points at the same time; try again";
    INSUFFICIENT = 409 "reputation-grant/insufficient-reputation": "The sender has too few points";
}

const INVALID: Invalid = Invalid { query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

const ACTS_AS: ActsAs = ActsAs {
    parameter: "actingUserId",
    missing: MISSING_USER_ID,
    unknown: USER_NOT_FOUND,
    other: Some(UNAUTHORIZED),
};

const MINT_ERRORS: &[Fault] =
    &[SPACE_NOT_FOUND, USER_NOT_FOUND, TARGET_NOT_FOUND, TABLES_NOT_AVAILABLE, CONFLICT];

pub fn operations() -> Vec<Operation> {
    let (post, feature) = (Method::POST, "reputation-grant");
    let operations = vec![
        Operation::new(
            post.clone(),
            "/reputation-grants",
            "Create Reputation Grant",
            feature,
            INVALID,
            give::create_grant,
        )
        .acts_as(ACTS_AS)
        .errors(&[
            SELF_GRANT,
            USER_GRANTS_DISABLED,
            SPACE_NOT_FOUND,
            USER_NOT_FOUND,
            TARGET_NOT_FOUND,
            TABLES_NOT_AVAILABLE,
            INSUFFICIENT,
            CONFLICT,
        ]),
        Operation::new(
            post,
            "/reputation-grants/mint",
            "Mint Reputation Grant",
            feature,
            INVALID,
            give::mint_grant,
        )
        .errors(MINT_ERRORS),
        Operation::new(
            Method::GET,
            "/reputation-grants",
            "Fetch Many Reputation Grants",
            feature,
            INVALID,
            list::fetch_many,
        )
        .rate(RateLimit::per_5_minutes(100))
        .errors(&[MISSING_FILTER, INVALID_FILTER]),
    ];
    let all = operations.into_iter();
    let all = all.map(|one| one.bundle(Bundle::Reputation).since(Version::V7));
    all.chain([history::operation()]).collect()
}
