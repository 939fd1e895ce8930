//! The SQL about members of workspaces. They change while their tree is locked.

use std::collections::HashMap;

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::features::workspaces::authority::Grant;
use crate::features::workspaces::capabilities::{Capabilities, Permissions};
use crate::values::ids::{ProjectId, UserId, WorkspaceId, WorkspaceMemberId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub struct MemberRow {
        pub id: WorkspaceMemberId,
        pub workspace_id: WorkspaceId,
        pub user_id: UserId,
        pub capabilities: Capabilities,
        pub permissions: Permissions,
        pub rank: i64,
        pub title: Option<String>,
        pub metadata: JsonText,
        pub joined_at: Timestamp,
        pub created_at: Timestamp,
    }
}

impl MemberRow {
    pub fn grant(&self) -> Grant {
        Grant {
            capabilities: self.capabilities.clone(),
            permissions: self.permissions.clone(),
            rank: self.rank,
        }
    }
}

macro_rules! select_member {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.workspace_id, m.user_id, m.capabilities, m.permissions, m.rank, m.title,
                m.metadata, m.joined_at, m.created_at
             FROM workspace_members m WHERE m.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> MemberRow = select_member!("AND m.workspace_id = $2 AND m.user_id = $3");
    query OF_USER_IN -> MemberRow = select_member!("AND m.workspace_id {any}($2) AND m.user_id = $3");
    query OF_USER -> MemberRow = select_member!("AND m.user_id = $2 ORDER BY m.workspace_id");
    query IN_ALL -> MemberRow = select_member!("AND m.workspace_id {any}($2)");
    /// For counting alone.
    query PAIRS -> (WorkspaceId, UserId) =
        "SELECT workspace_id, user_id FROM workspace_members
         WHERE project_id = $1 AND workspace_id {any}($2)";
    query COUNTS -> (WorkspaceId, i64) =
        "SELECT workspace_id, count(*) FROM workspace_members
         WHERE project_id = $1 AND workspace_id {any}($2) GROUP BY workspace_id";
    query JOINED -> WorkspaceId =
        "SELECT workspace_id FROM workspace_members WHERE project_id = $1 AND user_id = $2
         ORDER BY workspace_id DESC LIMIT $3";
    query COUNT_OF_USER -> i64 =
        "SELECT count(*) FROM workspace_members WHERE project_id = $1 AND user_id = $2";
    command INSERT =
        "INSERT INTO workspace_members (project_id, workspace_id, user_id, id, capabilities, permissions,
            rank, title, metadata, joined_at, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    command UPDATE =
        "UPDATE workspace_members SET capabilities = $4, permissions = $5, rank = $6, title = $7,
            metadata = $8
         WHERE project_id = $1 AND workspace_id = $2 AND user_id = $3";
    command DELETE =
        "DELETE FROM workspace_members
         WHERE project_id = $1 AND workspace_id {any}($2) AND user_id = $3";
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    workspace: WorkspaceId,
    user: UserId,
) -> Result<Option<MemberRow>> {
    Ok(c.opt(&FIND, args![project, workspace, user])?)
}

/// One user's memberships in these workspaces.
pub fn of_user_in(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    workspaces: &[WorkspaceId],
) -> Result<Vec<MemberRow>> {
    if workspaces.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OF_USER_IN, args![project, WorkspaceId::list(workspaces), user])?)
}

/// All memberships of one user.
pub fn of_user(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Vec<MemberRow>> {
    Ok(c.all(&OF_USER, args![project, user])?)
}

/// All members of these workspaces: seniors first, those who joined earlier before others of their rank.
pub fn in_all(
    c: &Conn<'_>,
    project: ProjectId,
    workspaces: &[WorkspaceId],
) -> Result<Vec<MemberRow>> {
    if workspaces.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = c.all(&IN_ALL, args![project, WorkspaceId::list(workspaces)])?;
    rows.sort_by_key(|row| (row.rank, row.joined_at, row.id));
    Ok(rows)
}

/// Who is a member of which of these workspaces.
pub fn pairs(
    c: &Conn<'_>,
    project: ProjectId,
    workspaces: &[WorkspaceId],
) -> Result<Vec<(WorkspaceId, UserId)>> {
    if workspaces.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&PAIRS, args![project, WorkspaceId::list(workspaces)])?)
}

/// How many members these workspaces have; those without any are left out.
pub fn counts(
    c: &Conn<'_>,
    project: ProjectId,
    workspaces: &[WorkspaceId],
) -> Result<HashMap<WorkspaceId, i64>> {
    if workspaces.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(c.all(&COUNTS, args![project, WorkspaceId::list(workspaces)])?.into_iter().collect())
}

/// The newest workspaces that a user is a member of.
pub fn newest_of_user(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    limit: i64,
) -> Result<Vec<WorkspaceId>> {
    Ok(c.all(&JOINED, args![project, user, limit])?)
}

pub fn count_of_user(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<i64> {
    Ok(c.one(&COUNT_OF_USER, args![project, user])?)
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    let args = args![
        project,
        row.workspace_id,
        row.user_id,
        row.id,
        &row.capabilities,
        &row.permissions,
        row.rank,
        &row.title,
        &row.metadata,
        row.joined_at,
        row.created_at,
    ];
    Ok(tx.pipeline(&INSERT, args)?)
}

pub fn update(tx: &Tx<'_>, project: ProjectId, row: &MemberRow) -> Result<()> {
    let args = args![
        project,
        row.workspace_id,
        row.user_id,
        &row.capabilities,
        &row.permissions,
        row.rank,
        &row.title,
        &row.metadata,
    ];
    Ok(tx.pipeline(&UPDATE, args)?)
}

/// Memberships of one user.
pub fn delete(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    workspaces: &[WorkspaceId],
) -> Result<()> {
    Ok(tx.pipeline(&DELETE, args![project, WorkspaceId::list(workspaces), user])?)
}
