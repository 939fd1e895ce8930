//! The SQL about reputation: the points of a user in each bucket, and their sum, which is in the
//! user's row. Both change in one transaction.

use db::{Conn, Tx, args};

use crate::error::{Error, Result};
use crate::features::users::NOT_FOUND;
use crate::features::users::store::{UserRow, user_columns};
use crate::ids::{ProjectId, SpaceId, UserId};

db::statements! {
    query POINTS -> (UserId, SpaceId, i64) =
        "SELECT user_id, space_id, points FROM reputation_buckets
         WHERE project_id = $1 AND user_id {any}($2) AND space_id {any}($3)";
    query POINTS_BELOW -> (UserId, SpaceId, i64) =
        "SELECT b.user_id, l.ancestor_id, CAST(sum(b.points) AS {int}) FROM reputation_buckets b
            JOIN space_lines l ON l.project_id = b.project_id AND l.space_id = b.space_id
         WHERE b.project_id = $1 AND b.user_id {any}($2) AND l.ancestor_id {any}($3)
         GROUP BY b.user_id, l.ancestor_id";
    query EARNERS -> UserId =
        "SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id IN
            (SELECT b.user_id FROM reputation_buckets b
             WHERE b.project_id = $1 AND b.space_id = $2 ORDER BY b.user_id LIMIT $3)
         ORDER BY u.id {for_no_key_update}";
    command EMPTY_BUCKETS -> (UserId, i64) =
        "DELETE FROM reputation_buckets WHERE project_id = $1 AND space_id = $2 AND user_id {any}($3)
         RETURNING user_id, points";
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
    /// For a user who is known to be there.
    command PUT_ASIDE =
        "INSERT INTO reputation_buckets (project_id, user_id, space_id, points)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (project_id, user_id, space_id)
         DO UPDATE SET points = reputation_buckets.points + excluded.points";
}

/// Points of each of the users in each of the buckets; where there is no bucket there is no entry.
pub fn points(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
    buckets: &[SpaceId],
) -> Result<Vec<(UserId, SpaceId, i64)>> {
    if buckets.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&POINTS, args![project, UserId::list(users), SpaceId::list(buckets)])?)
}

/// The same, with the points of all spaces below each.
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

/// Moves points of some users from one bucket to another; of how many.
pub fn move_some(
    tx: &Tx<'_>,
    project: ProjectId,
    from: SpaceId,
    to: SpaceId,
    most: i64,
) -> Result<usize> {
    let users = tx.all(&EARNERS, args![project, from, most])?;
    for (user, points) in tx.all(&EMPTY_BUCKETS, args![project, from, UserId::list(&users)])? {
        tx.later(&PUT_ASIDE, args![project, user, to, points])?;
    }
    Ok(users.len())
}

/// Changes a user's points in a bucket and their reputation, which is the sum over all buckets.
pub fn add(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    bucket: SpaceId,
    points: i64,
) -> Result<()> {
    // The user's row first: it is what everybody who changes their points waits for.
    tx.later(&ADD_REPUTATION, args![project, user, points])?;
    Ok(tx.later(&ADD_POINTS, args![project, user, bucket, points])?)
}

/// The same, and the user as they are now; none if they are gone.
pub fn earn(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    bucket: SpaceId,
    points: i64,
) -> Result<Option<UserRow>> {
    let earned = tx.together(|| {
        tx.later(&PUT_ASIDE, args![project, user, bucket, points])?;
        tx.opt(&EARN, args![project, user, points])
    });
    earned.map_err(|error| Error::from(error).on_foreign_key(NOT_FOUND))
}
