//! Follows: a user subscribes to another, without their consent. The counts change in the same transaction.

mod follow;
mod list;
pub mod store;

use db::Tx;
use http::Method;

use crate::error::{Result, faults};
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;
use crate::values::ids::{ProjectId, UserId};

faults! {
    INVALID_USER_ID = 400 "follow/invalid-user-id": "Invalid user id";
    INVALID_FOLLOW_ID = 400 "follow/invalid-follow-id": "Invalid follow id";
    INVALID_QUERY = 400 "follow/invalid-query": "Invalid query";
    OF_USER_INVALID_ID = 400 "user/invalid-user-id": "Invalid user id";
    OF_USER_INVALID_QUERY = 400 "user/invalid-query": "Invalid query";
    MISSING_USER_ID = 400 "follow/missing-user-id": "A key must name the user it acts as";
    SELF_FOLLOW = 400 "follow/self-follow": "A user cannot follow themselves.";
    USER_NOT_FOUND = 404 "follow/user-not-found":
        "One or both users involved in the follow do not exist.";
    NOT_FOUND = 404 "follow/not-found": "Follow relationship does not exist.";
    ALREADY_EXISTS = 409 "follow/already-exists": "Follow relationship already exists.";
    FORBIDDEN = 403 "follow/forbidden":
        "You do not have permission to delete this follow relationship.";
}

/// The target is the `userId` of the path.
const ACTS_ON: ActsAs = ActsAs {
    parameter: "actingUserId",
    missing: MISSING_USER_ID,
    unknown: USER_NOT_FOUND,
    other: None,
};
const ACTS_AS: ActsAs = ActsAs { parameter: "userId", ..ACTS_ON };

/// Ends the follows between two users. The caller has locked both.
pub fn sever(tx: &Tx<'_>, project: ProjectId, one: UserId, other: UserId) -> Result<()> {
    store::delete(tx, project, one, other)?;
    store::delete(tx, project, other, one)?;
    Ok(())
}

pub fn operations() -> Vec<Operation> {
    let operations = [acts(), of_users(), own()].into_iter().flatten();
    operations.map(|operation| operation.bundle(Bundle::Follows)).collect()
}

fn acts() -> Vec<Operation> {
    let path = "/users/{userId}/follow";
    let invalid = Invalid::all(INVALID_USER_ID);
    let operations = vec![
        Operation::new(Method::POST, path, "Follow User", "follow", invalid, follow::follow_user)
            .acts_as(ACTS_ON)
            .errors(&[SELF_FOLLOW, USER_NOT_FOUND, ALREADY_EXISTS]),
        Operation::new(
            Method::GET,
            path,
            "Get Follow Status",
            "follow",
            invalid,
            follow::follow_status,
        )
        .acts_as(ACTS_ON),
        Operation::new(
            Method::DELETE,
            path,
            "Unfollow User",
            "follow",
            invalid,
            follow::unfollow_user,
        )
        .acts_as(ACTS_ON)
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            "/follows/{followId}",
            "Delete Follow",
            "follow",
            Invalid::all(INVALID_FOLLOW_ID),
            follow::delete_follow,
        )
        .acts_as(ACTS_AS)
        .errors(&[NOT_FOUND, FORBIDDEN]),
    ];
    operations.into_iter().map(|one| one.rate(RateLimit::per_5_minutes(75))).collect()
}

fn of_users() -> Vec<Operation> {
    let get = Method::GET;
    let invalid = Invalid { query: OF_USER_INVALID_QUERY, ..Invalid::all(OF_USER_INVALID_ID) };
    vec![
        Operation::new(
            get.clone(),
            "/users/{userId}/followers",
            "Get Followers of a User",
            "follow",
            invalid,
            list::followers_of,
        ),
        Operation::new(
            get.clone(),
            "/users/{userId}/following",
            "Get Following of a User",
            "follow",
            invalid,
            list::following_of,
        ),
        Operation::new(
            get.clone(),
            "/users/{userId}/followers-count",
            "Get Followers Count of a User",
            "follow",
            invalid,
            list::count_followers_of,
        ),
        Operation::new(
            get,
            "/users/{userId}/following-count",
            "Get Following Count of a User",
            "follow",
            invalid,
            list::count_following_of,
        ),
    ]
}

fn own() -> Vec<Operation> {
    let get = Method::GET;
    let invalid = Invalid::all(INVALID_QUERY);
    let operations = vec![
        Operation::new(
            get.clone(),
            "/follows/followers",
            "Fetch Followers",
            "follow",
            invalid,
            list::followers,
        ),
        Operation::new(
            get.clone(),
            "/follows/following",
            "Fetch Following",
            "follow",
            invalid,
            list::following,
        ),
        Operation::new(
            get.clone(),
            "/follows/followers-count",
            "Fetch Followers Count",
            "follow",
            invalid,
            list::count_followers,
        ),
        Operation::new(
            get,
            "/follows/following-count",
            "Fetch Following Count",
            "follow",
            invalid,
            list::count_following,
        ),
    ];
    operations.into_iter().map(|one| one.acts_as(ACTS_AS).no_store()).collect()
}
