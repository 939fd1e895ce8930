//! Stored counters of users against what they count, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::time::Timestamp;

db::statements! {
    query NEWEST -> Option<Timestamp>, unscoped "the operator examines every project" =
        "SELECT max(created_at) FROM projects";
    query REPUTATION_DRIFT -> i64, unscoped "the operator examines every project" =
        "SELECT count(*) FROM users u WHERE reputation <>
            (SELECT COALESCE(sum(b.points), 0) FROM reputation_buckets b
             WHERE b.project_id = u.project_id AND b.user_id = u.id)";
    command REPAIR_REPUTATION, unscoped "the operator repairs every project" =
        "UPDATE users SET reputation =
            (SELECT COALESCE(sum(b.points), 0) FROM reputation_buckets b
             WHERE b.project_id = users.project_id AND b.user_id = users.id)
         WHERE reputation <>
            (SELECT COALESCE(sum(b.points), 0) FROM reputation_buckets b
             WHERE b.project_id = users.project_id AND b.user_id = users.id)";
}

/// When the newest project was made.
pub fn newest(c: &Conn<'_>) -> Result<Option<Timestamp>> {
    Ok(c.one(&NEWEST, args![])?)
}

/// How many users have a reputation that is not the sum of their buckets.
pub fn reputation_drift(c: &Conn<'_>) -> Result<i64> {
    Ok(c.one(&REPUTATION_DRIFT, args![])?)
}

pub fn repair_reputation(tx: &Tx<'_>) -> Result<u64> {
    Ok(tx.execute(&REPAIR_REPUTATION, args![])?)
}
