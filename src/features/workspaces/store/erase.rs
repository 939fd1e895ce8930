//! Workspaces when a user is deleted: their memberships and the invitations to them go, the workspaces they own stay.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId, WorkspaceId};

db::statements! {
    query LOCK -> WorkspaceId =
        "SELECT r.id FROM workspaces r WHERE r.project_id = $1 AND r.id IN
            (SELECT w.root_id FROM workspace_members m CROSS JOIN workspaces w
             WHERE m.project_id = $1 AND m.user_id = $2 AND w.project_id = $1 AND w.id = m.workspace_id)
         ORDER BY r.id {for_no_key_update}";
    command DELETE_INVITES =
        "DELETE FROM workspace_invitations WHERE project_id = $1 AND user_id = $2";
    command DELETE_INVITES_BY_EMAIL =
        "DELETE FROM workspace_invitations WHERE project_id = $1 AND email = $2";
}

/// Locks every tree that is about to change. Lock order: workspaces before the user, as when joining.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user])?;
    Ok(())
}

/// Invitations to the user or to their address.
pub fn delete_invites(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    email: Option<&str>,
) -> Result<()> {
    tx.pipeline(&DELETE_INVITES, args![project, user])?;
    match email {
        Some(email) => Ok(tx.pipeline(&DELETE_INVITES_BY_EMAIL, args![project, email])?),
        None => Ok(()),
    }
}
