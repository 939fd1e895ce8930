//! Who voted on a target: what clients of version 6 read instead of counts.

use crate::features::reactions::ReactionType;
use crate::values::ids::UserId;

/// The users who upvoted, and those who downvoted, in the order of their votes.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    up: Vec<UserId>,
    down: Vec<UserId>,
}

impl Votes {
    pub fn add(&mut self, user: UserId, kind: ReactionType) {
        match kind {
            ReactionType::Upvote => self.up.push(user),
            ReactionType::Downvote => self.down.push(user),
            _ => {}
        }
    }

    /// Both lists. The viewer's own vote is always there, though long lists are cut: clients look for it.
    pub fn with_own(
        mut self,
        viewer: Option<UserId>,
        own: Option<ReactionType>,
    ) -> (Vec<UserId>, Vec<UserId>) {
        if let (Some(viewer), Some(own)) = (viewer, own)
            && !self.up.contains(&viewer)
            && !self.down.contains(&viewer)
        {
            self.add(viewer, own);
        }
        (self.up, self.down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn the_own_vote_is_there_even_if_the_list_was_cut() {
        let user = |number| UserId(Uuid::from_u128(number));
        let votes = || {
            let mut votes = Votes::default();
            votes.add(user(1), ReactionType::Upvote);
            votes.add(user(2), ReactionType::Downvote);
            votes
        };
        let (up, down) = (vec![user(1)], vec![user(2)]);
        let viewer = Some(user(3));
        for (viewer, own) in [
            (None, None),
            (viewer, None),
            (viewer, Some(ReactionType::Like)),
            (Some(user(1)), Some(ReactionType::Upvote)),
        ] {
            assert_eq!(votes().with_own(viewer, own), (up.clone(), down.clone()), "{own:?}");
        }
        let found = votes().with_own(viewer, Some(ReactionType::Downvote));
        assert_eq!(found, (up, vec![user(2), user(3)]));
    }
}
