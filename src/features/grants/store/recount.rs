//! What was given for each target, against the grants for it, for the operator's check-up.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::values::ids::ProjectId;

db::statements! {
    query DRIFTED -> (ProjectId, Uuid), unscoped "the operator examines every project" =
        "SELECT b.project_id, b.target_id FROM
            (SELECT g.project_id, g.target_id, g.amount AS total, 1 AS grants FROM reputation_grants g
             WHERE g.target_id IS NOT NULL AND g.amount > 0
             UNION ALL
             SELECT t.project_id, t.target_id, -t.total, -t.grants FROM grant_totals t) b
         GROUP BY b.project_id, b.target_id
         HAVING sum(b.total) <> 0 OR sum(b.grants) <> 0";
    command LOCK =
        "INSERT INTO grant_totals (project_id, target_id, total, grants) VALUES ($1, $2, 0, 0)
         ON CONFLICT (project_id, target_id) DO UPDATE SET total = grant_totals.total";
    command RECOUNT =
        "UPDATE grant_totals SET
            total = (SELECT COALESCE(sum(g.amount), 0) FROM reputation_grants g
                WHERE g.project_id = $1 AND g.target_id = $2 AND g.amount > 0),
            grants = (SELECT count(*) FROM reputation_grants g
                WHERE g.project_id = $1 AND g.target_id = $2 AND g.amount > 0)
         WHERE project_id = $1 AND target_id = $2";
}

pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, Uuid)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// A grant counts after it is stored, so once the total is locked all counted grants are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, target: Uuid) -> Result<()> {
    tx.execute(&LOCK, args![project, target])?;
    tx.execute(&RECOUNT, args![project, target])?;
    Ok(())
}
