//! Reports when a user who made them is deleted: their entry is deleted, and the report as well if it was the
//! only one.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, ReportId, UserId};

db::statements! {
    query LOCK -> ReportId =
        "SELECT id FROM reports WHERE project_id = $1 AND id IN
            (SELECT e.report_id FROM report_entries e WHERE e.project_id = $1 AND e.user_id = $2)
         ORDER BY id {for_update}";
    command FORGET = "DELETE FROM report_entries WHERE project_id = $1 AND user_id = $2";
    command UNCOUNT =
        "UPDATE reports SET reporter_count = reporter_count - 1
         WHERE project_id = $1 AND id {any}($2)";
    command DELETE_EMPTY =
        "DELETE FROM reports WHERE project_id = $1 AND id {any}($2) AND reporter_count = 0";
}

/// Lock order: reports before their reporter.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<Vec<ReportId>> {
    Ok(tx.all(&LOCK, args![project, user])?)
}

/// The caller has locked the user, too. Includes what they reported meanwhile.
pub fn forget_reporter(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    let reports = ReportId::list(&lock(tx, project, user)?);
    tx.pipeline(&FORGET, args![project, user])?;
    tx.pipeline(&UNCOUNT, args![project, reports.clone()])?;
    Ok(tx.pipeline(&DELETE_EMPTY, args![project, reports])?)
}
