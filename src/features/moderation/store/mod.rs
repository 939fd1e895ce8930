//! A moderator's decisions, stored with the content they are about.

pub mod comment;
pub mod entity;

/// The assignments of a decision, which is `$3` to `$7` in the order of `ModerationRow`.
macro_rules! set_moderation {
    () => {
        "moderation_status = $3, moderated_at = $4, moderated_by_id = $5, moderated_by_type = $6,
            moderation_reason = $7"
    };
}
use set_moderation;
