//! Check Username Availability: the same check as at sign-up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Anyone;
use crate::error::{Result, faults};
use crate::features::users::rules::Username;
use crate::features::users::store;
use crate::http::input::{Invalid, Query};
use crate::http::operation::Call;
use crate::http::reply::Json;

faults! {
    INVALID_QUERY = 400 "username/invalid-query": "username is required";
    INVALID_INPUT = 400 "username/invalid-input": "username is required";
}

pub(super) const INVALID: Invalid =
    Invalid { v6_query: Some(INVALID_INPUT), ..Invalid::all(INVALID_QUERY) };

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct UsernameQuery {
    username: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UsernameAvailability")]
pub(super) struct Availability {
    available: bool,
}

pub(super) async fn check_username(
    call: Call<Anyone>,
    Query(query): Query<UsernameQuery>,
) -> Result<Json<Availability>> {
    let Ok(username) = Username::try_from(query.username) else {
        return Ok(Json(Availability { available: false }));
    };
    let project = call.project.id;
    let taken =
        call.app.db.read(move |c| store::is_username_taken(c, project, username.as_str())).await?;
    Ok(Json(Availability { available: !taken }))
}
