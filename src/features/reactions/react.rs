//! Add Reaction, Remove Reaction, and the four older vote endpoints.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::{Fault, Result};
use crate::features::reactions::ReactionType;
use crate::features::reactions::change::{Change, Changed};
use crate::features::reactions::notify::Announce;
use crate::features::reactions::target::Target;
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewReaction {
    reaction_type: ReactionType,
}

type Answer<T> = Result<Json<<T as Target>::Shown>>;

pub(super) async fn add_reaction<T: Target>(
    call: Call<Actor>,
    (Path(path), Body(new)): (Path<T::Path>, Body<NewReaction>),
) -> Answer<T> {
    put::<T>(call, path, new.reaction_type, Announce::Reaction, None).await
}

pub(super) async fn remove_reaction<T: Target>(
    call: Call<Actor>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, None).await
}

pub(super) async fn upvote<T: Target>(call: Call<Actor>, Path(path): Path<T::Path>) -> Answer<T> {
    let again = Some(T::FAULTS.already_upvoted);
    put::<T>(call, path, ReactionType::Upvote, Announce::Upvote, again).await
}

pub(super) async fn downvote<T: Target>(call: Call<Actor>, Path(path): Path<T::Path>) -> Answer<T> {
    let again = Some(T::FAULTS.already_downvoted);
    put::<T>(call, path, ReactionType::Downvote, Announce::Silently, again).await
}

pub(super) async fn remove_upvote<T: Target>(
    call: Call<Actor>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, Some((ReactionType::Upvote, T::FAULTS.not_upvoted))).await
}

pub(super) async fn remove_downvote<T: Target>(
    call: Call<Actor>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, Some((ReactionType::Downvote, T::FAULTS.not_downvoted))).await
}

/// `again`: the error for a vote that was cast before.
async fn put<T: Target>(
    call: Call<Actor>,
    path: T::Path,
    kind: ReactionType,
    announce: Announce,
    again: Option<Fault>,
) -> Answer<T> {
    let (change, view) = (Change::<T>::new(&call, &path), T::view(&call));
    let shown = call.app.db.write_contended(change.target.uuid(), move |tx| {
        let Changed { target, before, author } = change.put(tx, kind, announce)?;
        match again {
            Some(fault) if before == Some(kind) => Err(fault.into()),
            _ => target.show(&view, tx, Some(kind), author),
        }
    });
    shown.await.map(Json)
}

/// `only`: the vote to remove, and the error if it was not cast.
async fn take<T: Target>(
    call: Call<Actor>,
    path: T::Path,
    only: Option<(ReactionType, Fault)>,
) -> Answer<T> {
    let (change, view) = (Change::<T>::new(&call, &path), T::view(&call));
    let shown = call.app.db.write_contended(change.target.uuid(), move |tx| {
        let Changed { target, before, author } = change.take(tx)?;
        match only {
            Some((kind, fault)) if before != Some(kind) => Err(fault.into()),
            _ => target.show(&view, tx, None, author),
        }
    });
    shown.await.map(Json)
}
