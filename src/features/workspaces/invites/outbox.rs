//! The invitations of a workspace, for those who may invite: list, revoke, send again.

use db::Tx;

use crate::auth::caller::UserOrKey;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::workspaces::acting::{Acting, Purpose, acting};
use crate::features::workspaces::capabilities::Capability;
use crate::features::workspaces::invites::{LIFETIME, WorkspaceInvitePath, mail};
use crate::features::workspaces::model::{Invitation, InviteStatus, Whole};
use crate::features::workspaces::place;
use crate::features::workspaces::shape::{Read, Write};
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::features::workspaces::{
    INVITE_NOT_FOUND, INVITE_TERMINAL, MISSING_INVITE_ACCEPT_URL, WorkspacePath, changes,
};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::mail_quota::Ticket;
use crate::values::ids::ProjectId;

pub(in crate::features::workspaces) async fn list_invites(
    call: Call<UserOrKey>,
    (Path(path), Read { named, .. }): (Path<WorkspacePath>, Read),
) -> Result<Json<Whole<Invitation>>> {
    let acting = acting(&call, named, Purpose::Read).await?;
    let (project, now) = (call.project.id, call.now);
    let listed = call.app.db.read(move |c| {
        place::find(c, project, path.workspace_id, acting)?.require(Capability::Invite)?;
        let rows = invites::live(c, project, path.workspace_id, now)?;
        Ok::<_, Error>(Whole { data: rows.into_iter().map(Invitation::new).collect() })
    });
    listed.await.map(Json)
}

/// A pending invitation of the workspace, expired or not. Its tree is locked.
fn pending(
    tx: &Tx<'_>,
    project: ProjectId,
    path: &WorkspaceInvitePath,
    acting: Acting,
) -> Result<InviteRow> {
    place::lock(tx, project, path.workspace_id, acting)?.require(Capability::Invite)?;
    let found = invites::find(tx, project, path.invite_id)?;
    let row = found.filter(|row| row.workspace_id == path.workspace_id).ok_or(INVITE_NOT_FOUND)?;
    match row.status {
        InviteStatus::Pending => Ok(row),
        _ => Err(INVITE_TERMINAL.into()),
    }
}

pub(in crate::features::workspaces) async fn revoke_invite(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspaceInvitePath>, Write),
) -> Result<Json<Invitation>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (app, of, now) = (call.app.clone(), call.project.clone(), call.now);
    let revoked = call.app.db.write(move |tx| {
        let row = pending(tx, of.id, &path, acting)?;
        let context = Context { app: &app, project: &of, now };
        changes::settle_invite(tx, context, row, InviteStatus::Revoked)
    });
    revoked.await.map(|row| Json(Invitation::new(row)))
}

pub(in crate::features::workspaces) async fn resend_invite(
    call: Call<UserOrKey>,
    (Path(path), Write { named, .. }): (Path<WorkspaceInvitePath>, Write),
) -> Result<Json<Invitation>> {
    let acting = acting(&call, named, Purpose::Write).await?;
    let (project, now) = (call.project.clone(), call.now);
    let ticket = Ticket::draw(&call.app, now);
    let sent = call.app.db.write(move |tx| {
        let mut row = pending(tx, project.id, &path, acting)?;
        if project.workspaces.invite_accept_url.is_none() {
            return Err(MISSING_INVITE_ACCEPT_URL.into());
        }
        (row.expires_at, row.updated_at) = (now.plus(LIFETIME), now);
        invites::update(tx, project.id, &row)?;
        mail::queue(tx, &project, ticket, &row, now)?;
        Ok::<_, Error>(row)
    });
    sent.await.map(|row| Json(Invitation::new(row)))
}
