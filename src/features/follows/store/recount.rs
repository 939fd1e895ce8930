//! Stored counts of follows against the follows, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

db::statements! {
    query DRIFTED -> (ProjectId, UserId), unscoped "the operator examines every project" =
        "SELECT u.project_id, u.id FROM users u LEFT JOIN follow_counts n
            ON n.project_id = u.project_id AND n.user_id = u.id
         WHERE COALESCE(n.followers, 0) <> (SELECT count(*) FROM follows f
                WHERE f.project_id = u.project_id AND f.followed_id = u.id)
            OR COALESCE(n.following, 0) <> (SELECT count(*) FROM follows f
                WHERE f.project_id = u.project_id AND f.follower_id = u.id)";
    command LOCK =
        "INSERT INTO follow_counts (project_id, user_id, followers, following) VALUES ($1, $2, 0, 0)
         ON CONFLICT (project_id, user_id) DO UPDATE SET followers = follow_counts.followers";
    command RECOUNT =
        "UPDATE follow_counts SET
            followers = (SELECT count(*) FROM follows f
                WHERE f.project_id = $1 AND f.followed_id = $2),
            following = (SELECT count(*) FROM follows f
                WHERE f.project_id = $1 AND f.follower_id = $2)
         WHERE project_id = $1 AND user_id = $2";
}

/// The users whose counts are not what they should be.
pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, UserId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Whoever changes a follow changes the counts after it: what is committed once they are held is all
/// that they may speak of.
pub fn repair(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.execute(&LOCK, args![project, user])?;
    tx.execute(&RECOUNT, args![project, user])?;
    Ok(())
}
