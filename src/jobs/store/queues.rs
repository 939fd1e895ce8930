//! Queues of jobs, each of which runs them one after the other.

use db::{Conn, Tx, args};

use crate::error::Result;
use crate::jobs::store::{JobRecord, JobRow, job, records, signal};
use crate::values::ids::{JobId, ProjectId, QueueId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone, Copy)]
    pub struct QueueRow {
        pub failures: i64,
        pub failing_since: Option<Timestamp>,
        pub paused_at: Option<Timestamp>,
    }
}

macro_rules! due {
    ($more:literal) => {
        concat!(
            "SELECT q.project_id, q.id FROM job_queues q
             WHERE q.run_at <= $1 AND q.paused_at IS NULL AND NOT (q.id {any}($2)) ",
            $more,
            " AND EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = q.project_id AND j.queue_id = q.id
                AND j.ended_at IS NULL)
             ORDER BY q.run_at LIMIT 16"
        )
    };
}

db::statements! {
    command INSERT =
        "INSERT INTO job_queues (project_id, id, run_at, failures) VALUES ($1, $2, 0, 0)
         ON CONFLICT DO NOTHING";
    command DELETE = "DELETE FROM job_queues WHERE project_id = $1 AND id = $2";
    command DELETE_JOBS = "DELETE FROM jobs WHERE project_id = $1 AND queue_id = $2";
    query FIND -> QueueRow =
        "SELECT failures, failing_since, paused_at FROM job_queues WHERE project_id = $1 AND id = $2";
    /// Queues with work that no worker has claimed, but not of the busy ones $2.
    query DUE -> (ProjectId, QueueId), unscoped "the worker serves every project" =
        due!("");
    /// Those of them whose first job has failed, which are few.
    query DUE_RETRIES -> (ProjectId, QueueId), unscoped "the worker serves every project" =
        due!("AND q.failures > 0");
    command CLAIM -> QueueRow =
        "UPDATE job_queues SET run_at = $4
         WHERE project_id = $1 AND id = $2 AND run_at <= $3 AND paused_at IS NULL
         RETURNING failures, failing_since, paused_at";
    /// Only while the claim that ends at $3 holds.
    command RENEW =
        "UPDATE job_queues SET run_at = $4
         WHERE project_id = $1 AND id = $2 AND run_at = $3 AND paused_at IS NULL";
    command SET =
        "UPDATE job_queues SET run_at = $3, failures = $4, failing_since = $5, paused_at = $6
         WHERE project_id = $1 AND id = $2";
    query NEXT -> JobRow =
        concat!(
            "SELECT ",
            job!(),
            " FROM jobs WHERE project_id = $1 AND queue_id = $2 AND ended_at IS NULL
             ORDER BY position, id LIMIT 1"
        );
    command COUNT_ATTEMPT =
        "UPDATE jobs SET attempts = attempts + 1, last_error = $3 WHERE project_id = $1 AND id = $2";
    command PUSH =
        "INSERT INTO jobs (project_id, id, payload, attempts, run_at, created_at, queue_id, position)
         VALUES ($1, $2, $3, 0, $4, $4, $5, {moment})";
    query LIST -> JobRecord =
        records!("WHERE project_id = $1 AND queue_id = $2 ORDER BY id DESC LIMIT $3");
}

pub fn insert(tx: &Tx<'_>, project: ProjectId, queue: QueueId) -> Result<()> {
    tx.execute(&INSERT, args![project, queue])?;
    Ok(())
}

/// With all its jobs.
pub fn delete(tx: &Tx<'_>, project: ProjectId, queue: QueueId) -> Result<()> {
    tx.execute(&DELETE_JOBS, args![project, queue])?;
    tx.execute(&DELETE, args![project, queue])?;
    Ok(())
}

pub fn find(c: &Conn<'_>, project: ProjectId, queue: QueueId) -> Result<Option<QueueRow>> {
    Ok(c.opt(&FIND, args![project, queue])?)
}

/// Some of the queues that have work, but none of the busy ones.
pub fn due(c: &Conn<'_>, now: Timestamp, busy: &[QueueId]) -> Result<Vec<(ProjectId, QueueId)>> {
    Ok(c.all(&DUE, args![now, QueueId::list(busy)])?)
}

/// Those of them whose first job has failed.
pub fn due_retries(
    c: &Conn<'_>,
    now: Timestamp,
    busy: &[QueueId],
) -> Result<Vec<(ProjectId, QueueId)>> {
    Ok(c.all(&DUE_RETRIES, args![now, QueueId::list(busy)])?)
}

/// Claims the queue until then, if no other worker has.
pub fn claim(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<QueueRow>> {
    Ok(tx.opt(&CLAIM, args![project, queue, now, until])?)
}

/// Extends a claim; false if it was lost.
pub fn renew(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    held: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&RENEW, args![project, queue, held, until])? > 0)
}

/// Releases the queue, to be run again at a time.
pub fn set(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    run_at: Timestamp,
    row: QueueRow,
) -> Result<()> {
    let QueueRow { failures, failing_since, paused_at } = row;
    tx.execute(&SET, args![project, queue, run_at, failures, failing_since, paused_at])?;
    Ok(())
}

/// Runs a queue that was paused.
pub fn resume(tx: &Tx<'_>, project: ProjectId, queue: QueueId, now: Timestamp) -> Result<()> {
    let fresh = QueueRow { failures: 0, failing_since: None, paused_at: None };
    signal(tx, project, Some(queue));
    set(tx, project, queue, now, fresh)
}

pub fn next(c: &Conn<'_>, project: ProjectId, queue: QueueId) -> Result<Option<JobRow>> {
    Ok(c.opt(&NEXT, args![project, queue])?)
}

/// After a failed attempt.
pub fn count_attempt(tx: &Tx<'_>, project: ProjectId, id: JobId, error: &str) -> Result<()> {
    tx.execute(&COUNT_ATTEMPT, args![project, id, error])?;
    Ok(())
}

/// Behind all that are in the queue.
pub fn push(
    tx: &Tx<'_>,
    project: ProjectId,
    queue: QueueId,
    id: JobId,
    payload: &str,
    now: Timestamp,
) -> Result<()> {
    signal(tx, project, Some(queue));
    Ok(tx.pipeline(&PUSH, args![project, id, payload, now, queue])?)
}

/// The newest first.
pub fn list(c: &Conn<'_>, project: ProjectId, queue: QueueId, most: i64) -> Result<Vec<JobRecord>> {
    Ok(c.all(&LIST, args![project, queue, most])?)
}
