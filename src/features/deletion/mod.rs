//! Deletion of users, spaces and entities with everything that belongs to them. This feature comes after
//! those whose data it removes, and calls them in lock order.

pub mod entity;
pub mod space;
pub mod store;
pub mod user;

use http::Method;

use crate::features::{entities, spaces, users};
use crate::http::operation::Operation;
use crate::tenancy::Bundle;

pub fn operations() -> Vec<Operation> {
    vec![
        Operation::new(
            Method::DELETE,
            "/users/{userId}",
            "Delete User",
            "user",
            users::INVALID,
            user::delete_user,
        )
        .errors(&[users::NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            "/spaces/{spaceId}",
            "Delete Space",
            "space",
            spaces::INVALID,
            space::delete_space,
        )
        .bundle(Bundle::Spaces)
        .acts_as(spaces::ON_BEHALF)
        .errors(&[spaces::NOT_FOUND, spaces::DELETION_DISABLED, spaces::CREATOR_REQUIRED]),
        Operation::new(
            Method::DELETE,
            "/entities/{entityId}",
            "Delete Entity",
            "entity",
            entities::INVALID,
            entity::delete_entity,
        )
        .bundle(Bundle::Entities)
        .errors(&[entities::NOT_FOUND, entities::NOT_AUTHORIZED, entities::DELETE_FAILED]),
    ]
}
