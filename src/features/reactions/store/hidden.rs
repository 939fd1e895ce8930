//! Reactions for a viewer who has blocks: reactions of blocked users are neither listed nor counted. Few
//! viewers need this, so the plain list does without.

use std::collections::HashMap;

use db::{Conn, Query, Value};
use uuid::Uuid;

use crate::error::Result;
use crate::features::reactions::ReactionType;
use crate::features::reactions::store::{self, ReactionRow};
use crate::features::reactions::target::TargetId;
use crate::features::visibility::store::blocks::{self, Hidden};
use crate::http::page::Page;
use crate::tenancy::Project;
use crate::values::ids::{ProjectId, UserId};

/// The number of hidden reactions to the target, looked up user by user.
pub fn count(
    c: &Conn<'_>,
    project: ProjectId,
    target: TargetId,
    kind: Option<ReactionType>,
    hidden: &Hidden,
) -> Result<i64> {
    let Some(viewer) = hidden.viewer() else { return Ok(0) };
    let text = format!(
        "WITH s AS MATERIALIZED ({})
         SELECT count(*) FROM s CROSS JOIN reactions r
         WHERE r.project_id = $1 AND r.target_id = $2 AND r.user_id = s.user_id {}",
        hidden.users("$3"),
        of_kind(kind, "$4"),
    );
    let mut args: Vec<Value<'_>> = vec![project.into(), target.into(), viewer.into()];
    args.extend(kind.map(Value::from));
    Ok(c.one(&Query::<i64>::built("reactions::hidden::count", text), &args)?)
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
    let text = format!(
        "SELECT r.id, r.user_id, r.reaction_type, r.created_at, r.updated_at, u.name, u.username,
            u.avatar, u.avatar_path, u.reputation
         FROM reactions r JOIN users u ON u.project_id = r.project_id AND u.id = r.user_id
         WHERE r.project_id = $1 AND r.target_id = $2 AND {} {}
         ORDER BY r.created_at {direction}, r.id {direction} LIMIT $4 OFFSET $5",
        hidden.condition("r.user_id", "$3"),
        of_kind(kind, "$6"),
    );
    let mut args: Vec<Value<'_>> = vec![project.into(), target.into(), viewer.into()];
    args.extend([page.limit.into(), page.offset().into()]);
    args.extend(kind.map(Value::from));
    Ok(c.all(&Query::built("reactions::hidden::list", text), &args)?)
}

/// The users who upvoted, and those who downvoted.
pub type Votes = (Vec<UserId>, Vec<UserId>);

/// The votes on each of the targets, the oldest first.
pub fn votes(
    c: &Conn<'_>,
    project: &Project,
    viewer: Option<UserId>,
    targets: Vec<Uuid>,
) -> Result<HashMap<Uuid, Votes>> {
    let cast = store::votes(c, project.id, targets)?;
    let mut voters: Vec<UserId> = cast.iter().map(|(_, user, _)| *user).collect();
    voters.sort_unstable();
    voters.dedup();
    let hidden = blocks::blocked_among(c, project, viewer, &voters)?;
    let mut votes: HashMap<Uuid, Votes> = HashMap::new();
    for (target, user, kind) in cast.into_iter().filter(|(_, user, _)| !hidden.contains(user)) {
        let (up, down) = votes.entry(target).or_default();
        if kind == ReactionType::Upvote { up.push(user) } else { down.push(user) }
    }
    Ok(votes)
}

fn of_kind(kind: Option<ReactionType>, place: &str) -> String {
    kind.map(|_| format!("AND r.reaction_type = {place}")).unwrap_or_default()
}
