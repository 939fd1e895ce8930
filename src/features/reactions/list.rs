//! Fetch Entity Reactions, Get User Reaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, OptionalViewer};
use crate::error::Result;
use crate::features::entities::visibility::{self, Eyes};
use crate::features::entities::{EntityPath, INVALID_QUERY};
use crate::features::reactions::store::ReactionRow;
use crate::features::reactions::{NOT_FOUND, ReactionType, store};
use crate::features::storage::signed::Links;
use crate::features::users::reputation::{self, ReputationQuery};
use crate::http::input::{Direction, Paging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::LimitPaged;
use crate::http::reply::Json;
use crate::ids::{EntityId, ProjectId, ReactionId, UserId};
use crate::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reaction {
    id: ReactionId,
    project_id: ProjectId,
    target_type: TargetType,
    target_id: EntityId,
    user_id: UserId,
    reaction_type: ReactionType,
    user: Reactor,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TargetType {
    Entity,
}

/// As much of a user as a list of reactions shows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Reactor {
    id: UserId,
    name: Option<String>,
    username: Option<String>,
    avatar: Option<String>,
    reputation: i64,
    /// Only when a space is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    space_reputation: Option<i64>,
}

impl Reaction {
    fn new(links: &Links, target_id: EntityId, row: ReactionRow) -> Self {
        Reaction {
            id: row.id,
            project_id: links.project,
            target_type: TargetType::Entity,
            target_id,
            user_id: row.user_id,
            reaction_type: row.reaction_type,
            user: Reactor {
                id: row.user_id,
                name: row.name,
                username: row.username,
                avatar: links.avatar(row.avatar_path.as_deref(), row.avatar.as_deref()),
                reputation: row.reputation,
                space_reputation: None,
            },
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReactionsQuery {
    reaction_type: Option<ReactionType>,
    #[serde(default)]
    sort_dir: Direction,
    #[serde(flatten)]
    reputation: ReputationQuery,
}

/// The total is the target's own count, which is exact.
pub(super) async fn fetch_reactions(
    call: Call<OptionalViewer>,
    (Path(path), Paging(page), Query(query)): (Path<EntityPath>, Paging, Query<ReactionsQuery>),
) -> Result<Json<LimitPaged<Reaction>>> {
    let (project, eyes) = (call.project.id, Eyes::from(call.caller));
    let links = call.links();
    let bucket = query.reputation.bucket_or_context(&call.project, INVALID_QUERY)?;
    let kind = query.reaction_type;
    let oldest_first = query.sort_dir == Direction::Asc;
    let found = call.app.db.read(move |c| {
        let target = visibility::find(c, project, path.entity_id, eyes)?.ok_or(NOT_FOUND)?;
        let counts = target.reactions();
        let total = kind.map_or(counts.total(), |kind| counts.of(kind));
        let rows = store::list(c, project, target.id, kind, oldest_first, page)?;
        let mut reactions: Vec<Reaction> =
            rows.into_iter().map(|row| Reaction::new(&links, target.id, row)).collect();
        if let Some(bucket) = bucket {
            let bucket = bucket.of(target.space_id);
            let shown = reactions
                .iter_mut()
                .map(|reaction| (reaction.user_id, bucket, &mut reaction.user.space_reputation));
            reputation::add_points(c, project, shown.collect())?;
        }
        Ok(page.of_limited(reactions, total))
    });
    found.await.map(Json)
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnReaction {
    reaction_type: Option<ReactionType>,
}

pub(super) async fn own_reaction(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<OwnReaction>> {
    let (project, user) = (call.project.id, call.caller.user);
    let eyes = Eyes::from(&call.caller);
    let found = call.app.db.read(move |c| {
        let target = visibility::find(c, project, path.entity_id, eyes)?.ok_or(NOT_FOUND)?;
        let reaction_type = store::find(c, project, target.id, user)?;
        Ok(OwnReaction { reaction_type })
    });
    found.await.map(Json)
}
