//! All SQL about appeals.

use db::{Conn, Tx, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::moderation::appeals::model::AppealState;
use crate::features::moderation::queue::model::ClaimRow;
use crate::features::moderation::target::TargetKind;
use crate::http::page::Page;
use crate::values::ids::{AppealId, DecisionId, OperatorId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug, Clone)]
    pub struct AppealRow {
        pub id: AppealId,
        pub decision_id: DecisionId,
        pub user_id: UserId,
        pub text: String,
        pub state: AppealState,
        pub answer: Option<String>,
        pub created_at: Timestamp,
        pub decided_at: Option<Timestamp>,
    }
}

db::row! {
    /// One that waits, as the queue shows it.
    #[derive(Debug, Clone)]
    pub struct OpenRow {
        pub id: AppealId,
        pub decision_id: DecisionId,
        pub user_id: UserId,
        pub text: String,
        pub created_at: Timestamp,
        pub claim: ClaimRow,
    }
}

db::row! {
    /// An appeal as far as deciding needs it, with what the first decision was about.
    #[derive(Debug, Clone)]
    pub struct CaseRow {
        pub id: AppealId,
        pub state: AppealState,
        pub outcome_id: Option<DecisionId>,
        pub target_type: TargetKind,
        pub target_id: Uuid,
        pub author_id: Option<UserId>,
        pub space_id: Option<SpaceId>,
        pub claim: ClaimRow,
    }
}

db::statements! {
    /// None if there is an appeal against the decision already.
    command INSERT =
        "INSERT INTO moderation_appeals (project_id, id, decision_id, user_id, text, state, created_at,
            decider_id)
         VALUES ($1, $2, $3, $4, $5, 'open', $6, $7) ON CONFLICT (project_id, decision_id) DO NOTHING";
    query FIND -> AppealRow =
        "SELECT id, decision_id, user_id, text, state, answer, created_at, decided_at
         FROM moderation_appeals WHERE project_id = $1 AND id = $2";
    query LIST -> AppealRow =
        "SELECT id, decision_id, user_id, text, state, answer, created_at, decided_at
         FROM moderation_appeals WHERE project_id = $1 AND user_id = $2
         ORDER BY created_at DESC, id DESC LIMIT $3 OFFSET $4";
    query COUNT -> i64 =
        "SELECT count(*) FROM moderation_appeals WHERE project_id = $1 AND user_id = $2";
    query OPEN_OF_OTHERS -> OpenRow =
        "SELECT id, decision_id, user_id, text, created_at, claimed_by, claimed_by_name, claimed_until
         FROM moderation_appeals
         WHERE project_id = $1 AND state = 'open' AND outcome_id IS NULL
            AND (decider_id IS NULL OR decider_id <> $2) AND (created_at, id) > ($3, $4)
         ORDER BY created_at, id LIMIT $5";
    query OPEN_OF_OPERATOR -> OpenRow =
        "SELECT id, decision_id, user_id, text, created_at, claimed_by, claimed_by_name, claimed_until
         FROM moderation_appeals
         WHERE project_id = $1 AND decider_id = $2 AND state = 'open' AND outcome_id IS NULL
            AND (created_at, id) > ($3, $4)
         ORDER BY created_at, id LIMIT $5";
    query COUNT_OPEN -> i64 =
        "SELECT count(*) FROM moderation_appeals
         WHERE project_id = $1 AND state = 'open' AND outcome_id IS NULL";
    query LOCK -> CaseRow =
        "SELECT a.id, a.state, a.outcome_id, d.target_type, d.target_id, d.author_id, d.space_id,
            a.claimed_by, a.claimed_by_name, a.claimed_until
         FROM moderation_appeals a
            JOIN moderation_decisions d ON d.project_id = a.project_id AND d.id = a.decision_id
         WHERE a.project_id = $1 AND a.id {any}($2) ORDER BY a.id {for_update}";
    command MARK =
        "UPDATE moderation_appeals SET outcome_id = $3, claimed_by = NULL, claimed_by_name = NULL,
            claimed_until = NULL
         WHERE project_id = $1 AND id = $2";
    command RELEASE =
        "UPDATE moderation_appeals SET outcome_id = NULL
         WHERE project_id = $1 AND outcome_id {any}($2) AND state = 'open'";
    command CLOSE =
        "UPDATE moderation_appeals SET state = $3, answer = $4, decided_at = $5
         WHERE project_id = $1 AND id = $2 AND state = 'open'";
    /// Unless another operator has claimed it until after $5.
    command CLAIM =
        "UPDATE moderation_appeals SET claimed_by = $3, claimed_by_name = $4, claimed_until = $6
         WHERE project_id = $1 AND id = $2 AND state = 'open' AND outcome_id IS NULL
            AND (claimed_by IS NULL OR claimed_by = $3 OR claimed_until <= $5)";
    command RELEASE_CLAIM =
        "UPDATE moderation_appeals SET claimed_by = NULL, claimed_by_name = NULL, claimed_until = NULL
         WHERE project_id = $1 AND id = $2 AND claimed_by = $3";
    query CLAIMANT -> Option<String> =
        "SELECT claimed_by_name FROM moderation_appeals
         WHERE project_id = $1 AND id = $2 AND state = 'open' AND outcome_id IS NULL";
}

/// False if there is an appeal against the decision already. `decider`: the operator who made that decision.
pub fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    new: &AppealRow,
    decider: Option<OperatorId>,
) -> Result<bool> {
    let AppealRow { id, decision_id, user_id, ref text, created_at, .. } = *new;
    let args = args![project, id, decision_id, user_id, text, created_at, decider];
    Ok(tx.execute(&INSERT, args)? > 0)
}

pub fn find(c: &Conn<'_>, project: ProjectId, id: AppealId) -> Result<Option<AppealRow>> {
    Ok(c.opt(&FIND, args![project, id])?)
}

/// A user's appeals, newest first, and how many there are.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    page: Page,
) -> Result<(Vec<AppealRow>, i64)> {
    let rows = c.all(&LIST, args![project, user, page.limit, page.offset()])?;
    Ok((rows, c.one(&COUNT, args![project, user])?))
}

/// Those that wait for a decision, oldest first, behind one of them: all but those against decisions of the operator,
/// or these alone.
pub fn open(
    c: &Conn<'_>,
    project: ProjectId,
    (operator, is_own): (OperatorId, bool),
    (created_at, id): (Timestamp, AppealId),
    limit: i64,
) -> Result<Vec<OpenRow>> {
    let statement = if is_own { &OPEN_OF_OPERATOR } else { &OPEN_OF_OTHERS };
    Ok(c.all(statement, args![project, operator, created_at, id, limit])?)
}

/// False if another operator holds it, or if it is not in the queue.
pub fn claim(
    tx: &Tx<'_>,
    project: ProjectId,
    id: AppealId,
    (operator, name): (OperatorId, &str),
    now: Timestamp,
    until: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&CLAIM, args![project, id, operator, name, now, until])? > 0)
}

pub fn release_claim(
    tx: &Tx<'_>,
    project: ProjectId,
    id: AppealId,
    by: OperatorId,
) -> Result<bool> {
    Ok(tx.execute(&RELEASE_CLAIM, args![project, id, by])? > 0)
}

/// None if it is not in the queue; the inner value is who has claimed it.
pub fn claimant(c: &Conn<'_>, project: ProjectId, id: AppealId) -> Result<Option<Option<String>>> {
    Ok(c.opt(&CLAIMANT, args![project, id])?)
}

/// How many wait.
pub fn count_open(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT_OPEN, args![project])?)
}

/// Locks appeals and the decisions they are against.
pub fn lock(tx: &Tx<'_>, project: ProjectId, ids: &[AppealId]) -> Result<Vec<CaseRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(tx.all(&LOCK, args![project, AppealId::list(ids)])?)
}

/// Takes an appeal out of the queue. The caller has locked it.
pub fn mark(tx: &Tx<'_>, project: ProjectId, id: AppealId, outcome: DecisionId) -> Result<()> {
    Ok(tx.pipeline(&MARK, args![project, id, outcome])?)
}

/// Puts the appeals of decisions that were undone or have failed back into the queue.
pub fn release(tx: &Tx<'_>, project: ProjectId, outcomes: &[DecisionId]) -> Result<()> {
    tx.execute(&RELEASE, args![project, DecisionId::list(outcomes)])?;
    Ok(())
}

/// False if it is not open.
pub fn close(
    tx: &Tx<'_>,
    project: ProjectId,
    id: AppealId,
    (state, answer): (AppealState, Option<&str>),
    now: Timestamp,
) -> Result<bool> {
    Ok(tx.execute(&CLOSE, args![project, id, state, answer, now])? > 0)
}
