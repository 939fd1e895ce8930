//! All SQL about the job queue.

use db::{Conn, JsonText, Tx, args};

use crate::error::Result;
use crate::values::ids::{JobId, ProjectId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct JobRow {
        pub project_id: ProjectId,
        pub id: JobId,
        pub payload: JsonText,
        pub attempts: i64,
    }
}

db::statements! {
    command INSERT =
        "INSERT INTO jobs (project_id, id, payload, attempts, run_at, created_at)
         VALUES ($1, $2, $3, 0, $4, $5)";
    /// Jobs that are due, whosever they are. Locks nothing: on a cluster they are on several workers. The limit
    /// is a literal because for a parameter PostgreSQL would assume a tenth of the table and scan all of it.
    query DUE -> (ProjectId, JobId), unscoped "the worker serves every project" =
        "SELECT project_id, id FROM jobs WHERE run_at <= $1 ORDER BY run_at, id LIMIT 16";
    /// Claims a due job until $4: if this worker dies, another one claims it then. Of several workers one gets
    /// the row; for the others, who wait for its lock, it is not due any more.
    command CLAIM -> JobRow =
        "UPDATE jobs SET attempts = attempts + 1, run_at = $4
         WHERE project_id = $1 AND id = $2 AND run_at <= $3
         RETURNING project_id, id, payload, attempts";
    command DELETE = "DELETE FROM jobs WHERE project_id = $1 AND id = $2";
    /// Only if no worker has claimed it.
    command CANCEL = "DELETE FROM jobs WHERE project_id = $1 AND id = $2 AND attempts = 0";
    command HASTEN =
        "UPDATE jobs SET run_at = $3 WHERE project_id = $1 AND id = $2 AND attempts = 0";
    command POSTPONE = "UPDATE jobs SET run_at = $3 WHERE project_id = $1 AND id = $2";
}

pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    id: JobId,
    payload: &str,
    due: Timestamp,
    now: Timestamp,
) -> Result<()> {
    tx.execute(&INSERT, args![project, id, payload, due, now])?;
    Ok(())
}

/// Some of the jobs that are due, the oldest first.
pub fn due(c: &Conn<'_>, now: Timestamp) -> Result<Vec<(ProjectId, JobId)>> {
    Ok(c.all(&DUE, args![now])?)
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

pub fn delete(tx: &Tx<'_>, project: ProjectId, id: JobId) -> Result<()> {
    tx.execute(&DELETE, args![project, id])?;
    Ok(())
}

/// Cancels a job that no worker has claimed; false if it is too late.
pub fn cancel(tx: &Tx<'_>, project: ProjectId, id: JobId) -> Result<bool> {
    Ok(tx.execute(&CANCEL, args![project, id])? > 0)
}

/// Makes an unclaimed job due.
pub fn hasten(tx: &Tx<'_>, project: ProjectId, id: JobId, due: Timestamp) -> Result<()> {
    tx.execute(&HASTEN, args![project, id, due])?;
    Ok(())
}

pub fn postpone(tx: &Tx<'_>, project: ProjectId, id: JobId, until: Timestamp) -> Result<()> {
    tx.execute(&POSTPONE, args![project, id, until])?;
    Ok(())
}
