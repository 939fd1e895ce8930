//! Join Space, Leave Space, Check My Membership.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, OptionalViewer};
use crate::error::{Error, Result};
use crate::features::spaces::authority;
use crate::features::spaces::members::Message;
use crate::features::spaces::members::store::{self, MemberRow};
use crate::features::spaces::observer::observers;
use crate::features::spaces::permissions::Permissions;
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::{
    ALREADY_MEMBER, BANNED, MEMBERSHIP_NOT_FOUND, NOT_FOUND, SpacePath, store as spaces,
};
use crate::features::users;
use crate::http::input::{Path, Query};
use crate::http::operation::Call;
use crate::http::reply::{Created, Json};
use crate::values::ids::{MemberId, SpaceId, UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "JoinedSpace")]
pub(in crate::features::spaces) struct Joined {
    message: &'static str,
    membership: NewMembership,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NewMembership {
    id: MemberId,
    space_id: SpaceId,
    user_id: UserId,
    role: Role,
    status: Status,
    joined_at: Timestamp,
}

pub(in crate::features::spaces) async fn join(
    call: Call<Actor>,
    Path(path): Path<SpacePath>,
) -> Result<Created<Joined>> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let id = MemberId(new_id(now, &call.app.random));
    let joined = call.app.db.write(move |tx| {
        let space = spaces::lock(tx, project, path.space_id)?.ok_or(NOT_FOUND)?;
        let status = if space.requires_approval { Status::Pending } else { Status::Active };
        let (role, space_id) = (Role::Member, space.id);
        let new = MemberRow {
            id,
            space_id,
            user_id: user,
            role,
            status,
            joined_at: now,
            created_at: now,
        };
        match store::find(tx, project, space.id, user)? {
            None => {
                if users::store::lock_shared(tx, project, user)?.is_none() {
                    return Err(users::NOT_FOUND.into());
                }
                store::insert(tx, project, space_id, std::slice::from_ref(&new))?;
                Ok::<_, Error>(new)
            }
            Some(row) => match row.status {
                Status::Banned => Err(BANNED.into()),
                Status::Active | Status::Pending => Err(ALREADY_MEMBER.into()),
                Status::Rejected => {
                    let again = MemberRow { id: row.id, created_at: row.created_at, ..new };
                    store::update(tx, project, &row, &again)?;
                    Ok(again)
                }
            },
        }
    });
    let MemberRow { id, space_id, user_id, role, status, joined_at, .. } = joined.await?;
    let message = match status {
        Status::Active => "Joined the space.",
        _ => "The request to join awaits approval.",
    };
    let membership = NewMembership { id, space_id, user_id, role, status, joined_at };
    Ok(Created(Joined { message, membership }))
}

pub(in crate::features::spaces) async fn leave(
    call: Call<Actor>,
    Path(path): Path<SpacePath>,
) -> Result<Json<Message>> {
    let (app, project, user, now) = (call.app.clone(), call.project.id, call.caller.user, call.now);
    let left = call.app.db.write(move |tx| {
        let space = spaces::lock(tx, project, path.space_id)?.ok_or(NOT_FOUND)?;
        let row = store::find(tx, project, space.id, user)?.ok_or(MEMBERSHIP_NOT_FOUND)?;
        match row.status {
            Status::Banned => return Err(BANNED.into()),
            Status::Rejected => return Err(MEMBERSHIP_NOT_FOUND.into()),
            Status::Active | Status::Pending => {}
        }
        authority::keep_an_admin(tx, project, &row)?;
        store::delete(tx, project, &row)?;
        observers(&app)
            .iter()
            .try_for_each(|observer| observer.member_left(tx, project, space.id, user, now))
    });
    left.await?;
    Ok(Json(Message { message: "Left the space." }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct WhoseQuery {
    /// With a key: the user whose membership is checked.
    user_id: Option<UserId>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct MyMembership {
    is_member: bool,
    role: Option<Role>,
    status: Option<Status>,
    joined_at: Option<Timestamp>,
    permissions: MyPermissions,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MyPermissions {
    can_post: bool,
    can_moderate: bool,
    can_read: bool,
    is_admin: bool,
    is_moderator: bool,
}

impl From<Permissions> for MyPermissions {
    fn from(all: Permissions) -> Self {
        let Permissions { can_post, can_moderate, can_read, is_admin, is_moderator, .. } = all;
        MyPermissions { can_post, can_moderate, can_read, is_admin, is_moderator }
    }
}

pub(in crate::features::spaces) async fn my_membership(
    call: Call<OptionalViewer>,
    (Path(path), Query(whose)): (Path<SpacePath>, Query<WhoseQuery>),
) -> Result<Json<MyMembership>> {
    let project = call.project.id;
    let user = match call.caller {
        OptionalViewer::Key(_) => whose.user_id,
        caller => caller.user(),
    };
    let is_bare_key = call.caller.is_key() && user.is_none();
    let found = call.app.db.read(move |c| {
        let space = spaces::find(c, project, path.space_id)?.ok_or(NOT_FOUND)?;
        let row = match user {
            Some(user) => store::find(c, project, space.id, user)?,
            None => None,
        };
        Ok::<_, Error>((space, row))
    });
    let (space, row) = found.await?;
    let (reading, posting) = (space.reading_permission, space.posting_permission);
    let permissions = match is_bare_key {
        true => Permissions::KEY,
        false => Permissions::new(reading, posting, row.as_ref().map(MemberRow::standing)),
    };
    Ok(Json(MyMembership {
        is_member: permissions.is_member && !is_bare_key,
        role: row.as_ref().map(|row| row.role),
        status: row.as_ref().map(|row| row.status),
        joined_at: row.map(|row| row.joined_at),
        permissions: permissions.into(),
    }))
}
