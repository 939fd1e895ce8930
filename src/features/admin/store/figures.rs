//! The numbers of the overview. Counts end at a bound, so that the page is as quick for a large project.

use std::time::Duration;

use db::{Conn, args};

use crate::error::Result;
use crate::values::ids::{ProjectId, first_id};
use crate::values::time::Timestamp;

/// No count goes beyond this.
pub const BOUND: i64 = 100_000;
const DAY: i64 = 86_400_000;
const ACTIVE: Duration = Duration::from_secs(7 * 86_400);

#[derive(Debug)]
pub struct Figures {
    pub users: i64,
    /// Within the last seven days.
    pub active_users: i64,
    pub entities: i64,
    pub comments: i64,
    pub open_reports: i64,
    pub waiting_jobs: i64,
    pub failed_jobs: i64,
    /// When the first of the waiting jobs is or was due.
    pub first_due: Option<Timestamp>,
    /// Of stored files, without their smaller versions.
    pub file_bytes: i64,
    /// Days, oldest first.
    pub entities_by_day: Vec<(String, i64)>,
    pub users_by_day: Vec<(String, i64)>,
}

db::statements! {
    query USERS -> i64 =
        "SELECT count(*) FROM (SELECT 1 FROM users WHERE project_id = $1 LIMIT $2) bounded";
    query ENTITIES -> i64 =
        "SELECT count(*) FROM (SELECT 1 FROM entities WHERE project_id = $1 AND is_listed LIMIT $2) bounded";
    query COMMENTS -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM comments WHERE project_id = $1 AND deleted_at IS NULL LIMIT $2) bounded";
    query OPEN_REPORTS -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM reports WHERE project_id = $1 AND status = 'open' LIMIT $2) bounded";
    query WAITING_JOBS -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM jobs WHERE project_id = $1 AND ended_at IS NULL LIMIT $2) bounded";
    query FAILED_JOBS -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM jobs WHERE project_id = $1 AND has_failed LIMIT $2) bounded";
    query ACTIVE_USERS -> i64 =
        "SELECT count(*) FROM
            (SELECT last_active FROM users WHERE project_id = $1 LIMIT $2) bounded WHERE last_active >= $3";
    query FIRST_DUE -> Option<Timestamp> =
        "SELECT min(run_at) FROM
            (SELECT run_at FROM jobs WHERE project_id = $1 AND ended_at IS NULL LIMIT $2) bounded";
    query FILE_BYTES -> i64 =
        "SELECT CAST(COALESCE(sum(size), 0) AS BIGINT) FROM
            (SELECT size FROM files WHERE project_id = $1 LIMIT $2) bounded";
    /// Ids begin with the time of creation.
    query ENTITIES_BETWEEN -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM entities WHERE project_id = $1 AND id >= $2 AND id < $3 LIMIT $4) bounded";
    query USERS_BETWEEN -> i64 =
        "SELECT count(*) FROM
            (SELECT 1 FROM users WHERE project_id = $1 AND id >= $2 AND id < $3 LIMIT $4) bounded";
}

pub fn read(c: &Conn<'_>, project: ProjectId, now: Timestamp, days: i64) -> Result<Figures> {
    let count = |query| c.one(query, args![project, BOUND]);
    let by_day = |query| {
        let today = now.millis() - now.millis().rem_euclid(DAY);
        let counted = (0..days).rev().map(|back| {
            let begins = Timestamp::from_millis(today - back * DAY);
            let ends = begins.plus(Duration::from_secs(86_400));
            let args = args![project, first_id(begins), first_id(ends), BOUND];
            Ok((begins.to_string().chars().take(10).collect(), c.one(query, args)?))
        });
        counted.collect::<Result<Vec<(String, i64)>>>()
    };
    Ok(Figures {
        users: count(&USERS)?,
        active_users: c.one(&ACTIVE_USERS, args![project, BOUND, now.minus(ACTIVE)])?,
        entities: count(&ENTITIES)?,
        comments: count(&COMMENTS)?,
        open_reports: count(&OPEN_REPORTS)?,
        waiting_jobs: count(&WAITING_JOBS)?,
        failed_jobs: count(&FAILED_JOBS)?,
        first_due: c.one(&FIRST_DUE, args![project, BOUND])?,
        file_bytes: count(&FILE_BYTES)?,
        entities_by_day: by_day(&ENTITIES_BETWEEN)?,
        users_by_day: by_day(&USERS_BETWEEN)?,
    })
}
