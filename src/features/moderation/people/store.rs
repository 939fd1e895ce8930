//! All SQL about notes and timelines. Each part of a timeline is read off an index, newest first, before a place.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::decisions::Decision;
use crate::features::moderation::people::Note;
use crate::features::moderation::reports::model::Status;
use crate::features::moderation::target::TargetKind;
use crate::values::ids::{NoteId, ProjectId, ReportId, SuspensionId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct SuspensionRow {
        pub id: SuspensionId,
        pub reason: Option<String>,
        pub start_date: Timestamp,
        pub end_date: Option<Timestamp>,
    }
}

db::row! {
    /// A report by the user.
    #[derive(Debug)]
    pub struct MadeRow {
        pub id: Uuid,
        pub report_id: ReportId,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub reason: String,
        pub details: Option<String>,
        pub status: Status,
        pub created_at: Timestamp,
    }
}

db::row! {
    /// A report about what the user wrote.
    #[derive(Debug)]
    pub struct AboutRow {
        pub id: ReportId,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub reporter_count: i64,
        pub status: Status,
        pub created_at: Timestamp,
    }
}

db::statements! {
    command INSERT_NOTE =
        "INSERT INTO moderation_notes (project_id, id, user_id, text, operator_id, written_by, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    command REMOVE_NOTE = "DELETE FROM moderation_notes WHERE project_id = $1 AND id = $2";
    query NOTES -> Note =
        "SELECT id, user_id, text, operator_id, written_by, created_at FROM moderation_notes
         WHERE project_id = $1 AND user_id = $2 AND (created_at, id) < ($3, $4)
         ORDER BY created_at DESC, id DESC LIMIT $5";
    query DECISIONS -> Decision =
        "SELECT id, report_id, target_type, target_id, author_id, space_id, action, ends_at, reason, rule_id,
            operator_id, decided_by, decided_at, apply_at, state, error, appeal_id, is_strike
         FROM moderation_decisions
         WHERE project_id = $1 AND author_id = $2 AND (decided_at, id) < ($3, $4)
         ORDER BY decided_at DESC, id DESC LIMIT $5";
    query SUSPENSIONS -> SuspensionRow =
        "SELECT id, reason, start_date, end_date FROM suspensions
         WHERE project_id = $1 AND user_id = $2 AND (start_date, id) < ($3, $4)
         ORDER BY start_date DESC, id DESC LIMIT $5";
    query MADE -> MadeRow =
        "SELECT e.id, e.report_id, r.target_type, r.target_id, e.reason, e.details, r.status, e.created_at
         FROM report_entries e JOIN reports r ON r.project_id = e.project_id AND r.id = e.report_id
         WHERE e.project_id = $1 AND e.user_id = $2 AND (e.created_at, e.id) < ($3, $4)
         ORDER BY e.created_at DESC, e.id DESC LIMIT $5";
    query ABOUT -> AboutRow =
        "SELECT id, target_type, target_id, reporter_count, status, created_at FROM reports
         WHERE project_id = $1 AND author_id = $2 AND (created_at, id) < ($3, $4)
         ORDER BY created_at DESC, id DESC LIMIT $5";
    query SIGNED_UP -> Timestamp =
        "SELECT created_at FROM users WHERE project_id = $1 AND id = $2";
}

pub fn insert_note(tx: &Tx<'_>, project: ProjectId, note: &Note) -> Result<()> {
    let Note { id, user_id, text, operator_id, written_by, created_at } = note;
    tx.execute(
        &INSERT_NOTE,
        args![project, *id, *user_id, text, *operator_id, written_by, *created_at],
    )?;
    Ok(())
}

pub fn remove_note(tx: &Tx<'_>, project: ProjectId, id: NoteId) -> Result<bool> {
    Ok(tx.execute(&REMOVE_NOTE, args![project, id])? > 0)
}

/// A user, and the place in time before which entries are read.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    pub user: UserId,
    pub at: Timestamp,
    pub id: Uuid,
    pub limit: i64,
}

pub fn notes(c: &Conn<'_>, project: ProjectId, before: Before) -> Result<Vec<Note>> {
    let Before { user, at, id, limit } = before;
    Ok(c.all(&NOTES, args![project, user, at, id, limit])?)
}

pub fn decisions(c: &Conn<'_>, project: ProjectId, before: Before) -> Result<Vec<Decision>> {
    let Before { user, at, id, limit } = before;
    Ok(c.all(&DECISIONS, args![project, user, at, id, limit])?)
}

pub fn suspensions(c: &Conn<'_>, project: ProjectId, before: Before) -> Result<Vec<SuspensionRow>> {
    let Before { user, at, id, limit } = before;
    Ok(c.all(&SUSPENSIONS, args![project, user, at, id, limit])?)
}

pub fn reports_made(c: &Conn<'_>, project: ProjectId, before: Before) -> Result<Vec<MadeRow>> {
    let Before { user, at, id, limit } = before;
    Ok(c.all(&MADE, args![project, user, at, id, limit])?)
}

pub fn reports_about(c: &Conn<'_>, project: ProjectId, before: Before) -> Result<Vec<AboutRow>> {
    let Before { user, at, id, limit } = before;
    Ok(c.all(&ABOUT, args![project, user, at, id, limit])?)
}

pub fn signed_up(c: &Conn<'_>, project: ProjectId, user: UserId) -> Result<Option<Timestamp>> {
    Ok(c.opt(&SIGNED_UP, args![project, user])?)
}
