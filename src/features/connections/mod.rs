//! Connections: one user requests, the other accepts or declines, and either may remove it. Each pair has at
//! most one connection.

mod answer;
mod list;
mod remove;
mod request;
pub mod rules;
mod status;
pub mod store;

use db::Tx;
use http::Method;
use serde_json::{Map, json};

use crate::domain_events::Context;
use crate::error::{Result, faults};
use crate::features::notifications::{self, about_user};
use crate::features::users::NOT_FOUND as NO_SUCH_USER;
use crate::features::users::store as users;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ConnectionId, ProjectId, UserId};
use crate::values::time::Timestamp;

faults! {
    INVALID_RECEIVER_ID = 400 "connection/invalid-receiver-id": "Invalid receiver id";
    INVALID_USER_ID = 400 "connection/invalid-user-id": "Invalid user id";
    INVALID_CONNECTION_ID = 400 "connection/invalid-connection-id": "Invalid connection id";
    INVALID_BODY = 400 "connection/invalid-body": "Invalid body";
    INVALID_QUERY = 400 "connection/invalid-query": "Invalid query";
    OF_USER_INVALID_ID = 400 "user/invalid-user-id": "Invalid user id";
    OF_USER_INVALID_QUERY = 400 "user/invalid-query": "Invalid query";
    MISSING_USER_ID = 400 "connection/missing-user-id": "A key must name the user it acts as";
    SELF_REQUEST = 400 "connection/self-request":
        "A user cannot send a connection request to themselves.";
    SELF_CHECK = 400 "connection/self-check": "Cannot check connection status with yourself";
    SELF_DISCONNECT = 400 "connection/self-disconnect": "Cannot disconnect from yourself";
    USER_NOT_FOUND = 404 "connection/user-not-found":
        "One or both users involved in the connection do not exist.";
    NOT_FOUND = 404 "connection/not-found": "Connection not found.";
    UNAUTHORIZED = 403 "connection/unauthorized": "This connection is not theirs to change.";
    REQUEST_PENDING = 409 "connection/request-pending":
        "A connection request is already pending between these users.";
    ALREADY_CONNECTED = 409 "connection/already-connected": "Users are already connected.";
    REQUEST_DECLINED = 409 "connection/request-declined":
        "Connection request was declined. Only the receiver can initiate a new request.";
}

/// The target is the `userId` of the path.
const ACTS_ON: ActsAs = ActsAs {
    parameter: "actingUserId",
    missing: MISSING_USER_ID,
    unknown: USER_NOT_FOUND,
    other: None,
};
const ACTS_AS: ActsAs = ActsAs { parameter: "userId", ..ACTS_ON };

/// Ends any connection between two users. The caller has locked both.
pub fn sever(tx: &Tx<'_>, project: ProjectId, one: UserId, other: UserId) -> Result<()> {
    match store::find_pair(tx, project, one, other)? {
        Some(row) => store::delete(tx, project, &row),
        None => Ok(()),
    }
}

/// Notifies one of the two of what the other did.
#[expect(clippy::too_many_arguments, reason = "a notification says as much")]
fn notify(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    user: UserId,
    kind: &'static str,
    by: UserId,
    connection: ConnectionId,
    now: Timestamp,
) -> Result<()> {
    if !project.has(Bundle::Notifications) {
        return Ok(());
    }
    let Some(by) = users::find(tx, project.id, by)? else { return Ok(()) };
    let metadata = Map::from_iter([("connectionId".to_owned(), json!(connection))]);
    let notice = about_user(app, now, user, kind, &by, metadata);
    // An unread notification must point to the current connection.
    if notifications::store::insert::reword(tx, project.id, &notice)? {
        return Ok(());
    }
    notifications::add(tx, Context { app, project, now }, &[notice])
}

pub fn operations() -> Vec<Operation> {
    let operations = [with_users(), by_id(), own()].into_iter().flatten();
    operations.map(|operation| operation.bundle(Bundle::Connections)).collect()
}

fn with_users() -> Vec<Operation> {
    let path = "/users/{userId}/connection";
    let (get, invalid) = (Method::GET, Invalid::all(INVALID_USER_ID));
    let receiver = Invalid { params: INVALID_RECEIVER_ID, ..Invalid::all(INVALID_BODY) };
    let of_user = Invalid { query: OF_USER_INVALID_QUERY, ..Invalid::all(OF_USER_INVALID_ID) };
    vec![
        Operation::new(
            Method::POST,
            path,
            "Request Connection",
            "connection",
            receiver,
            request::request_connection,
        )
        .acts_as(ACTS_ON)
        .errors(&[
            SELF_REQUEST,
            USER_NOT_FOUND,
            REQUEST_PENDING,
            ALREADY_CONNECTED,
            REQUEST_DECLINED,
        ]),
        Operation::new(
            get.clone(),
            path,
            "Get Connection Status",
            "connection",
            invalid,
            status::connection_status,
        )
        .acts_as(ACTS_ON)
        .errors(&[SELF_CHECK]),
        Operation::new(
            Method::DELETE,
            path,
            "Remove Connection by User Id",
            "connection",
            invalid,
            remove::remove_by_user,
        )
        .acts_as(ACTS_ON)
        .errors(&[SELF_DISCONNECT, NOT_FOUND]),
        Operation::new(
            get.clone(),
            "/users/{userId}/connections",
            "Get Connections of a User",
            "connection",
            of_user,
            list::connections_of,
        )
        .errors(&[NO_SUCH_USER]),
        Operation::new(
            get,
            "/users/{userId}/connections-count",
            "Get Connections Count of a User",
            "connection",
            of_user,
            list::count_of,
        )
        .errors(&[NO_SUCH_USER]),
    ]
}

fn by_id() -> Vec<Operation> {
    let invalid = Invalid::all(INVALID_CONNECTION_ID);
    let operations = vec![
        Operation::new(
            Method::PATCH,
            "/connections/{connectionId}/accept",
            "Accept Connection",
            "connection",
            invalid,
            answer::accept,
        ),
        Operation::new(
            Method::PATCH,
            "/connections/{connectionId}/decline",
            "Decline Connection",
            "connection",
            invalid,
            answer::decline,
        ),
        Operation::new(
            Method::DELETE,
            "/connections/{connectionId}",
            "Remove Connection",
            "connection",
            invalid,
            remove::remove,
        ),
    ];
    let all = operations.into_iter();
    all.map(|one| {
        one.acts_as(ACTS_AS).rate(RateLimit::per_5_minutes(50)).errors(&[NOT_FOUND, UNAUTHORIZED])
    })
    .collect()
}

/// As in the reference, these also need the bundle of blocks: they leave out blocked users.
fn own() -> Vec<Operation> {
    let (get, invalid) = (Method::GET, Invalid::all(INVALID_QUERY));
    let operations = vec![
        Operation::new(
            get.clone(),
            "/connections",
            "Fetch Connections",
            "connection",
            invalid,
            list::connections,
        ),
        Operation::new(
            get.clone(),
            "/connections/count",
            "Fetch Connections Count",
            "connection",
            invalid,
            list::count_own,
        ),
        Operation::new(
            get.clone(),
            "/connections/pending/sent",
            "Fetch Sent Pending Connections",
            "connection",
            invalid,
            list::sent,
        ),
        Operation::new(
            get,
            "/connections/pending/received",
            "Fetch Received Pending Connections",
            "connection",
            invalid,
            list::received,
        ),
    ];
    let all = operations.into_iter();
    all.map(|one| one.also_needs(Bundle::Moderation).acts_as(ACTS_AS).no_store()).collect()
}
