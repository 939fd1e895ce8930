//! The SQL about follows and the counts of each user. Both change in one transaction that has locked both
//! users; the counts of the lower id change first.

pub mod recount;

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::features::users::store::related::Relation;
use crate::values::ids::{FollowId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// The users who follow a user.
pub const FOLLOWERS: Relation =
    Relation { table: "follows", id: "r.id", of: "r.followed_id = $2", other: "r.follower_id" };
/// The users that a user follows.
pub const FOLLOWING: Relation =
    Relation { table: "follows", id: "r.id", of: "r.follower_id = $2", other: "r.followed_id" };

db::row! {
    #[derive(Debug, Clone, Copy)]
    pub struct FollowRow {
        pub id: FollowId,
        pub follower_id: UserId,
        pub followed_id: UserId,
        pub created_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug, Clone, Copy, Default)]
    pub struct Counts {
        pub followers: i64,
        pub following: i64,
    }
}

db::statements! {
    query FIND -> FollowRow =
        "SELECT id, follower_id, followed_id, created_at FROM follows
         WHERE project_id = $1 AND follower_id = $2 AND followed_id = $3";
    query FIND_BY_ID -> FollowRow =
        "SELECT id, follower_id, followed_id, created_at FROM follows
         WHERE project_id = $1 AND id = $2";
    query COUNTS -> Counts =
        "SELECT followers, following FROM follow_counts WHERE project_id = $1 AND user_id = $2";
    command INSERT =
        "INSERT INTO follows (project_id, id, follower_id, followed_id, created_at)
         VALUES ($1, $2, $3, $4, $5)";
    command DELETE =
        "DELETE FROM follows WHERE project_id = $1 AND follower_id = $2 AND followed_id = $3";
    command COUNT =
        "INSERT INTO follow_counts (project_id, user_id, followers, following)
         VALUES ($1, $2, $3, $4), ($1, $5, $6, $7)
         ON CONFLICT (project_id, user_id) DO UPDATE
            SET followers = follow_counts.followers + excluded.followers,
                following = follow_counts.following + excluded.following";
    query LOCK_COUNTS -> UserId =
        "SELECT user_id FROM follow_counts WHERE project_id = $1 AND user_id IN
            (SELECT followed_id FROM follows WHERE project_id = $1 AND follower_id = $2
             UNION SELECT follower_id FROM follows WHERE project_id = $1 AND followed_id = $2
             UNION SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = $2)
         ORDER BY user_id {for_update}";
    command UNCOUNT_FOLLOWER =
        "UPDATE follow_counts SET followers = followers - 1 WHERE project_id = $1 AND user_id IN
            (SELECT followed_id FROM follows WHERE project_id = $1 AND follower_id = $2)";
    command UNCOUNT_FOLLOWED =
        "UPDATE follow_counts SET following = following - 1 WHERE project_id = $1 AND user_id IN
            (SELECT follower_id FROM follows WHERE project_id = $1 AND followed_id = $2)";
    command DELETE_OF_FOLLOWER = "DELETE FROM follows WHERE project_id = $1 AND follower_id = $2";
    command DELETE_OF_FOLLOWED = "DELETE FROM follows WHERE project_id = $1 AND followed_id = $2";
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    follower: UserId,
    followed: UserId,
) -> Result<Option<FollowRow>> {
    Ok(c.opt(&FIND, args![project, follower, followed])?)
}

pub fn find_by_id(c: &Conn<'_>, project: ProjectId, id: FollowId) -> Result<Option<FollowRow>> {
    Ok(c.opt(&FIND_BY_ID, args![project, id])?)
}

pub fn counts(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Counts> {
    Ok(c.opt(&COUNTS, args![project, user])?.unwrap_or_default())
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, follow: &FollowRow) -> Result<()> {
    let FollowRow { id, follower_id, followed_id, created_at } = *follow;
    tx.pipeline(&INSERT, args![project, id, follower_id, followed_id, created_at])?;
    count(tx, project, follower_id, followed_id, 1)
}

/// False if there was no such follow.
pub fn delete(tx: &Tx<'_>, project: ProjectId, follower: UserId, followed: UserId) -> Result<bool> {
    let deleted = tx.execute(&DELETE, args![project, follower, followed])? > 0;
    if deleted {
        count(tx, project, follower, followed, -1)?;
    }
    Ok(deleted)
}

fn count(
    tx: &Tx<'_>,
    project: ProjectId,
    follower: UserId,
    followed: UserId,
    by: i64,
) -> Result<()> {
    let mut both = [(follower, 0, by), (followed, by, 0)];
    both.sort_unstable();
    let [(low, a, b), (high, c, d)] = both;
    Ok(tx.pipeline(&COUNT, args![project, low, a, b, high, c, d])?)
}

/// Ends every follow of a user, and updates the counts of the other users. The caller has locked the user.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK_COUNTS, args![project, user])?;
    tx.pipeline(&UNCOUNT_FOLLOWER, args![project, user])?;
    tx.pipeline(&UNCOUNT_FOLLOWED, args![project, user])?;
    tx.pipeline(&DELETE_OF_FOLLOWER, args![project, user])?;
    Ok(tx.pipeline(&DELETE_OF_FOLLOWED, args![project, user])?)
}
