//! Chat: direct, group and space conversations and their messages. `membership.rs` decides who may do what,
//! `events.rs` announces realtime events.

pub mod conversations;
mod events;
pub mod file_access;
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

use crate::error::Fault;
use crate::http::input::Invalid;
use crate::http::operation::{ActsAs, Operation};
use crate::http::version::Version;
use crate::realtime::RoomAccess;
use crate::state::{App, Checking};
use crate::tenancy::Bundle;
use crate::values::ids::{ChatMessageId, ConversationId};

macro_rules! faults {
    ($($name:ident $status:literal $code:literal $text:literal;)*) => {
        $(pub(crate) const $name: Fault = Fault::new($status, concat!("chat/", $code), $text);)*
    };
}

faults! {
    INVALID_PARAMS 400 "invalid-params" "Invalid path parameters";
    INVALID_QUERY 400 "invalid-query" "Invalid query";
    INVALID_BODY 400 "invalid-body" "Invalid body";
    INVALID_MEMBER 400 "invalid-member" "Not somebody to chat with";
    INVALID_TYPE 400 "invalid-type" "Only a group has members that are added and removed";
    INVALID_FIELD 400 "invalid-field" "This conversation has no such field";
    INVALID_PARENT 400 "invalid-parent" "There is no such message to reply to";
    INVALID_QUOTE 400 "invalid-quote" "There is no such message to quote";
    INVALID_EMOJI 400 "invalid-emoji" "A reaction is one character";
    MISSING_USER_ID 400 "missing-user-id" "A key must name the user it acts as";
    CANNOT_UPDATE_DM 400 "cannot-update-dm" "A direct conversation cannot be changed";
    CANNOT_DELETE_DM 400 "cannot-delete-dm" "A direct conversation cannot be deleted";
    CANNOT_LEAVE_DM 400 "cannot-leave-dm" "A direct conversation cannot be left";
    LAST_ADMIN 400 "last-admin" "A group keeps at least one admin";
    EMPTY_MESSAGE 400 "empty-message" "A message needs content, a gif or files";
    MESSAGE_DELETED 400 "message-deleted" "The message was deleted";
    MESSAGE_REMOVED 400 "message-removed" "The message was removed";
    TOO_MANY_FILES 400 "too-many-files" "A message has at most 10 files";
    NOT_IN_IT 400 "not-a-member" "Not in this conversation";
    UNAUTHORIZED 403 "unauthorized" "A user acts for themselves";
    NOT_A_MEMBER 403 "not-a-member" "Not in this conversation";
    BANNED 403 "banned" "Banned from this space";
    FORBIDDEN 403 "forbidden" "Not allowed in this conversation";
    NOT_FOUND 404 "not-found" "Conversation not found";
    MEMBER_NOT_FOUND 404 "member-not-found" "No such member";
    MESSAGE_NOT_FOUND 404 "message-not-found" "Message not found";
    FILE_TOO_LARGE 413 "file-too-large" "The file exceeds 50MB limit.";
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

/// Whether a user may join the room of a conversation and send typing events.
pub fn check_membership(app: &App, access: RoomAccess) -> Checking<'_> {
    Box::pin(async move {
        let project = app.projects.get(&app.db, access.project, app.clock.uptime()).await?;
        let Some(project) = project else { return Ok(false) };
        app.db.read(move |c| membership::may(c, &project, access)).await
    })
}
