//! How many made each report, recounted for the operator.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, ReportId};

db::statements! {
    query DRIFTED -> (ProjectId, ReportId), unscoped "the operator examines every project" =
        "SELECT r.project_id, r.id FROM reports r LEFT JOIN
            (SELECT project_id, report_id, count(*) AS found FROM report_entries
             GROUP BY project_id, report_id) e
            ON e.project_id = r.project_id AND e.report_id = r.id
         WHERE r.reporter_count <> COALESCE(e.found, 0)";
    query LOCK -> ReportId =
        "SELECT id FROM reports WHERE project_id = $1 AND id = $2 {for_update}";
    command RECOUNT =
        "UPDATE reports SET reporter_count =
            (SELECT count(*) FROM report_entries e WHERE e.project_id = $1 AND e.report_id = $2)
         WHERE project_id = $1 AND id = $2";
}

pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, ReportId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Whoever joins a report holds it: so once it is held, the entries that are committed are all.
pub fn repair(tx: &Tx<'_>, project: ProjectId, id: ReportId) -> Result<()> {
    tx.opt(&LOCK, args![project, id])?;
    tx.execute(&RECOUNT, args![project, id])?;
    Ok(())
}
