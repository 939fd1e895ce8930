//! Lists and counts of connections: a user's own, accepted and pending, and the accepted connections of any
//! user.

use std::collections::HashMap;

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, OptionalViewer};
use crate::error::Result;
use crate::features::connections::rules::Counts;
use crate::features::connections::status::Way;
use crate::features::connections::store::ConnectionRow;
use crate::features::connections::{INVALID_QUERY, OF_USER_INVALID_QUERY, store};
use crate::features::users::UserPath;
use crate::features::users::model::User;
use crate::features::users::related::{self, UserSearch};
use crate::features::users::reputation::{self, ReputationQuery, Sum};
use crate::features::users::store::related::{List, RelatedRow, Relation, Sought};
use crate::features::visibility::store::blocks;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::values::detail::Detail;
use crate::values::ids::{ConnectionId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection {
    id: ConnectionId,
    connected_user: User,
    connected_at: Timestamp,
    /// Only in whole detail, which no documented reply has.
    #[serde(flatten)]
    #[schemars(skip)]
    request: Option<Request>,
}

/// The request that was accepted.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    requested_at: Timestamp,
    message: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PendingConnection {
    id: ConnectionId,
    r#type: Way,
    user: User,
    message: Option<Said>,
    created_at: Timestamp,
}

/// The message of a request. An object, as in the reference, and only here.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectionMessage")]
pub(super) struct Said {
    content: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ConnectionCount {
    count: i64,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ByUserQuery {
    #[serde(flatten)]
    search: UserSearch,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connected,
    Sent,
    Received,
}

impl Kind {
    const fn relation(self) -> Relation {
        match self {
            Kind::Connected => store::CONNECTED,
            Kind::Sent => store::SENT,
            Kind::Received => store::RECEIVED,
        }
    }

    fn of(self, counts: Counts) -> i64 {
        match self {
            Kind::Connected => counts.connected,
            Kind::Sent => counts.sent,
            Kind::Received => counts.received,
        }
    }
}

pub(super) async fn connections_of(
    call: Call<OptionalViewer>,
    (Path(path), LenientPaging(page), Query(query)): (
        Path<UserPath>,
        LenientPaging,
        Query<ByUserQuery>,
    ),
) -> Result<Json<Paged<Connection>>> {
    let bucket = query.reputation.bucket(&call.project, OF_USER_INVALID_QUERY)?;
    let sought = query.search.sought(OF_USER_INVALID_QUERY)?;
    let viewer = call.caller.user();
    connected(&call, path.user_id, viewer, page, sought, bucket).await
}

pub(super) async fn count_of(
    call: Call<OptionalViewer>,
    Path(path): Path<UserPath>,
) -> Result<Json<ConnectionCount>> {
    let viewer = call.caller.user();
    count(&call, path.user_id, viewer).await
}

pub(super) async fn connections(
    call: Call<Actor>,
    (LenientPaging(page), Query(search)): (LenientPaging, Query<UserSearch>),
) -> Result<Json<Paged<Connection>>> {
    let sought = search.sought(INVALID_QUERY)?;
    let user = call.caller.user;
    connected(&call, user, Some(user), page, sought, None).await
}

pub(super) async fn count_own(call: Call<Actor>, (): ()) -> Result<Json<ConnectionCount>> {
    let user = call.caller.user;
    count(&call, user, Some(user)).await
}

pub(super) async fn sent(
    call: Call<Actor>,
    LenientPaging(page): LenientPaging,
) -> Result<Json<Paged<PendingConnection>>> {
    pending(call, Kind::Sent, Way::Sent, page).await
}

pub(super) async fn received(
    call: Call<Actor>,
    LenientPaging(page): LenientPaging,
) -> Result<Json<Paged<PendingConnection>>> {
    pending(call, Kind::Received, Way::Received, page).await
}

async fn connected<A>(
    call: &Call<A>,
    user: UserId,
    viewer: Option<UserId>,
    page: Page,
    sought: Option<Sought>,
    bucket: Option<Sum>,
) -> Result<Json<Paged<Connection>>> {
    let is_whole = call.detail == Detail::Whole;
    let show = move |row: ConnectionRow, user| {
        let connected_at = row.responded_at.unwrap_or(row.created_at);
        let (requested_at, message) = (row.created_at, row.message);
        let request = is_whole.then_some(Request { requested_at, message });
        Connection { id: row.id, connected_user: user, connected_at, request }
    };
    let listed = list(call, user, viewer, Kind::Connected, page, sought, bucket, show);
    listed.await.map(Json)
}

async fn pending(
    call: Call<Actor>,
    kind: Kind,
    way: Way,
    page: Page,
) -> Result<Json<Paged<PendingConnection>>> {
    let actor = call.caller.user;
    let listed = list(&call, actor, Some(actor), kind, page, None, None, move |row, user| {
        PendingConnection {
            id: row.id,
            r#type: way,
            user,
            message: row.message.map(|content| Said { content }),
            created_at: row.created_at,
        }
    });
    listed.await.map(Json)
}

#[expect(
    clippy::too_many_arguments,
    reason = "each says which list it is; a struct would say no more"
)]
async fn list<A, T: Send + 'static>(
    call: &Call<A>,
    user: UserId,
    viewer: Option<UserId>,
    kind: Kind,
    page: Page,
    sought: Option<Sought>,
    bucket: Option<Sum>,
    show: impl Fn(ConnectionRow, User) -> T + Send + Sync + 'static,
) -> Result<Paged<T>> {
    let (of, project, links) = (call.project.clone(), call.project.id, call.links());
    let list = List { project, user, relation: kind.relation(), sought };
    let is_quick = list.is_quick(page);
    let find = move |c: &Conn<'_>| {
        if blocks::has_blocked(c, &of, viewer, user)? {
            return Ok(page.of(Vec::new(), 0));
        }
        let kept = kind.of(store::counts(c, project, user)?);
        let hidden = blocks::hidden(c, &of, viewer)?;
        let (rows, total) = list.page(c, kept, &hidden, page)?;
        let entries = entries(c, &links, &rows, bucket)?;
        Ok(page.of(entries.into_iter().map(|(row, user)| show(row, user)).collect(), total))
    };
    let db = &call.app.db;
    if is_quick { db.read(find).await } else { db.read_slow(find).await }
}

/// Each connection of a page with the other user.
fn entries(
    c: &Conn<'_>,
    links: &Links,
    rows: &[RelatedRow],
    bucket: Option<Sum>,
) -> Result<Vec<(ConnectionRow, User)>> {
    let ids: Vec<ConnectionId> = rows.iter().map(|row| ConnectionId(row.id)).collect();
    let found = store::find_all(c, links.project, &ids)?;
    let mut found: HashMap<ConnectionId, _> = found.into_iter().map(|row| (row.id, row)).collect();
    let mut users = related::shown(c, links, rows)?;
    if let Some(bucket) = bucket {
        let shown = users.values_mut().map(|user| user.points_in(bucket)).collect();
        reputation::add_points(c, links.project, shown)?;
    }
    let entry = |row: &RelatedRow| {
        Some((found.remove(&ConnectionId(row.id))?, users.remove(&row.other_id)?))
    };
    Ok(rows.iter().filter_map(entry).collect())
}

async fn count<A>(
    call: &Call<A>,
    user: UserId,
    viewer: Option<UserId>,
) -> Result<Json<ConnectionCount>> {
    let (of, project) = (call.project.clone(), call.project.id);
    let list = List { project, user, relation: Kind::Connected.relation(), sought: None };
    let counted = call.app.db.read(move |c| {
        if blocks::has_blocked(c, &of, viewer, user)? {
            return Ok(0);
        }
        let kept = store::counts(c, project, user)?.connected;
        list.total(c, kept, &blocks::hidden(c, &of, viewer)?)
    });
    Ok(Json(ConnectionCount { count: counted.await? }))
}
