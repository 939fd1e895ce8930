//! The SQL about reputation: the user's row holds the sum of all points, and one bucket for each space holds
//! what was earned there. Both change in one transaction. Points earned outside of all spaces are the sum
//! minus the buckets.

use db::{Conn, Later, Tx, args};

use crate::error::Result;
use crate::features::users::store::{UserRow, user_columns};
use crate::values::ids::{ProjectId, SpaceId, UserId};

db::statements! {
    query POINTS -> (UserId, SpaceId, i64) =
        "SELECT user_id, space_id, points FROM reputation_buckets
         WHERE project_id = $1 AND user_id {any}($2) AND space_id {any}($3)";
    query POINTS_OUTSIDE -> (UserId, i64) =
        "SELECT u.id, u.reputation - CAST(COALESCE((SELECT sum(b.points) FROM reputation_buckets b
            WHERE b.project_id = $1 AND b.user_id = u.id), 0) AS {int})
         FROM users u WHERE u.project_id = $1 AND u.id {any}($2)";
    query POINTS_BELOW -> (UserId, SpaceId, i64) =
        "SELECT b.user_id, l.ancestor_id, CAST(sum(b.points) AS {int}) FROM reputation_buckets b
            JOIN space_lines l ON l.project_id = b.project_id AND l.space_id = b.space_id
         WHERE b.project_id = $1 AND b.user_id {any}($2) AND l.ancestor_id {any}($3)
         GROUP BY b.user_id, l.ancestor_id";
    command REMOVE_SOME =
        "DELETE FROM reputation_buckets WHERE project_id = $1 AND space_id = $2 AND user_id IN
            (SELECT b.user_id FROM reputation_buckets b
             WHERE b.project_id = $1 AND b.space_id = $2 ORDER BY b.user_id LIMIT $3)";
    command ADD_POINTS =
        "INSERT INTO reputation_buckets (project_id, user_id, space_id, points)
         SELECT project_id, id, CAST($3 AS {uuid}), CAST($4 AS {int}) FROM users
         WHERE project_id = $1 AND id = $2
         ON CONFLICT (project_id, user_id, space_id)
         DO UPDATE SET points = reputation_buckets.points + excluded.points";
    command ADD_REPUTATION =
        "UPDATE users SET reputation = reputation + $3 WHERE project_id = $1 AND id = $2";
    command EARN -> UserRow = concat!(
        "UPDATE users SET reputation = reputation + $3 WHERE project_id = $1 AND id = $2
         RETURNING ", user_columns!());
    /// For a user who is known to exist.
    command PUT_ASIDE =
        "INSERT INTO reputation_buckets (project_id, user_id, space_id, points)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, user_id, space_id)
         DO UPDATE SET points = reputation_buckets.points + excluded.points";
}

/// Points of each user in each space; no entry without a bucket.
pub fn points(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
    spaces: &[SpaceId],
) -> Result<Vec<(UserId, SpaceId, i64)>> {
    if spaces.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&POINTS, args![project, UserId::list(users), SpaceId::list(spaces)])?)
}

/// Points of each user outside of all spaces.
pub fn points_outside(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
) -> Result<Vec<(UserId, i64)>> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&POINTS_OUTSIDE, args![project, UserId::list(users)])?)
}

/// The same, including all descendants of each space.
pub fn points_below(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
    roots: &[SpaceId],
) -> Result<Vec<(UserId, SpaceId, i64)>> {
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&POINTS_BELOW, args![project, UserId::list(users), SpaceId::list(roots)])?)
}

/// Deletes the buckets of some users, who keep their points; returns how many there were.
pub fn remove_some(tx: &Tx<'_>, project: ProjectId, space: SpaceId, most: i64) -> Result<u64> {
    Ok(tx.execute(&REMOVE_SOME, args![project, space, most])?)
}

/// Changes a user's reputation, and their points in the space if there is one.
pub fn add(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    space: Option<SpaceId>,
    points: i64,
) -> Result<()> {
    // Lock order: the user's row before the buckets.
    tx.pipeline(&ADD_REPUTATION, args![project, user, points])?;
    if let Some(space) = space {
        tx.pipeline(&ADD_POINTS, args![project, user, space, points])?;
    }
    Ok(())
}

/// The same; the user's row comes later, or none if they were deleted.
pub fn earn(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    space: Option<SpaceId>,
    points: i64,
) -> Result<Later<UserRow>> {
    tx.batch(|| {
        // Lock order: the user's row before the buckets.
        let earned = tx.later(&EARN, args![project, user, points])?;
        if let Some(space) = space {
            put_aside(tx, project, user, space, points)?;
        }
        Ok(earned)
    })
}

/// Adds to the bucket of a space what the user has earned there. The user exists, and is locked.
pub fn put_aside(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    space: SpaceId,
    points: i64,
) -> Result<()> {
    Ok(tx.pipeline(&PUT_ASIDE, args![project, user, space, points])?)
}
