//! Stored counts of notifications against the notifications, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::ids::{ProjectId, UserId};

db::statements! {
    query DRIFTED -> (ProjectId, UserId), unscoped "the operator examines every project" =
        "SELECT u.project_id, u.id FROM users u LEFT JOIN notification_counts c
            ON c.project_id = u.project_id AND c.user_id = u.id
         WHERE COALESCE(c.total, 0) <> (SELECT count(*) FROM notifications n
                WHERE n.project_id = u.project_id AND n.user_id = u.id)
            OR COALESCE(c.unread, 0) <> (SELECT count(*) FROM notifications n
                WHERE n.project_id = u.project_id AND n.user_id = u.id AND NOT n.is_read)";
    command HOLD =
        "INSERT INTO notification_counts (project_id, user_id, total, unread, unread_since)
         VALUES ($1, $2, 0, 0, 0)
         ON CONFLICT (project_id, user_id) DO UPDATE SET total = notification_counts.total";
    command RECOUNT =
        "UPDATE notification_counts SET
            total = (SELECT count(*) FROM notifications n
                WHERE n.project_id = $1 AND n.user_id = $2),
            unread = (SELECT count(*) FROM notifications n
                WHERE n.project_id = $1 AND n.user_id = $2 AND NOT n.is_read),
            unread_since = 0
         WHERE project_id = $1 AND user_id = $2";
}

/// The users whose counts are not what they should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, UserId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Whoever changes a user's notifications changes the counts last. So what is committed once the
/// counts are held is all that they may speak of, also while a server is at work.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&HOLD, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
