//! Reactions to comments.

mod target;

use crate::features::comments::store::CommentRow;
use crate::features::reactions::{ReactionRoutes, reactions_to};
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

const OF_COMMENTS: ReactionRoutes = ReactionRoutes {
    feature: "comment",
    bundle: Bundle::Comments,
    invalid: super::INVALID,
    acts_as: super::ACTS_AS,
    rate: RateLimit::per_5_minutes(50),
    reactions: "/comments/{commentId}/reactions",
    own: "/comments/{commentId}/reactions/me",
    upvote: "/comments/{commentId}/upvote",
    remove_upvote: "/comments/{commentId}/remove-upvote",
    downvote: "/comments/{commentId}/downvote",
    remove_downvote: "/comments/{commentId}/remove-downvote",
    names: [
        "Add Comment Reaction",
        "Remove Comment Reaction",
        "Fetch Comment Reactions",
        "Get My Comment Reaction",
        "Upvote Comment",
        "Remove Comment Upvote",
        "Downvote Comment",
        "Remove Comment Downvote",
    ],
};

pub(super) fn operations() -> Vec<Operation> {
    let operations = reactions_to::<CommentRow>(&OF_COMMENTS).into_iter();
    operations.map(|operation| operation.also_needs(Bundle::Reactions)).collect()
}
