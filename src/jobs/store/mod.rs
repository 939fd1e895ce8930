//! All SQL about the job queue.

pub mod figures;
pub mod queues;

use std::time::Duration;

use db::{Conn, JsonText, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::values::ids::{JobId, ProjectId, QueueId};
use crate::values::time::Timestamp;

/// How long an operator can look at a job that has ended.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

db::row! {
    #[derive(Debug)]
    pub struct JobRow {
        pub project_id: ProjectId,
        pub id: JobId,
        pub payload: JsonText,
        pub attempts: i64,
        pub created_at: Timestamp,
    }
}

db::row! {
    /// A job as operators see it.
    #[derive(Debug)]
    pub struct JobRecord {
        pub project_id: ProjectId,
        pub id: JobId,
        pub queue_id: Option<QueueId>,
        pub attempts: i64,
        pub run_at: Timestamp,
        pub created_at: Timestamp,
        pub ended_at: Option<Timestamp>,
        pub has_failed: bool,
        pub last_error: Option<String>,
        pub payload: JsonText,
    }
}

/// The columns of a [`JobRow`].
macro_rules! job {
    () => {
        "project_id, id, payload, attempts, created_at"
    };
}

/// Statements that return a [`JobRecord`].
macro_rules! records {
    ($rest:literal) => {
        concat!(
            "SELECT project_id, id, queue_id, attempts, run_at, created_at, ended_at, has_failed,
                last_error, payload
             FROM jobs ",
            $rest
        )
    };
}

use {job, records};

db::statements! {
    /// A job with this id that was given up is run again; one that is not yet done stays as it is.
    command INSERT =
        "INSERT INTO jobs (project_id, id, payload, attempts, run_at, created_at)
         VALUES ($1, $2, $3, 0, $4, $5)
         ON CONFLICT (project_id, id) DO UPDATE SET payload = excluded.payload, attempts = 0,
            run_at = excluded.run_at, created_at = excluded.created_at, ended_at = NULL, has_failed = FALSE
         WHERE jobs.ended_at IS NOT NULL";
    /// Jobs that are due, whosever they are, but not of the busy projects $2. Locks nothing: on a cluster they are on
    /// several workers. The limit is a literal because for a parameter PostgreSQL would assume a tenth of the table
    /// and scan all of it.
    query DUE -> (ProjectId, JobId), unscoped "the worker serves every project" =
        "SELECT project_id, id FROM jobs
         WHERE queue_id IS NULL AND ended_at IS NULL AND run_at <= $1 AND NOT (project_id {any}($2))
         ORDER BY run_at, id LIMIT 16";
    /// Claims a due job until $4: if this worker dies, another one claims it then. Of several workers one gets
    /// the row; for the others, who wait for its lock, it is not due any more.
    command CLAIM -> JobRow =
        concat!(
            "UPDATE jobs SET attempts = attempts + 1, run_at = $4
             WHERE project_id = $1 AND id = $2 AND run_at <= $3 AND ended_at IS NULL
             RETURNING ",
            job!()
        );
    /// Only while the claim that ends at $3 holds.
    command RENEW =
        "UPDATE jobs SET run_at = $4
         WHERE project_id = $1 AND id = $2 AND run_at = $3 AND ended_at IS NULL";
    query LOCK -> JsonText =
        "SELECT payload FROM jobs
         WHERE project_id = $1 AND id = $2 AND ended_at IS NULL {for_update}";
    command SET_PAYLOAD = "UPDATE jobs SET payload = $3 WHERE project_id = $1 AND id = $2";
    command DELETE = "DELETE FROM jobs WHERE project_id = $1 AND id = $2";
    /// Only if no worker has claimed it.
    command CANCEL = "DELETE FROM jobs WHERE project_id = $1 AND id = $2 AND attempts = 0";
    command HASTEN =
        "UPDATE jobs SET run_at = $3 WHERE project_id = $1 AND id = $2 AND attempts = 0";
    command POSTPONE =
        "UPDATE jobs SET run_at = $3, last_error = $4 WHERE project_id = $1 AND id = $2";
    command END =
        "UPDATE jobs SET ended_at = $3, has_failed = $4, last_error = $5, attempts = $6
         WHERE project_id = $1 AND id = $2";
    command SWEEP, unscoped "the worker serves every project" =
        "DELETE FROM jobs WHERE ended_at < $1 AND (project_id, id) IN
            (SELECT project_id, id FROM jobs WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)";

    /// All of them, or with $2 those that were given up.
    query LIST -> JobRecord =
        records!("WHERE project_id = $1 AND (has_failed OR NOT $2) ORDER BY id DESC LIMIT $3");
    query LIST_ALL -> JobRecord, unscoped "the operator lists the jobs of every project" =
        records!("WHERE (has_failed OR NOT $1) ORDER BY created_at DESC, id DESC LIMIT $2");
    query FIND -> JobRecord, unscoped "the operator names a job by its id alone" =
        records!("WHERE id = $1");
    /// By itself, because a cluster takes no clock in an `UPDATE`.
    query MOMENT -> i64, unscoped "it reads no table" = "SELECT {moment}";
    command RETRY -> Option<QueueId> =
        "UPDATE jobs SET ended_at = NULL, has_failed = FALSE, attempts = 0, run_at = $3, created_at = $3,
            position = $4
         WHERE project_id = $1 AND id = $2 RETURNING queue_id";
}

/// Wakes the worker of this process after the commit.
fn signal(tx: &Tx<'_>, project: ProjectId, queue: Option<QueueId>) {
    tx.signal((project.0, queue.map_or(Uuid::nil(), |queue| queue.0)));
}

pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    payload: &str,
    due: Timestamp,
    now: Timestamp,
) -> Result<()> {
    signal(tx, project, None);
    tx.execute(&INSERT, args![project, id, payload, due, now])?;
    Ok(())
}

/// Some of the jobs that are due, the oldest first, but none of the busy projects.
pub fn due(c: &Conn<'_>, now: Timestamp, busy: &[ProjectId]) -> Result<Vec<(ProjectId, JobId)>> {
    Ok(c.all(&DUE, args![now, ProjectId::list(busy)])?)
}

/// The job, if it is still due: no other worker has claimed it, and nobody has cancelled it.
pub fn claim(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<JobRow>> {
    Ok(tx.opt(&CLAIM, args![project, id, now, until])?)
}

/// Extends a claim; false if it was lost.
pub fn renew(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    held: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&RENEW, args![project, id, held, until])? > 0)
}

/// The payload of a job that has not ended.
pub fn lock(tx: &Tx<'_>, project: ProjectId, id: JobId) -> Result<Option<JsonText>> {
    Ok(tx.opt(&LOCK, args![project, id])?)
}

/// What a job says about itself: how far it is, or what became of it.
pub fn set_payload(tx: &Tx<'_>, project: ProjectId, id: JobId, payload: &str) -> Result<()> {
    tx.execute(&SET_PAYLOAD, args![project, id, payload])?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, project: ProjectId, id: JobId) -> Result<bool> {
    Ok(tx.execute(&DELETE, args![project, id])? > 0)
}

/// Cancels a job that no worker has claimed; false if it is too late.
pub fn cancel(tx: &Tx<'_>, project: ProjectId, id: JobId) -> Result<bool> {
    Ok(tx.execute(&CANCEL, args![project, id])? > 0)
}

/// Makes an unclaimed job due.
pub fn hasten(tx: &Tx<'_>, project: ProjectId, id: JobId, due: Timestamp) -> Result<()> {
    signal(tx, project, None);
    tx.execute(&HASTEN, args![project, id, due])?;
    Ok(())
}

pub fn postpone(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    until: Timestamp,
    error: &str,
) -> Result<()> {
    tx.execute(&POSTPONE, args![project, id, until, error])?;
    Ok(())
}

/// Keeps the job, but never runs it again by itself. `failure`: why it was given up.
pub fn end(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    (attempts, now): (i64, Timestamp),
    failure: Option<&str>,
) -> Result<()> {
    tx.execute(&END, args![project, id, now, failure.is_some(), failure, attempts])?;
    Ok(())
}

/// Deletes jobs that ended a week ago.
pub fn sweep(tx: &Tx<'_>, now: Timestamp, most: i64) -> Result<u64> {
    Ok(tx.execute(&SWEEP, args![now.minus(KEPT_FOR), most])?)
}

/// The newest first.
pub fn list(
    c: &Conn<'_>,
    project: Option<ProjectId>,
    failed: bool,
    most: i64,
) -> Result<Vec<JobRecord>> {
    Ok(match project {
        Some(project) => c.all(&LIST, args![project, failed, most])?,
        None => c.all(&LIST_ALL, args![failed, most])?,
    })
}

pub fn find(c: &Conn<'_>, id: JobId) -> Result<Option<JobRecord>> {
    Ok(c.opt(&FIND, args![id])?)
}

/// Runs the job again from the first attempt, behind all others of its queue.
pub fn retry(tx: &Tx<'_>, project: ProjectId, id: JobId, now: Timestamp) -> Result<bool> {
    let position = tx.one(&MOMENT, args![])?;
    let retried = tx.opt(&RETRY, args![project, id, now, position])?;
    let Some(queue) = retried else { return Ok(false) };
    signal(tx, project, queue);
    Ok(true)
}
