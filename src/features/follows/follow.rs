//! Follow User, Unfollow User, Get Follow Status, Delete Follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::auth::caller::Actor;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::follows::store::{self, FollowRow};
use crate::features::follows::{ALREADY_EXISTS, FORBIDDEN, NOT_FOUND, SELF_FOLLOW, USER_NOT_FOUND};
use crate::features::notifications::{self, about_user};
use crate::features::users::UserPath;
use crate::features::users::store as users;
use crate::features::users::store::lock_pair;
use crate::features::visibility::store::blocks;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::{Created, Json, NoContent};
use crate::tenancy::Bundle;
use crate::values::ids::{FollowId, UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Follow {
    id: FollowId,
    follower_id: UserId,
    followed_id: UserId,
    created_at: Timestamp,
}

pub(super) async fn follow_user(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<Created<Follow>> {
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let (follower, followed) = (call.caller.user, path.user_id);
    if follower == followed {
        return Err(SELF_FOLLOW.into());
    }
    let id = FollowId(new_id(now, &app.random));
    let row = FollowRow { id, follower_id: follower, followed_id: followed, created_at: now };
    let written = call.app.db.write(move |tx| {
        // The same error for a block and an unknown user.
        if !lock_pair::lock(tx, project.id, follower, followed)?
            || blocks::is_blocked_between(tx, &project, Some(follower), followed)?
        {
            return Err(USER_NOT_FOUND.into());
        }
        if store::find(tx, project.id, follower, followed)?.is_some() {
            return Err(ALREADY_EXISTS.into());
        }
        store::insert(tx, project.id, &row)?;
        if project.has(Bundle::Notifications)
            && let Some(by) = users::find(tx, project.id, follower)?
        {
            let notice = about_user(&app, now, followed, "new-follow", &by, Map::new());
            notifications::add(tx, Context { app: &app, project: &project, now }, &[notice])?;
        }
        Ok::<_, Error>(())
    });
    written.await?;
    Ok(Created(Follow { id, follower_id: follower, followed_id: followed, created_at: now }))
}

pub(super) async fn unfollow_user(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<NoContent> {
    let (project, follower, followed) = (call.project.id, call.caller.user, path.user_id);
    let deleted = call.app.db.write(move |tx| {
        Ok::<_, Error>(
            follower != followed
                && lock_pair::lock(tx, project, follower, followed)?
                && store::delete(tx, project, follower, followed)?,
        )
    });
    if deleted.await? { Ok(NoContent) } else { Err(NOT_FOUND.into()) }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FollowStatus {
    is_following: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    follow_id: Option<FollowId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    followed_at: Option<Timestamp>,
}

pub(super) async fn follow_status(
    call: Call<Actor>,
    Path(path): Path<UserPath>,
) -> Result<Json<FollowStatus>> {
    let (project, follower) = (call.project.clone(), call.caller.user);
    let found = call.app.db.read(move |c| {
        let found = store::find(c, project.id, follower, path.user_id)?;
        let hides = || blocks::is_blocked_between(c, &project, Some(follower), path.user_id);
        // Created while the project had no blocks.
        Ok::<_, Error>(if found.is_some() && hides()? { None } else { found })
    });
    let found = found.await?;
    Ok(Json(FollowStatus {
        is_following: found.is_some(),
        follow_id: found.map(|follow| follow.id),
        followed_at: found.map(|follow| follow.created_at),
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FollowPath {
    follow_id: FollowId,
}

pub(super) async fn delete_follow(
    call: Call<Actor>,
    Path(path): Path<FollowPath>,
) -> Result<NoContent> {
    let (project, actor) = (call.project.id, call.caller.user);
    let deleted = call.app.db.write(move |tx| {
        let follow = store::find_by_id(tx, project, path.follow_id)?.ok_or(NOT_FOUND)?;
        if follow.follower_id != actor {
            return Err(FORBIDDEN.into());
        }
        lock_pair::lock(tx, project, actor, follow.followed_id)?;
        // The follow may have been deleted, and created again, before the lock.
        let same = store::find_by_id(tx, project, path.follow_id)?.is_some();
        Ok::<_, Error>(same && store::delete(tx, project, actor, follow.followed_id)?)
    });
    if deleted.await? { Ok(NoContent) } else { Err(NOT_FOUND.into()) }
}
