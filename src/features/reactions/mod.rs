//! Reactions to entities: one for each user and target, counted on the target, worth points to
//! its author.

mod change;
pub mod forget;
mod kinds;
mod list;
mod notices;
mod react;
pub mod store;

pub use kinds::{ReactionCounts, ReactionType};

use http::Method;

use crate::error::Fault;
use crate::features::entities::{ACTS_AS, INVALID};
use crate::features::projects::Bundle;
use crate::http::limits::RateLimit;
use crate::http::operation::{ActsAs, Operation};

/// The same fault as that of a fetch, in the words that belong to these operations.
const NOT_FOUND: Fault = Fault::new(404, "entity/not-found", "Entity not found.");
const UNAUTHORIZED: Fault =
    Fault::new(403, "entity/unauthorized", "A user may react in their own name only.");
const ALREADY_UPVOTED: Fault =
    Fault::new(409, "entity/already-upvoted", "User already upvoted entity.");
const ALREADY_DOWNVOTED: Fault =
    Fault::new(409, "entity/already-downvoted", "User already downvoted entity.");
const NOT_UPVOTED: Fault = Fault::new(409, "entity/not-upvoted", "User has not upvoted entity.");
const NOT_DOWNVOTED: Fault =
    Fault::new(409, "entity/not-downvoted", "User has not downvoted entity.");

/// A user's token reacts for its user alone.
const IN_OWN_NAME: ActsAs = ActsAs { other: Some(UNAUTHORIZED), ..ACTS_AS };

pub fn operations() -> Vec<Operation> {
    let operations = [reactions(), votes()].into_iter().flatten();
    operations.map(|operation| operation.bundle(Bundle::Entities)).collect()
}

fn reactions() -> Vec<Operation> {
    let path = "/entities/{entityId}/reactions";
    vec![
        Operation::new(
            Method::POST,
            path,
            "Add Entity Reaction",
            "entity",
            INVALID,
            react::add_reaction,
        )
        .rate(RateLimit::per_5_minutes(100))
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::DELETE,
            path,
            "Remove Entity Reaction",
            "entity",
            INVALID,
            react::remove_reaction,
        )
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::GET,
            path,
            "Fetch Entity Reactions",
            "entity",
            INVALID,
            list::fetch_reactions,
        )
        .errors(&[NOT_FOUND]),
        Operation::new(
            Method::GET,
            "/entities/{entityId}/reactions/me",
            "Get User Reaction",
            "entity",
            INVALID,
            list::own_reaction,
        )
        .acts_as(ActsAs { other: None, ..ACTS_AS })
        .errors(&[NOT_FOUND]),
    ]
}

/// The older way to react: a vote for or against.
fn votes() -> Vec<Operation> {
    let patch = Method::PATCH;
    vec![
        Operation::new(
            patch.clone(),
            "/entities/{entityId}/upvote",
            "Upvote Entity",
            "entity",
            INVALID,
            react::upvote,
        )
        .rate(RateLimit::per_5_minutes(100))
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND, ALREADY_UPVOTED]),
        Operation::new(
            patch.clone(),
            "/entities/{entityId}/remove-upvote",
            "Remove Entity Upvote",
            "entity",
            INVALID,
            react::remove_upvote,
        )
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND, NOT_UPVOTED]),
        Operation::new(
            patch.clone(),
            "/entities/{entityId}/downvote",
            "Downvote Entity",
            "entity",
            INVALID,
            react::downvote,
        )
        .rate(RateLimit::per_5_minutes(100))
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND, ALREADY_DOWNVOTED]),
        Operation::new(
            patch,
            "/entities/{entityId}/remove-downvote",
            "Remove Entity Downvote",
            "entity",
            INVALID,
            react::remove_downvote,
        )
        .acts_as(IN_OWN_NAME)
        .errors(&[NOT_FOUND, NOT_DOWNVOTED]),
    ]
}
