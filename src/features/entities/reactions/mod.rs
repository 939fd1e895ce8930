//! Reactions to entities.

mod target;

use crate::features::entities::store::EntityRow;
use crate::features::reactions::{ReactionRoutes, UNAUTHORIZED, reactions_to};
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

const OF_ENTITIES: ReactionRoutes = ReactionRoutes {
    feature: "entity",
    bundle: Bundle::Entities,
    invalid: super::INVALID,
    // A user's token reacts only as its own user.
    acts_as: ActsAs { other: Some(UNAUTHORIZED), ..super::ACTS_AS },
    rate: RateLimit::per_5_minutes(100),
    reactions: "/entities/{entityId}/reactions",
    own: "/entities/{entityId}/reactions/me",
    upvote: "/entities/{entityId}/upvote",
    remove_upvote: "/entities/{entityId}/remove-upvote",
    downvote: "/entities/{entityId}/downvote",
    remove_downvote: "/entities/{entityId}/remove-downvote",
    names: [
        "Add Entity Reaction",
        "Remove Entity Reaction",
        "Fetch Entity Reactions",
        "Get User Reaction",
        "Upvote Entity",
        "Remove Entity Upvote",
        "Downvote Entity",
        "Remove Entity Downvote",
    ],
};

pub(super) fn operations() -> Vec<Operation> {
    reactions_to::<EntityRow>(&OF_ENTITIES)
}
