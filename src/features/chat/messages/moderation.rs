//! A moderator removes a message: it is hidden from everybody for good, and its text is kept.

use db::Tx;
use serde_json::json;

use crate::error::{Error, Fault, Result};
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::messages::store::{self, MessageRow};
use crate::features::chat::{MESSAGE_NOT_FOUND, events};
use crate::features::notifications::store::hide;
use crate::features::visibility::moderation::Decision;
use crate::values::ids::{ChatMessageId, ProjectId, SpaceId};

/// Locks a message and its conversation. `elsewhere`: the error if it is not in that space.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    of: Option<(SpaceId, Fault)>,
) -> Result<MessageRow> {
    let found = store::find(tx, project, id)?.ok_or(MESSAGE_NOT_FOUND)?;
    let conversation = conversations::lock(tx, project, found.conversation_id)?;
    let conversation = conversation.ok_or(MESSAGE_NOT_FOUND)?;
    if let Some((_, elsewhere)) = of.filter(|(space, _)| conversation.space_id != Some(*space)) {
        return Err(elsewhere.into());
    }
    store::lock(tx, project, id)?.ok_or_else(|| Error::from(MESSAGE_NOT_FOUND))
}

/// The caller has locked the message. The first decision stays.
pub fn remove(
    tx: &Tx<'_>,
    project: ProjectId,
    row: MessageRow,
    decision: &Decision<'_>,
) -> Result<()> {
    if row.is_removed {
        return Ok(());
    }
    let row = MessageRow {
        is_removed: true,
        moderation: decision.into(),
        updated_at: decision.at,
        ..row
    };
    store::update(tx, project, &row)?;
    conversations::look_again(tx, project, row.conversation_id)?;
    let payload = json!({ "messageId": row.id, "conversationId": row.conversation_id });
    hide::delete_of_message(tx, project, row.conversation_id, row.id)?;
    events::announce(tx, project, row.conversation_id, "message:removed", &payload)
}
