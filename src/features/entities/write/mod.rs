//! Create, update and publish an entity.

mod attached;
pub mod create;
mod mentions;
pub mod notify;
mod publish;
pub mod screen;
mod update;

use http::Method;

use crate::auth::credential::BadToken;
use crate::features::entities::{
    CREATE_RATE, DUPLICATE_FOREIGN_ID, INVALID, INVALID_IMAGE, INVALID_TIMESTAMP, NOT_AUTHORIZED,
    NOT_FOUND, SPACE_NOT_FOUND, UNAUTHORIZED, USER_NOT_FOUND, USER_REQUIRED, VALIDATION_FAILED,
};
use crate::features::spaces;
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

pub(super) fn operations() -> Vec<Operation> {
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
            VALIDATION_FAILED,
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
        .errors(&[NOT_FOUND, NOT_AUTHORIZED, VALIDATION_FAILED]),
        Operation::new(
            patch,
            "/entities/{entityId}/publish",
            "Publish Entity",
            "entity",
            INVALID,
            publish::publish_entity,
        )
        .errors(&[
            NOT_FOUND,
            SPACE_NOT_FOUND,
            spaces::BANNED,
            spaces::POSTING_NOT_ALLOWED,
            VALIDATION_FAILED,
        ]),
    ]
}
