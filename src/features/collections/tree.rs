//! Fetch Sub-Collections, Create Sub-Collection, Rename Collection, Delete Collection.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::collections::model::Collection;
use crate::features::collections::rules::{DEEPEST, Name};
use crate::features::collections::store::{self, CollectionRow};
use crate::features::collections::{CollectionPath, FAULTS, Faults};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::{Created, Json, NoContent};
use crate::values::ids::{CollectionId, new_id};

pub(super) async fn fetch_sub_collections(
    call: Call<Actor>,
    Path(path): Path<CollectionPath>,
) -> Result<Json<Vec<Collection>>> {
    let project = call.project.id;
    let rows = children(&call, path.collection_id).await?;
    Ok(Json(rows.into_iter().map(|row| Collection::new(project, row)).collect()))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewCollection {
    collection_name: Name,
}

pub(super) async fn create_sub_collection(
    call: Call<Actor>,
    (Path(path), Body(new)): (Path<CollectionPath>, Body<NewCollection>),
) -> Result<Created<Collection>> {
    let row = create(&call, path.collection_id, new.collection_name, FAULTS).await?;
    Ok(Created(Collection::new(call.project.id, row)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "CollectionName")]
pub(super) struct NewName {
    name: Name,
}

pub(super) async fn rename_collection(
    call: Call<Actor>,
    (Path(path), Body(new)): (Path<CollectionPath>, Body<NewName>),
) -> Result<Json<Collection>> {
    let row = rename(&call, path.collection_id, new.name, FAULTS).await?;
    Ok(Json(Collection::new(call.project.id, row)))
}

pub(super) async fn delete_collection(
    call: Call<Actor>,
    Path(path): Path<CollectionPath>,
) -> Result<NoContent> {
    delete(&call, path.collection_id, FAULTS).await
}

/// Empty for a collection that does not exist or belongs to another user.
pub(super) async fn children(
    call: &Call<Actor>,
    parent: CollectionId,
) -> Result<Vec<CollectionRow>> {
    let (project, user) = (call.project.id, call.caller.user);
    call.app.db.read(move |c| store::children(c, project, user, parent)).await
}

pub(super) async fn create(
    call: &Call<Actor>,
    parent: CollectionId,
    name: Name,
    faults: Faults,
) -> Result<CollectionRow> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let (id, name) = (CollectionId(new_id(now, &call.app.random)), name.into_text());
    let made = call.app.db.write(move |tx| {
        let parent = store::lock_shared(tx, project, user, parent)?.ok_or(faults.invalid_parent)?;
        if parent.depth >= DEEPEST {
            let why = format!("Collections nest at most {DEEPEST} deep");
            return Err(faults.invalid_parent.because(why));
        }
        let new = CollectionRow {
            parent_id: Some(parent.id),
            is_root: false,
            name: name.clone(),
            depth: parent.depth + 1,
            ..CollectionRow::root(id, user, now)
        };
        store::insert(tx, project, &new, faults.name_taken)?;
        Ok(new)
    });
    made.await
}

/// The root cannot be renamed.
pub(super) async fn rename(
    call: &Call<Actor>,
    id: CollectionId,
    name: Name,
    faults: Faults,
) -> Result<CollectionRow> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let name = name.into_text();
    let renamed = call.app.db.write(move |tx| {
        let found = store::lock(tx, project, user, id)?.filter(|row| !row.is_root);
        let found = found.ok_or(faults.not_found)?;
        let row = CollectionRow { name: name.clone(), updated_at: now, ..found };
        store::rename(tx, project, &row, faults.name_taken)?;
        Ok(row)
    });
    renamed.await
}

/// Deletes all sub-collections, too; the saved entities themselves stay. The root cannot be deleted.
pub(super) async fn delete(
    call: &Call<Actor>,
    id: CollectionId,
    faults: Faults,
) -> Result<NoContent> {
    let (project, user) = (call.project.id, call.caller.user);
    let deleted = call.app.db.write(move |tx| {
        let found = store::lock(tx, project, user, id)?.filter(|row| !row.is_root);
        let mut all = vec![found.ok_or(faults.not_found)?.id];
        // Level by level: nothing is added below a locked collection, so each level is complete.
        let mut level = 0..1;
        while !level.is_empty() {
            let below = store::lock_children(tx, project, &all[level.clone()])?;
            level = level.end..level.end + below.len();
            all.extend(below);
        }
        store::delete(tx, project, &all)
    });
    deleted.await.map(|()| NoContent)
}
