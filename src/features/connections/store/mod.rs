//! The SQL about connections, the two sides of each, and the counts of each user. All change in one
//! transaction that has locked both users; the counts of the lower id change first.

pub mod recount;

use db::{Conn, Tx, args};

use crate::error::{Error, Result};
use crate::features::connections::rules::{Counts, Status};
use crate::features::users::store::related::Relation;
use crate::values::ids::{ConnectionId, ProjectId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct ConnectionRow {
        pub id: ConnectionId,
        pub low_id: UserId,
        pub high_id: UserId,
        pub requester_id: UserId,
        pub status: Status,
        pub message: Option<String>,
        pub responded_at: Option<Timestamp>,
        pub created_at: Timestamp,
    }
}

impl ConnectionRow {
    pub fn receiver_id(&self) -> UserId {
        if self.requester_id == self.low_id { self.high_id } else { self.low_id }
    }

    pub fn has(&self, user: UserId) -> bool {
        self.low_id == user || self.high_id == user
    }
}

/// The users connected with a user.
pub const CONNECTED: Relation = side("r.user_id = $2 AND r.kind = 'connected'");
/// Users that received a request from this user.
pub const SENT: Relation = side("r.user_id = $2 AND r.kind = 'sent'");
/// Users who sent this user a request.
pub const RECEIVED: Relation = side("r.user_id = $2 AND r.kind = 'received'");

const fn side(of: &'static str) -> Relation {
    Relation { table: "connection_sides", id: "r.connection_id", of, other: "r.other_id" }
}

macro_rules! select_connection {
    ($rest:literal) => {
        concat!(
            "SELECT id, low_id, high_id, requester_id, status, message, responded_at, created_at
             FROM connections WHERE project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> ConnectionRow = select_connection!("AND id = $2");
    query FIND_ALL -> ConnectionRow = select_connection!("AND id {any}($2)");
    query FIND_PAIR -> ConnectionRow = select_connection!("AND low_id = $2 AND high_id = $3");
    query COUNTS -> Counts =
        "SELECT connected, sent, received FROM connection_counts
         WHERE project_id = $1 AND user_id = $2";
    command INSERT =
        "INSERT INTO connections (project_id, id, low_id, high_id, requester_id, status, message,
            created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    command INSERT_SIDES =
        "INSERT INTO connection_sides (project_id, user_id, other_id, connection_id, kind, created_at)
         VALUES ($1, $2, $3, $4, 'sent', $5), ($1, $3, $2, $4, 'received', $5)";
    command ANSWER =
        "UPDATE connections SET status = $3, responded_at = $4 WHERE project_id = $1 AND id = $2";
    command CONNECT_SIDES =
        "UPDATE connection_sides SET kind = 'connected' WHERE project_id = $1 AND connection_id = $2";
    command DELETE_SIDES =
        "DELETE FROM connection_sides WHERE project_id = $1 AND connection_id = $2";
    command DELETE = "DELETE FROM connections WHERE project_id = $1 AND id = $2";
    command COUNT =
        "INSERT INTO connection_counts (project_id, user_id, connected, sent, received)
         VALUES ($1, $2, $3, $4, $5), ($1, $6, $7, $8, $9)
         ON CONFLICT (project_id, user_id) DO UPDATE
            SET connected = connection_counts.connected + excluded.connected,
                sent = connection_counts.sent + excluded.sent,
                received = connection_counts.received + excluded.received";
    query LOCK_COUNTS -> UserId =
        "SELECT user_id FROM connection_counts WHERE project_id = $1 AND user_id IN
            (SELECT other_id FROM connection_sides WHERE project_id = $1 AND user_id = $2
             UNION SELECT u.id FROM users u WHERE u.project_id = $1 AND u.id = $2)
         ORDER BY user_id {for_update}";
    /// One user's sent request is the other's received request.
    command UNCOUNT =
        "UPDATE connection_counts SET
            connected = connected - CASE s.kind WHEN 'connected' THEN 1 ELSE 0 END,
            sent = sent - CASE s.kind WHEN 'received' THEN 1 ELSE 0 END,
            received = received - CASE s.kind WHEN 'sent' THEN 1 ELSE 0 END
         FROM connection_sides s
         WHERE connection_counts.project_id = $1 AND connection_counts.user_id = s.other_id
            AND s.project_id = $1 AND s.user_id = $2";
    command DELETE_OF_LOW = "DELETE FROM connections WHERE project_id = $1 AND low_id = $2";
    command DELETE_OF_HIGH = "DELETE FROM connections WHERE project_id = $1 AND high_id = $2";
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: ConnectionId) -> Result<Option<ConnectionRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// Those of the ids that exist, in no particular order.
pub fn find_all(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ConnectionId],
) -> Result<Vec<ConnectionRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&FIND_ALL, args![project, ConnectionId::list(ids)])?)
}

pub fn find_pair(
    c: &Conn<'_>,
    project: ProjectId,
    one: UserId,
    other: UserId,
) -> Result<Option<ConnectionRow>> {
    Ok(c.opt(&FIND_PAIR, args![project, one.min(other), one.max(other)])?)
}

pub fn counts(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Counts> {
    Ok(c.opt(&COUNTS, args![project, user])?.unwrap_or_default())
}

/// A new request.
pub fn insert(tx: &Tx<'_>, project: ProjectId, row: &ConnectionRow) -> Result<()> {
    let ConnectionRow { id, low_id, high_id, requester_id, status, created_at, .. } = *row;
    tx.pipeline(
        &INSERT,
        args![project, id, low_id, high_id, requester_id, status, &row.message, created_at],
    )?;
    tx.pipeline(&INSERT_SIDES, args![project, requester_id, row.receiver_id(), id, created_at])?;
    count(tx, project, row, status, 1)
}

/// What belongs to a connection that was inserted in any status, from an import.
pub fn insert_sides(tx: &Tx<'_>, project: ProjectId, row: &ConnectionRow) -> Result<()> {
    let (requester, receiver, status) = (row.requester_id, row.receiver_id(), row.status);
    if status != Status::Declined {
        tx.pipeline(&INSERT_SIDES, args![project, requester, receiver, row.id, row.created_at])?;
    }
    if status == Status::Accepted {
        tx.pipeline(&CONNECT_SIDES, args![project, row.id])?;
    }
    count(tx, project, row, status, 1)
}

/// Accepts or declines a pending connection. The caller has locked both users.
pub fn answer(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &ConnectionRow,
    status: Status,
    now: Timestamp,
) -> Result<()> {
    if row.status != Status::Pending {
        return Err(Error::internal("only a pending connection can be answered"));
    }
    tx.pipeline(&ANSWER, args![project, row.id, status, now])?;
    match status {
        Status::Accepted => tx.pipeline(&CONNECT_SIDES, args![project, row.id])?,
        _ => tx.pipeline(&DELETE_SIDES, args![project, row.id])?,
    }
    count(tx, project, row, row.status, -1)?;
    count(tx, project, row, status, 1)
}

/// Deletes a connection in any status. The caller has locked both users.
pub fn delete(tx: &Tx<'_>, project: ProjectId, row: &ConnectionRow) -> Result<()> {
    tx.pipeline(&DELETE, args![project, row.id])?;
    count(tx, project, row, row.status, -1)
}

fn count(
    tx: &Tx<'_>,
    project: ProjectId,
    row: &ConnectionRow,
    status: Status,
    by: i64,
) -> Result<()> {
    let Some((requester, receiver)) = status.counted(by) else { return Ok(()) };
    let mut both = [(row.requester_id, requester), (row.receiver_id(), receiver)];
    both.sort_unstable_by_key(|(user, _)| *user);
    let [(low, a), (high, b)] = both;
    let args =
        args![project, low, a.connected, a.sent, a.received, high, b.connected, b.sent, b.received];
    Ok(tx.pipeline(&COUNT, args)?)
}

/// Ends every connection of a user, and updates the counts of the other users. The caller has locked the
/// user.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.all(&LOCK_COUNTS, args![project, user])?;
    tx.pipeline(&UNCOUNT, args![project, user])?;
    tx.pipeline(&DELETE_OF_LOW, args![project, user])?;
    Ok(tx.pipeline(&DELETE_OF_HIGH, args![project, user])?)
}
