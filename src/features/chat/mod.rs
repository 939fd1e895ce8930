//! Chat: direct, group and space conversations and their messages. `membership.rs` decides who may do what,
//! `events.rs` announces realtime events.

pub mod conversations;
mod events;
pub mod file_access;
pub mod grants;
pub mod members;
pub mod membership;
pub mod messages;
pub mod model;
pub mod rules;
pub mod show;
pub mod space;
pub mod store;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::faults;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::tenancy::Bundle;
use crate::values::ids::{ChatMessageId, ConversationId};

faults! {
    pub(crate) INVALID_PARAMS = 400 "chat/invalid-params": "Invalid path parameters";
    pub(crate) INVALID_QUERY = 400 "chat/invalid-query": "Invalid query";
    pub(crate) INVALID_BODY = 400 "chat/invalid-body": "Invalid body";
    pub(crate) INVALID_MEMBER = 400 "chat/invalid-member": "Not somebody to chat with";
    pub(crate) INVALID_TYPE = 400 "chat/invalid-type":
        "Only a group has members that are added and removed";
    pub(crate) INVALID_FIELD = 400 "chat/invalid-field": "This conversation has no such field";
    pub(crate) INVALID_PARENT = 400 "chat/invalid-parent": "There is no such message to reply to";
    pub(crate) INVALID_QUOTE = 400 "chat/invalid-quote": "There is no such message to quote";
    pub(crate) VALIDATION_FAILED = 400 "chat/validation-failed": "Message validation failed";
    pub(crate) INVALID_EMOJI = 400 "chat/invalid-emoji": "A reaction is one character";
    pub(crate) MISSING_USER_ID = 400 "chat/missing-user-id": "A key must name the user it acts as";
    pub(crate) CANNOT_UPDATE_DM = 400 "chat/cannot-update-dm":
        "A direct conversation cannot be changed";
    pub(crate) CANNOT_DELETE_DM = 400 "chat/cannot-delete-dm":
        "A direct conversation cannot be deleted";
    pub(crate) CANNOT_LEAVE_DM = 400 "chat/cannot-leave-dm": "A direct conversation cannot be left";
    pub(crate) LAST_ADMIN = 400 "chat/last-admin": "A group keeps at least one admin";
    pub(crate) EMPTY_MESSAGE = 400 "chat/empty-message": "A message needs content, a gif or files";
    pub(crate) MESSAGE_DELETED = 400 "chat/message-deleted": "The message was deleted";
    pub(crate) MESSAGE_REMOVED = 400 "chat/message-removed": "The message was removed";
    pub(crate) TOO_MANY_FILES = 400 "chat/too-many-files": "A message has at most 10 files";
    pub(crate) NOT_IN_IT = 400 "chat/not-a-member": "Not in this conversation";
    pub(crate) UNAUTHORIZED = 403 "chat/unauthorized": "A user acts for themselves";
    pub(crate) NOT_A_MEMBER = 403 "chat/not-a-member": "Not in this conversation";
    pub(crate) BANNED = 403 "chat/banned": "Banned from this space";
    pub(crate) FORBIDDEN = 403 "chat/forbidden": "Not allowed in this conversation";
    pub(crate) NOT_FOUND = 404 "chat/not-found": "Conversation not found";
    pub(crate) MEMBER_NOT_FOUND = 404 "chat/member-not-found": "No such member";
    pub(crate) MESSAGE_NOT_FOUND = 404 "chat/message-not-found": "Message not found";
    pub(crate) FILE_TOO_LARGE = 413 "chat/file-too-large": "The file exceeds 50MB limit.";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

const ACTS_AS: ActsAs = ActsAs {
    parameter: "userId",
    missing: MISSING_USER_ID,
    unknown: NOT_A_MEMBER,
    other: Some(UNAUTHORIZED),
};
/// `userId` names another user.
const ACTS_ON: ActsAs = ActsAs { parameter: "actingUserId", ..ACTS_AS };

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InConversation {
    conversation_id: ConversationId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InMessage {
    pub conversation_id: ConversationId,
    pub message_id: ChatMessageId,
}

pub fn operations() -> Vec<Operation> {
    let all = [
        conversations::operations(),
        members::operations(),
        messages::operations(),
        space::operations(),
    ];
    let all = all.into_iter().flatten();
    all.map(|operation| operation.bundle(Bundle::Chat).since(Version::V7).no_store()).collect()
}
