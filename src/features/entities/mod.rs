//! Entities: what users publish. Reactions to them are in `features/reactions`, their files in
//! `features/storage`.

mod attached;
pub mod create;
mod drafts;
pub mod extras;
mod fetch;
pub mod files;
pub mod list;
mod mentions;
pub mod model;
pub mod notify;
mod publish;
mod reactions;
mod row;
pub mod rules;
pub mod score;
pub mod show;
pub mod store;
mod target;
pub mod terms;
mod update;
pub mod view_buffer;
mod views;
pub mod visibility;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::ELEVATED_AUTH_REQUIRED;
use crate::auth::credential::BadToken;
use crate::error::faults;
pub use crate::features::reactions::USER_NOT_FOUND;
use crate::features::spaces;
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
    INVALID_COUNT = 400 "entity/invalid-count": "Invalid views count";
}

pub const INVALID: Invalid = Invalid {
    params: INVALID_PARAMS,
    query: INVALID_QUERY,
    v6_page: Some(INVALID_PAGE),
    v6_limit: Some(INVALID_LIMIT),
    ..Invalid::all(INVALID_BODY)
};

/// Also for what a fetch creates on its way.
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
    let operations = [lists(), reads(), writes(), reactions::operations()].into_iter().flatten();
    operations.map(|operation| operation.bundle(Bundle::Entities)).collect()
}

fn lists() -> Vec<Operation> {
    let get = Method::GET;
    vec![
        Operation::new(
            get.clone(),
            "/entities",
            "Fetch Many Entities",
            "entity",
            INVALID,
            list::fetch_many,
        )
        .errors(&[USER_REQUIRED]),
        Operation::new(
            get,
            "/entities/drafts",
            "Fetch Drafts",
            "entity",
            INVALID,
            drafts::fetch_drafts,
        )
        .acts_as(ActsAs { other: None, ..ACTS_AS }),
    ]
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
        .errors(&[NOT_FOUND, USER_REQUIRED]),
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
    operations.into_iter().map(|one| one.rate(RateLimit::per_5_minutes(1000))).collect()
}

fn writes() -> Vec<Operation> {
    let (post, patch) = (Method::POST, Method::PATCH);
    vec![
        Operation::new(
            post,
            "/entities",
            "Create Entity",
            "entity",
            INVALID,
            create::create_entity,
        )
        .bad_token(BadToken::Refused)
        .takes_files(&attached::FORM)
        .rate(CREATE_RATE)
        .errors(&[
            USER_REQUIRED,
            UNAUTHORIZED,
            SPACE_NOT_FOUND,
            spaces::BANNED,
            spaces::POSTING_NOT_ALLOWED,
            USER_NOT_FOUND,
            INVALID_TIMESTAMP,
            DUPLICATE_FOREIGN_ID,
            INVALID_IMAGE,
        ]),
        Operation::new(
            patch.clone(),
            "/entities/{entityId}",
            "Update Entity",
            "entity",
            INVALID,
            update::update_entity,
        )
        .rate(RateLimit::per_5_minutes(200))
        .errors(&[NOT_FOUND, NOT_AUTHORIZED]),
        Operation::new(
            patch.clone(),
            "/entities/{entityId}/publish",
            "Publish Entity",
            "entity",
            INVALID,
            publish::publish_entity,
        )
        .errors(&[NOT_FOUND, SPACE_NOT_FOUND, spaces::BANNED, spaces::POSTING_NOT_ALLOWED]),
        Operation::new(
            patch,
            "/entities/{entityId}/increment-views",
            "Increment Entity Views",
            "entity",
            INVALID,
            views::increment_views,
        )
        .rate(RateLimit::per_5_minutes(1000))
        .open_to_suspended()
        .errors(&[NOT_FOUND, INVALID_COUNT, ELEVATED_AUTH_REQUIRED]),
    ]
}
