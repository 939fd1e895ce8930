//! Changes to members by admins and moderators: approve, decline, ban, change roles.

use db::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::ActorOrKey;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::spaces::authority::{self, Authority, Held};
use crate::features::spaces::members::store::{self, Ban, MemberRow};
use crate::features::spaces::members::{MemberPath, notify};
use crate::features::spaces::moderation_log::{self, LogAction, LogTarget, Logged, LoggedBy};
use crate::features::spaces::observer::observers;
use crate::features::spaces::rules::{Reason, Role, Status};
use crate::features::spaces::{CREATOR_REQUIRED, MEMBERSHIP_NOT_FOUND, NOT_ACTIVE, NOT_PENDING};
use crate::features::visibility::restrictions::{self, Restricted, Restriction};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::state::App;
use crate::values::ids::{MemberId, ProjectId, SpaceBanId, SpaceId, UserId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Reply")]
pub(in crate::features::spaces) struct Changed<T> {
    message: &'static str,
    membership: T,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::features::spaces) struct SpaceMember {
    id: MemberId,
    project_id: ProjectId,
    space_id: SpaceId,
    user_id: UserId,
    role: Role,
    status: Status,
    joined_at: Timestamp,
    created_at: Timestamp,
}

impl SpaceMember {
    fn new(project_id: ProjectId, row: MemberRow) -> Self {
        let MemberRow { id, space_id, user_id, role, status, joined_at, created_at } = row;
        SpaceMember { id, project_id, space_id, user_id, role, status, joined_at, created_at }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApprovedMembership")]
pub(in crate::features::spaces) struct Approved {
    id: MemberId,
    status: Status,
    joined_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeclinedMembership")]
pub(in crate::features::spaces) struct Declined {
    id: MemberId,
    status: Status,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MembershipWithRole")]
pub(in crate::features::spaces) struct WithRole {
    id: MemberId,
    role: Role,
    status: Status,
    joined_at: Timestamp,
    user_id: UserId,
}

/// The membership. The caller has locked the space.
fn member(tx: &Tx<'_>, project: ProjectId, held: &Held, id: MemberId) -> Result<MemberRow> {
    store::find_by_id(tx, project, held.space.id, id)?.ok_or(MEMBERSHIP_NOT_FOUND.into())
}

pub(in crate::features::spaces) async fn approve(
    call: Call<ActorOrKey>,
    Path(path): Path<MemberPath>,
) -> Result<Json<Changed<Approved>>> {
    let (app, project, caller, now) =
        (call.app.clone(), call.project.clone(), call.caller, call.now);
    let approved = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project.id, path.space_id, caller, Authority::Moderator)?;
        let found = answered(tx, project.id, &held, path.member_id, Status::Active)?;
        notify::approved(tx, &app, &project, &held.space, found.user_id, caller.user(), now)?;
        Ok::<_, Error>(found)
    });
    let MemberRow { id, status, joined_at, .. } = approved.await?;
    Ok(Json(Changed {
        message: "Member approved.",
        membership: Approved { id, status, joined_at },
    }))
}

pub(in crate::features::spaces) async fn decline(
    call: Call<ActorOrKey>,
    Path(path): Path<MemberPath>,
) -> Result<Json<Changed<Declined>>> {
    let (app, project, caller, now) = (call.app.clone(), call.project.id, call.caller, call.now);
    let declined = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Moderator)?;
        let declined = answered(tx, project, &held, path.member_id, Status::Rejected)?;
        for observer in observers(&app) {
            observer.member_left(tx, project, held.space.id, declined.user_id, now)?;
        }
        Ok::<_, Error>(declined)
    });
    let MemberRow { id, status, .. } = declined.await?;
    Ok(Json(Changed { message: "Member declined.", membership: Declined { id, status } }))
}

/// Approves or declines a request to join.
fn answered(
    tx: &Tx<'_>,
    project: ProjectId,
    held: &Held,
    id: MemberId,
    status: Status,
) -> Result<MemberRow> {
    let found = member(tx, project, held, id)?;
    if found.status != Status::Pending {
        return Err(NOT_PENDING.into());
    }
    let after = MemberRow { status, ..found.clone() };
    store::update(tx, project, &found, &after)?;
    Ok(after)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "MemberBan")]
pub(in crate::features::spaces) struct BanBody {
    /// Stored with the ban.
    reason: Option<Reason>,
}

pub(in crate::features::spaces) async fn ban_member(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<MemberPath>, Body<BanBody>),
) -> Result<Json<Changed<SpaceMember>>> {
    let (app, of, caller, now) = (call.app.clone(), call.project.clone(), call.caller, call.now);
    let (project, id) = (of.id, SpaceBanId(new_id(now, &call.app.random)));
    let banned = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Moderator)?;
        let found = member(tx, project, &held, path.member_id)?;
        let was_banned = found.status == Status::Banned;
        let reason = body.reason.as_ref().map(Reason::as_str);
        let new = Ban { id, by: held.by, reason, report: None, at: now };
        let banned = ban(tx, &app, project, &held, found, &new)?;
        if !was_banned {
            let what = Restriction::Ban { ban: id, space: held.space.id };
            let restricted = Restricted { what, user: Some(banned.user_id), by: caller, reason };
            let context = Context { app: &app, project: &of, now };
            restrictions::restricted(tx, context, &restricted)?;
        }
        Ok::<_, Error>(banned)
    });
    let membership = SpaceMember::new(project, banned.await?);
    Ok(Json(Changed { message: "Member banned.", membership }))
}

/// Bans a member. The caller has locked the space. Banning again changes nothing.
pub fn ban(
    tx: &Tx<'_>,
    app: &App,
    project: ProjectId,
    held: &Held,
    found: MemberRow,
    ban: &Ban<'_>,
) -> Result<MemberRow> {
    held.authority.may_ban(&held.space, held.by, &found)?;
    if found.status == Status::Banned {
        return Ok(found);
    }
    authority::keep_an_admin(tx, project, &found)?;
    let after = MemberRow { status: Status::Banned, ..found.clone() };
    store::update(tx, project, &found, &after)?;
    store::insert_ban(tx, project, &after, ban)?;
    log(tx, app, project, held, &after, (LogAction::Ban, ban.reason), ban.at)?;
    for observer in observers(app) {
        observer.member_left(tx, project, held.space.id, after.user_id, ban.at)?;
    }
    Ok(after)
}

/// A ban and its end are in the log of the space.
fn log(
    tx: &Tx<'_>,
    app: &App,
    project: ProjectId,
    held: &Held,
    member: &MemberRow,
    (action, reason): (LogAction, Option<&str>),
    now: Timestamp,
) -> Result<()> {
    let (by, target) = (LoggedBy::user(held.by), (LogTarget::User, member.user_id.0));
    let logged = Logged { action, target, by, reason };
    moderation_log::add(tx, app, (project, held.space.id), logged, now)
}

pub(in crate::features::spaces) async fn unban_member(
    call: Call<ActorOrKey>,
    Path(path): Path<MemberPath>,
) -> Result<Json<Changed<SpaceMember>>> {
    let (app, project, caller, now) = (call.app.clone(), call.project.id, call.caller, call.now);
    let unbanned = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Moderator)?;
        let found = member(tx, project, &held, path.member_id)?;
        if found.status != Status::Banned {
            return Err(MEMBERSHIP_NOT_FOUND.into());
        }
        held.authority.may_unban(&found)?;
        unban(tx, &app, project, &held, found, None, now)
    });
    let membership = SpaceMember::new(project, unbanned.await?);
    Ok(Json(Changed { message: "Member unbanned.", membership }))
}

/// Makes somebody who is banned a member. The caller has locked the space.
fn unban(
    tx: &Tx<'_>,
    app: &App,
    project: ProjectId,
    held: &Held,
    found: MemberRow,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<MemberRow> {
    let after = MemberRow { status: Status::Active, ..found.clone() };
    store::delete_ban(tx, project, &found)?;
    store::update(tx, project, &found, &after)?;
    log(tx, app, project, held, &after, (LogAction::Unban, reason), now)?;
    Ok(after)
}

/// Ends this one ban, after a successful appeal. Another ban of the same user stays; a space that is gone bans nobody.
pub fn take_back(
    tx: &Tx<'_>,
    context: Context<'_>,
    (space, user): (SpaceId, UserId),
    ban: SpaceBanId,
    reason: Option<&str>,
) -> Result<()> {
    let Context { app, project, now } = context;
    let key = ActorOrKey::Key { user: None };
    let held = match authority::lock(tx, project.id, space, key, Authority::Moderator) {
        Err(Error::Refused(_)) => return Ok(()),
        held => held?,
    };
    if store::find_ban(tx, project.id, space, user)? != Some(ban) {
        return Ok(());
    }
    match store::find(tx, project.id, space, user)? {
        Some(found) => unban(tx, app, project.id, &held, found, reason, now).map(drop),
        None => Ok(()),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SpaceMemberRole")]
pub(in crate::features::spaces) struct RoleBody {
    role: Role,
}

pub(in crate::features::spaces) async fn update_role(
    call: Call<ActorOrKey>,
    (Path(path), Body(body)): (Path<MemberPath>, Body<RoleBody>),
) -> Result<Json<Changed<WithRole>>> {
    let (project, caller) = (call.project.id, call.caller);
    let changed = call.app.db.write(move |tx| {
        let held = authority::lock(tx, project, path.space_id, caller, Authority::Admin)?;
        let found = member(tx, project, &held, path.member_id)?;
        let is_creator = held.space.user_id == Some(found.user_id);
        if is_creator && held.authority < Authority::Creator {
            return Err(CREATOR_REQUIRED.into());
        }
        if found.status != Status::Active {
            return Err(NOT_ACTIVE.into());
        }
        if body.role != Role::Admin {
            authority::keep_an_admin(tx, project, &found)?;
        }
        let after = MemberRow { role: body.role, ..found.clone() };
        store::update(tx, project, &found, &after)?;
        Ok::<_, Error>(after)
    });
    let MemberRow { id, role, status, joined_at, user_id, .. } = changed.await?;
    let membership = WithRole { id, role, status, joined_at, user_id };
    Ok(Json(Changed { message: "Role updated.", membership }))
}
