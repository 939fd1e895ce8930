//! The hot score of an entity. Pure: counts and times in, a number out.

use crate::features::reactions::ReactionCounts;
use crate::values::time::Timestamp;

/// The score of a new entity without reactions.
pub const FIRST_SCORE: f64 = 1.4;
/// A score is recomputed when it is more than five minutes old.
const STALE_MINUTES: i64 = 5;
const MILLIS_PER_MINUTE: i64 = 60_000;
const MILLIS_PER_HOUR: f64 = 3_600_000.0;
const YOUNG_HOURS: f64 = 6.0;

/// The inputs of a score.
#[derive(Debug, Clone, Copy)]
pub struct ScoreInputs {
    pub reactions: ReactionCounts,
    pub replies: i64,
    pub shares: i64,
    pub views: i64,
    pub created_at: Timestamp,
}

impl ScoreInputs {
    /// The score at `now`; `hours` is the e-folding time of its decay.
    #[expect(clippy::cast_precision_loss, reason = "counts and ages are far below 2^52")]
    pub fn score(&self, now: Timestamp, hours: f64) -> f64 {
        let age = (now.millis() - self.created_at.millis()) as f64 / MILLIS_PER_HOUR;
        let up = self.reactions.liked() as f64;
        let down = self.reactions.downvote as f64;
        let (replies, shares) = (self.replies as f64, self.shares as f64);
        let views = self.views.max(1) as f64;

        let base = (-age / hours).exp() * if age < YOUNG_HOURS { FIRST_SCORE } else { 1.0 };
        let interest = up - 0.7 * down + 0.6 * replies + 2.5 * shares;
        let exposed = interest / (views + 1.0).log2().sqrt();
        let bonus = 2.0 * ((up + replies + shares) / views).min(0.5);
        ((base + exposed + bonus).max(0.0) * 100.0).round() / 100.0
    }
}

/// Whether a score computed at `made_at` is stale.
pub fn is_stale(made_at: Timestamp, created_at: Timestamp, now: Timestamp) -> bool {
    let minutes = (now.millis() - made_at.millis()) / MILLIS_PER_MINUTE;
    minutes > STALE_MINUTES && created_at <= now
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(hours: i64, up: i64, down: i64, replies: i64, views: i64) -> f64 {
        let reactions = ReactionCounts { upvote: up, downvote: down, ..ReactionCounts::default() };
        let created_at = Timestamp::from_millis(0);
        let inputs = ScoreInputs { reactions, replies, shares: 0, views, created_at };
        inputs.score(Timestamp::from_millis(hours * 3_600_000), 120.0)
    }

    #[test]
    fn scores_of_the_contract() {
        assert_eq!(score(0, 0, 0, 0, 1), 1.4);
        assert_eq!(score(12, 10, 2, 5, 100), 5.7);
        assert_eq!(score(240, 0, 0, 0, 50), 0.14);
        assert_eq!(score(0, 0, 10, 0, 1), 0.0);
        assert_eq!(score(3, 4, 0, 2, 4), 5.78);
    }

    #[test]
    fn a_score_grows_stale_after_five_whole_minutes() {
        let at = Timestamp::from_millis;
        let made = at(1_000);
        assert!(!is_stale(made, made, at(1_000 + 6 * 60_000 - 1)));
        assert!(is_stale(made, made, at(1_000 + 6 * 60_000)));
        assert!(!is_stale(made, at(9_999_999_999), at(1_000 + 6 * 60_000)), "not yet created");
    }
}
