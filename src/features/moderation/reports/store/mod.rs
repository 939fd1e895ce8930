//! All SQL about reports and their reporters.

pub mod anonymize;
pub mod recount;

use db::{Builder, Conn, Query, Tx, args};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::moderation::reports::model::{Reason, Status, TargetType};
use crate::features::spaces::members::store as members;
use crate::features::users;
use crate::features::visibility::moderation::{Decision, Verdict};
use crate::http::page::Page;
use crate::values::ids::{ProjectId, ReportEntryId, ReportId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct ReportRow {
        pub id: ReportId,
        pub space_id: Option<SpaceId>,
        pub target_type: TargetType,
        pub target_id: Uuid,
        pub status: Status,
        pub reporter_count: i64,
        pub action_taken: Option<String>,
        /// The content waits for a moderator: a rule held it.
        pub is_held: bool,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
    }
}

db::row! {
    #[derive(Debug)]
    pub struct EntryRow {
        pub report_id: ReportId,
        pub id: ReportEntryId,
        pub user_id: UserId,
        pub reason: String,
        pub details: Option<String>,
        pub created_at: Timestamp,
    }
}

const COLUMNS: &str = "r.id, r.space_id, r.target_type, r.target_id, r.status, r.reporter_count,
    r.action_taken, r.is_held, r.created_at, r.updated_at";

/// Maximum entries in one reply: the oldest of a page of reports.
const MAX_ENTRIES: i64 = 10_000;

db::statements! {
    query FIND -> ReportRow =
        "SELECT id, space_id, target_type, target_id, status, reporter_count, action_taken,
            is_held, created_at, updated_at
         FROM reports WHERE project_id = $1 AND id = $2";
    query ENTRIES -> EntryRow =
        "SELECT report_id, id, user_id, reason, details, created_at FROM report_entries
         WHERE project_id = $1 AND report_id {any}($2) ORDER BY created_at, id LIMIT $3";
    /// The open report of the target, or this new one; locked either way.
    command OPEN -> ReportId =
        "INSERT INTO reports (project_id, id, space_id, target_type, target_id, status,
            reporter_count, created_at, updated_at, author_id)
         VALUES ($1, $2, $3, $4, $5, 'open', 0, $6, $6, $7)
         ON CONFLICT (project_id, target_type, target_id) WHERE status = 'open'
            DO UPDATE SET updated_at = reports.updated_at
         RETURNING id";
    command ADD_ENTRY =
        "INSERT INTO report_entries (project_id, report_id, user_id, id, reason, details, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING";
    command COUNT_ENTRY =
        "UPDATE reports SET reporter_count = reporter_count + 1, updated_at = $3
         WHERE project_id = $1 AND id = $2";
    command REMOVE_OF_SPACE =
        "DELETE FROM reports WHERE project_id = $1 AND id IN
            (SELECT r.id FROM reports r WHERE r.project_id = $1 AND r.space_id = $2 LIMIT $3)";
    command RESOLVE =
        "UPDATE reports SET status = $3, action_taken = $4, handled_at = $5, handled_by_id = $6,
            handled_by_type = $7, updated_at = $5, is_held = FALSE
         WHERE project_id = $1 AND id = $2 AND status = 'open'";
    /// Users have reported it too: they still wait for an answer.
    command RELEASE_HELD =
        "UPDATE reports SET is_held = FALSE
         WHERE project_id = $1 AND target_id = $2 AND target_type = $3 AND status = 'open' AND is_held";
    command RESOLVE_HELD =
        "UPDATE reports SET status = $4, handled_at = $5, handled_by_id = $6, handled_by_type = $7,
            updated_at = $5
         WHERE project_id = $1 AND target_id = $2 AND target_type = $3 AND status = 'open' AND is_held
            AND reporter_count = 0";
}

/// Deletes some of the reports about content in a space; returns how many.
pub fn remove_of_space(tx: &Tx<'_>, project: ProjectId, space: SpaceId, most: i64) -> Result<u64> {
    Ok(tx.execute(&REMOVE_OF_SPACE, args![project, space, most])?)
}

/// The data of a new report.
#[derive(Debug, Clone)]
pub struct NewReport {
    pub report: ReportId,
    pub entry: ReportEntryId,
    pub target_type: TargetType,
    pub target: Uuid,
    pub reporter: UserId,
    pub reason: Reason,
    pub details: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// A report was opened.
    Opened,
    /// There was an open report, and this user joins it.
    Joined,
    /// The user has joined the open report already.
    Repeated,
}

pub fn add(
    tx: &Tx<'_>,
    project: ProjectId,
    new: &NewReport,
    (author, space): (Option<UserId>, Option<SpaceId>),
    now: Timestamp,
) -> Result<Added> {
    let NewReport { report, entry, target_type, target, reporter, reason, .. } = *new;
    let open = tx.one(&OPEN, args![project, report, space, target_type, target, now, author])?;
    let details = &new.details;
    let added = tx.execute(&ADD_ENTRY, args![project, open, reporter, entry, reason, details, now]);
    // The reporter was deleted by a concurrent request.
    if added.map_err(|error| Error::from(error).on_foreign_key(users::NOT_FOUND))? == 0 {
        return Ok(Added::Repeated);
    }
    tx.pipeline(&COUNT_ENTRY, args![project, open, now])?;
    Ok(if open == report { Added::Opened } else { Added::Joined })
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: ReportId) -> Result<Option<ReportRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// The reporters, oldest first.
pub fn entries(c: &Conn<'_>, project: ProjectId, ids: &[ReportId]) -> Result<Vec<EntryRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&ENTRIES, args![project, ReportId::list(ids), MAX_ENTRIES])?)
}

/// How a report was resolved and by which user; none if a key did it.
#[derive(Debug, Clone)]
pub struct Resolution<'a> {
    pub status: Status,
    pub action_taken: Option<&'a str>,
    pub by: Option<UserId>,
    pub at: Timestamp,
}

/// False if it was no longer open.
pub fn resolve(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ReportId,
    resolution: &Resolution<'_>,
) -> Result<bool> {
    let Resolution { status, action_taken, by, at } = *resolution;
    let by_type = if by.is_some() { "user" } else { "client" };
    let args = args![project, id, status, action_taken, at, by, by_type];
    Ok(tx.execute(&RESOLVE, args)? > 0)
}

/// A moderator has decided about content that a rule held, without its report: nothing is held any more.
pub fn close_held(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: TargetType,
    target: Uuid,
    decision: &Decision<'_>,
) -> Result<()> {
    let status = match decision.verdict {
        Verdict::Approved => Status::Dismissed,
        Verdict::Removed => Status::Actioned,
    };
    let by_type = decision.by_type();
    let args = args![project, target, kind, status, decision.at, decision.by, by_type];
    tx.pipeline(&RESOLVE_HELD, args)?;
    Ok(tx.pipeline(&RELEASE_HELD, args![project, target, kind])?)
}

/// Which reports are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub target_type: Option<TargetType>,
    /// The inner `None`: reports outside of all spaces.
    pub space: Option<Option<SpaceId>>,
    pub target: Option<Uuid>,
    /// Only for spaces that this user moderates.
    pub moderated_by: Option<UserId>,
    pub oldest_first: bool,
}

impl Filter {
    /// A page and the total. Only names that are written here become SQL.
    pub fn list(
        &self,
        c: &Conn<'_>,
        project: ProjectId,
        page: Page,
    ) -> Result<(Vec<ReportRow>, i64)> {
        let mut conditions = Builder::all([project.into()]);
        conditions.add("r.project_id = $1");
        if let Some(status) = self.status {
            conditions.equal("r.status", status);
        }
        if let Some(kind) = self.target_type {
            conditions.equal("r.target_type", kind);
        }
        if let Some(target) = self.target {
            conditions.equal("r.target_id", target);
        }
        match self.space {
            Some(Some(space)) => conditions.equal("r.space_id", space),
            Some(None) => conditions.add("r.space_id IS NULL"),
            None => {}
        }
        if let Some(user) = self.moderated_by {
            let moderated = members::moderated_by(conditions.bind(user));
            conditions.add(format_args!("r.space_id IN ({moderated})"));
        }
        let count = format!("SELECT count(*) FROM reports r WHERE {conditions}");
        let total = c.one(&Query::<i64>::built("reports::count", count), conditions.args())?;
        let direction = if self.oldest_first { "ASC" } else { "DESC" };
        let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset()));
        let text = format!(
            "SELECT {COLUMNS} FROM reports r WHERE {conditions}
             ORDER BY r.created_at {direction}, r.id {direction} LIMIT {limit} OFFSET {offset}"
        );
        let rows = c.all(&Query::<ReportRow>::built("reports::list", text), conditions.args())?;
        Ok((rows, total))
    }
}
