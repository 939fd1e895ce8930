//! What those in a conversation are told at once. Announced in the transaction, so nobody hears of what did
//! not happen, and all hear it in one order.

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::error::{Error, Result};
use crate::features::chat::members::store as members;
use crate::features::chat::model::ConversationPreview;
use crate::ids::{ConversationId, ProjectId, UserId};
use crate::realtime::{self, Announcement};

/// To everybody who is in the conversation now.
pub fn tell(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    name: &str,
    payload: &impl Serialize,
) -> Result<()> {
    let users = members::active(tx, project, conversation)?;
    realtime::event(tx, project, &users, name, payload)
}

/// A conversation that somebody did not have before, as each of them sees it.
pub fn created(
    tx: &Tx<'_>,
    project: ProjectId,
    previews: &[(UserId, ConversationPreview)],
) -> Result<()> {
    if previews.is_empty() {
        return Ok(());
    }
    let payloads = previews.iter().map(|(user, preview)| {
        let payload = serde_json::value::to_raw_value(preview).map_err(Error::internal)?;
        Ok((*user, payload))
    });
    let payloads = payloads.collect::<Result<Vec<_>>>()?;
    let name = "conversation:created".to_owned();
    realtime::announce(tx, &Announcement::Events { project, name, payloads })
}

/// Somebody is out: they are told with the others, and then hear no more.
pub fn left(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: ConversationId,
    user: UserId,
) -> Result<()> {
    let mut users = members::active(tx, project, conversation)?;
    users.push(user);
    let payload = json!({ "conversationId": conversation, "userId": user });
    realtime::event(tx, project, &users, "member:left", &payload)?;
    realtime::leave_room(tx, project, conversation, user)
}

/// A plain answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Done {
    pub message: &'static str,
}
