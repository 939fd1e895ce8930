//! All SQL about the queue.

pub mod filter;

use db::{Builder, Conn, JsonText, Placeholder, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::decisions::model::Decision;
use crate::features::moderation::queue::model::ClaimRow;
use crate::features::moderation::target::{Target, TargetKind};
use crate::values::ids::{OperatorId, ProjectId, ReportId, RuleId, SpaceId, UserId};
use crate::values::time::Timestamp;

/// How many items of the order a search for text looks at.
const SEARCHED: i64 = 20_000;
/// Reports of a user by which moderators see how often they were right.
const LOOKED_BACK: i64 = 100;

db::row! {
    #[derive(Debug, Clone)]
    pub struct QueueRow {
        pub id: ReportId,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub space_id: Option<SpaceId>,
        pub author_id: Option<UserId>,
        pub rule_id: Option<RuleId>,
        pub is_held: bool,
        pub matches: Option<JsonText>,
        pub reporter_count: i64,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub claim: ClaimRow,
    }
}

impl QueueRow {
    pub fn target(&self) -> Target {
        Target { kind: self.target_type, id: self.target_id }
    }
}

macro_rules! columns {
    () => {
        "r.id, r.target_type, r.target_id, r.space_id, r.author_id, r.rule_id, r.is_held, r.matches,
            r.reporter_count, r.created_at, r.updated_at, r.claimed_by, r.claimed_by_name, r.claimed_until"
    };
}

/// As in the indexes of the queue.
const IN_QUEUE: &str = "r.project_id = $1 AND r.status = 'open' AND r.decision_id IS NULL";

db::statements! {
    query FIND -> QueueRow =
        concat!("SELECT ", columns!(), " FROM reports r WHERE r.project_id = $1 AND r.id = $2");
    query REASONS -> (ReportId, String, i64) =
        "SELECT report_id, reason, count(*) FROM report_entries
         WHERE project_id = $1 AND report_id {any}($2) GROUP BY report_id, reason ORDER BY 3 DESC, 2";
    /// Of the last reports that each of the users joined, how many were handled, and how many led to an action.
    query ACCURACY -> (UserId, i64, i64) =
        "SELECT u.id,
            (SELECT count(*) FROM (SELECT e.report_id FROM report_entries e
                WHERE e.project_id = $1 AND e.user_id = u.id
                ORDER BY e.created_at DESC, e.id DESC LIMIT $3) l
             JOIN reports r ON r.project_id = $1 AND r.id = l.report_id WHERE r.status <> 'open'),
            (SELECT count(*) FROM (SELECT e.report_id FROM report_entries e
                WHERE e.project_id = $1 AND e.user_id = u.id
                ORDER BY e.created_at DESC, e.id DESC LIMIT $3) l
             JOIN reports r ON r.project_id = $1 AND r.id = l.report_id WHERE r.status = 'actioned')
         FROM users u WHERE u.project_id = $1 AND u.id {any}($2)";
    query STRIKES -> (UserId, i64) =
        "SELECT author_id, count(*) FROM moderation_decisions
         WHERE project_id = $1 AND author_id {any}($2) AND state = 'applied'
            AND action IN ('remove', 'suspend', 'warn', 'ban') AND is_strike
         GROUP BY author_id";
    /// The last five about each author.
    query LAST_DECISIONS -> Decision =
        "SELECT id, report_id, target_type, target_id, author_id, space_id, action, ends_at, reason, rule_id,
            operator_id, decided_by, decided_at, apply_at, state, error, appeal_id, is_strike
         FROM (SELECT d.*, ROW_NUMBER() OVER
                (PARTITION BY d.author_id ORDER BY d.decided_at DESC, d.id DESC) AS place
            FROM moderation_decisions d
            WHERE d.project_id = $1 AND d.author_id {any}($2) AND d.state <> 'undone') x
         WHERE place <= 5 ORDER BY decided_at DESC, id DESC";
    /// Unless another operator has claimed it until after $5.
    command CLAIM =
        "UPDATE reports SET claimed_by = $3, claimed_by_name = $4, claimed_until = $6
         WHERE project_id = $1 AND id = $2 AND status = 'open' AND decision_id IS NULL
            AND (claimed_by IS NULL OR claimed_by = $3 OR claimed_until <= $5)";
    command RELEASE =
        "UPDATE reports SET claimed_by = NULL, claimed_by_name = NULL, claimed_until = NULL
         WHERE project_id = $1 AND id = $2 AND claimed_by = $3";
    query IS_IN_QUEUE -> Option<String> =
        "SELECT claimed_by_name FROM reports
         WHERE project_id = $1 AND id = $2 AND status = 'open' AND decision_id IS NULL";
}

/// SQL: at least one reporter gave this reason.
fn given(reason: Placeholder) -> String {
    format!(
        "EXISTS (SELECT 1 FROM report_entries n WHERE n.project_id = $1 AND n.report_id = r.id
            AND n.reason = {reason})"
    )
}

/// SQL: the content contains this text, which is in lower case.
fn contains(text: Placeholder) -> String {
    format!(
        "CASE r.target_type
            WHEN 'entity' THEN EXISTS (SELECT 1 FROM entity_bodies b WHERE b.project_id = $1
                AND b.id = r.target_id
                AND {{contains}}(lower(COALESCE(b.title, '') || ' ' || COALESCE(b.content, '')), {text}) > 0)
            WHEN 'comment' THEN EXISTS (SELECT 1 FROM comment_bodies b WHERE b.project_id = $1
                AND b.id = r.target_id AND {{contains}}(lower(COALESCE(b.content, '')), {text}) > 0)
            WHEN 'message' THEN EXISTS (SELECT 1 FROM chat_messages b WHERE b.project_id = $1
                AND b.id = r.target_id AND {{contains}}(lower(COALESCE(b.content, '')), {text}) > 0)
            ELSE FALSE END"
    )
}

/// `found`: a condition that is looked at last, on a bounded number of items.
fn page(
    conditions: &Builder<'_>,
    order: &str,
    found: Option<&String>,
    limit: Placeholder,
) -> String {
    let columns = columns!();
    match found {
        None => format!(
            "SELECT {columns} FROM reports r WHERE {conditions} ORDER BY {order} LIMIT {limit}"
        ),
        Some(found) => format!(
            "SELECT {columns} FROM (SELECT * FROM reports r WHERE {conditions} ORDER BY {order}
                LIMIT {SEARCHED}) r
             WHERE {found} ORDER BY {order} LIMIT {limit}"
        ),
    }
}

/// In an order, so that the engine reads an index up to the limit.
fn count(conditions: &Builder<'_>, found: Option<&String>, limit: Placeholder) -> String {
    match found {
        None => format!(
            "SELECT count(*) FROM (SELECT 1 FROM reports r WHERE {conditions}
                ORDER BY r.created_at DESC, r.id DESC LIMIT {limit}) few"
        ),
        Some(found) => format!(
            "SELECT count(*) FROM (SELECT 1 FROM (SELECT * FROM reports r WHERE {conditions}
                ORDER BY r.created_at DESC, r.id DESC LIMIT {SEARCHED}) r
             WHERE {found} LIMIT {limit}) few"
        ),
    }
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: ReportId) -> Result<Option<QueueRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// How many reporters gave which reason, the most frequent first.
pub fn reasons(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ReportId],
) -> Result<Vec<(ReportId, String, i64)>> {
    Ok(c.all(&REASONS, args![project, ReportId::list(ids)])?)
}

/// For each user how many of their last reports were handled, and how many led to an action.
pub fn accuracy(
    c: &Conn<'_>,
    project: ProjectId,
    users: &[UserId],
) -> Result<Vec<(UserId, i64, i64)>> {
    Ok(c.all(&ACCURACY, args![project, UserId::list(users), LOOKED_BACK])?)
}

/// How many decisions were applied against each user.
pub fn strikes(c: &Conn<'_>, project: ProjectId, users: &[UserId]) -> Result<Vec<(UserId, i64)>> {
    Ok(c.all(&STRIKES, args![project, UserId::list(users)])?)
}

/// The last five decisions about each author, newest first.
pub fn last_decisions(c: &Conn<'_>, project: ProjectId, users: &[UserId]) -> Result<Vec<Decision>> {
    Ok(c.all(&LAST_DECISIONS, args![project, UserId::list(users)])?)
}

/// False if another operator holds it, or if it is not in the queue.
pub fn claim(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ReportId,
    (operator, name): (OperatorId, &str),
    now: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&CLAIM, args![project, id, operator, name, now, until])? > 0)
}

pub fn release(tx: &Tx<'_>, project: ProjectId, id: ReportId, by: OperatorId) -> Result<bool> {
    Ok(tx.execute(&RELEASE, args![project, id, by])? > 0)
}

/// None if it is not in the queue; the inner value is who has claimed it.
pub fn claimant(c: &Conn<'_>, project: ProjectId, id: ReportId) -> Result<Option<Option<String>>> {
    Ok(c.opt(&IS_IN_QUEUE, args![project, id])?)
}
