//! Accept and Decline Workspace Invite, by the invitee: the named user, or the one with its address.

use db::{JsonText, Tx};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::Result;
use crate::features::users::store::{self as users, UserRow};
use crate::features::visibility::store::blocks;
use crate::features::workspaces::acting::{Purpose, acting_user};
use crate::features::workspaces::invites::InvitePath;
use crate::features::workspaces::model::InviteStatus;
use crate::features::workspaces::shape::Write;
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::features::workspaces::store::members::{self, MemberRow};
use crate::features::workspaces::{
    EMAIL_NOT_VERIFIED, INVALID_TARGET, INVITE_EXPIRED, INVITE_NOT_FOUND, INVITE_TERMINAL, changes,
    has_verified_email, store,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::{Done, Json};
use crate::tenancy::Project;
use crate::values::ids::{UserId, WorkspaceId, WorkspaceInviteId, WorkspaceMemberId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AcceptedWorkspaceInvitation")]
pub(in crate::features::workspaces) struct Accepted {
    success: bool,
    workspace_id: WorkspaceId,
}

pub(in crate::features::workspaces) async fn accept_invite(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<InvitePath>, Write),
) -> Result<Json<Accepted>> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let id = WorkspaceMemberId(new_id(now, &call.app.random));
    let accepted = call.app.db.write(move |tx| {
        let (invite, owner) = open(tx, &project, path.invite_id, user, now)?;
        let context = Context { app: &app, project: &project, now };
        let invite = changes::settle_invite(tx, context, invite, InviteStatus::Accepted)?;
        let workspace_id = invite.workspace_id;
        let found = members::find(tx, project.id, workspace_id, user)?;
        if owner != user && found.is_none() {
            changes::add_member(tx, context, &joined(invite, user, id, now))?;
        }
        Ok(Accepted { success: true, workspace_id })
    });
    accepted.await.map(Json)
}

pub(in crate::features::workspaces) async fn decline_invite(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<InvitePath>, Write),
) -> Result<Json<Done>> {
    let user = acting_user(&call, named, Purpose::Write).await?;
    let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
    let declined = call.app.db.write(move |tx| {
        let (invite, _) = open(tx, &project, path.invite_id, user, now)?;
        let context = Context { app: &app, project: &project, now };
        changes::settle_invite(tx, context, invite, InviteStatus::Declined)
    });
    declined.await.map(|_| Json(Done::SILENT))
}

/// The invitation if this user may answer it now, and the owner of its workspace. Its tree and the user are locked.
fn open(
    tx: &Tx<'_>,
    project: &Project,
    id: WorkspaceInviteId,
    user: UserId,
    now: Timestamp,
) -> Result<(InviteRow, UserId)> {
    let seen = invites::find(tx, project.id, id)?.ok_or(INVITE_NOT_FOUND)?;
    store::lock_tree(tx, project.id, seen.workspace_id)?;
    let user = users::lock_shared(tx, project.id, user)?.ok_or(INVALID_TARGET)?;
    // Read again under the lock.
    let invite = invites::find(tx, project.id, id)?.ok_or(INVITE_NOT_FOUND)?;
    let is_blocked = blocks::is_blocked_between(tx, project, Some(user.id), invite.invited_by)?;
    if !is_for(&invite, &user) || is_blocked {
        return Err(INVITE_NOT_FOUND.into());
    }
    if !has_verified_email(&user) {
        return Err(EMAIL_NOT_VERIFIED.into());
    }
    if invite.status != InviteStatus::Pending {
        return Err(INVITE_TERMINAL.into());
    }
    if !invite.is_live(now) {
        return Err(INVITE_EXPIRED.into());
    }
    let workspaces = store::find_all(tx, project.id, &[invite.workspace_id])?;
    let workspace = workspaces.first().ok_or(INVITE_NOT_FOUND)?;
    Ok((invite, workspace.owner_id))
}

/// Whether the invitation is for this user, by id or by address.
fn is_for(invite: &InviteRow, user: &UserRow) -> bool {
    match invite.user_id {
        Some(id) => id == user.id,
        None => invite.email.is_some() && invite.email == user.email,
    }
}

fn joined(invite: InviteRow, user: UserId, id: WorkspaceMemberId, now: Timestamp) -> MemberRow {
    MemberRow {
        id,
        workspace_id: invite.workspace_id,
        user_id: user,
        capabilities: invite.capabilities,
        permissions: invite.permissions,
        rank: invite.rank,
        title: invite.title,
        metadata: JsonText("{}".to_owned()),
        joined_at: now,
        created_at: now,
    }
}
