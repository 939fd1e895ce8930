//! Fetch Root Collection: created on the first request, only read after that.

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::collections::model::Collection;
use crate::features::collections::store::{self, CollectionRow};
use crate::features::users;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{CollectionId, new_id};

pub(super) async fn fetch_root(call: Call<Actor>, (): ()) -> Result<Json<Collection>> {
    let root = find_or_make(&call).await?;
    Ok(Json(Collection::new(call.project.id, root)))
}

pub(super) async fn find_or_make(call: &Call<Actor>) -> Result<CollectionRow> {
    let (project, user) = (call.project.id, call.caller.user);
    let found = call.app.db.read(move |c| store::root(c, project, user)).await?;
    if let Some(root) = found {
        return Ok(root);
    }
    let id = CollectionId(new_id(call.now, &call.app.random));
    let new = CollectionRow::root(id, user, call.now);
    let made = call.app.db.write(move |tx| {
        store::insert_root(tx, project, &new)?;
        // A concurrent request may have created it: then return that one.
        store::root(tx, project, user)?.ok_or(users::NOT_FOUND.into())
    });
    made.await
}
