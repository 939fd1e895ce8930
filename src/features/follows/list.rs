//! Followers and followed users of a user, and their numbers: for the user, and for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, OptionalViewer};
use crate::error::Result;
use crate::features::follows::{INVALID_QUERY, OF_USER_INVALID_QUERY, store};
use crate::features::users::UserPath;
use crate::features::users::model::User;
use crate::features::users::related::{self, UserSearch};
use crate::features::users::reputation::{self, ReputationQuery, Sum};
use crate::features::users::store::related::{List, Relation, Sought};
use crate::features::visibility::store::blocks;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::values::ids::{FollowId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FollowEntry {
    follow_id: FollowId,
    user: User,
    followed_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FollowCount {
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
enum Side {
    Followers,
    Following,
}

impl Side {
    const fn relation(self) -> Relation {
        match self {
            Side::Followers => store::FOLLOWERS,
            Side::Following => store::FOLLOWING,
        }
    }

    fn of(self, counts: store::Counts) -> i64 {
        match self {
            Side::Followers => counts.followers,
            Side::Following => counts.following,
        }
    }
}

type Listed = Result<Json<Paged<FollowEntry>>>;
type Counted = Result<Json<FollowCount>>;
type ByUser = (Path<UserPath>, LenientPaging, Query<ByUserQuery>);
type Own = (LenientPaging, Query<UserSearch>);

pub(super) async fn followers_of(call: Call<OptionalViewer>, input: ByUser) -> Listed {
    of_user(call, Side::Followers, input).await
}

pub(super) async fn following_of(call: Call<OptionalViewer>, input: ByUser) -> Listed {
    of_user(call, Side::Following, input).await
}

pub(super) async fn followers(call: Call<Actor>, input: Own) -> Listed {
    own(call, Side::Followers, input).await
}

pub(super) async fn following(call: Call<Actor>, input: Own) -> Listed {
    own(call, Side::Following, input).await
}

pub(super) async fn count_followers_of(
    call: Call<OptionalViewer>,
    Path(path): Path<UserPath>,
) -> Counted {
    let viewer = call.caller.user();
    count(call, path.user_id, viewer, Side::Followers).await
}

pub(super) async fn count_following_of(
    call: Call<OptionalViewer>,
    Path(path): Path<UserPath>,
) -> Counted {
    let viewer = call.caller.user();
    count(call, path.user_id, viewer, Side::Following).await
}

pub(super) async fn count_followers(call: Call<Actor>, (): ()) -> Counted {
    let user = call.caller.user;
    count(call, user, Some(user), Side::Followers).await
}

pub(super) async fn count_following(call: Call<Actor>, (): ()) -> Counted {
    let user = call.caller.user;
    count(call, user, Some(user), Side::Following).await
}

async fn of_user(
    call: Call<OptionalViewer>,
    side: Side,
    (Path(path), LenientPaging(page), Query(query)): ByUser,
) -> Listed {
    let bucket = query.reputation.bucket(&call.project, OF_USER_INVALID_QUERY)?;
    let sought = query.search.sought(OF_USER_INVALID_QUERY)?;
    let viewer = call.caller.user();
    list(call, path.user_id, viewer, side, page, sought, bucket).await
}

async fn own(call: Call<Actor>, side: Side, (LenientPaging(page), Query(search)): Own) -> Listed {
    let sought = search.sought(INVALID_QUERY)?;
    let user = call.caller.user;
    list(call, user, Some(user), side, page, sought, None).await
}

async fn list<A>(
    call: Call<A>,
    user: UserId,
    viewer: Option<UserId>,
    side: Side,
    page: Page,
    sought: Option<Sought>,
    bucket: Option<Sum>,
) -> Listed {
    let (of, project, links) = (call.project.clone(), call.project.id, call.links());
    let list = List { project, user, relation: side.relation(), sought };
    let is_quick = list.is_quick(page);
    let find = move |c: &db::Conn<'_>| {
        if blocks::has_blocked(c, &of, viewer, user)? {
            return Ok(page.of(Vec::new(), 0));
        }
        let kept = side.of(store::counts(c, project, user)?);
        let hidden = blocks::hidden(c, &of, viewer)?;
        let (rows, total) = list.page(c, kept, &hidden, page)?;
        let mut users = related::shown(c, &links, &rows)?;
        if let Some(bucket) = bucket {
            let shown = users.values_mut().map(|user| user.points_in(bucket)).collect();
            reputation::add_points(c, project, shown)?;
        }
        let entries = rows.iter().filter_map(|row| {
            let user = users.remove(&row.other_id)?;
            Some(FollowEntry { follow_id: FollowId(row.id), user, followed_at: row.created_at })
        });
        Ok(page.of(entries.collect(), total))
    };
    let db = &call.app.db;
    let listed = if is_quick { db.read(find).await } else { db.read_slow(find).await };
    listed.map(Json)
}

async fn count<A>(call: Call<A>, user: UserId, viewer: Option<UserId>, side: Side) -> Counted {
    let (of, project) = (call.project.clone(), call.project.id);
    let list = List { project, user, relation: side.relation(), sought: None };
    let counted = call.app.db.read(move |c| {
        if blocks::has_blocked(c, &of, viewer, user)? {
            return Ok(0);
        }
        let kept = side.of(store::counts(c, project, user)?);
        list.total(c, kept, &blocks::hidden(c, &of, viewer)?)
    });
    Ok(Json(FollowCount { count: counted.await? }))
}
