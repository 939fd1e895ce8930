//! Verify Service Key: a server-side client checks its key once, at its start.

use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::credential::{KEY_IN_BROWSER, bearer, check_key_origin, project_header};
use crate::auth::keys;
use crate::error::{Error, Result, faults};
use crate::http::operation::{Operation, ServerCall};
use crate::http::render::UNAUTHORIZED;
use crate::http::reply::Json;
use crate::network::client;
use crate::rate_limits::RateLimit;
use crate::tenancy::INVALID_PROJECT_ID;
use crate::values::ids::ProjectId;

faults! {
    INVALID_SERVICE_KEY = 403 "auth/invalid-service-key": "The key is not one of the project";
}

const WRONG_KEYS: RateLimit = RateLimit::per_5_minutes(100);

pub(super) fn operation() -> Operation {
    Operation::server("/internal/service/verify", "Verify Service Key", verify_service_key)
        .errors(&[UNAUTHORIZED, INVALID_PROJECT_ID, INVALID_SERVICE_KEY, KEY_IN_BROWSER])
        .no_store()
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ValidKey {
    valid: bool,
    project_id: ProjectId,
}

async fn verify_service_key(call: ServerCall) -> Result<Json<ValidKey>> {
    let key = bearer(&call.headers).ok_or(UNAUTHORIZED)?;
    let project_id = project_header(&call.headers).and_then(|id| id.parse().ok());
    let project_id: ProjectId = project_id.ok_or(INVALID_PROJECT_ID)?;
    let app = &call.app;
    let project = app.projects.get(&app.db, project_id, app.clock.uptime()).await?;
    if let Some(project) = project.filter(|project| keys::find(key, &project.keys).is_some()) {
        check_key_origin(&call.headers, &project, &app.config.public_url)?;
        return Ok(Json(ValidKey { valid: true, project_id }));
    }
    // A valid key has no rate limit: its client refuses to start on any reply but success.
    let (client, now) = (client::bucket(call.client).to_be_bytes(), app.clock.uptime());
    let counted = app.limiter.count(WRONG_KEYS, "service key", Some(project_id), &client, now);
    counted.map_err(Error::RateLimited)?;
    Err(INVALID_SERVICE_KEY.into())
}
