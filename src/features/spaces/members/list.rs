//! List Members and List Team.

use std::sync::Arc;

use db::Conn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{ActorOrKey, OptionalViewer};
use crate::error::{Error, Result};
use crate::features::spaces::authority::{self, Authority};
use crate::features::spaces::members::store::{self, List, MemberRow};
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::store::{self as spaces, SpaceRow};
use crate::features::spaces::{INVALID_QUERY, NOT_FOUND, SpacePath};
use crate::features::users::model::{self, User};
use crate::features::users::reputation::{self, Bucket, ReputationQuery};
use crate::features::visibility::store::blocks;
use crate::http::input::{LenientPaging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::Paged;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::values::ids::MemberId;
use crate::values::time::Timestamp;

/// Pages beyond this offset run off the async workers.
const SLOW_OFFSET: i64 = 1000;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpaceMemberWithUser {
    membership_id: MemberId,
    role: Role,
    status: Status,
    joined_at: Timestamp,
    user: MemberUser,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SpaceMemberUser")]
struct MemberUser {
    #[serde(flatten)]
    user: User,
    /// The same as `name`.
    display_name: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SpaceTeam")]
pub(in crate::features::spaces) struct Team {
    data: Vec<SpaceMemberWithUser>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::features::spaces) struct MembersQuery {
    /// `active` by default; the others are for moderators.
    status: Option<Status>,
    role: Option<Role>,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

pub(in crate::features::spaces) async fn members(
    call: Call<OptionalViewer>,
    (Path(path), LenientPaging(page), Query(query)): (
        Path<SpacePath>,
        LenientPaging,
        Query<MembersQuery>,
    ),
) -> Result<Json<Paged<SpaceMemberWithUser>>> {
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (project, links, caller) = (call.project.clone(), call.links(), call.caller);
    let list = List { status: query.status.unwrap_or(Status::Active), role: query.role };
    let is_quick = list.is_counted() && page.offset() < SLOW_OFFSET;
    let find = move |c: &Conn<'_>, is_quick: bool| {
        let space = spaces::find(c, project.id, path.space_id)?.ok_or(NOT_FOUND)?;
        if list.status != Status::Active {
            let authority = match caller {
                OptionalViewer::Anonymous => Authority::None,
                OptionalViewer::Key(_) => Authority::Key,
                OptionalViewer::User(user) => {
                    authority::authority(c, project.id, &space, ActorOrKey::User(user))?
                }
            };
            authority.require(Authority::Moderator)?;
        }
        let hidden = blocks::hidden(c, &project, caller.user())?;
        // If users are hidden from the viewer, the members have to be counted.
        if is_quick && !hidden.is_nobody() {
            return Ok(None);
        }
        let (rows, total) = list.page(c, project.id, &space, &hidden, page)?;
        Ok::<_, Error>(Some(page.of(show(c, &links, &space, rows, bucket)?, total)))
    };
    let find = Arc::new(find);
    let (db, quick) = (&call.app.db, find.clone());
    let found = if is_quick { db.read(move |c| quick(c, true)).await? } else { None };
    let found = match found {
        Some(found) => Some(found),
        None => db.read_slow(move |c| find(c, false)).await?,
    };
    found.map(Json).ok_or_else(|| Error::internal("the members were not listed"))
}

pub(in crate::features::spaces) async fn team(
    call: Call<OptionalViewer>,
    (Path(path), Query(reputation)): (Path<SpacePath>, Query<ReputationQuery>),
) -> Result<Json<Team>> {
    let bucket = reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let (project, links, viewer) = (call.project.clone(), call.links(), call.caller.user());
    let found = call.app.db.read(move |c| {
        let space = spaces::find(c, project.id, path.space_id)?.ok_or(NOT_FOUND)?;
        let mut rows = store::team(c, project.id, space.id)?;
        let users: Vec<_> = rows.iter().map(|row| row.user_id).collect();
        let hidden = blocks::blocked_among(c, &project, viewer, &users)?;
        rows.retain(|row| !hidden.contains(&row.user_id));
        Ok::<_, Error>(Team { data: show(c, &links, &space, rows, bucket)? })
    });
    found.await.map(Json)
}

pub fn show(
    c: &Conn<'_>,
    links: &Links,
    space: &SpaceRow,
    rows: Vec<MemberRow>,
    bucket: Option<Bucket>,
) -> Result<Vec<SpaceMemberWithUser>> {
    let mut users = model::shown(c, links, rows.iter().map(|row| row.user_id).collect())?;
    if let Some(bucket) = bucket {
        let shown = users.values_mut().map(|user| user.points_in(bucket.of(Some(space.id))));
        reputation::add_points(c, links.project, shown.collect())?;
    }
    let entry = |row: MemberRow| {
        let user = users.remove(&row.user_id)?;
        let user = MemberUser { display_name: user.name.clone(), user };
        let MemberRow { id, role, status, joined_at, .. } = row;
        Some(SpaceMemberWithUser { membership_id: id, role, status, joined_at, user })
    };
    Ok(rows.into_iter().filter_map(entry).collect())
}
