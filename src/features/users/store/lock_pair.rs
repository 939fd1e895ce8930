//! Relation writes (block, follow, connection) lock both user rows, lower id first. So writes between the
//! same two users wait for each other without deadlock, and neither user is deleted meanwhile.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

db::statements! {
    query LOCK -> UserId =
        "SELECT id FROM users WHERE project_id = $1 AND id {any}($2)
         ORDER BY id {for_no_key_update}";
}

/// Whether both exist. They must differ: nobody has a relation with themselves.
pub fn lock(tx: &Tx<'_>, project: ProjectId, one: UserId, other: UserId) -> Result<bool> {
    let held = tx.all(&LOCK, args![project, UserId::list(&[one, other])])?;
    Ok(held.len() == 2)
}
