//! Messages: send, list, edit, delete, react and mark as read.

mod change;
mod files;
mod list;
pub mod moderation;
mod react;
mod read;
mod send;
pub mod store;

use http::Method;

pub use send::CREATED;

use crate::features::chat::{
    ACTS_AS, EMPTY_MESSAGE, FORBIDDEN, INVALID, INVALID_EMOJI, INVALID_PARENT, INVALID_QUOTE,
    MESSAGE_DELETED, MESSAGE_NOT_FOUND, MESSAGE_REMOVED, NOT_A_MEMBER, NOT_FOUND,
    VALIDATION_FAILED,
};
use crate::http::operation::Operation;
use crate::rate_limits::RateLimit;

const ALL: &str = "/chat/conversations/{conversationId}/messages";
const ONE: &str = "/chat/conversations/{conversationId}/messages/{messageId}";
const REACTIONS: &str = "/chat/conversations/{conversationId}/messages/{messageId}/reactions";

pub(super) fn operations() -> Vec<Operation> {
    let (get, post, feature) = (Method::GET, Method::POST, "chat");
    let per = RateLimit::per_5_minutes;
    let operations = vec![
        Operation::new(get.clone(), ALL, "List Messages", feature, INVALID, list::list)
            .rate(per(300))
            .errors(&[NOT_A_MEMBER]),
        Operation::new(post.clone(), ALL, "Send Message", feature, INVALID, send::send)
            .rate(per(200))
            .takes_files(&files::FORM)
            .errors(&[
                NOT_A_MEMBER,
                FORBIDDEN,
                NOT_FOUND,
                EMPTY_MESSAGE,
                INVALID_PARENT,
                INVALID_QUOTE,
                VALIDATION_FAILED,
            ]),
        Operation::new(get.clone(), ONE, "Fetch Message", feature, INVALID, list::fetch)
            .rate(per(300))
            .errors(&[NOT_A_MEMBER, MESSAGE_NOT_FOUND]),
        Operation::new(Method::PATCH, ONE, "Edit Message", feature, INVALID, change::edit)
            .rate(per(200))
            .errors(&[
                NOT_A_MEMBER,
                MESSAGE_NOT_FOUND,
                FORBIDDEN,
                MESSAGE_DELETED,
                MESSAGE_REMOVED,
                EMPTY_MESSAGE,
            ]),
        Operation::new(Method::DELETE, ONE, "Delete Message", feature, INVALID, change::delete)
            .rate(per(200))
            .errors(&[NOT_A_MEMBER, MESSAGE_NOT_FOUND, FORBIDDEN]),
        Operation::new(
            post.clone(),
            REACTIONS,
            "Toggle Message Reaction",
            feature,
            INVALID,
            react::toggle,
        )
        .rate(per(200))
        .errors(&[INVALID_EMOJI, NOT_A_MEMBER, MESSAGE_NOT_FOUND, MESSAGE_DELETED]),
        Operation::new(get, REACTIONS, "Fetch Reaction Users", feature, INVALID, react::users)
            .rate(per(300))
            .errors(&[NOT_A_MEMBER, MESSAGE_NOT_FOUND]),
        Operation::new(
            post,
            "/chat/conversations/{conversationId}/read",
            "Mark as Read",
            feature,
            INVALID,
            read::mark,
        )
        .rate(per(600))
        .open_to_suspended()
        .errors(&[NOT_A_MEMBER, MESSAGE_NOT_FOUND]),
    ];
    operations.into_iter().map(|operation| operation.acts_as(ACTS_AS)).collect()
}
