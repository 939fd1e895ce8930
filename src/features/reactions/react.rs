//! Add Entity Reaction, Remove Entity Reaction, and the four votes that came before them.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Fault, Result};
use crate::features::entities::EntityPath;
use crate::features::entities::model::Entity;
use crate::features::entities::show::View;
use crate::features::reactions::change::{Change, Changed};
use crate::features::reactions::notices::Announce;
use crate::features::reactions::{
    ALREADY_DOWNVOTED, ALREADY_UPVOTED, NOT_DOWNVOTED, NOT_UPVOTED, ReactionType,
};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewReaction {
    reaction_type: ReactionType,
}

pub(super) async fn add_reaction(
    call: Call<Actor>,
    (Path(path), Body(new)): (Path<EntityPath>, Body<NewReaction>),
) -> Result<Json<Entity>> {
    put(call, path, new.reaction_type, Announce::Reaction, None).await
}

pub(super) async fn remove_reaction(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    take(call, path, None).await
}

pub(super) async fn upvote(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    put(call, path, ReactionType::Upvote, Announce::Upvote, Some(ALREADY_UPVOTED)).await
}

pub(super) async fn downvote(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    put(call, path, ReactionType::Downvote, Announce::Silently, Some(ALREADY_DOWNVOTED)).await
}

pub(super) async fn remove_upvote(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    take(call, path, Some((ReactionType::Upvote, NOT_UPVOTED))).await
}

pub(super) async fn remove_downvote(
    call: Call<Actor>,
    Path(path): Path<EntityPath>,
) -> Result<Json<Entity>> {
    take(call, path, Some((ReactionType::Downvote, NOT_DOWNVOTED))).await
}

/// `again`: what a vote is told that has been cast before.
async fn put(
    call: Call<Actor>,
    path: EntityPath,
    kind: ReactionType,
    announce: Announce,
    again: Option<Fault>,
) -> Result<Json<Entity>> {
    let change = Change::new(&call, path.entity_id);
    let view = View::written(&call, Some(call.caller.user));
    let shown = call.app.db.write(move |tx| {
        let Changed { entity, before } = change.put(tx, kind, announce)?;
        match again {
            Some(fault) if before == Some(kind) => Err(fault.into()),
            _ => view.clone().with_own(Some(kind)).entity(tx, entity),
        }
    });
    shown.await.map(Json)
}

/// `only`: the vote that is to be taken back, and what is said when it was not cast.
async fn take(
    call: Call<Actor>,
    path: EntityPath,
    only: Option<(ReactionType, Fault)>,
) -> Result<Json<Entity>> {
    let change = Change::new(&call, path.entity_id);
    let view = View::written(&call, Some(call.caller.user));
    let shown = call.app.db.write(move |tx| {
        let Changed { entity, before } = change.take(tx)?;
        match only {
            Some((kind, fault)) if before != Some(kind) => Err(fault.into()),
            _ => view.clone().with_own(None).entity(tx, entity),
        }
    });
    shown.await.map(Json)
}
