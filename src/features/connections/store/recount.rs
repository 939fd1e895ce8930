//! Stored counts of connections against the connections, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{ProjectId, UserId};

/// A user's counts, and what they count.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "connection_counts" of "users":
            ("connected" counts "connection_sides" by "user_id" where "n.kind = 'connected'")
            ("sent" counts "connection_sides" by "user_id" where "n.kind = 'sent'")
            ("received" counts "connection_sides" by "user_id" where "n.kind = 'received'"))
    };
}

db::statements! {
    query DRIFTED -> (ProjectId, UserId), unscoped "the operator examines every project" = counts!(drifted);
    command LOCK = counts!(lock);
    command RECOUNT = counts!(recount);
}

/// The users whose counts are not what they should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, UserId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Every write of a connection updates the counts last, so once they are locked all counted rows are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&LOCK, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
