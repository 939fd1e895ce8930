//! Stored counts of guests, and of events in each span of hours, against what they count, for the operator's check-up.

use std::collections::BTreeSet;
use std::time::Duration;

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::features::events::store::totals::{HOUR, SPANS};
use crate::recount::sql::{drifted, lock, recount};
use crate::values::ids::{EventId, ProjectId};

/// All events of a project are counted at once.
const LONGEST_REPAIR: Duration = Duration::from_secs(600);

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

/// Each event with the span of so many hours, of a length in milliseconds, that it is counted in.
macro_rules! counted {
    ($hours:literal, $length:literal, $condition:literal) => {
        concat!(
            "SELECT e.project_id, CAST(",
            $hours,
            " AS {int}) AS hours, e.status, e.visibility, e.type, CASE WHEN e.start_time >= 0
                THEN e.start_time / CAST(",
            $length,
            " AS {int}) ELSE (e.start_time + 1) / CAST(",
            $length,
            " AS {int}) - 1 END AS number, 1 AS total
             FROM events e WHERE e.deleted_at IS NULL",
            $condition
        )
    };
}

db::statements! {
    query MISCOUNTED -> (ProjectId, EventId), unscoped "the operator examines every project" = counts!(drifted);
    query LOCK -> EventId = counts!(lock);
    command REPAIR = counts!(recount);
    query DRIFTED_TOTALS -> ProjectId, unscoped "the operator examines every project" = concat!(
        "SELECT DISTINCT g.project_id FROM
            (SELECT b.project_id FROM
                (", counted!("$1", "$2", ""), " UNION ALL
                 SELECT t.project_id, t.hours, t.status, t.visibility, t.type, t.number, -t.total
                 FROM event_totals t WHERE t.hours = $1) b
             GROUP BY b.project_id, b.hours, b.status, b.visibility, b.type, b.number
             HAVING sum(b.total) <> 0) g
         ORDER BY g.project_id"
    );
    query LOCK_STORED_TOTALS -> i64 =
        "SELECT number FROM event_totals WHERE project_id = $1
         ORDER BY hours, status, visibility, type, number {for_no_key_update}";
    command LOCK_TOTALS = concat!(
        "INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
         SELECT DISTINCT b.project_id, b.hours, b.status, b.visibility, b.type, b.number, 0 FROM
            (", counted!("$2", "$3", " AND e.project_id = $1"), ") b
         WHERE TRUE ORDER BY 2, 3, 4, 5, 6
         ON CONFLICT (project_id, hours, status, visibility, type, number)
         DO UPDATE SET total = event_totals.total"
    );
    command CLEAR_TOTALS = "UPDATE event_totals SET total = 0 WHERE project_id = $1";
    command RECOUNT_TOTALS = concat!(
        "INSERT INTO event_totals (project_id, hours, status, visibility, type, number, total)
         SELECT b.project_id, b.hours, b.status, b.visibility, b.type, b.number, sum(b.total) FROM
            (", counted!("$2", "$3", " AND e.project_id = $1"), ") b
         WHERE TRUE
         GROUP BY b.project_id, b.hours, b.status, b.visibility, b.type, b.number
         ON CONFLICT (project_id, hours, status, visibility, type, number)
         DO UPDATE SET total = excluded.total"
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

/// Each project with totals that are wrong, twice: totals have no ids.
pub fn drifted_totals(c: &Conn<'_>) -> Result<Vec<(ProjectId, ProjectId)>> {
    let mut wrong = BTreeSet::new();
    for hours in SPANS {
        wrong.extend(c.all(&DRIFTED_TOTALS, args![hours, hours * HOUR])?);
    }
    Ok(wrong.into_iter().map(|project| (project, project)).collect())
}

/// Every write of events counts the totals last, so once they are locked all counted rows are committed.
pub fn repair_totals(tx: &Tx<'_>, project: ProjectId, _: ProjectId) -> Result<()> {
    tx.within(LONGEST_REPAIR);
    tx.all(&LOCK_STORED_TOTALS, args![project])?;
    for hours in SPANS {
        tx.execute(&LOCK_TOTALS, args![project, hours, hours * HOUR])?;
    }
    tx.execute(&CLEAR_TOTALS, args![project])?;
    for hours in SPANS {
        tx.execute(&RECOUNT_TOTALS, args![project, hours, hours * HOUR])?;
    }
    Ok(())
}
