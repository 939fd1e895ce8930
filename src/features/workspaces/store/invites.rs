//! The SQL about invitations. A pending one that has expired stays pending in its row: readers compare times.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::features::workspaces::capabilities::{Capabilities, Permissions};
use crate::features::workspaces::model::InviteStatus;
use crate::values::ids::{ProjectId, UserId, WorkspaceId, WorkspaceInviteId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct InviteRow {
        pub id: WorkspaceInviteId,
        pub workspace_id: WorkspaceId,
        pub invited_by: UserId,
        pub user_id: Option<UserId>,
        pub email: Option<String>,
        pub capabilities: Capabilities,
        pub permissions: Permissions,
        pub rank: i64,
        pub title: Option<String>,
        pub status: InviteStatus,
        pub expires_at: Timestamp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

impl InviteRow {
    /// Pending, and not expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.status == InviteStatus::Pending && self.expires_at > now
    }
}

macro_rules! select_invite {
    ($rest:literal) => {
        concat!(
            "SELECT i.id, i.workspace_id, i.invited_by, i.user_id, i.email, i.capabilities,
                i.permissions, i.rank, i.title, i.status, i.expires_at, i.created_at, i.updated_at
             FROM workspace_invitations i WHERE i.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> InviteRow = select_invite!("AND i.id = $2");
    query LIVE -> InviteRow =
        select_invite!("AND i.workspace_id = $2 AND i.status = 'pending' AND i.expires_at > $3
            ORDER BY i.id DESC");
    /// For the user with this id or this address.
    query LIVE_FOR -> InviteRow =
        select_invite!("AND i.workspace_id = $2 AND i.status = 'pending' AND i.expires_at > $3
            AND (i.user_id = $4 OR i.email = $5) ORDER BY i.id DESC LIMIT 1");
    query LIVE_OF_USER -> InviteRow =
        select_invite!("AND i.user_id = $2 AND i.status = 'pending' AND i.expires_at > $3");
    /// By address alone: for an account that has had the address for a shorter time than the invitation.
    query LIVE_OF_EMAIL -> InviteRow =
        select_invite!("AND i.email = $2 AND i.user_id IS NULL AND i.status = 'pending'
            AND i.expires_at > $3");
    command INSERT =
        "INSERT INTO workspace_invitations (project_id, id, workspace_id, invited_by, user_id, email,
            capabilities, permissions, rank, title, status, expires_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
    command UPDATE =
        "UPDATE workspace_invitations SET capabilities = $3, permissions = $4, rank = $5, title = $6,
            status = $7, expires_at = $8, updated_at = $9
         WHERE project_id = $1 AND id = $2";
    command BIND =
        "UPDATE workspace_invitations SET user_id = $3
         WHERE project_id = $1 AND email = $2 AND status = 'pending' AND user_id IS NULL";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: WorkspaceInviteId) -> Result<Option<InviteRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// The live ones of a workspace, newest first.
pub fn live(
    c: &Conn<'_>,
    project: ProjectId,
    workspace: WorkspaceId,
    now: Timestamp,
) -> Result<Vec<InviteRow>> {
    Ok(c.all(&LIVE, args![project, workspace, now])?)
}

/// The latest live one for a user or an address.
pub fn live_for(
    c: &Conn<'_>,
    project: ProjectId,
    workspace: WorkspaceId,
    user: Option<UserId>,
    email: Option<&str>,
    now: Timestamp,
) -> Result<Option<InviteRow>> {
    Ok(c.opt(&LIVE_FOR, args![project, workspace, now, user, email])?)
}

/// All live ones for a user, or for their address, newest first.
pub fn inbox(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    email: Option<&str>,
    now: Timestamp,
) -> Result<Vec<InviteRow>> {
    let mut found = c.all(&LIVE_OF_USER, args![project, user, now])?;
    if let Some(email) = email {
        found.extend(c.all(&LIVE_OF_EMAIL, args![project, email, now])?);
    }
    found.sort_by_key(|row| std::cmp::Reverse(row.id));
    Ok(found)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &InviteRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        row.workspace_id,
        row.invited_by,
        row.user_id,
        &row.email,
        &row.capabilities,
        &row.permissions,
        row.rank,
        &row.title,
        row.status,
        row.expires_at,
        row.created_at,
        row.updated_at,
    ];
    Ok(tx.pipeline(&INSERT, args)?)
}

/// Its grant, status and times. The caller has locked the tree.
pub fn update(tx: &Tx<'_>, project: ProjectId, row: &InviteRow) -> Result<()> {
    let args = args![
        project,
        row.id,
        &row.capabilities,
        &row.permissions,
        row.rank,
        &row.title,
        row.status,
        row.expires_at,
        row.updated_at,
    ];
    Ok(tx.pipeline(&UPDATE, args)?)
}

/// Pending ones to the address of a new user become theirs.
pub fn bind(tx: &Tx<'_>, project: ProjectId, email: &str, user: UserId) -> Result<()> {
    Ok(tx.pipeline(&BIND, args![project, email, user])?)
}
