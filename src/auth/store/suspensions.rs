//! Suspensions: users who may not write for a while. They take effect with the `moderation` bundle.

use db::{Conn, Later, Tx, args};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Initiator;
use crate::error::{Error, Result, faults};
use crate::values::ids::{ProjectId, SuspensionId, UserId};
use crate::values::time::Timestamp;

faults! {
    pub SUSPENDED = 403 "user/suspended": "The user is suspended";
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    pub reason: Option<String>,
    pub start_date: Timestamp,
    pub end_date: Option<Timestamp>,
}

impl Suspension {
    pub fn refusal(&self) -> Error {
        let end_date = self.end_date.map(|end| end.to_string());
        let mut refusal = SUSPENDED.with("reason", self.reason.clone());
        if let Error::Refused(refusal) = &mut refusal {
            refusal.extra.insert("endDate".to_owned(), end_date.into());
        }
        refusal
    }
}

/// An existing user, and the longest active suspension, if any.
#[derive(Debug)]
pub struct AccountStatus {
    pub user: Initiator,
    pub suspension: Option<Suspension>,
}

db::row! {
    #[derive(Debug)]
    pub struct StatusRow {
        pub id: UserId,
        pub foreign_id: Option<String>,
        pub name: Option<String>,
        pub username: Option<String>,
        pub avatar: Option<String>,
        pub reason: Option<String>,
        pub start_date: Option<Timestamp>,
        pub end_date: Option<Timestamp>,
    }
}

db::row! {
    #[derive(Debug)]
    pub struct ActiveRow {
        pub reason: Option<String>,
        pub start_date: Timestamp,
        pub end_date: Option<Timestamp>,
    }
}

db::statements! {
    query STATUS -> StatusRow =
        "SELECT u.id, u.foreign_id, u.name, u.username, u.avatar, s.reason, s.start_date, s.end_date
         FROM users u LEFT JOIN suspensions s
            ON s.project_id = u.project_id AND s.user_id = u.id
            AND s.start_date <= $3 AND (s.end_date IS NULL OR s.end_date >= $3)
         WHERE u.project_id = $1 AND u.id = $2";
    query ACTIVE -> ActiveRow =
        "SELECT reason, start_date, end_date FROM suspensions
         WHERE project_id = $1 AND user_id = $2
            AND start_date <= $3 AND (end_date IS NULL OR end_date >= $3)
         ORDER BY end_date DESC NULLS FIRST, start_date, id";
    query AMONG -> (UserId, Option<Timestamp>) =
        "SELECT user_id, end_date FROM suspensions WHERE project_id = $1 AND user_id {any}($2)
            AND start_date <= $3 AND (end_date IS NULL OR end_date >= $3)";
    command INSERT =
        "INSERT INTO suspensions (project_id, id, user_id, reason, start_date, end_date, created_by,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)";
    command LIFT =
        "UPDATE suspensions SET end_date = $3, updated_at = $3
         WHERE project_id = $1 AND user_id = $2 AND (end_date IS NULL OR end_date > $3)";
    command LIFT_ONE =
        "UPDATE suspensions SET end_date = $3, updated_at = $3
         WHERE project_id = $1 AND id = $2 AND (end_date IS NULL OR end_date > $3)";
}

/// `None` when there is no such user.
pub fn status(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Option<AccountStatus>> {
    Ok(status_of(c.all(&STATUS, args![project, user, now])?))
}

/// The same rows, sent together with the next statement.
pub fn status_later(
    tx: &Tx<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Later<StatusRow>> {
    Ok(tx.later(&STATUS, args![project, user, now])?)
}

pub fn status_of(rows: Vec<StatusRow>) -> Option<AccountStatus> {
    // Nearly always one row without a suspension: sorting would cost more than finding it.
    let furthest = rows.into_iter().max_by_key(|row| (row.end_date.is_none(), row.end_date));
    furthest.map(|row| {
        let StatusRow { id, foreign_id, name, username, avatar, .. } = row;
        let StatusRow { reason, start_date, end_date, .. } = row;
        AccountStatus {
            user: Initiator { id, foreign_id, name, username, avatar },
            suspension: start_date.map(|start_date| Suspension { reason, start_date, end_date }),
        }
    })
}

/// Those of the users who are suspended now.
pub fn suspended_among(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
    now: Timestamp,
) -> Result<Vec<UserId>> {
    let active = active_among(c, project, users, now)?;
    Ok(active.into_iter().map(|(user, _)| user).collect())
}

/// The active suspensions of these users: whose it is, and when it ends.
pub fn active_among(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
    now: Timestamp,
) -> Result<Vec<(UserId, Option<Timestamp>)>> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&AMONG, args![project, UserId::list(users), now])?)
}

pub fn active(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<Suspension>> {
    let rows = c.all(&ACTIVE, args![project, user, now])?;
    Ok(rows
        .into_iter()
        .map(|ActiveRow { reason, start_date, end_date }| Suspension {
            reason,
            start_date,
            end_date,
        })
        .collect())
}

#[derive(Debug, Clone)]
pub struct NewSuspension {
    pub id: SuspensionId,
    pub user: UserId,
    pub reason: Option<String>,
    pub end_date: Option<Timestamp>,
    pub created_by: &'static str,
}

/// Suspends from now on.
pub fn insert(tx: &Tx<'_>, project: ProjectId, new: &NewSuspension, now: Timestamp) -> Result<()> {
    tx.execute(
        &INSERT,
        args![project, new.id, new.user, &new.reason, now, new.end_date, new.created_by, now],
    )?;
    Ok(())
}

/// Ends every active suspension one millisecond ago, so that it is over at once; rows stay.
pub fn lift(tx: &Tx<'_>, project: ProjectId, user: UserId, now: Timestamp) -> Result<u64> {
    let just_past = Timestamp::from_millis(now.millis() - 1);
    Ok(tx.execute(&LIFT, args![project, user, just_past])?)
}

/// The same for one suspension.
pub fn lift_one(tx: &Tx<'_>, project: ProjectId, id: SuspensionId, now: Timestamp) -> Result<()> {
    let just_past = Timestamp::from_millis(now.millis() - 1);
    Ok(tx.pipeline(&LIFT_ONE, args![project, id, just_past])?)
}
