//! Chat when a user is deleted: memberships and reactions are deleted, messages stay, anonymized.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use db::{JsonText, Tx, args};

use crate::error::{Error, Result};
use crate::features::chat::conversations::purge;
use crate::features::chat::conversations::store::{self as conversations, ConversationRow};
use crate::features::chat::events;
use crate::features::chat::members::store::{self as members, MemberRow};
use crate::features::chat::messages::store as messages;
use crate::features::chat::rules::{Kind, Role};
use crate::features::entities::rules::Mentions;
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId, UserId};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

/// Messages changed in one statement.
const BATCH_SIZE: i64 = 200;

db::statements! {
    command DISOWN_CONVERSATIONS =
        "UPDATE conversations SET created_by_id = NULL WHERE project_id = $1 AND created_by_id = $2";
    command DISOWN_MESSAGES =
        "UPDATE chat_messages SET user_id = NULL WHERE project_id = $1 AND user_id = $2";
    query REACTIONS -> (ChatMessageId, String, JsonText) =
        "SELECT r.message_id, r.emoji, x.reaction_counts FROM chat_reactions r
            JOIN chat_messages x ON x.project_id = r.project_id AND x.id = r.message_id
         WHERE r.project_id = $1 AND r.user_id = $2 ORDER BY r.message_id";
    command FORGET_REACTIONS = "DELETE FROM chat_reactions WHERE project_id = $1 AND user_id = $2";
    query MENTIONING -> (ChatMessageId, JsonText) =
        "SELECT x.id, x.mentions FROM chat_mentions m
            JOIN chat_messages x ON x.project_id = m.project_id AND x.id = m.message_id
         WHERE m.project_id = $1 AND m.user_id = $2 ORDER BY m.message_id LIMIT $3";
    command SET_MENTIONS =
        "UPDATE chat_messages SET mentions = $3 WHERE project_id = $1 AND id = $2";
    command FORGET_MENTIONS = "DELETE FROM chat_mentions
        WHERE project_id = $1 AND user_id = $2 AND message_id {any}($3)";
}

/// Locks every conversation that is about to change. Lock order: conversations before the user.
pub fn lock(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<Vec<ConversationRow>> {
    conversations::lock_of_user(tx, project, user)
}

/// The caller has locked the user, too. Includes conversations that they joined meanwhile.
pub fn forget_user(tx: &Tx<'_>, project: ProjectId, user: UserId, now: Timestamp) -> Result<()> {
    let held = lock(tx, project, user)?;
    forget_reactions(tx, project, user)?;
    forget_mentions(tx, project, user)?;
    tx.pipeline(&DISOWN_MESSAGES, args![project, user])?;
    tx.pipeline(&DISOWN_CONVERSATIONS, args![project, user])?;
    let ids: Vec<ConversationId> = held.iter().map(|conversation| conversation.id).collect();
    for row in members::own(tx, project, user, &ids)? {
        if let Some(of) = held.iter().find(|conversation| conversation.id == row.conversation_id) {
            remove_member(tx, project, of, &row, now)?;
        }
    }
    Ok(())
}

/// In batches: anybody may have mentioned them anywhere.
fn forget_mentions(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    loop {
        let some = tx.all(&MENTIONING, args![project, user, BATCH_SIZE])?;
        if some.is_empty() {
            return Ok(());
        }
        let ids: Vec<ChatMessageId> = some.iter().map(|(id, _)| *id).collect();
        for (id, mentions) in some {
            let mentions: Mentions = serde_json::from_str(&mentions.0).map_err(Error::internal)?;
            let rest = JsonText(to_json(&mentions.without(user)));
            tx.pipeline(&SET_MENTIONS, args![project, id, &rest])?;
        }
        tx.execute(&FORGET_MENTIONS, args![project, user, ChatMessageId::list(&ids)])?;
    }
}

fn forget_reactions(tx: &Tx<'_>, project: ProjectId, user: UserId) -> Result<()> {
    let mut changed: BTreeMap<ChatMessageId, BTreeMap<String, i64>> = BTreeMap::new();
    for (id, emoji, counts) in tx.all(&REACTIONS, args![project, user])? {
        let counts = match changed.entry(id) {
            Entry::Occupied(counts) => counts.into_mut(),
            Entry::Vacant(place) => {
                place.insert(serde_json::from_str(&counts.0).map_err(Error::internal)?)
            }
        };
        *counts.entry(emoji).or_default() -= 1;
    }
    for (id, mut counts) in changed {
        counts.retain(|_, count| *count > 0);
        messages::set_reactions(tx, project, id, &JsonText(to_json(&counts)))?;
    }
    Ok(tx.pipeline(&FORGET_REACTIONS, args![project, user])?)
}

/// A group that lost its last admin gets another one; a conversation without members is deleted.
fn remove_member(
    tx: &Tx<'_>,
    project: ProjectId,
    conversation: &ConversationRow,
    row: &MemberRow,
    now: Timestamp,
) -> Result<()> {
    members::delete(tx, project, row)?;
    if row.is_active {
        conversations::count_members(tx, project, conversation.id, -1)?;
        if conversation.kind != Kind::Direct {
            events::member_left(tx, project, conversation.id, row.user_id)?;
        }
    }
    if conversation.kind != Kind::Space && !members::is_anybody_left(tx, project, conversation.id)?
    {
        return purge::hide(tx, project, conversation, now);
    }
    if row.is_admin()
        && members::admins(tx, project, conversation.id)? == 0
        && let Some(oldest) = members::longest(tx, project, conversation.id)?
    {
        let row = MemberRow { role: Some(Role::Admin), updated_at: now, ..oldest };
        members::update(tx, project, &row)?;
    }
    Ok(())
}
