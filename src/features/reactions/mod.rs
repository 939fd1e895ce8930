//! Reactions to entities and comments: one for each user and target, counted on the target, worth
//! points to its author.

mod change;
pub mod counting;
pub mod forget;
pub mod hidden;
mod kinds;
mod list;
mod notices;
mod react;
pub mod store;
pub mod target;

pub use kinds::{ReactionCounts, ReactionType};
pub(crate) use kinds::{miscounted_reactions, row_counts_reactions};

use http::Method;

use crate::error::Fault;
use crate::features::comments::store::CommentRow;
use crate::features::entities::store::EntityRow;
use crate::features::projects::Bundle;
use crate::features::{comments, entities};
use crate::http::input::Invalid;
use crate::http::limits::RateLimit;
use crate::http::operation::{ActsAs, Operation};

use target::Target;

const UNAUTHORIZED: Fault =
    Fault::new(403, "entity/unauthorized", "A user may react in their own name only.");

/// An address and a name for each operation on one kind of target, and what they share.
struct Doors {
    feature: &'static str,
    bundle: Bundle,
    invalid: Invalid,
    acts_as: ActsAs,
    /// How often one may react.
    rate: RateLimit,
    reactions: &'static str,
    own: &'static str,
    upvote: &'static str,
    remove_upvote: &'static str,
    downvote: &'static str,
    remove_downvote: &'static str,
    names: [&'static str; 8],
}

const OF_ENTITIES: Doors = Doors {
    feature: "entity",
    bundle: Bundle::Entities,
    invalid: entities::INVALID,
    // A user's token reacts for its user alone.
    acts_as: ActsAs { other: Some(UNAUTHORIZED), ..entities::ACTS_AS },
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

const OF_COMMENTS: Doors = Doors {
    feature: "comment",
    bundle: Bundle::Comments,
    invalid: comments::INVALID,
    acts_as: comments::ACTS_AS,
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

pub fn operations() -> Vec<Operation> {
    let entities = reactions_to::<EntityRow>(&OF_ENTITIES);
    let comments = reactions_to::<CommentRow>(&OF_COMMENTS).into_iter();
    let comments = comments.map(|operation| operation.also_needs(Bundle::Reactions));
    entities.into_iter().chain(comments).collect()
}

fn reactions_to<T: Target>(doors: &Doors) -> Vec<Operation> {
    let operations = [reactions::<T>(doors), votes::<T>(doors)].into_iter().flatten();
    operations.map(|operation| operation.bundle(doors.bundle)).collect()
}

fn reactions<T: Target>(doors: &Doors) -> Vec<Operation> {
    let Doors { feature, invalid, acts_as, rate, reactions, own, names, .. } = *doors;
    let [add, remove, list, mine, ..] = names;
    let errors = const { &[T::FAULTS.not_found] };
    vec![
        Operation::new(Method::POST, reactions, add, feature, invalid, react::add_reaction::<T>)
            .rate(rate)
            .acts_as(acts_as)
            .errors(errors),
        Operation::new(
            Method::DELETE,
            reactions,
            remove,
            feature,
            invalid,
            react::remove_reaction::<T>,
        )
        .acts_as(acts_as)
        .errors(errors),
        Operation::new(Method::GET, reactions, list, feature, invalid, list::fetch_reactions::<T>)
            .errors(errors),
        Operation::new(Method::GET, own, mine, feature, invalid, list::own_reaction::<T>)
            .acts_as(ActsAs { other: None, ..acts_as })
            .errors(errors),
    ]
}

/// The older way to react: a vote for or against.
fn votes<T: Target>(doors: &Doors) -> Vec<Operation> {
    let Doors { feature, invalid, acts_as, rate, names, .. } = *doors;
    let Doors { upvote, remove_upvote, downvote, remove_downvote, .. } = *doors;
    let [_, _, _, _, up, no_up, down, no_down] = names;
    let patch = Method::PATCH;
    let operations = vec![
        Operation::new(patch.clone(), upvote, up, feature, invalid, react::upvote::<T>)
            .rate(rate)
            .errors(const { &[T::FAULTS.not_found, T::FAULTS.already_upvoted] }),
        Operation::new(
            patch.clone(),
            remove_upvote,
            no_up,
            feature,
            invalid,
            react::remove_upvote::<T>,
        )
        .errors(const { &[T::FAULTS.not_found, T::FAULTS.not_upvoted] }),
        Operation::new(patch.clone(), downvote, down, feature, invalid, react::downvote::<T>)
            .rate(rate)
            .errors(const { &[T::FAULTS.not_found, T::FAULTS.already_downvoted] }),
        Operation::new(
            patch,
            remove_downvote,
            no_down,
            feature,
            invalid,
            react::remove_downvote::<T>,
        )
        .errors(const { &[T::FAULTS.not_found, T::FAULTS.not_downvoted] }),
    ];
    operations.into_iter().map(|operation| operation.acts_as(acts_as)).collect()
}
