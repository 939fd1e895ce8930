//! Create and update a comment, and notify the users it concerns.

mod create;
pub mod notify;
pub mod screen;
mod update;

use http::Method;

use crate::features::comments::{
    ACTS_AS, ENTITY_NOT_FOUND, FORBIDDEN, INVALID, INVALID_PARENT, INVALID_TIMESTAMP,
    MISSING_CONTENT, MISSING_ENTITY_ID, MISSING_USER_ID, NOT_FOUND, PARENT_NOT_FOUND,
    REFERENCED_NOT_FOUND, VALIDATION_FAILED,
};
use crate::features::spaces;
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

pub(super) fn operations() -> Vec<Operation> {
    let (post, patch, feature) = (Method::POST, Method::PATCH, "comment");
    vec![
        Operation::new(
            post,
            "/comments",
            "Create Comment",
            feature,
            INVALID,
            create::create_comment,
        )
        .rate(RateLimit::per_5_minutes(100))
        .acts_as(ACTS_AS)
        .errors(&[
            MISSING_ENTITY_ID,
            MISSING_CONTENT,
            MISSING_USER_ID,
            INVALID_TIMESTAMP,
            INVALID_PARENT,
            spaces::BANNED,
            ENTITY_NOT_FOUND,
            PARENT_NOT_FOUND,
            REFERENCED_NOT_FOUND,
            VALIDATION_FAILED,
        ]),
        Operation::new(
            patch,
            "/comments/{commentId}",
            "Update Comment",
            feature,
            INVALID,
            update::update_comment,
        )
        .errors(&[FORBIDDEN, NOT_FOUND, VALIDATION_FAILED]),
    ]
}
