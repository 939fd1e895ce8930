//! The members of a conversation: list, add, remove, leave and change roles.

mod change;
mod list;
pub mod presence;
pub mod store;

use http::Method;

use crate::features::chat::{
    ACTS_AS, ACTS_ON, CANNOT_LEAVE_DM, INVALID, INVALID_MEMBER, INVALID_TYPE, LAST_ADMIN,
    MEMBER_NOT_FOUND, NOT_A_MEMBER, NOT_FOUND, NOT_IN_IT,
};
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;

const ALL: &str = "/chat/conversations/{conversationId}/members";

pub(super) fn operations() -> Vec<Operation> {
    let (delete, feature) = (Method::DELETE, "chat");
    let per = RateLimit::per_5_minutes;
    let on = ActsAs { unknown: NOT_FOUND, ..ACTS_ON };
    vec![
        Operation::new(Method::GET, ALL, "List Conversation Members", feature, INVALID, list::list)
            .rate(per(300))
            .acts_as(ACTS_AS)
            .errors(&[NOT_A_MEMBER]),
        Operation::new(Method::POST, ALL, "Add Conversation Member", feature, INVALID, change::add)
            .rate(per(100))
            .acts_as(on)
            .errors(&[NOT_FOUND, INVALID_TYPE, NOT_A_MEMBER, INVALID_MEMBER]),
        Operation::new(
            delete.clone(),
            "/chat/conversations/{conversationId}/members/{userId}",
            "Remove Conversation Member",
            feature,
            INVALID,
            change::remove,
        )
        .rate(per(100))
        .acts_as(on)
        .errors(&[NOT_FOUND, INVALID_TYPE, NOT_A_MEMBER, MEMBER_NOT_FOUND, LAST_ADMIN]),
        Operation::new(
            Method::PATCH,
            "/chat/conversations/{conversationId}/members/{userId}/role",
            "Update Conversation Member Role",
            feature,
            INVALID,
            change::set_role,
        )
        .rate(per(100))
        .acts_as(on)
        .errors(&[NOT_FOUND, INVALID_TYPE, NOT_A_MEMBER, MEMBER_NOT_FOUND, LAST_ADMIN]),
        Operation::new(
            delete,
            "/chat/conversations/{conversationId}/leave",
            "Leave Conversation",
            feature,
            INVALID,
            change::leave,
        )
        .rate(per(100))
        .acts_as(ActsAs { unknown: NOT_FOUND, ..ACTS_AS })
        .errors(&[NOT_FOUND, CANNOT_LEAVE_DM, NOT_IN_IT, LAST_ADMIN]),
    ]
}
