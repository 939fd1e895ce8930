//! Stored counts of follows against the follows, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{ProjectId, UserId};

/// A user's counts, and what they count.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "follow_counts" of "users":
            ("followers" counts "follows" by "followed_id")
            ("following" counts "follows" by "follower_id"))
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

/// Every write of a follow updates the counts last, so once they are locked all counted rows are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&LOCK, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
