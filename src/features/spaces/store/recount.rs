//! Stored counts of members and children against what they count, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{ProjectId, SpaceId};

/// A space's counts, and what they count.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "spaces" where "t.deleted_at IS NULL":
            ("members_count" counts "space_members" by "space_id" where "n.status = 'active'")
            ("children_count" counts "spaces" by "parent_id" where "n.deleted_at IS NULL"))
    };
}

db::statements! {
    query MISCOUNTED -> (ProjectId, SpaceId), unscoped "the operator examines every project" = counts!(drifted);
    query LOCK -> SpaceId = counts!(lock);
    command REPAIR = counts!(recount);
}

pub fn miscounted(c: &Conn<'_>) -> Result<Vec<(ProjectId, SpaceId)>> {
    Ok(c.all(&MISCOUNTED, args![])?)
}

/// Every write that changes a count locks the space, so once it is locked all counted rows are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, space: SpaceId) -> Result<()> {
    tx.opt(&LOCK, args![project, space])?;
    tx.execute(&REPAIR, args![project, space])?;
    Ok(())
}
