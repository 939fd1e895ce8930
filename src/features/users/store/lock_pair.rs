//! Two users between whom something is about to change: a block, a follow, a connection. Both are
//! held, the lesser id first, so that whoever else changes something between them waits, in one
//! order; and nobody is deleted meanwhile.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

db::statements! {
    query LOCK -> UserId =
        "SELECT id FROM users WHERE project_id = $1 AND id {any}($2)
         ORDER BY id {for_no_key_update}";
}

/// Whether both of them are there. They are two: nobody has a relation with themselves.
pub fn lock(tx: &Tx<'_>, project: ProjectId, one: UserId, other: UserId) -> Result<bool> {
    let held = tx.all(&LOCK, args![project, UserId::list(&[one, other])])?;
    Ok(held.len() == 2)
}
