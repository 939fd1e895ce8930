//! A moderator removes a message: it is hidden from everybody, and its text is kept. Only an appeal brings it back.

use db::Tx;
use serde_json::json;

use crate::domain_events::{self, Context};
use crate::error::{Error, Fault, Result};
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::messages::send::{self, CREATED};
use crate::features::chat::messages::store::{self, MessageRow};
use crate::features::chat::show::View;
use crate::features::chat::{MESSAGE_NOT_FOUND, events};
use crate::features::notifications::store::hide;
use crate::features::visibility::moderation::{Decision, ModerationRow};
use crate::tenancy::Project;
use crate::values::ids::{ChatMessageId, ProjectId, SpaceId};
use crate::values::time::Timestamp;

/// Locks a message and its conversation; also the space it is in. `of`: the space it must be in, and the error if it
/// is not.
pub fn lock(
    tx: &Tx<'_>,
    project: ProjectId,
    id: ChatMessageId,
    of: Option<(SpaceId, Fault)>,
) -> Result<(MessageRow, Option<SpaceId>)> {
    let found = store::find(tx, project, id)?.ok_or(MESSAGE_NOT_FOUND)?;
    let conversation = conversations::lock(tx, project, found.conversation_id)?;
    let conversation = conversation.ok_or(MESSAGE_NOT_FOUND)?;
    if let Some((_, elsewhere)) = of.filter(|(space, _)| conversation.space_id != Some(*space)) {
        return Err(elsewhere.into());
    }
    let row = store::lock(tx, project, id)?.ok_or_else(|| Error::from(MESSAGE_NOT_FOUND))?;
    Ok((row, conversation.space_id))
}

/// The caller has locked the message. The first decision stays.
pub fn remove(
    tx: &Tx<'_>,
    project: ProjectId,
    row: MessageRow,
    decision: &Decision<'_>,
) -> Result<()> {
    let is_held = row.moderation.is_held();
    if row.is_removed && !is_held {
        return Ok(());
    }
    hide(tx, project, row, decision.into(), decision.at, is_held)
}

/// Hides it as a moderator or a rule says. `was_hidden`: nobody could see it before.
pub(super) fn hide(
    tx: &Tx<'_>,
    project: ProjectId,
    row: MessageRow,
    moderation: ModerationRow,
    at: Timestamp,
    was_hidden: bool,
) -> Result<()> {
    let row = MessageRow { is_removed: true, moderation, updated_at: at, ..row };
    store::update(tx, project, &row)?;
    if was_hidden {
        return Ok(());
    }
    conversations::look_again(tx, project, row.conversation_id)?;
    let payload = json!({ "messageId": row.id, "conversationId": row.conversation_id });
    hide::delete_of_message(tx, project, row.conversation_id, row.id)?;
    events::announce(tx, project, row.conversation_id, "message:removed", &payload)
}

/// A moderator approves what a rule holds: it appears as if it had been sent now. What was removed stays removed.
pub fn approve(
    tx: &Tx<'_>,
    context: Context<'_>,
    id: ChatMessageId,
    decision: &Decision<'_>,
) -> Result<()> {
    let (row, _) = lock(tx, context.project.id, id, None)?;
    if !row.moderation.is_held() {
        return Ok(());
    }
    let is_new = row.moderation.is_held_new();
    reveal(tx, context, row, decision, is_new)
}

/// Takes a removal back, unless the author has deleted the message.
pub fn restore(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: MessageRow,
    decision: &Decision<'_>,
) -> Result<()> {
    if !row.is_removed || row.user_deleted_at.is_some() {
        return Ok(());
    }
    // Nobody has ever seen what a rule removed when it was sent.
    let is_new = row.moderation.is_removed_by_rule() && row.edited_at.is_none();
    reveal(tx, context, row, decision, is_new)
}

/// Shows a hidden message. The caller has locked it and its conversation. `is_new`: as if it had been sent now.
fn reveal(
    tx: &Tx<'_>,
    context: Context<'_>,
    row: MessageRow,
    decision: &Decision<'_>,
    is_new: bool,
) -> Result<()> {
    let (project, now): (&Project, _) = (context.project, context.now);
    let conversation = conversations::lock(tx, project.id, row.conversation_id)?;
    let conversation = conversation.ok_or(MESSAGE_NOT_FOUND)?;
    let at = if is_new { conversation.next_moment(now) } else { row.created_at };
    let row = MessageRow {
        is_removed: false,
        moderation: decision.into(),
        created_at: at,
        updated_at: now,
        ..row
    };
    store::update(tx, project.id, &row)?;
    store::set_created(tx, project.id, row.id, at)?;
    let parent = match row.parent_message_id.filter(|_| is_new) {
        Some(parent) => store::lock(tx, project.id, parent)?,
        None => None,
    };
    if is_new {
        send::note(tx, project, &conversation, &row)?;
    } else {
        conversations::look_again(tx, project.id, row.conversation_id)?;
    }
    let links = context.app.signer.links(project.id, now);
    let shown = View::written(links.clone(), None).message(tx, row)?;
    send::announce(tx, project, &links, &conversation, &shown, parent.as_ref(), now)?;
    if is_new {
        domain_events::happened(tx, context, &CREATED, || CREATED.event(&shown))?;
    }
    Ok(())
}
