//! Reports when a user is deleted: their entries are deleted, and a report as well if it was the only one; reports about
//! what they wrote stay, without their author.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, ReportId, UserId};

db::statements! {
    /// Those that the user made, and those about what they wrote.
    query LOCK -> ReportId =
        "SELECT id FROM reports WHERE project_id = $1 AND id IN
            (SELECT e.report_id FROM report_entries e WHERE e.project_id = $1 AND e.user_id = $2
             UNION ALL SELECT r.id FROM reports r WHERE r.project_id = $1 AND r.author_id = $2)
         ORDER BY id {for_update}";
    query MADE -> ReportId =
        "SELECT report_id FROM report_entries WHERE project_id = $1 AND user_id = $2";
    command FORGET = "DELETE FROM report_entries WHERE project_id = $1 AND user_id = $2";
    command UNCOUNT =
        "UPDATE reports SET reporter_count = reporter_count - 1
         WHERE project_id = $1 AND id {any}($2)";
    /// A report of a rule needs no reporters.
    command DELETE_EMPTY =
        "DELETE FROM reports
         WHERE project_id = $1 AND id {any}($2) AND reporter_count = 0 AND rule_id IS NULL";
    command FORGET_AUTHOR =
        "UPDATE reports SET author_id = NULL WHERE project_id = $1 AND author_id = $2";
}

/// Lock order: reports before users.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user])?;
    Ok(())
}

/// The caller has locked the user, too. Includes what they reported meanwhile.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    lock(tx, project, user)?;
    let made = ReportId::list(&tx.all(&MADE, args![project, user])?);
    tx.pipeline(&FORGET, args![project, user])?;
    tx.pipeline(&UNCOUNT, args![project, made.clone()])?;
    tx.pipeline(&DELETE_EMPTY, args![project, made])?;
    Ok(tx.pipeline(&FORGET_AUTHOR, args![project, user])?)
}
