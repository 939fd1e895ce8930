//! The operations of version 6, each with the shape of its reply in the dialect.

use crate::http::operation::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As the common operation replies.
    Same,
    Entity,
    /// A page becomes a bare array.
    Entities,
    Comment,
    Comments,
    /// A comment and its parent.
    FoundComment,
    /// A list of saved entities, or several.
    Saved,
    Notifications,
    /// The text `OK`.
    Marked,
    /// A page becomes an array of this name, with other names in its pagination.
    Related(&'static str),
    /// A file with an address that lasts.
    Stored,
    Reported,
    /// A session that begins, is renewed, ends.
    SignedIn,
    Refreshed,
    SignedOut,
}

pub fn shape(operation: &Operation) -> Option<Shape> {
    OPERATIONS.iter().find(|(id, _)| *id == operation.id).map(|(_, shape)| *shape)
}

pub const OPERATIONS: &[(&str, Shape)] = &[
    ("POST /auth/sign-up", Shape::SignedIn),
    ("POST /auth/sign-in", Shape::SignedIn),
    ("POST /auth/verify-external-user", Shape::SignedIn),
    ("POST /auth/request-new-access-token", Shape::Refreshed),
    ("POST /auth/sign-out", Shape::SignedOut),
    ("POST /auth/change-password", Shape::Same),
    ("POST /entities", Shape::Entity),
    ("GET /entities", Shape::Entities),
    ("GET /entities/by-foreign-id", Shape::Entity),
    ("GET /entities/by-short-id", Shape::Entity),
    ("GET /entities/{entityId}", Shape::Entity),
    ("GET /entities/{entityId}/top-comment", Shape::Comment),
    ("PATCH /entities/{entityId}", Shape::Entity),
    ("DELETE /entities/{entityId}", Shape::Same),
    ("PATCH /entities/{entityId}/increment-views", Shape::Entity),
    ("PATCH /entities/{entityId}/upvote", Shape::Entity),
    ("PATCH /entities/{entityId}/remove-upvote", Shape::Entity),
    ("PATCH /entities/{entityId}/downvote", Shape::Entity),
    ("PATCH /entities/{entityId}/remove-downvote", Shape::Entity),
    ("POST /comments", Shape::Comment),
    ("GET /comments", Shape::Comments),
    ("GET /comments/by-foreign-id", Shape::FoundComment),
    ("GET /comments/{commentId}", Shape::FoundComment),
    ("PATCH /comments/{commentId}", Shape::Comment),
    ("DELETE /comments/{commentId}", Shape::Same),
    ("PATCH /comments/{commentId}/upvote", Shape::Comment),
    ("PATCH /comments/{commentId}/remove-upvote", Shape::Comment),
    ("PATCH /comments/{commentId}/downvote", Shape::Comment),
    ("PATCH /comments/{commentId}/remove-downvote", Shape::Comment),
    ("GET /lists/root", Shape::Saved),
    ("GET /lists/{listId}/sub-lists", Shape::Saved),
    ("POST /lists/{listId}/sub-lists", Shape::Saved),
    ("GET /lists/is-entity-saved", Shape::Same),
    ("PATCH /lists/{listId}/add-entity", Shape::Saved),
    ("PATCH /lists/{listId}/remove-entity", Shape::Saved),
    ("PATCH /lists/{listId}", Shape::Saved),
    ("DELETE /lists/{listId}", Shape::Same),
    ("GET /app-notifications", Shape::Notifications),
    ("GET /app-notifications/count", Shape::Same),
    ("PATCH /app-notifications/{notificationId}/mark-as-read", Shape::Marked),
    ("PATCH /app-notifications/mark-all-as-read", Shape::Same),
    ("POST /reports", Shape::Reported),
    ("GET /users/suggestions", Shape::Same),
    ("GET /users/check-username", Shape::Same),
    ("GET /users/by-foreign-id", Shape::Same),
    ("GET /users/{userId}", Shape::Same),
    ("PATCH /users/{userId}", Shape::Same),
    ("POST /users/{userId}/follow", Shape::Same),
    ("GET /users/{userId}/follow", Shape::Same),
    ("DELETE /users/{userId}/follow", Shape::Same),
    ("GET /users/{userId}/followers", Shape::Related("followers")),
    ("GET /users/{userId}/following", Shape::Related("following")),
    ("GET /users/{userId}/followers-count", Shape::Same),
    ("GET /users/{userId}/following-count", Shape::Same),
    ("GET /follows/followers", Shape::Related("followers")),
    ("GET /follows/following", Shape::Related("following")),
    ("GET /follows/followers-count", Shape::Same),
    ("GET /follows/following-count", Shape::Same),
    ("DELETE /follows/{followId}", Shape::Same),
    ("POST /users/{userId}/connection", Shape::Same),
    ("GET /users/{userId}/connection", Shape::Same),
    ("DELETE /users/{userId}/connection", Shape::Same),
    ("GET /users/{userId}/connections", Shape::Related("connections")),
    ("GET /users/{userId}/connections-count", Shape::Same),
    ("GET /connections", Shape::Related("connections")),
    ("GET /connections/count", Shape::Same),
    ("GET /connections/pending/sent", Shape::Related("requests")),
    ("GET /connections/pending/received", Shape::Related("requests")),
    ("PATCH /connections/{connectionId}/accept", Shape::Same),
    ("PATCH /connections/{connectionId}/decline", Shape::Same),
    ("DELETE /connections/{connectionId}", Shape::Same),
    ("POST /storage", Shape::Stored),
    ("GET /utils/get-metadata", Shape::Same),
    ("POST /crypto/sign-testing-jwt", Shape::Same),
];
