//! Add Reaction, Remove Reaction, and the four older vote endpoints.

use db::{Later, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::auth::deferred::Deferred;
use crate::error::{Fault, Result};
use crate::features::reactions::change::{Change, Changed};
use crate::features::reactions::notify::Announce;
use crate::features::reactions::target::{Known, Target};
use crate::features::reactions::{ReactionType, store};
use crate::features::users::store::UserRow;
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
    call: Call<Deferred<Actor>>,
    (Path(path), Body(new)): (Path<T::Path>, Body<NewReaction>),
) -> Answer<T> {
    put::<T>(call, path, new.reaction_type, Announce::Reaction, None).await
}

pub(super) async fn remove_reaction<T: Target>(
    call: Call<Deferred<Actor>>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, None).await
}

pub(super) async fn upvote<T: Target>(
    call: Call<Deferred<Actor>>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    let again = Some(T::FAULTS.already_upvoted);
    put::<T>(call, path, ReactionType::Upvote, Announce::Upvote, again).await
}

pub(super) async fn downvote<T: Target>(
    call: Call<Deferred<Actor>>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    let again = Some(T::FAULTS.already_downvoted);
    put::<T>(call, path, ReactionType::Downvote, Announce::Silently, again).await
}

pub(super) async fn remove_upvote<T: Target>(
    call: Call<Deferred<Actor>>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, Some((ReactionType::Upvote, T::FAULTS.not_upvoted))).await
}

pub(super) async fn remove_downvote<T: Target>(
    call: Call<Deferred<Actor>>,
    Path(path): Path<T::Path>,
) -> Answer<T> {
    take::<T>(call, path, Some((ReactionType::Downvote, T::FAULTS.not_downvoted))).await
}

/// `again`: the error for a vote that was cast before.
async fn put<T: Target>(
    call: Call<Deferred<Actor>>,
    path: T::Path,
    kind: ReactionType,
    announce: Announce,
    again: Option<Fault>,
) -> Answer<T> {
    write::<T>(call, path, move |tx, change, view| {
        let changed = change.put(tx, kind, announce)?;
        match again {
            Some(fault) if changed.before == Some(kind) => Err(fault.into()),
            _ => show(tx, changed, Some(kind), view),
        }
    })
    .await
}

/// `only`: the vote to remove, and the error if it was not cast.
async fn take<T: Target>(
    call: Call<Deferred<Actor>>,
    path: T::Path,
    only: Option<(ReactionType, Fault)>,
) -> Answer<T> {
    write::<T>(call, path, move |tx, change, view| {
        let changed = change.take(tx)?;
        match only {
            Some((kind, fault)) if changed.before != Some(kind) => Err(fault.into()),
            _ => show(tx, changed, None, view),
        }
    })
    .await
}

/// The reply, and its author if they are known only after COMMIT.
type Written<T> = (<T as Target>::Shown, Option<Later<UserRow>>);

async fn write<T: Target>(
    call: Call<Deferred<Actor>>,
    path: T::Path,
    work: impl Fn(&Tx<'_>, &Change<T>, &T::View) -> Result<Written<T>> + Send + 'static,
) -> Answer<T> {
    let view = T::view(&call);
    let change = Change::<T>::new(&call, &path, &view);
    let seen = view.clone();
    let written =
        call.app.db.write_contended(change.target.uuid(), move |tx| work(tx, &change, &seen));
    let (mut shown, author) = written.await.map_err(store::refused)?;
    if let Some(author) = author {
        T::set_author(&mut shown, &view, author.opt()?)?;
    }
    Ok(Json(shown))
}

fn show<T: Target>(
    tx: &Tx<'_>,
    changed: Changed<T>,
    own: Option<ReactionType>,
    view: &T::View,
) -> Result<Written<T>> {
    let Changed { target, author, votes, space, .. } = changed;
    let known = Known { own, votes, space, author_follows: author.is_some() };
    Ok((target.show(view, tx, known)?, author))
}
