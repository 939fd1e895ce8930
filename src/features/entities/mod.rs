//! Entities: what users publish. `list` holds the feeds, `fetch` single entities, `write` what changes them;
//! they are deleted in `features/deletion`. Reactions are in `features/reactions`, files in `features/files`.

pub mod events;
pub mod extras;
mod fetch;
pub mod files;
pub mod grants;
pub mod list;
pub mod model;
mod reactions;
mod row;
pub mod rules;
pub mod score;
pub mod show;
pub mod store;
pub mod terms;
pub mod views;
pub mod visibility;
pub mod write;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::credential::BadToken;
use crate::error::faults;
pub use crate::features::reactions::USER_NOT_FOUND;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;
use crate::values::ids::EntityId;

faults! {
    pub NOT_FOUND = 404 "entity/not-found": "Entity not found";
    pub MISSING_USER_ID = 400 "entity/missing-user-id": "Missing user ID";
    pub UNAUTHORIZED = 403 "entity/unauthorized": "User is not authorized to create this entity.";
    pub DUPLICATE_FOREIGN_ID = 409 "entity/duplicate-foreign-id":
        "An entity with this foreign id exists already";
    pub INVALID_PARAMS = 400 "entity/invalid-params": "Invalid path parameters.";
    pub INVALID_QUERY = 400 "entity/invalid-query": "Invalid query";
    pub INVALID_BODY = 400 "entity/invalid-body": "Invalid body";
    USER_REQUIRED = 401 "entity/user-required": "Authentication required to create this entity.";
    SPACE_NOT_FOUND = 404 "entity/space-not-found": "Space not found";
    INVALID_TIMESTAMP = 400 "entity/invalid-timestamp": "Invalid timestamp";
    pub NOT_AUTHORIZED = 403 "entity/not-authorized": "Not authorized to change this entity.";
    FILE_TOO_LARGE = 413 "entity/file-too-large": "A file exceeds 50MB limit.";
    TOO_MANY_FILES = 400 "entity/too-many-files": "At most 10 images and 10 files may be sent";
    INVALID_IMAGE = 422 "entity/invalid-image": "Not a valid image";
    pub DELETE_FAILED = 404 "entity/delete-failed": "Entity not found or already deleted.";
    INVALID_PAGE = 400 "entity/invalid-page": "Invalid page";
    INVALID_LIMIT = 400 "entity/invalid-limit": "Invalid limit";
    VALIDATION_FAILED = 400 "entity/validation-failed": "Entity validation failed";
    INVALID_COUNT = 400 "entity/invalid-count": "Invalid views count";
}

pub const INVALID: Invalid = Invalid {
    params: INVALID_PARAMS,
    query: INVALID_QUERY,
    v6_page: Some(INVALID_PAGE),
    v6_limit: Some(INVALID_LIMIT),
    ..Invalid::all(INVALID_BODY)
};

/// Also for entities that a fetch creates.
const CREATE_RATE: RateLimit = RateLimit::per_5_minutes(100);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntityPath {
    pub entity_id: EntityId,
}

/// How a key names the user it acts as.
pub const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: USER_NOT_FOUND,
    other: Some(UNAUTHORIZED),
};

pub fn operations() -> Vec<Operation> {
    let operations = [
        list::operations(),
        reads(),
        write::operations(),
        views::operations(),
        reactions::operations(),
    ]
    .into_iter()
    .flatten();
    operations.map(|operation| operation.bundle(Bundle::Entities)).collect()
}

fn reads() -> Vec<Operation> {
    let get = Method::GET;
    let operations = vec![
        Operation::new(
            get.clone(),
            "/entities/by-foreign-id",
            "Fetch Entity by Foreign ID",
            "entity",
            INVALID,
            fetch::by_foreign_id,
        )
        .bad_token(BadToken::RefusedToCreate)
        .errors(&[NOT_FOUND, USER_REQUIRED, VALIDATION_FAILED]),
        Operation::new(
            get.clone(),
            "/entities/by-short-id",
            "Fetch Entity by Short ID",
            "entity",
            INVALID,
            fetch::by_short_id,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get,
            "/entities/{entityId}",
            "Fetch Entity",
            "entity",
            INVALID,
            fetch::by_id,
        )
        .errors(&[NOT_FOUND]),
    ];
    let reads = operations.into_iter().map(Operation::tolerates_lag);
    reads.map(|one| one.rate(RateLimit::per_5_minutes(1000))).collect()
}
