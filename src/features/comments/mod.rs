//! Comments on entities, and replies to comments. Reactions to them are in `features/reactions`.

pub mod delete;
pub mod events;
mod fetch;
pub mod files;
pub mod grants;
pub mod list;
pub mod model;
mod reactions;
mod row;
pub mod rules;
pub mod show;
pub mod store;
mod top;
pub mod visibility;
pub mod write;

pub use row::blank;
pub use top::top_comments;

use http::Method;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::{Result, faults};
use crate::features::users;
use crate::http::include::Include;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;
use crate::values::ids::CommentId;

faults! {
    pub NOT_FOUND = 404 "comment/not-found": "Comment not found";
    pub INVALID_QUERY = 400 "comment/invalid-query": "Invalid query";
    INVALID_BODY = 400 "comment/invalid-body": "Invalid body";
    INVALID_PARAMS = 400 "comment/invalid-params": "Invalid comment id";
    MISSING_COMMENT_ID = 400 "comment/missing-comment-id": "Missing comment ID";
    MISSING_ENTITY_ID = 400 "comment/missing-entity-id": "Missing entity ID";
    MISSING_USER_ID = 400 "comment/missing-user-id": "Missing user ID";
    MISSING_CONTENT = 400 "comment/missing-content": "Content, a gif or attachments are required";
    INVALID_TIMESTAMP = 400 "comment/invalid-timestamp": "Invalid timestamp";
    INVALID_PARENT = 400 "comment/invalid-parent": "The parent belongs to another entity";
    ENTITY_NOT_FOUND = 404 "comment/entity-not-found": "Entity not found";
    PARENT_NOT_FOUND = 404 "comment/parent-not-found": "Parent comment not found";
    REFERENCED_NOT_FOUND = 404 "comment/referenced-comment-not-found":
        "Referenced comment not found";
    FORBIDDEN = 403 "comment/forbidden": "Not authorized to update this comment";
    NOT_AUTHORIZED = 403 "comment/not-authorized": "Not authorized to delete this comment";
    VALIDATION_FAILED = 400 "comment/validation-failed": "Comment validation failed";
    ALREADY_DELETED = 404 "comment/already-deleted": "Comment was deleted already";
}

pub const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// A key acts as the user it names; the parameter is ignored for a user's token.
pub const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: users::NOT_FOUND,
    other: None,
};

/// Points that an author gets for a comment, and loses by deleting it.
const POINTS: i64 = 2;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentPath {
    pub comment_id: CommentId,
}

/// Unlike elsewhere, an unknown name is refused.
fn check_include(include: &Include) -> Result<()> {
    match include.unknown(&["user", "entity", "space", "parent", "grants"]) {
        Some(name) => Err(INVALID_QUERY.because(format!("include: {name} is not known"))),
        None => Ok(()),
    }
}

pub fn operations() -> Vec<Operation> {
    let mut operations: Vec<Operation> =
        reads().into_iter().map(Operation::tolerates_lag).collect();
    operations.extend(write::operations());
    operations.extend(delete::operations());
    let mut operations: Vec<Operation> =
        operations.into_iter().map(|one| one.bundle(Bundle::Comments)).collect();
    operations.push(
        Operation::new(
            Method::GET,
            "/entities/{entityId}/top-comment",
            "Fetch Top Comment",
            "entity",
            crate::features::entities::INVALID,
            top::fetch_top_comment,
        )
        .bundle(Bundle::Entities)
        .rate(RateLimit::per_5_minutes(1000)),
    );
    operations.extend(reactions::operations());
    operations
}

fn reads() -> Vec<Operation> {
    let (get, feature) = (Method::GET, "comment");
    vec![
        Operation::new(
            get.clone(),
            "/comments",
            "Fetch Many Comments",
            feature,
            INVALID,
            list::fetch_many,
        )
        .shared(),
        Operation::new(
            get.clone(),
            "/comments/by-foreign-id",
            "Fetch Comment by Foreign ID",
            feature,
            INVALID,
            fetch::by_foreign_id,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            get,
            "/comments/{commentId}",
            "Fetch Comment",
            feature,
            INVALID,
            fetch::by_id,
        )
        .errors(&[NOT_FOUND]),
    ]
}
