//! Spaces when a user is deleted: their memberships are deleted, and spaces they created stay without a
//! creator.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, SpaceId, UserId};

db::statements! {
    query LOCK -> SpaceId =
        "SELECT s.id FROM spaces s WHERE s.project_id = $1 AND s.id IN
            (SELECT m.space_id FROM space_members m WHERE m.project_id = $1 AND m.user_id = $2
             UNION SELECT o.id FROM spaces o WHERE o.project_id = $1 AND o.user_id = $2)
         ORDER BY s.depth, s.id {for_no_key_update}";
    command UNCOUNT =
        "UPDATE spaces SET members_count = members_count - 1 WHERE project_id = $1 AND id IN
            (SELECT m.space_id FROM space_members m
             WHERE m.project_id = $1 AND m.user_id = $2 AND m.status = 'active')";
    command LEAVE = "DELETE FROM space_members WHERE project_id = $1 AND user_id = $2";
    command DISOWN = "UPDATE spaces SET user_id = NULL WHERE project_id = $1 AND user_id = $2";
}

/// Locks every space that is about to change. Lock order: spaces before the user, as when joining.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user])?;
    Ok(())
}

pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.pipeline(&UNCOUNT, args![project, user])?;
    tx.pipeline(&LEAVE, args![project, user])?;
    Ok(tx.pipeline(&DISOWN, args![project, user])?)
}
