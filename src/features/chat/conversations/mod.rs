//! Conversations: create, list, update, mute and delete.

mod change;
mod create;
mod list;
pub mod purge;
pub mod store;

use http::Method;

use crate::features::chat::{
    ACTS_AS, ACTS_ON, CANNOT_DELETE_DM, CANNOT_UPDATE_DM, INVALID, INVALID_FIELD, INVALID_MEMBER,
    NOT_A_MEMBER, NOT_FOUND, NOT_IN_IT,
};
use crate::http::operation::{ActsAs, Operation};
use crate::rate_limits::RateLimit;

const PATH: &str = "/chat/conversations";
const ONE: &str = "/chat/conversations/{conversationId}";

pub(super) fn operations() -> Vec<Operation> {
    let (get, post, feature) = (Method::GET, Method::POST, "chat");
    let per = RateLimit::per_5_minutes;
    let unknown = |acts_as: ActsAs, unknown| ActsAs { unknown, ..acts_as };
    vec![
        Operation::new(
            post.clone(),
            "/chat/conversations/direct",
            "Create Direct Conversation",
            feature,
            INVALID,
            create::create_direct,
        )
        .rate(per(50))
        .acts_as(unknown(ACTS_ON, INVALID_MEMBER))
        .errors(&[INVALID_MEMBER]),
        Operation::new(
            post.clone(),
            PATH,
            "Create Group Conversation",
            feature,
            INVALID,
            create::create_group,
        )
        .rate(per(50))
        .acts_as(unknown(ACTS_AS, INVALID_MEMBER))
        .errors(&[INVALID_MEMBER]),
        Operation::new(get.clone(), PATH, "List Conversations", feature, INVALID, list::list)
            .rate(per(300))
            .acts_as(ACTS_AS),
        Operation::new(
            get.clone(),
            "/chat/conversations/unread-count",
            "Get Unread Count",
            feature,
            INVALID,
            list::unread_count,
        )
        .rate(per(300))
        .acts_as(ACTS_AS),
        Operation::new(get.clone(), ONE, "Fetch Conversation", feature, INVALID, list::fetch)
            .rate(per(300))
            .acts_as(unknown(ACTS_AS, NOT_FOUND))
            .errors(&[NOT_FOUND]),
        Operation::new(
            get,
            "/chat/conversations/{conversationId}/preview",
            "Fetch Conversation Preview",
            feature,
            INVALID,
            list::preview,
        )
        .rate(per(300))
        .acts_as(unknown(ACTS_AS, NOT_FOUND))
        .errors(&[NOT_FOUND]),
        Operation::new(Method::PATCH, ONE, "Update Conversation", feature, INVALID, change::update)
            .rate(per(100))
            .acts_as(unknown(ACTS_AS, NOT_FOUND))
            .errors(&[NOT_FOUND, CANNOT_UPDATE_DM, INVALID_FIELD, NOT_A_MEMBER]),
        Operation::new(
            Method::DELETE,
            ONE,
            "Delete Conversation",
            feature,
            INVALID,
            change::delete,
        )
        .rate(per(50))
        .acts_as(unknown(ACTS_AS, NOT_FOUND))
        .errors(&[NOT_FOUND, CANNOT_DELETE_DM, NOT_A_MEMBER]),
        Operation::new(
            post,
            "/chat/conversations/{conversationId}/mute",
            "Mute Conversation",
            feature,
            INVALID,
            change::mute,
        )
        .rate(per(100))
        .open_to_suspended()
        .acts_as(unknown(ACTS_AS, NOT_FOUND))
        .errors(&[NOT_FOUND, NOT_IN_IT]),
    ]
}
