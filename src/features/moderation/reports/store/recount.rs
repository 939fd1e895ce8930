//! How many made each report, recounted for the operator.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{ProjectId, ReportId};

/// How many users made a report.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "reports":
            ("reporter_count" counts "report_entries" by "report_id"))
    };
}

db::statements! {
    query DRIFTED -> (ProjectId, ReportId), unscoped "the operator examines every project" = counts!(drifted);
    query LOCK -> ReportId = counts!(lock);
    command RECOUNT = counts!(recount);
}

pub fn drifted(c: &Conn<'_>) -> Result<Vec<(ProjectId, ReportId)>> {
    Ok(c.all(&DRIFTED, args![])?)
}

/// Every write of an entry locks its report, so once it is locked all entries are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, id: ReportId) -> Result<()> {
    tx.opt(&LOCK, args![project, id])?;
    tx.execute(&RECOUNT, args![project, id])?;
    Ok(())
}
