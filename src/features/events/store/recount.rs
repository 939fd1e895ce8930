//! Stored counts of guests, and of events on each day, against what they count, for the operator's check-up.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{EventId, ProjectId};

/// An event's counts, and what they count.
macro_rules! counts {
    ($statement:ident) => {
        $statement!(in "events" where "t.deleted_at IS NULL":
            ("going_count" counts "event_rsvps" by "event_id" where "n.status = 'going'")
            ("maybe_count" counts "event_rsvps" by "event_id" where "n.status = 'maybe'")
            ("not_going_count" counts "event_rsvps" by "event_id" where "n.status = 'not_going'")
            ("invite_count" counts "event_invites" by "event_id"))
    };
}

/// The day that an event `e` starts on.
macro_rules! day {
    () => {
        "CASE WHEN e.start_time >= 0 THEN e.start_time / 86400000
            ELSE (e.start_time - 86399999) / 86400000 END"
    };
}

db::statements! {
    query MISCOUNTED -> (ProjectId, EventId), unscoped "the operator examines every project" = counts!(drifted);
    query LOCK -> EventId = counts!(lock);
    command REPAIR = counts!(recount);
    query DRIFTED_DAYS -> ProjectId, unscoped "the operator examines every project" = concat!(
        "SELECT DISTINCT g.project_id FROM
            (SELECT b.project_id, b.status, b.visibility, b.type, b.day FROM
                (SELECT e.project_id, e.status, e.visibility, e.type, ", day!(), " AS day, 1 AS total
                 FROM events e WHERE e.deleted_at IS NULL
                 UNION ALL
                 SELECT d.project_id, d.status, d.visibility, d.type, d.day, -d.total FROM event_days d) b
             GROUP BY b.project_id, b.status, b.visibility, b.type, b.day
             HAVING sum(b.total) <> 0) g
         ORDER BY g.project_id"
    );
    command LOCK_DAYS = concat!(
        "INSERT INTO event_days (project_id, status, visibility, type, day, total)
         SELECT DISTINCT e.project_id, e.status, e.visibility, e.type, ", day!(), ", 0 FROM events e
         WHERE e.project_id = $1 AND e.deleted_at IS NULL
         ON CONFLICT (project_id, status, visibility, type, day) DO UPDATE SET total = event_days.total"
    );
    query LOCK_STORED_DAYS -> i64 =
        "SELECT day FROM event_days WHERE project_id = $1
         ORDER BY status, visibility, type, day {for_no_key_update}";
    command CLEAR_DAYS = "UPDATE event_days SET total = 0 WHERE project_id = $1";
    command RECOUNT_DAYS = concat!(
        "INSERT INTO event_days (project_id, status, visibility, type, day, total)
         SELECT b.project_id, b.status, b.visibility, b.type, b.day, count(*) FROM
            (SELECT e.project_id, e.status, e.visibility, e.type, ", day!(), " AS day FROM events e
             WHERE e.project_id = $1 AND e.deleted_at IS NULL) b
         WHERE TRUE
         GROUP BY b.project_id, b.status, b.visibility, b.type, b.day
         ON CONFLICT (project_id, status, visibility, type, day) DO UPDATE SET total = excluded.total"
    );
}

pub fn miscounted(c: &Conn<'_>) -> Result<Vec<(ProjectId, EventId)>> {
    Ok(c.all(&MISCOUNTED, args![])?)
}

/// Every write that changes a count locks the event, so once it is locked all counted rows are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, event: EventId) -> Result<()> {
    tx.opt(&LOCK, args![project, event])?;
    tx.execute(&REPAIR, args![project, event])?;
    Ok(())
}

/// Each project with days that are wrong, twice: days have no ids.
pub fn drifted_days(c: &Conn<'_>) -> Result<Vec<(ProjectId, ProjectId)>> {
    let found = c.all(&DRIFTED_DAYS, args![])?;
    Ok(found.into_iter().map(|project| (project, project)).collect())
}

/// Every write of events counts the days last, so once they are locked all counted rows are committed.
pub fn repair_days(tx: &Tx<'_>, project: ProjectId, _: ProjectId) -> Result<()> {
    tx.all(&LOCK_STORED_DAYS, args![project])?;
    tx.execute(&LOCK_DAYS, args![project])?;
    tx.execute(&CLEAR_DAYS, args![project])?;
    tx.execute(&RECOUNT_DAYS, args![project])?;
    Ok(())
}
