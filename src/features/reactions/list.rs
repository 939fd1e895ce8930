//! List Reactions of a target, and the caller's own reaction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{Actor, OptionalViewer};
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::reactions::store::ReactionRow;
use crate::features::reactions::store::hidden;
use crate::features::reactions::target::{Target, TargetId, TargetType};
use crate::features::reactions::{ReactionType, store};
use crate::features::users::reputation::{self, ReputationQuery};
use crate::features::visibility::store::blocks;
use crate::http::input::{Direction, Paging, Path, Query};
use crate::http::operation::Call;
use crate::http::page::LimitPaged;
use crate::http::reply::Json;
use crate::storage::signed::Links;
use crate::values::ids::{ProjectId, ReactionId, UserId};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reaction {
    id: ReactionId,
    project_id: ProjectId,
    target_type: TargetType,
    target_id: TargetId,
    user_id: UserId,
    reaction_type: ReactionType,
    user: Reactor,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The part of a user that a list of reactions shows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReactionUser")]
struct Reactor {
    id: UserId,
    name: Option<String>,
    username: Option<String>,
    avatar: Option<String>,
    reputation: i64,
    /// Only with a space in the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    space_reputation: Option<i64>,
}

impl Reaction {
    fn new(links: &Links, target_id: TargetId, row: ReactionRow) -> Self {
        Reaction {
            id: row.id,
            project_id: links.project,
            target_type: target_id.kind(),
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

/// The total is the target's stored count minus the users hidden from the viewer.
pub(super) async fn fetch_reactions<T: Target>(
    call: Call<OptionalViewer>,
    (Path(path), Paging(page), Query(query)): (Path<T::Path>, Paging, Query<ReactionsQuery>),
) -> Result<Json<LimitPaged<Reaction>>> {
    let (project, perspective) = (call.project.id, Perspective::from(call.caller));
    let (of, viewer) = (call.project.clone(), call.caller.user());
    let (links, id) = (call.links(), T::named(&path));
    let bucket = query.reputation.bucket_or_context(&call.project, T::FAULTS.invalid_query)?;
    let kind = query.reaction_type;
    let oldest_first = query.sort_dir == Direction::Asc;
    let found = call.app.db.read(move |c| {
        let target = T::find(c, &of, id, perspective)?.ok_or(T::FAULTS.not_found)?;
        let counts = target.reactions();
        let hidden = blocks::hidden(c, &of, viewer)?;
        let total = kind.map_or(counts.total(), |kind| counts.of(kind))
            - hidden::count(c, project, id, kind, &hidden)?;
        let rows = match hidden.is_nobody() {
            true => store::list(c, project, id, kind, oldest_first, page)?,
            false => hidden::list(c, project, id, kind, oldest_first, page, &hidden)?,
        };
        let mut reactions: Vec<Reaction> =
            rows.into_iter().map(|row| Reaction::new(&links, id, row)).collect();
        if let Some(bucket) = bucket {
            let bucket = bucket.of(target.space());
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

pub(super) async fn own_reaction<T: Target>(
    call: Call<Actor>,
    Path(path): Path<T::Path>,
) -> Result<Json<OwnReaction>> {
    let (project, user) = (call.project.clone(), call.caller.user);
    let (perspective, id) = (Perspective::from(&call.caller), T::named(&path));
    let found = call.app.db.read(move |c| {
        T::find(c, &project, id, perspective)?.ok_or(T::FAULTS.not_found)?;
        let reaction_type = store::find(c, project.id, id, user)?;
        Ok(OwnReaction { reaction_type })
    });
    found.await.map(Json)
}
