//! Realtime events for the members of a conversation. They are announced in the transaction, so they are sent
//! only after the commit, in commit order.

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::error::{Error, Result};
use crate::features::chat::members::store as members;
use crate::features::chat::show;
use crate::realtime::{self, Announcement, Change};
use crate::storage::signed::Links;
use crate::values::ids::{ConversationId, ProjectId, UserId};
use crate::values::time::Timestamp;

/// To all members of the conversation.
pub fn announce(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    name: &str,
    payload: &impl Serialize,
) -> Result<()> {
    realtime::in_conversation(tx, project, conversation, (name, payload), None)
}

/// A member joined: the event goes to the new member as well.
pub fn member_joined(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    user: UserId,
    member: &impl Serialize,
) -> Result<()> {
    let payload = json!({ "conversationId": conversation, "member": member });
    let event = ("member:joined", &payload);
    realtime::in_conversation(tx, project, conversation, event, Some(Change::Came(user)))
}

/// A member left: the event goes to that member as well, and it is the last one they get.
pub fn member_left(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    user: UserId,
) -> Result<()> {
    let payload = json!({ "conversationId": conversation, "userId": user });
    let event = ("member:left", &payload);
    realtime::in_conversation(tx, project, conversation, event, Some(Change::Left(user)))
}

/// The conversation is about to be deleted with its members.
pub fn conversation_deleted(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
) -> Result<()> {
    let users = members::active(tx, project, conversation)?;
    let payload = json!({ "conversationId": conversation });
    realtime::event(tx, project, &users, "conversation:deleted", &payload)?;
    realtime::close_room(tx, project, conversation)
}

/// A preview shows this many other members.
const SHOWN: usize = 5;

/// Sent to users who did not have the conversation before, in the order in which its members are listed.
/// Members that a preview can show get their own preview; all after them share one.
pub fn created(
    tx: &Tx<'_>,
    links: &Links,
    conversation: ConversationId,
    users: &[UserId],
    now: Timestamp,
) -> Result<()> {
    let (first, rest) = users.split_at(users.len().min(SHOWN));
    let preview = |user: UserId| -> Result<_> {
        let shown = show::previews(tx, links, &[conversation], user, now)?.pop();
        let shown = shown.ok_or_else(|| Error::internal("a conversation was not shown"))?;
        serde_json::value::to_raw_value(&shown).map_err(Error::internal)
    };
    let (project, name) = (links.project, "conversation:created");
    let payloads = first.iter().map(|user| Ok((*user, preview(*user)?))).collect::<Result<_>>()?;
    realtime::announce(tx, &Announcement::Events { project, name: name.to_owned(), payloads })?;
    match rest.first() {
        Some(one) => realtime::event(tx, project, rest, name, &preview(*one)?),
        None => Ok(()),
    }
}

/// A plain answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ChatConfirmation")]
pub struct Done {
    pub message: &'static str,
}
