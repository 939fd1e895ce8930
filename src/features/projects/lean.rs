//! Fetch Project (lean): the project facts that a client needs at its start. Contains no secret.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Anyone;
use crate::error::Result;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeanProject {
    id: ProjectId,
    name: String,
    integrations: Vec<Integration>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A third-party service that the project has connected; none can be configured yet.
#[derive(Debug, Serialize, JsonSchema)]
enum Integration {}

pub(super) async fn fetch_project(call: Call<Anyone>, (): ()) -> Result<Json<LeanProject>> {
    let project = &call.project;
    Ok(Json(LeanProject {
        id: project.id,
        name: project.name.clone(),
        integrations: Vec::new(),
        created_at: project.created_at,
        updated_at: project.updated_at,
    }))
}
