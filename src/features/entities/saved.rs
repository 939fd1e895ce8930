//! Is Entity Saved. There are no collections yet, so nothing is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Actor;
use crate::error::Result;
use crate::features::projects::Bundle;
use crate::http::input::Query;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::ids::EntityId;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SavedQuery {
    #[expect(dead_code, reason = "read for its form: nothing can hold the entity yet")]
    entity_id: EntityId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Saved {
    saved: bool,
    collections: Vec<Holder>,
}

/// A collection that holds the entity.
#[derive(Debug, Serialize, JsonSchema)]
struct Holder {
    id: String,
    name: String,
}

pub(super) async fn is_entity_saved(
    call: Call<Actor>,
    Query(_): Query<SavedQuery>,
) -> Result<Json<Saved>> {
    call.project.require(Bundle::Collections)?;
    Ok(Json(Saved { saved: false, collections: Vec::new() }))
}
