//! Who may change what in a space: its creator, its admins, its moderators, and the holder of a key.

use db::Tx;

use crate::auth::caller::ActorOrKey;
use crate::error::Result;
use crate::features::spaces::members::store::{self as members, MemberRow};
use crate::features::spaces::permissions::SpaceMembership;
use crate::features::spaces::rules::{Role, Status};
use crate::features::spaces::store::{self, SpaceRow};
use crate::features::spaces::{
    ADMIN_REQUIRED, CREATOR_REQUIRED, INSUFFICIENT_PERMISSIONS, LAST_ADMIN, MODERATOR_REQUIRED,
    NOT_FOUND,
};
use crate::values::ids::{ProjectId, SpaceId, UserId};

/// Ordered: each level includes the permissions of those below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    None,
    Moderator,
    Admin,
    Creator,
    Key,
}

impl Authority {
    /// A user's authority. A creator keeps it without a membership, but not while banned.
    pub fn of(space: &SpaceRow, user: UserId, standing: Option<SpaceMembership>) -> Self {
        let status = standing.map(|standing| standing.status);
        let role =
            standing.filter(|_| status == Some(Status::Active)).map(|standing| standing.role);
        if space.user_id == Some(user) && status != Some(Status::Banned) {
            return Authority::Creator;
        }
        match role {
            Some(Role::Admin) => Authority::Admin,
            Some(Role::Moderator) => Authority::Moderator,
            Some(Role::Member) | None => Authority::None,
        }
    }

    pub fn require(self, least: Authority) -> Result<()> {
        if self >= least {
            return Ok(());
        }
        Err(match least {
            Authority::None | Authority::Moderator => MODERATOR_REQUIRED,
            Authority::Admin => ADMIN_REQUIRED,
            Authority::Creator | Authority::Key => CREATOR_REQUIRED,
        }
        .into())
    }

    /// Whether they may ban this member of the space.
    pub fn may_ban(self, space: &SpaceRow, by: Option<UserId>, target: &MemberRow) -> Result<()> {
        let is_staff = target.role != Role::Member;
        let is_self = self < Authority::Key && by == Some(target.user_id);
        if is_self || (is_staff && self < Authority::Admin) {
            return Err(INSUFFICIENT_PERMISSIONS.into());
        }
        let is_creator = space.user_id == Some(target.user_id);
        if (target.role == Role::Admin || is_creator) && self < Authority::Creator {
            return Err(CREATOR_REQUIRED.into());
        }
        Ok(())
    }

    pub fn may_unban(self, target: &MemberRow) -> Result<()> {
        if target.role != Role::Member && self < Authority::Admin {
            return Err(INSUFFICIENT_PERMISSIONS.into());
        }
        Ok(())
    }
}

/// A locked space, with a user who may change it.
#[derive(Debug)]
pub struct Held {
    pub space: SpaceRow,
    pub authority: Authority,
    /// The user who made the change; none if the project did it with a key.
    pub by: Option<UserId>,
}

/// Locks the space for a change that needs this much authority.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    id: SpaceId,
    caller: ActorOrKey,
    least: Authority,
) -> Result<Held> {
    let space = store::lock(tx, project, id)?.ok_or(NOT_FOUND)?;
    let authority = authority(tx, project, &space, caller)?;
    authority.require(least)?;
    Ok(Held { space, authority, by: caller.user() })
}

pub fn authority(
    c: &db::Conn<'_>,
    project: ProjectId,
    space: &SpaceRow,
    caller: ActorOrKey,
) -> Result<Authority> {
    match caller {
        ActorOrKey::Key { .. } => Ok(Authority::Key),
        ActorOrKey::User(user) => {
            Ok(Authority::of(space, user, store::standing(c, project, space.id, user)?))
        }
    }
}

/// Refuses to remove the only active admin. The caller has locked the space.
pub fn keep_an_admin(tx: &Tx<'_>, project: ProjectId, leaving: &MemberRow) -> Result<()> {
    if leaving.is_active_admin() && members::count_admins(tx, project, leaving.space_id)? < 2 {
        return Err(LAST_ADMIN.into());
    }
    Ok(())
}
