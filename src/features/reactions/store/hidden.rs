//! Reactions for a viewer who has blocks: reactions of blocked users are neither listed nor counted. Few
//! viewers need this, so the plain list does without.

use std::collections::HashMap;

use db::{Builder, Conn, Later, Query, Tx, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::features::reactions::ReactionType;
use crate::features::reactions::store::{self, ReactionRow, SELECT};
use crate::features::reactions::target::TargetId;
use crate::features::reactions::votes::Votes;
use crate::features::visibility::store::blocks::{self, Hidden};
use crate::http::page::Page;
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, UserId};

/// A vote: its target, its user, its kind.
pub type Vote = (Uuid, UserId, ReactionType);

pub type VotesByTarget = HashMap<Uuid, Votes>;

/// The number of hidden reactions to the target, looked up user by user.
pub fn count(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    kind: Option<ReactionType>,
    hidden: &Hidden,
) -> Result<i64> {
    let Some(viewer) = hidden.viewer() else { return Ok(0) };
    let conditions = of_target(project, target, viewer, kind);
    let text = format!(
        "WITH s AS MATERIALIZED ({})
         SELECT count(*) FROM s CROSS JOIN reactions r
         WHERE r.project_id = $1 AND r.target_id = $2 AND r.user_id = s.user_id AND {conditions}",
        hidden.users("$3")
    );
    Ok(c.one(&Query::<i64>::built("reactions::hidden::count", text), conditions.args())?)
}

/// A page of the visible reactions.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    kind: Option<ReactionType>,
    oldest_first: bool,
    page: Page,
    hidden: &Hidden,
) -> Result<Vec<ReactionRow>> {
    let Some(viewer) = hidden.viewer() else { return Ok(Vec::new()) };
    let direction = if oldest_first { "ASC" } else { "DESC" };
    let mut conditions = of_target(project, target, viewer, kind);
    conditions.add(hidden.condition("r.user_id", "$3"));
    let (limit, offset) = (conditions.bind(page.limit), conditions.bind(page.offset()));
    let text = format!(
        "{SELECT} AND {conditions}
         ORDER BY r.created_at {direction}, r.id {direction} LIMIT {limit} OFFSET {offset}"
    );
    Ok(c.all(&Query::built("reactions::hidden::list", text), conditions.args())?)
}

/// The votes on each of the targets, the oldest first.
pub fn votes(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    targets: Vec<Uuid>,
) -> Result<VotesByTarget> {
    let (query, args) = cast(project, viewer, targets);
    Ok(by_target(c.all(query, &args)?))
}

/// The same in a transaction, without waiting for it.
pub fn votes_later(
    tx: &Tx<'_>,
    project: &Project,
    viewer: Option<UserId>,
    targets: Vec<Uuid>,
) -> Result<Later<Vote>> {
    let (query, args) = cast(project, viewer, targets);
    Ok(tx.later(query, &args)?)
}

pub fn by_target(cast: Vec<Vote>) -> VotesByTarget {
    let mut votes = VotesByTarget::new();
    for (target, user, kind) in cast {
        votes.entry(target).or_default().add(user, kind);
    }
    votes
}

fn cast(
    project: &Project,
    viewer: Option<UserId>,
    targets: Vec<Uuid>,
) -> (&'static Query<Vote>, Vec<Value<'static>>) {
    let mut args = vec![project.id.into(), targets.into()];
    match blocks::counting(project, viewer) {
        Some(viewer) => {
            args.push(viewer.into());
            (&store::UNBLOCKED_VOTES, args)
        }
        None => (&store::VOTES, args),
    }
}

/// Only reactions `r` of this kind, or of every kind. `$1` is the project, `$2` the target, `$3` the viewer.
fn of_target(
    project: ProjectId,
    target: TargetId,
    viewer: UserId,
    kind: Option<ReactionType>,
) -> Builder<'static> {
    let mut conditions = Builder::all([project.into(), target.into(), viewer.into()]);
    if let Some(kind) = kind {
        conditions.equal("r.reaction_type", kind);
    }
    conditions
}
