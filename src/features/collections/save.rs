//! Add Entity to Collection, Remove Entity from Collection: the entry and the count change in one
//! transaction. Repeating either changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::collections::store::links::{self, Link};
use crate::features::collections::store::{self, CollectionRow};
use crate::features::collections::{CollectionPath, FAULTS, Faults};
use crate::features::entities::{self, visibility};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{CollectionEntityId, CollectionId, EntityId, new_id};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntityToSave {
    pub entity_id: EntityId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EntryPath {
    collection_id: CollectionId,
    entity_id: EntityId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CollectionSaveResult")]
pub(super) struct Done {
    success: bool,
    collection: Counted,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CollectionSize")]
struct Counted {
    id: CollectionId,
    entity_count: i64,
}

impl Done {
    fn new(row: &CollectionRow) -> Self {
        let collection = Counted { id: row.id, entity_count: row.entity_count };
        Done { success: true, collection }
    }
}

pub(super) async fn add_entity(
    call: Call<Actor>,
    (Path(path), Body(body)): (Path<CollectionPath>, Body<EntityToSave>),
) -> Result<Json<Done>> {
    let changed = save(&call, path.collection_id, body.entity_id, FAULTS).await?;
    Ok(Json(Done::new(&changed.collection)))
}

pub(super) async fn remove_entity(
    call: Call<Actor>,
    Path(path): Path<EntryPath>,
) -> Result<Json<Done>> {
    let changed = unsave(&call, path.collection_id, path.entity_id, FAULTS).await?;
    Ok(Json(Done::new(&changed.collection)))
}

/// The result of saving or removing.
#[derive(Debug)]
pub(super) struct Changed {
    /// The collection after the change.
    pub collection: CollectionRow,
    /// False if nothing changed.
    pub is_new: bool,
}

/// Only entities that the owner of the collection may see can be saved, also by a key on their behalf.
pub(super) async fn save(
    call: &Call<Actor>,
    collection: CollectionId,
    entity: EntityId,
    faults: Faults,
) -> Result<Changed> {
    let (of, user, now) = (call.project.clone(), call.caller.user, call.now);
    let project = of.id;
    let id = CollectionEntityId(new_id(now, &call.app.random));
    let saved = call.app.db.write(move |tx| {
        // Lock order: entities before collections.
        let kept = visibility::lock_shared(tx, &of, entity, Perspective::User(user))?;
        let mut collection = store::lock(tx, project, user, collection)?.ok_or(faults.not_found)?;
        let entity = kept.ok_or(entities::NOT_FOUND)?.id;
        let link = Link { id, user, collection: collection.id, entity };
        let is_new = links::insert(tx, project, link, now)?;
        if is_new {
            collection.entity_count += 1;
            collection.updated_at = now;
            store::set_count(tx, project, &collection)?;
        }
        Ok(Changed { collection, is_new })
    });
    saved.await
}

pub(super) async fn unsave(
    call: &Call<Actor>,
    collection: CollectionId,
    entity: EntityId,
    faults: Faults,
) -> Result<Changed> {
    let (project, user, now) = (call.project.id, call.caller.user, call.now);
    let unsaved = call.app.db.write(move |tx| {
        let mut collection = store::lock(tx, project, user, collection)?.ok_or(faults.not_found)?;
        let is_new = links::delete(tx, project, collection.id, entity)?;
        if is_new {
            collection.entity_count -= 1;
            collection.updated_at = now;
            store::set_count(tx, project, &collection)?;
        }
        Ok(Changed { collection, is_new })
    });
    unsaved.await
}
