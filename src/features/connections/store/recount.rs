//! Stored counts of connections against the connections, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

/// How many sides of a kind a user has, from expressions for the project and the user.
macro_rules! sides {
    ($kind:literal, $project:literal, $user:literal) => {
        concat!(
            "(SELECT count(*) FROM connection_sides s WHERE s.project_id = ",
            $project,
            " AND s.user_id = ",
            $user,
            " AND s.kind = '",
            $kind,
            "')"
        )
    };
}

db::statements! {
    query DRIFTED -> (ProjectId, UserId), unscoped "the operator examines every project" = concat!(
        "SELECT u.project_id, u.id FROM users u LEFT JOIN connection_counts n
            ON n.project_id = u.project_id AND n.user_id = u.id
         WHERE COALESCE(n.connected, 0) <> ", sides!("connected", "u.project_id", "u.id"),
        " OR COALESCE(n.sent, 0) <> ", sides!("sent", "u.project_id", "u.id"),
        " OR COALESCE(n.received, 0) <> ", sides!("received", "u.project_id", "u.id")
    );
    command LOCK =
        "INSERT INTO connection_counts (project_id, user_id, connected, sent, received)
         VALUES ($1, $2, 0, 0, 0)
         ON CONFLICT (project_id, user_id) DO UPDATE SET connected = connection_counts.connected";
    command RECOUNT = concat!(
        "UPDATE connection_counts SET connected = ", sides!("connected", "$1", "$2"),
        ", sent = ", sides!("sent", "$1", "$2"),
        ", received = ", sides!("received", "$1", "$2"),
        " WHERE project_id = $1 AND user_id = $2"
    );
}

/// The users whose counts are not what they should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, UserId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Whoever changes a connection changes the counts after it: what is committed once they are held is
/// all that they may speak of.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&LOCK, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
