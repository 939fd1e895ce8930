//! The seven things that happen in workspaces, each in one place and inside the transaction that it happens in, for
//! observers. Every operation, and the deletion of a user, goes through these functions.

use db::Tx;

use crate::domain_events::{self, Context, EventKind};
use crate::error::Result;
use crate::features::workspaces::model::{Invitation, InviteStatus, Workspace, WorkspaceMember};
use crate::features::workspaces::store::invites::{self, InviteRow};
use crate::features::workspaces::store::members::{self, MemberRow};
use crate::features::workspaces::store::{self, WorkspaceRow};
use crate::values::ids::{UserId, WorkspaceId};

const MEMBER_ADDED: EventKind<WorkspaceMember> = EventKind::new("workspace.member.added");
const MEMBER_REMOVED: EventKind<WorkspaceMember> = EventKind::new("workspace.member.removed");
const INVITE_CREATED: EventKind<Invitation> = EventKind::new("workspace.invite.created");
const INVITE_ACCEPTED: EventKind<Invitation> = EventKind::new("workspace.invite.accepted");
const INVITE_DECLINED: EventKind<Invitation> = EventKind::new("workspace.invite.declined");
const INVITE_REVOKED: EventKind<Invitation> = EventKind::new("workspace.invite.revoked");
const DELETED: EventKind<Workspace> = EventKind::new("workspace.deleted");

/// The user is locked against deletion.
pub(super) fn add_member(tx: &Tx<'_>, context: Context<'_>, row: &MemberRow) -> Result<()> {
    members::insert(tx, context.project.id, row)?;
    let member = || MEMBER_ADDED.event(&WorkspaceMember::new(row.clone())?);
    domain_events::happened(tx, context, &MEMBER_ADDED, member)
}

/// Several memberships of one user.
pub(super) fn remove_member(
    tx: &Tx<'_>,
    context: Context<'_>,
    user: UserId,
    rows: &[MemberRow],
) -> Result<()> {
    let workspaces: Vec<WorkspaceId> = rows.iter().map(|row| row.workspace_id).collect();
    if workspaces.is_empty() {
        return Ok(());
    }
    members::delete(tx, context.project.id, user, &workspaces)?;
    rows.iter().try_for_each(|row| {
        let member = || MEMBER_REMOVED.event(&WorkspaceMember::new(row.clone())?);
        domain_events::happened(tx, context, &MEMBER_REMOVED, member)
    })
}

pub(super) fn create_invite(tx: &Tx<'_>, context: Context<'_>, row: &InviteRow) -> Result<()> {
    invites::insert(tx, context.project.id, row)?;
    tell(tx, context, &INVITE_CREATED, row)
}

/// Accepted, declined or revoked, by the new status.
pub(super) fn settle_invite(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: InviteRow,
    status: InviteStatus,
) -> Result<InviteRow> {
    let row = InviteRow { status, updated_at: context.now, ..row };
    invites::update(tx, context.project.id, &row)?;
    let kind = match status {
        InviteStatus::Pending => return Ok(row),
        InviteStatus::Accepted => &INVITE_ACCEPTED,
        InviteStatus::Declined => &INVITE_DECLINED,
        InviteStatus::Revoked => &INVITE_REVOKED,
    };
    tell(tx, context, kind, &row)?;
    Ok(row)
}

fn tell(
    tx: &Tx<'_>,
    context: Context<'_>,
    kind: &EventKind<Invitation>,
    row: &InviteRow,
) -> Result<()> {
    let invitation = || kind.event(&Invitation::new(row.clone()));
    domain_events::happened(tx, context, kind, invitation)
}

/// One event for each workspace of a subtree, from the bottom up; its members get none of their own. `subtree` has
/// parents before children.
pub(super) fn delete_subtree(
    tx: &Tx<'_>,
    context: Context<'_>,
    subtree: &[WorkspaceRow],
) -> Result<()> {
    let bottom_up: Vec<WorkspaceId> = subtree.iter().rev().map(|row| row.id).collect();
    store::delete(tx, context.project.id, &bottom_up)?;
    subtree.iter().rev().try_for_each(|row| {
        let workspace = || DELETED.event(&Workspace::new(row.clone())?);
        domain_events::happened(tx, context, &DELETED, workspace)
    })
}
