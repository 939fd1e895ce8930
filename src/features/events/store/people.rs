//! The SQL about hosts, RSVPs and invites. All of them change while their event is locked, and its counts with them.

use db::{Builder, Conn, Query, Tx, args};

use crate::error::Result;
use crate::features::events::rules::{Rsvp, RsvpCounts};
use crate::http::page::Page;
use crate::values::ids::{EventId, InviteId, ProjectId, RsvpId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct RsvpRow {
        pub id: RsvpId,
        pub user_id: UserId,
        pub status: Rsvp,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug, Clone)]
    pub struct InviteRow {
        pub id: InviteId,
        pub user_id: UserId,
        pub invited_at: Timestamp,
    }
}

db::statements! {
    query HOSTS -> (EventId, UserId) =
        "SELECT event_id, user_id FROM event_hosts WHERE project_id = $1 AND event_id {any}($2)
         ORDER BY event_id, position, user_id";
    query IS_HOST -> bool =
        "SELECT EXISTS (SELECT 1 FROM event_hosts h
            WHERE h.project_id = $1 AND h.event_id = $2 AND h.user_id = $3)
         FROM events e WHERE e.project_id = $1 AND e.id = $2";
    command ADD_HOST =
        "INSERT INTO event_hosts (project_id, event_id, user_id, position)
         SELECT e.project_id, e.id, CAST($3 AS {uuid}),
            (SELECT COALESCE(max(h.position), -1) + 1 FROM event_hosts h
             WHERE h.project_id = $1 AND h.event_id = $2)
         FROM events e WHERE e.project_id = $1 AND e.id = $2
         ON CONFLICT DO NOTHING";
    command REMOVE_HOST =
        "DELETE FROM event_hosts WHERE project_id = $1 AND event_id = $2 AND user_id = $3";
    query RSVP -> Rsvp =
        "SELECT status FROM event_rsvps WHERE project_id = $1 AND event_id = $2 AND user_id = $3";
    query RSVPS_OF_USER -> (EventId, Rsvp) =
        "SELECT event_id, status FROM event_rsvps
         WHERE project_id = $1 AND event_id {any}($2) AND user_id = $3";
    command PUT_RSVP =
        "INSERT INTO event_rsvps (project_id, event_id, user_id, id, status, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $6)
         ON CONFLICT (project_id, event_id, user_id)
         DO UPDATE SET status = excluded.status, updated_at = excluded.updated_at";
    command REMOVE_RSVP =
        "DELETE FROM event_rsvps WHERE project_id = $1 AND event_id = $2 AND user_id = $3";
    command REMOVE_RSVPS = "DELETE FROM event_rsvps WHERE project_id = $1 AND event_id = $2";
    command COUNT_RSVPS =
        "UPDATE events SET going_count = going_count + $3, maybe_count = maybe_count + $4,
            not_going_count = not_going_count + $5
         WHERE project_id = $1 AND id = $2";
    /// Those who come, or perhaps come.
    query ATTENDEES -> UserId =
        "SELECT user_id FROM event_rsvps
         WHERE project_id = $1 AND event_id = $2 AND user_id > $3 AND status IN ('going', 'maybe')
         ORDER BY user_id LIMIT $4";
    /// What a user hosts, or perhaps goes to.
    query CALENDAR -> EventId =
        "SELECT e.id FROM events e WHERE e.project_id = $1 AND e.deleted_at IS NULL AND e.id IN
            (SELECT h.event_id FROM event_hosts h WHERE h.project_id = $1 AND h.user_id = $2
             UNION SELECT r.event_id FROM event_rsvps r
             WHERE r.project_id = $1 AND r.user_id = $2 AND r.status IN ('going', 'maybe'))
            AND e.start_time >= $3
         ORDER BY e.start_time, e.id LIMIT $4";
    query IS_INVITED -> bool =
        "SELECT EXISTS (SELECT 1 FROM event_invites i
            WHERE i.project_id = $1 AND i.event_id = $2 AND i.user_id = $3)
         FROM events e WHERE e.project_id = $1 AND e.id = $2";
    command ADD_INVITE =
        "INSERT INTO event_invites (project_id, event_id, user_id, id, invited_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
    command REMOVE_INVITE =
        "DELETE FROM event_invites WHERE project_id = $1 AND event_id = $2 AND user_id = $3";
    command REMOVE_INVITES = "DELETE FROM event_invites WHERE project_id = $1 AND event_id = $2";
    command COUNT_INVITES =
        "UPDATE events SET invite_count = invite_count + $3 WHERE project_id = $1 AND id = $2";
    query INVITES -> InviteRow =
        "SELECT id, user_id, invited_at FROM event_invites WHERE project_id = $1 AND event_id = $2
         ORDER BY invited_at DESC, id DESC LIMIT $3 OFFSET $4";
}

/// Each host with its event, in the order in which they became hosts.
pub fn hosts(c: &Conn<'_>, project: ProjectId, ids: &[EventId]) -> Result<Vec<(EventId, UserId)>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&HOSTS, args![project, EventId::list(ids)])?)
}

pub fn is_host(c: &Conn<'_>, project: ProjectId, id: EventId, user: UserId) -> Result<bool> {
    Ok(c.opt(&IS_HOST, args![project, id, user])?.unwrap_or(false))
}

/// Whether they were no host before.
pub fn add_host(tx: &Tx<'_>, project: ProjectId, id: EventId, user: UserId) -> Result<bool> {
    Ok(tx.execute(&ADD_HOST, args![project, id, user])? > 0)
}

pub fn remove_host(tx: &Tx<'_>, project: ProjectId, id: EventId, user: UserId) -> Result<()> {
    tx.execute(&REMOVE_HOST, args![project, id, user])?;
    Ok(())
}

pub fn rsvp(c: &Conn<'_>, project: ProjectId, id: EventId, user: UserId) -> Result<Option<Rsvp>> {
    Ok(c.opt(&RSVP, args![project, id, user])?)
}

/// What a user answered to each of the events.
pub fn rsvps_of_user(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[EventId],
    user: UserId,
) -> Result<Vec<(EventId, Rsvp)>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&RSVPS_OF_USER, args![project, EventId::list(ids), user])?)
}

/// Stores an answer in place of the one before.
pub fn put_rsvp(
    tx: &Tx<'_>,
    project: ProjectId,
    event: EventId,
    user: UserId,
    (id, status): (RsvpId, Rsvp),
    now: Timestamp,
) -> Result<()> {
    tx.execute(&PUT_RSVP, args![project, event, user, id, status, now])?;
    Ok(())
}

pub fn remove_rsvp(tx: &Tx<'_>, project: ProjectId, event: EventId, user: UserId) -> Result<()> {
    tx.execute(&REMOVE_RSVP, args![project, event, user])?;
    Ok(())
}

pub fn count_rsvps(tx: &Tx<'_>, project: ProjectId, event: EventId, by: RsvpCounts) -> Result<()> {
    Ok(tx.pipeline(&COUNT_RSVPS, args![project, event, by.going, by.maybe, by.not_going])?)
}

/// RSVPs and invites.
pub fn remove_guests(tx: &Tx<'_>, project: ProjectId, event: EventId) -> Result<()> {
    tx.pipeline(&REMOVE_RSVPS, args![project, event])?;
    Ok(tx.pipeline(&REMOVE_INVITES, args![project, event])?)
}

/// The next users after one who come, or perhaps come.
pub fn attendees(
    c: &Conn<'_>,
    project: ProjectId,
    event: EventId,
    after: UserId,
    limit: i64,
) -> Result<Vec<UserId>> {
    Ok(c.all(&ATTENDEES, args![project, event, after, limit])?)
}

/// The first events since a time that a user hosts, or perhaps goes to.
pub fn calendar_of(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    since: Timestamp,
    limit: i64,
) -> Result<Vec<EventId>> {
    Ok(c.all(&CALENDAR, args![project, user, since, limit])?)
}

/// RSVPs with any of the states, newest first: a part of an index for each.
pub fn rsvps(
    c: &Conn<'_>,
    project: ProjectId,
    event: EventId,
    statuses: &[Rsvp],
    page: Page,
) -> Result<Vec<RsvpRow>> {
    let mut sql = Builder::list([project.into(), event.into()]);
    let most = sql.bind(page.offset() + i64::from(page.limit));
    let (limit, offset) = (sql.bind(page.limit), sql.bind(page.offset()));
    let parts: Vec<String> = statuses
        .iter()
        .map(|status| {
            format!(
                "SELECT * FROM (SELECT r.id, r.user_id, r.status, r.created_at, r.updated_at
                    FROM event_rsvps r WHERE r.project_id = $1 AND r.event_id = $2
                        AND r.status = '{}'
                    ORDER BY r.created_at DESC, r.id DESC LIMIT {most}) AS {}",
                status.name(),
                status.name()
            )
        })
        .collect();
    let text = format!(
        "SELECT p.id, p.user_id, p.status, p.created_at, p.updated_at FROM ({}) AS p
         ORDER BY p.created_at DESC, p.id DESC LIMIT {limit} OFFSET {offset}",
        parts.join(" UNION ALL ")
    );
    Ok(c.all(&Query::<RsvpRow>::built("events::people::rsvps", text), sql.args())?)
}

pub fn is_invited(c: &Conn<'_>, project: ProjectId, id: EventId, user: UserId) -> Result<bool> {
    Ok(c.opt(&IS_INVITED, args![project, id, user])?.unwrap_or(false))
}

/// Whether they were not invited before. The caller has locked the user against deletion.
pub fn add_invite(
    tx: &Tx<'_>,
    project: ProjectId,
    event: EventId,
    user: UserId,
    id: InviteId,
    now: Timestamp,
) -> Result<bool> {
    let is_new = tx.execute(&ADD_INVITE, args![project, event, user, id, now])? > 0;
    if is_new {
        tx.pipeline(&COUNT_INVITES, args![project, event, 1])?;
    }
    Ok(is_new)
}

/// Whether they were invited.
pub fn remove_invite(
    tx: &Tx<'_>,
    project: ProjectId,
    event: EventId,
    user: UserId,
) -> Result<bool> {
    let was_there = tx.execute(&REMOVE_INVITE, args![project, event, user])? > 0;
    if was_there {
        tx.pipeline(&COUNT_INVITES, args![project, event, -1])?;
    }
    Ok(was_there)
}

/// Newest first.
pub fn invites(
    c: &Conn<'_>,
    project: ProjectId,
    event: EventId,
    page: Page,
) -> Result<Vec<InviteRow>> {
    Ok(c.all(&INVITES, args![project, event, page.limit, page.offset()])?)
}
