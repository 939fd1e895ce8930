//! Is Entity Saved: which of the user's collections hold an entity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::auth::perspective::Perspective;
use crate::error::Result;
use crate::features::collections::store::links;
use crate::features::entities::visibility;
use crate::http::input::Query;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::{CollectionId, EntityId};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedQuery {
    pub entity_id: EntityId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SavedState")]
pub(super) struct Saved {
    saved: bool,
    /// By name.
    collections: Vec<Holder>,
}

/// A collection that holds the entity.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SavedCollection")]
struct Holder {
    id: CollectionId,
    name: String,
}

pub(super) async fn is_entity_saved(
    call: Call<Actor>,
    Query(query): Query<SavedQuery>,
) -> Result<Json<Saved>> {
    let holders = holders(&call, query.entity_id).await?;
    let saved = !holders.is_empty();
    let collections = holders.into_iter().map(|(id, name)| Holder { id, name }).collect();
    Ok(Json(Saved { saved, collections }))
}

pub(super) async fn holders(
    call: &Call<Actor>,
    entity: EntityId,
) -> Result<Vec<(CollectionId, String)>> {
    let (project, user) = (call.project.clone(), call.caller.user);
    let found = call.app.db.read(move |c| {
        // An entity that the user may not see counts as not saved.
        match visibility::find(c, &project, entity, Perspective::User(user))? {
            Some(_) => links::holders(c, project.id, entity, user),
            None => Ok(Vec::new()),
        }
    });
    found.await
}
