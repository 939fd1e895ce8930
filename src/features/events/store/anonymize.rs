//! Events when a user is deleted: their answers and invites are deleted, and events they created stay without a
//! creator. They host no longer, except where nobody else does: an event always has a host, if only by id.

use db::{Tx, args};

use crate::error::Result;
use crate::values::ids::{EventId, ProjectId, UserId};

db::statements! {
    query LOCK -> EventId =
        "SELECT e.id FROM events e WHERE e.project_id = $1 AND e.id IN
            (SELECT r.event_id FROM event_rsvps r WHERE r.project_id = $1 AND r.user_id = $2
             UNION SELECT i.event_id FROM event_invites i WHERE i.project_id = $1 AND i.user_id = $2
             UNION SELECT h.event_id FROM event_hosts h WHERE h.project_id = $1 AND h.user_id = $2
             UNION SELECT o.id FROM events o WHERE o.project_id = $1 AND o.user_id = $2)
         ORDER BY e.id {for_no_key_update}";
    command UNCOUNT_GOING =
        "UPDATE events SET going_count = going_count - 1 WHERE project_id = $1 AND id IN
            (SELECT r.event_id FROM event_rsvps r
             WHERE r.project_id = $1 AND r.user_id = $2 AND r.status = 'going')";
    command UNCOUNT_MAYBE =
        "UPDATE events SET maybe_count = maybe_count - 1 WHERE project_id = $1 AND id IN
            (SELECT r.event_id FROM event_rsvps r
             WHERE r.project_id = $1 AND r.user_id = $2 AND r.status = 'maybe')";
    command UNCOUNT_NOT_GOING =
        "UPDATE events SET not_going_count = not_going_count - 1 WHERE project_id = $1 AND id IN
            (SELECT r.event_id FROM event_rsvps r
             WHERE r.project_id = $1 AND r.user_id = $2 AND r.status = 'not_going')";
    command UNCOUNT_INVITES =
        "UPDATE events SET invite_count = invite_count - 1 WHERE project_id = $1 AND id IN
            (SELECT i.event_id FROM event_invites i WHERE i.project_id = $1 AND i.user_id = $2)";
    command FORGET_RSVPS = "DELETE FROM event_rsvps WHERE project_id = $1 AND user_id = $2";
    command FORGET_INVITES = "DELETE FROM event_invites WHERE project_id = $1 AND user_id = $2";
    command FORGET_HOSTS =
        "DELETE FROM event_hosts WHERE project_id = $1 AND user_id = $2 AND EXISTS
            (SELECT 1 FROM event_hosts o WHERE o.project_id = $1
                AND o.event_id = event_hosts.event_id AND o.user_id <> $2)";
    command DISOWN = "UPDATE events SET user_id = NULL WHERE project_id = $1 AND user_id = $2";
}

/// Locks every event that is about to change. Lock order: events before the user, as when answering.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK, args![project, user])?;
    Ok(())
}

pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    let all = [
        &UNCOUNT_GOING,
        &UNCOUNT_MAYBE,
        &UNCOUNT_NOT_GOING,
        &UNCOUNT_INVITES,
        &FORGET_RSVPS,
        &FORGET_INVITES,
        &FORGET_HOSTS,
        &DISOWN,
    ];
    all.into_iter().try_for_each(|command| Ok(tx.pipeline(command, args![project, user])?))
}
