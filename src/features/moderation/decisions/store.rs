//! All SQL about decisions of operators.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::appeals::store as appeals;
use crate::features::moderation::decisions::model::Decision;
use crate::features::moderation::queue::model::ClaimRow;
use crate::features::moderation::reports::model::Status;
use crate::features::moderation::target::TargetKind;
use crate::values::ids::{DecisionId, ProjectId, ReportId, RuleId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    /// A report as far as deciding needs it.
    #[derive(Debug, Clone)]
    pub struct CaseRow {
        pub id: ReportId,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub author_id: Option<UserId>,
        pub space_id: Option<SpaceId>,
        pub rule_id: Option<RuleId>,
        pub status: Status,
        pub decision_id: Option<DecisionId>,
        pub claim: ClaimRow,
    }
}

db::row! {
    /// Who wrote something, and where.
    #[derive(Debug, Clone, Copy)]
    pub struct WrittenRow {
        pub id: Uuid,
        pub user_id: Option<UserId>,
        pub space_id: Option<SpaceId>,
    }
}

/// The columns of a [`Decision`].
macro_rules! decision {
    () => {
        "id, report_id, target_type, target_id, author_id, space_id, action, ends_at, reason, rule_id,
            operator_id, decided_by, decided_at, apply_at, state, error, appeal_id, is_strike"
    };
}

db::statements! {
    query OPEN_OF_TARGETS -> (Uuid, ReportId) =
        "SELECT target_id, id FROM reports
         WHERE project_id = $1 AND target_id {any}($2) AND status = 'open'";
    query LOCK_REPORTS -> CaseRow =
        "SELECT id, target_type, target_id, author_id, space_id, rule_id, status, decision_id,
            claimed_by, claimed_by_name, claimed_until
         FROM reports WHERE project_id = $1 AND id {any}($2) ORDER BY id {for_update}";
    query ENTITIES -> WrittenRow =
        "SELECT id, user_id, space_id FROM entities
         WHERE project_id = $1 AND id {any}($2) AND deleted_at IS NULL";
    query COMMENTS -> WrittenRow =
        "SELECT id, user_id, space_id FROM comments
         WHERE project_id = $1 AND id {any}($2) AND deleted_at IS NULL";
    query MESSAGES -> WrittenRow =
        "SELECT m.id, m.user_id, c.space_id FROM chat_messages m
         JOIN conversations c ON c.project_id = m.project_id AND c.id = m.conversation_id
         WHERE m.project_id = $1 AND m.id {any}($2)";
    query USERS -> UserId = "SELECT id FROM users WHERE project_id = $1 AND id {any}($2)";
    command INSERT =
        "INSERT INTO moderation_decisions (project_id, id, report_id, target_type, target_id, author_id,
            space_id, action, ends_at, reason, rule_id, operator_id, decided_by, decided_at, apply_at,
            state, appeal_id, is_strike)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
    command MARK_REPORT =
        "UPDATE reports SET decision_id = $3, claimed_by = NULL, claimed_by_name = NULL,
            claimed_until = NULL
         WHERE project_id = $1 AND id = $2";
    query LOCK_PENDING -> DecisionId =
        "SELECT id FROM moderation_decisions
         WHERE project_id = $1 AND id {any}($2) AND state = 'pending' AND apply_at > $3
         ORDER BY id {for_update}";
    command UNDO =
        "UPDATE moderation_decisions SET state = 'undone'
         WHERE project_id = $1 AND id = $2 AND state = 'pending' AND apply_at > $3";
    command RELEASE_REPORTS =
        "UPDATE reports SET decision_id = NULL
         WHERE project_id = $1 AND decision_id {any}($2) AND status = 'open'";
    command TAKE -> Decision =
        concat!(
            "UPDATE moderation_decisions SET state = 'applied'
             WHERE project_id = $1 AND id = $2 AND state = 'pending' AND apply_at <= $3 RETURNING ",
            decision!()
        );
    command FAIL =
        "UPDATE moderation_decisions SET state = 'failed', error = $3
         WHERE project_id = $1 AND id = $2 AND state = 'pending'";
    query FIND_ALL -> Decision =
        concat!(
            "SELECT ",
            decision!(),
            " FROM moderation_decisions WHERE project_id = $1 AND id {any}($2)"
        );
    query LIST -> Decision =
        concat!(
            "SELECT ",
            decision!(),
            " FROM moderation_decisions
             WHERE project_id = $1 AND (decided_at, id) < ($2, $3)
             ORDER BY decided_at DESC, id DESC LIMIT $4"
        );
    command REVERSE =
        "UPDATE moderation_decisions SET state = 'reversed'
         WHERE project_id = $1 AND id = $2 AND state = 'applied'";
    /// Another removal of the same content that stands.
    query OTHER_REMOVAL -> DecisionId =
        "SELECT id FROM moderation_decisions
         WHERE project_id = $1 AND target_id = $2 AND decided_at > $3 AND target_type = $4
            AND action = 'remove' AND state = 'applied' LIMIT 1";
    query OVERDUE -> (ProjectId, DecisionId), unscoped "the worker serves every project" =
        "SELECT project_id, id FROM moderation_decisions
         WHERE state = 'pending' AND apply_at < $1 ORDER BY apply_at LIMIT $2";
    command RENEW =
        "UPDATE moderation_decisions SET apply_at = $4
         WHERE project_id = $1 AND id = $2 AND state = 'pending' AND apply_at < $3";
    command FORGET_AUTHOR =
        "UPDATE moderation_decisions SET author_id = NULL WHERE project_id = $1 AND author_id = $2";
    command DELETE_ABOUT_USER =
        "DELETE FROM moderation_decisions
         WHERE project_id = $1 AND target_id = $2 AND target_type = 'user'";
}

/// The open reports about these targets.
pub fn open_of_targets(
    c: &Conn<'_>,
    project: ProjectId,
    targets: Vec<Uuid>,
) -> Result<Vec<(Uuid, ReportId)>> {
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    Ok(c.all(&OPEN_OF_TARGETS, args![project, targets])?)
}

pub fn lock_reports(tx: &Tx<'_>, project: ProjectId, ids: &[ReportId]) -> Result<Vec<CaseRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(tx.all(&LOCK_REPORTS, args![project, ReportId::list(ids)])?)
}

/// Who wrote these, of one kind; those that exist.
pub fn written(
    c: &Conn<'_>,
    project: ProjectId,
    kind: TargetKind,
    ids: Vec<Uuid>,
) -> Result<Vec<WrittenRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let statement = match kind {
        TargetKind::Entity => &ENTITIES,
        TargetKind::Comment => &COMMENTS,
        TargetKind::Message => &MESSAGES,
        TargetKind::User => {
            let found = c.all(&USERS, args![project, ids])?.into_iter();
            return Ok(found
                .map(|id| WrittenRow { id: id.0, user_id: Some(id), space_id: None })
                .collect());
        }
    };
    Ok(c.all(statement, args![project, ids])?)
}

/// Stores a pending decision and takes its report or appeal out of the queue. The caller has locked it.
pub fn insert(tx: &Tx<'_>, project: ProjectId, new: &Decision) -> Result<()> {
    tx.pipeline(
        &INSERT,
        args![
            project,
            new.id,
            new.report_id,
            new.target_type,
            new.target_id,
            new.author_id,
            new.space_id,
            new.action,
            new.ends_at,
            &new.reason,
            new.rule_id,
            new.operator_id,
            &new.decided_by,
            new.decided_at,
            new.apply_at,
            new.state,
            new.appeal_id,
            new.is_strike
        ],
    )?;
    if let Some(appeal) = new.appeal_id {
        appeals::mark(tx, project, appeal, new.id)?;
    }
    match new.report_id {
        Some(report) => Ok(tx.pipeline(&MARK_REPORT, args![project, report, new.id])?),
        None => Ok(()),
    }
}

/// Locks those that can still be undone.
pub fn lock_pending(
    tx: &Tx<'_>,
    project: ProjectId,
    ids: &[DecisionId],
    now: Timestamp,
) -> Result<Vec<DecisionId>> {
    Ok(tx.all(&LOCK_PENDING, args![project, DecisionId::list(ids), now])?)
}

/// False if it is too late.
pub fn undo(tx: &Tx<'_>, project: ProjectId, id: DecisionId, now: Timestamp) -> Result<bool> {
    Ok(tx.execute(&UNDO, args![project, id, now])? > 0)
}

/// Puts the reports and appeals of these decisions back into the queue, unless they were handled meanwhile.
pub fn release(tx: &Tx<'_>, project: ProjectId, ids: &[DecisionId]) -> Result<()> {
    tx.execute(&RELEASE_REPORTS, args![project, DecisionId::list(ids)])?;
    appeals::release(tx, project, ids)
}

/// A pending decision that is due, as applied; none if it was undone or applied already.
pub fn take(
    tx: &Tx<'_>,
    project: ProjectId,
    id: DecisionId,
    now: Timestamp,
) -> Result<Option<Decision>> {
    Ok(tx.opt(&TAKE, args![project, id, now])?)
}

pub fn fail(tx: &Tx<'_>, project: ProjectId, id: DecisionId, error: &str) -> Result<bool> {
    Ok(tx.execute(&FAIL, args![project, id, error])? > 0)
}

/// An appeal was successful; false if the decision does not stand.
pub fn reverse(tx: &Tx<'_>, project: ProjectId, id: DecisionId) -> Result<bool> {
    Ok(tx.execute(&REVERSE, args![project, id])? > 0)
}

/// Whether the content was removed again after this decision.
pub fn is_removed_again(c: &Conn<'_>, project: ProjectId, decision: &Decision) -> Result<bool> {
    let Decision { target_id, decided_at, target_type, .. } = *decision;
    Ok(c.opt(&OTHER_REMOVAL, args![project, target_id, decided_at, target_type])?.is_some())
}

/// Decisions that should have been applied before that time.
pub fn overdue(
    c: &Conn<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(ProjectId, DecisionId)>> {
    Ok(c.all(&OVERDUE, args![before, limit])?)
}

/// It is due now; false if it is not overdue any more.
pub fn renew(
    tx: &Tx<'_>,
    project: ProjectId,
    id: DecisionId,
    before: Timestamp,
    now: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&RENEW, args![project, id, before, now])? > 0)
}

/// In no particular order.
pub fn find_all(c: &Conn<'_>, project: ProjectId, ids: &[DecisionId]) -> Result<Vec<Decision>> {
    Ok(c.all(&FIND_ALL, args![project, DecisionId::list(ids)])?)
}

/// Newest first, those before a decision.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    before: (Timestamp, DecisionId),
    limit: i64,
) -> Result<Vec<Decision>> {
    Ok(c.all(&LIST, args![project, before.0, before.1, limit])?)
}

/// When a user is deleted: decisions about what they wrote stay, those about the user themselves go.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    tx.pipeline(&DELETE_ABOUT_USER, args![project, user.0])?;
    Ok(tx.pipeline(&FORGET_AUTHOR, args![project, user])?)
}
