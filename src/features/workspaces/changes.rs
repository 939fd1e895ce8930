//! The seven things that happen in workspaces, each in one place and inside the transaction that it happens in:
//! `workspace.member.added` and `.removed`, `workspace.invite.created`, `.accepted`, `.declined` and `.revoked`, and
//! `workspace.deleted`. Every operation, and the deletion of a user, goes through these functions.

use db::Tx;

use crate::error::Result;
use crate::features::workspaces::model::InviteStatus;
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::features::workspaces::store::members::{self, MemberRow};
use crate::features::workspaces::store::{self, WorkspaceRow};
use crate::values::ids::{ProjectId, UserId, WorkspaceId};
use crate::values::time::Timestamp;

/// `workspace.member.added`. The user is locked against deletion.
pub(super) fn add_member(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    members::insert(tx, project, row)
}

/// `workspace.member.removed`, for each of these memberships of one user.
pub(super) fn remove_member(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    rows: &[MemberRow],
) -> Result<()> {
    let workspaces: Vec<WorkspaceId> = rows.iter().map(|row| row.workspace_id).collect();
    if workspaces.is_empty() {
        return Ok(());
    }
    members::delete(tx, project, user, &workspaces)
}

/// `workspace.invite.created`.
pub(super) fn create_invite(tx: &Tx<'_>, project: ProjectId, row: &InviteRow) -> Result<()> {
    invites::insert(tx, project, row)
}

/// `workspace.invite.accepted`, `.declined` or `.revoked`, by the new status.
pub(super) fn settle_invite(
    tx: &Tx<'_>,
    project: ProjectId,
    row: InviteRow,
    status: InviteStatus,
    now: Timestamp,
) -> Result<InviteRow> {
    let row = InviteRow { status, updated_at: now, ..row };
    invites::update(tx, project, &row)?;
    Ok(row)
}

/// `workspace.deleted`, for each workspace of a subtree from the bottom up; its members get no event of their own.
/// `subtree` has parents before children.
pub(super) fn delete_subtree(
    tx: &Tx<'_>,
    project: ProjectId,
    subtree: &[WorkspaceRow],
) -> Result<()> {
    let bottom_up: Vec<WorkspaceId> = subtree.iter().rev().map(|row| row.id).collect();
    store::delete(tx, project, &bottom_up)
}
