//! All SQL about reactions and the milestones they reach.

pub mod controversy;
pub mod delete_reactions;
pub mod hidden;
pub mod miscounted;
pub mod reaction_deltas;

use std::collections::HashMap;

use db::{Conn, Later, Tx, args};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::reactions::USER_NOT_FOUND;
use crate::features::reactions::target::TargetId;
use crate::features::reactions::{ReactionCounts, ReactionType};
use crate::http::page::Page;
use crate::values::ids::{ProjectId, ReactionId, UserId};
use crate::values::time::Timestamp;

db::row! {
    #[derive(Debug)]
    pub struct ReactionRow {
        pub id: ReactionId,
        pub user_id: UserId,
        pub reaction_type: ReactionType,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        pub name: Option<String>,
        pub username: Option<String>,
        pub avatar: Option<String>,
        pub avatar_path: Option<String>,
        pub reputation: i64,
    }
}

db::row! {
    #[derive(Debug)]
    pub struct ReactorRow {
        pub id: UserId,
        pub name: Option<String>,
        pub username: Option<String>,
        pub avatar: Option<String>,
    }
}

/// The reactions to a target, with their users.
macro_rules! select_reaction {
    () => {
        "SELECT r.id, r.user_id, r.reaction_type, r.created_at, r.updated_at, u.name,
            u.username, u.avatar, u.avatar_path, u.reputation
         FROM reactions r JOIN users u ON u.project_id = r.project_id AND u.id = r.user_id
         WHERE r.project_id = $1 AND r.target_id = $2 "
    };
}
const SELECT: &str = select_reaction!();

/// A page of reactions with their users; optional filter by type, either direction.
macro_rules! list {
    ($filter:literal, $direction:literal) => {
        concat!(
            select_reaction!(),
            $filter,
            " ORDER BY r.created_at ",
            $direction,
            ", r.id ",
            $direction,
            " LIMIT $3 OFFSET $4"
        )
    };
}

macro_rules! latest {
    ($filter:literal) => {
        concat!(
            "SELECT u.id, u.name, u.username, u.avatar
             FROM reactions r JOIN users u ON u.project_id = r.project_id AND u.id = r.user_id
             WHERE r.project_id = $1 AND r.target_id = $2 ",
            $filter,
            " ORDER BY r.created_at DESC, r.id DESC LIMIT 3"
        )
    };
}

db::statements! {
    /// On a comment a changed reaction counts as new, on an entity it keeps its time.
    command PUT -> Option<ReactionType> =
        "INSERT INTO reactions (project_id, target_id, user_id, id, target_type, reaction_type,
            created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
         ON CONFLICT (project_id, target_id, user_id) DO UPDATE SET
            previous_type = reactions.reaction_type, reaction_type = excluded.reaction_type,
            updated_at = CASE WHEN reactions.reaction_type = excluded.reaction_type
                THEN reactions.updated_at ELSE excluded.updated_at END,
            created_at = CASE WHEN reactions.reaction_type = excluded.reaction_type
                    OR reactions.target_type = 'entity'
                THEN reactions.created_at ELSE excluded.created_at END
         RETURNING previous_type";
    command TAKE -> ReactionType =
        "DELETE FROM reactions WHERE project_id = $1 AND target_id = $2 AND user_id = $3
         RETURNING reaction_type";
    query FIND -> ReactionType =
        "SELECT reaction_type FROM reactions
         WHERE project_id = $1 AND target_id = $2 AND user_id = $3";
    query COUNTS -> (ReactionType, i64) =
        "SELECT reaction_type, count(*) FROM reactions WHERE project_id = $1 AND target_id = $2
         GROUP BY reaction_type";
    query OF_USER -> (Uuid, ReactionType) =
        "SELECT target_id, reaction_type FROM reactions
         WHERE project_id = $1 AND user_id = $2 AND target_id {any}($3)";
    /// Up to a limit: an unbounded list is why later versions have none.
    query VOTES -> (Uuid, UserId, ReactionType) =
        "SELECT target_id, user_id, reaction_type FROM reactions
         WHERE project_id = $1 AND target_id {any}($2) AND reaction_type IN ('upvote', 'downvote')
         ORDER BY updated_at, id LIMIT 10000";
    /// The same without those of users with a block between them and the user $3.
    query UNBLOCKED_VOTES -> (Uuid, UserId, ReactionType) =
        "SELECT v.target_id, v.user_id, v.reaction_type FROM
            (SELECT target_id, user_id, reaction_type, updated_at, id FROM reactions
             WHERE project_id = $1 AND target_id {any}($2)
                AND reaction_type IN ('upvote', 'downvote')
             ORDER BY updated_at, id LIMIT 10000) AS v
         WHERE v.user_id NOT IN (SELECT h.blocked_id FROM blocks h
                WHERE h.project_id = $1 AND h.blocker_id = $3)
            AND v.user_id NOT IN (SELECT h.blocker_id FROM blocks h
                WHERE h.project_id = $1 AND h.blocked_id = $3)
         ORDER BY v.updated_at, v.id";
    query NEWEST -> ReactionRow = list!("", "DESC");
    query OLDEST -> ReactionRow = list!("", "ASC");
    query NEWEST_OF_TYPE -> ReactionRow = list!("AND r.reaction_type = $5", "DESC");
    query OLDEST_OF_TYPE -> ReactionRow = list!("AND r.reaction_type = $5", "ASC");
    query LATEST -> ReactorRow = latest!("");
    query LATEST_OF_TYPE -> ReactorRow = latest!("AND r.reaction_type = $3");
    command REACH =
        "INSERT INTO reaction_milestones (project_id, target_id, kind, threshold)
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    command DELETE_OF_TARGETS =
        "DELETE FROM reactions WHERE project_id = $1 AND target_id {any}($2)";
    command DELETE_MILESTONES =
        "DELETE FROM reaction_milestones WHERE project_id = $1 AND target_id {any}($2)";
}

/// Sets the user's reaction, without waiting for it; returns the one it replaced. A user who was deleted by a
/// concurrent request is [`refused`].
pub fn put(
    tx: &Tx<'_>,
    project: ProjectId,
    target: TargetId,
    user: UserId,
    id: ReactionId,
    kind: ReactionType,
    now: Timestamp,
) -> Result<Later<Option<ReactionType>>> {
    let put = tx.later(&PUT, args![project, target, user, id, target.kind().name(), kind, now]);
    put.map_err(|error| refused(error.into()))
}

/// The error of a transaction that set a reaction.
pub fn refused(error: Error) -> Error {
    error.on_foreign_key(USER_NOT_FOUND)
}

/// Removes the user's reaction, without waiting for it; returns it.
pub fn take(
    tx: &Tx<'_>,
    project: ProjectId,
    target: TargetId,
    user: UserId,
) -> Result<Later<ReactionType>> {
    Ok(tx.later(&TAKE, args![project, target, user])?)
}

pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    user: UserId,
) -> Result<Option<ReactionType>> {
    Ok(c.opt(&FIND, args![project, target, user])?)
}

/// Counts the reactions of each kind.
pub fn counts(c: &Conn<'_>, project: ProjectId, target: TargetId) -> Result<ReactionCounts> {
    let mut counts = ReactionCounts::default();
    for (kind, found) in c.all(&COUNTS, args![project, target])? {
        *counts.of_mut(kind) = found;
    }
    Ok(counts)
}

/// The user's reactions to any of the targets.
pub fn of_user(
    c: &Conn<'_>,
    project: ProjectId,
    user: UserId,
    targets: Vec<Uuid>,
) -> Result<HashMap<Uuid, ReactionType>> {
    Ok(c.all(&OF_USER, args![project, user, targets])?.into_iter().collect())
}

pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    kind: Option<ReactionType>,
    oldest_first: bool,
    page: Page,
) -> Result<Vec<ReactionRow>> {
    let (limit, offset) = (page.limit, page.offset());
    let rows = match (kind, oldest_first) {
        (None, false) => c.all(&NEWEST, args![project, target, limit, offset]),
        (None, true) => c.all(&OLDEST, args![project, target, limit, offset]),
        (Some(kind), false) => c.all(&NEWEST_OF_TYPE, args![project, target, limit, offset, kind]),
        (Some(kind), true) => c.all(&OLDEST_OF_TYPE, args![project, target, limit, offset, kind]),
    };
    Ok(rows?)
}

/// The three latest users who reacted, of one type if given.
pub fn latest(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    kind: Option<ReactionType>,
) -> Result<Vec<ReactorRow>> {
    Ok(match kind {
        Some(kind) => c.all(&LATEST_OF_TYPE, args![project, target, kind])?,
        None => c.all(&LATEST, args![project, target])?,
    })
}

/// Whether this milestone is reached for the first time.
pub fn reach(
    tx: &Tx<'_>,
    project: ProjectId,
    target: TargetId,
    kind: &str,
    threshold: i64,
) -> Result<bool> {
    Ok(tx.execute(&REACH, args![project, target, kind, threshold])? > 0)
}

pub fn delete_of_targets(tx: &Tx<'_>, project: ProjectId, targets: Vec<Uuid>) -> Result<()> {
    tx.pipeline(&DELETE_OF_TARGETS, args![project, targets.clone()])?;
    Ok(tx.pipeline(&DELETE_MILESTONES, args![project, targets])?)
}
