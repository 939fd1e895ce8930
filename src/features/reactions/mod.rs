//! Reactions to entities and comments: one for each user and target, counted on the target, worth
//! points to its author.

mod change;
mod events;
mod kinds;
mod list;
mod notify;
mod react;
pub mod store;
pub mod target;
mod votes;

pub use kinds::{ReactionCounts, ReactionType};
pub(crate) use kinds::{each_reaction, reaction_columns};

use http::Method;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;
use crate::tenancy::Bundle;

use target::Target;

faults! {
    pub USER_NOT_FOUND = 404 "entity/user-not-found": "User not found";
    pub UNAUTHORIZED = 403 "entity/unauthorized": "A user may react in their own name only.";
}

/// The path and name of each operation on one kind of target, and what they share.
#[derive(Debug)]
pub struct ReactionRoutes {
    pub feature: &'static str,
    pub bundle: Bundle,
    pub invalid: Invalid,
    pub acts_as: ActsAs,
    /// The rate limit for reacting.
    pub rate: RateLimit,
    pub reactions: &'static str,
    pub own: &'static str,
    pub upvote: &'static str,
    pub remove_upvote: &'static str,
    pub downvote: &'static str,
    pub remove_downvote: &'static str,
    pub names: [&'static str; 8],
}

/// The operations on the reactions to one kind of target, for the feature of that target.
pub fn reactions_to<T: Target>(routes: &ReactionRoutes) -> Vec<Operation> {
    let operations = [reactions::<T>(routes), votes::<T>(routes)].into_iter().flatten();
    operations.map(|operation| operation.bundle(routes.bundle)).collect()
}

fn reactions<T: Target>(routes: &ReactionRoutes) -> Vec<Operation> {
    let ReactionRoutes { feature, invalid, acts_as, rate, reactions, own, names, .. } = *routes;
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

/// The older votes: up or down.
fn votes<T: Target>(routes: &ReactionRoutes) -> Vec<Operation> {
    let ReactionRoutes { feature, invalid, acts_as, rate, names, .. } = *routes;
    let ReactionRoutes { upvote, remove_upvote, downvote, remove_downvote, .. } = *routes;
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
