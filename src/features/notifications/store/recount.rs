//! Stored counts of notifications against the notifications, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

/// Which notifications `n` a count of a user counts, for each space.
macro_rules! counted {
    (total) => {
        "NOT n.is_hidden"
    };
    (unread) => {
        "NOT n.is_hidden AND NOT n.is_read"
    };
}

/// The number of them for a row of `notification_counts`.
macro_rules! found {
    ($count:ident) => {
        concat!(
            "(SELECT count(*) FROM notifications n WHERE n.project_id = $1 AND n.user_id = $2
                AND COALESCE(n.space_id, {nil}) = notification_counts.space_id AND ",
            counted!($count),
            ")"
        )
    };
}

db::statements! {
    query DRIFTED -> (ProjectId, UserId), unscoped "the operator examines every project" = concat!(
        "SELECT DISTINCT d.project_id, d.user_id FROM
            (SELECT b.project_id, b.user_id, b.space_id FROM
                (SELECT n.project_id, n.user_id, COALESCE(n.space_id, {nil}) AS space_id,
                    CASE WHEN ", counted!(total), " THEN 1 ELSE 0 END AS total,
                    CASE WHEN ", counted!(unread), " THEN 1 ELSE 0 END AS unread
                 FROM notifications n
                 UNION ALL
                 SELECT c.project_id, c.user_id, c.space_id, -c.total, -c.unread
                 FROM notification_counts c) b
             GROUP BY b.project_id, b.user_id, b.space_id
             HAVING sum(b.total) <> 0 OR sum(b.unread) <> 0) d
         ORDER BY d.project_id, d.user_id"
    );
    command LOCK =
        "INSERT INTO notification_counts (project_id, user_id, space_id, total, unread, unread_since)
         SELECT DISTINCT project_id, user_id, COALESCE(space_id, {nil}), 0, 0, 0 FROM notifications
         WHERE project_id = $1 AND user_id = $2
         ON CONFLICT (project_id, user_id, space_id) DO UPDATE SET total = notification_counts.total";
    command RECOUNT = concat!(
        "UPDATE notification_counts SET total = ", found!(total), ", unread = ", found!(unread),
        ", unread_since = 0 WHERE project_id = $1 AND user_id = $2"
    );
}

/// The users whose counts are not what they should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, UserId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Every write of notifications updates the counts last, so once they are locked all counted rows are committed.
/// Safe while a server is running.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&LOCK, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
