//! Grants when a user is deleted: what they received is deleted, and what they gave stays without a sender.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, UserId};

db::statements! {
    /// Lock order: after the user, the lower target first.
    query LOCK_TOTALS -> i64 =
        "SELECT t.grants FROM grant_totals t WHERE t.project_id = $1 AND t.target_id IN
            (SELECT g.target_id FROM reputation_grants g
             WHERE g.project_id = $1 AND g.recipient_id = $2 AND g.amount > 0)
         ORDER BY t.target_id {for_no_key_update}";
    command UNCOUNT =
        "UPDATE grant_totals SET
            total = total - (SELECT sum(g.amount) FROM reputation_grants g WHERE g.project_id = $1
                AND g.recipient_id = $2 AND g.target_id = grant_totals.target_id AND g.amount > 0),
            grants = grants - (SELECT count(*) FROM reputation_grants g WHERE g.project_id = $1
                AND g.recipient_id = $2 AND g.target_id = grant_totals.target_id AND g.amount > 0)
         WHERE project_id = $1 AND target_id IN
            (SELECT g.target_id FROM reputation_grants g
             WHERE g.project_id = $1 AND g.recipient_id = $2 AND g.amount > 0)";
    command FORGET_RECEIVED = "DELETE FROM reputation_grants WHERE project_id = $1 AND recipient_id = $2";
    command FORGET_SENDER =
        "UPDATE reputation_grants SET sender_id = NULL WHERE project_id = $1 AND sender_id = $2";
}

/// The caller has locked the user.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    if !tx.all(&LOCK_TOTALS, args![project, user])?.is_empty() {
        tx.pipeline(&UNCOUNT, args![project, user])?;
    }
    tx.pipeline(&FORGET_RECEIVED, args![project, user])?;
    Ok(tx.pipeline(&FORGET_SENDER, args![project, user])?)
}
