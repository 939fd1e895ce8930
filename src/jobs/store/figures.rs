//! How many jobs there are, of all projects, for the operator.

use db::{Conn, args};

use crate::error::Result;
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct BacklogRow {
        pub kind: String,
        pub was_tried: bool,
        pub jobs: i64,
        pub first_due: Timestamp,
    }
}

db::statements! {
    /// What is not done yet, by kind and whether it was tried before. Without the payloads, which SQLite would hold in
    /// memory to group by a part of them.
    query BACKLOG -> BacklogRow, unscoped "figures of the whole server" =
        "WITH waiting AS MATERIALIZED (
            SELECT project_id, COALESCE(payload ->> 'kind', 'unknown') AS kind,
                attempts > 0 AS was_tried, run_at
            FROM jobs WHERE ended_at IS NULL)
         SELECT kind, was_tried, COUNT(*) AS jobs, MIN(run_at) AS first_due
         FROM waiting GROUP BY kind, was_tried ORDER BY 1, 2";
    /// What was given up since $1.
    query GIVEN_UP -> (String, i64), unscoped "figures of the whole server" =
        "SELECT COALESCE(payload ->> 'kind', 'unknown'), COUNT(*) FROM jobs
         WHERE ended_at >= $1 AND has_failed
         GROUP BY COALESCE(payload ->> 'kind', 'unknown') ORDER BY 1";
}

/// Jobs that are not done yet, by kind.
pub fn backlog(c: &Conn<'_>) -> Result<Vec<BacklogRow>> {
    Ok(c.all(&BACKLOG, args![])?)
}

/// How many jobs of each kind were given up since then.
pub fn given_up(c: &Conn<'_>, since: Timestamp) -> Result<Vec<(String, i64)>> {
    Ok(c.all(&GIVEN_UP, args![since])?)
}
