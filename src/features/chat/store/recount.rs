//! Stored counts of members, replies and reactions against what they count, for the operator's check-up.

use std::collections::{BTreeMap, HashMap};

use db::{Conn, JsonText, Tx, args};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::chat::conversations::store as conversations;
use crate::features::chat::messages::store as messages;
use crate::recount::sql::{drifted, recount};
use crate::values::ids::{ChatMessageId, ConversationId, ProjectId};
use crate::values::metadata::to_json;

/// Messages that are looked at together.
const BATCH_SIZE: i64 = 1_000;

/// How many are in a conversation.
macro_rules! members {
    ($statement:ident) => {
        $statement!(in "conversations" where "t.deleted_at IS NULL":
            ("member_count" counts "conversation_members" by "conversation_id" where "n.is_active"))
    };
}

/// How many replies a message has. They are in its conversation, which has an index.
macro_rules! replies {
    ($statement:ident) => {
        $statement!(in "chat_messages":
            ("thread_reply_count" counts "chat_messages" by "parent_message_id"
                near "n.conversation_id = t.conversation_id"))
    };
}

db::statements! {
    query MISCOUNTED -> (ProjectId, ConversationId), unscoped "the operator examines every project" =
        members!(drifted);
    command RECOUNT = members!(recount);
    query MISCOUNTED_REPLIES -> (ProjectId, ChatMessageId),
        unscoped "the operator examines every project" = replies!(drifted);
    command RECOUNT_REPLIES = replies!(recount);
    /// From one message on, those with reactions or a count of some.
    query REACTED -> (ProjectId, ChatMessageId, JsonText),
        unscoped "the operator examines every project" =
        "SELECT x.project_id, x.id, x.reaction_counts FROM chat_messages x
         WHERE (x.project_id, x.id) > ($1, $2) AND (length(CAST(x.reaction_counts AS VARCHAR)) > 2 OR EXISTS
            (SELECT 1 FROM chat_reactions r
             WHERE r.project_id = x.project_id AND r.message_id = x.id))
         ORDER BY x.project_id, x.id LIMIT $3";
    query REACTIONS -> (ChatMessageId, String, i64) =
        "SELECT r.message_id, r.emoji, count(*) FROM chat_reactions r
         WHERE r.project_id = $1 AND r.message_id {any}($2) GROUP BY r.message_id, r.emoji";
}

type Counts = BTreeMap<String, i64>;

pub fn miscounted(c: &Conn<'_>) -> Result<Vec<(ProjectId, ConversationId)>> {
    Ok(c.all(&MISCOUNTED, args![])?)
}

/// Joining and leaving lock the conversation, so once it is locked all memberships are committed.
pub fn repair(tx: &Tx<'_>, project: ProjectId, id: ConversationId) -> Result<()> {
    conversations::lock(tx, project, id)?;
    tx.execute(&RECOUNT, args![project, id])?;
    Ok(())
}

/// Messages with a wrong number of replies, or of reactions.
pub fn miscounted_messages(c: &Conn<'_>) -> Result<Vec<(ProjectId, ChatMessageId)>> {
    let mut wrong = c.all(&MISCOUNTED_REPLIES, args![])?;
    let mut last = (ProjectId(Uuid::nil()), ChatMessageId(Uuid::nil()));
    loop {
        let some = c.all(&REACTED, args![last.0, last.1, BATCH_SIZE])?;
        let Some((project, id, _)) = some.last() else { break };
        last = (*project, *id);
        let mut by_project: BTreeMap<ProjectId, Vec<(ChatMessageId, Counts)>> = BTreeMap::new();
        for (project, id, counts) in some {
            let counts = serde_json::from_str(&counts.0).map_err(Error::internal)?;
            by_project.entry(project).or_default().push((id, counts));
        }
        for (project, stored) in by_project {
            let ids: Vec<ChatMessageId> = stored.iter().map(|(id, _)| *id).collect();
            let found = reactions(c, project, &ids)?;
            let drifted = stored
                .iter()
                .filter(|(id, counts)| found.get(id).unwrap_or(&Counts::new()) != counts);
            wrong.extend(drifted.map(|(id, _)| (project, *id)));
        }
    }
    wrong.sort_unstable();
    wrong.dedup();
    Ok(wrong)
}

fn reactions(
    c: &Conn<'_>,
    project: ProjectId,
    ids: &[ChatMessageId],
) -> Result<HashMap<ChatMessageId, Counts>> {
    let mut found: HashMap<ChatMessageId, Counts> = HashMap::new();
    for (id, emoji, count) in c.all(&REACTIONS, args![project, ChatMessageId::list(ids)])? {
        found.entry(id).or_default().insert(emoji, count);
    }
    Ok(found)
}

/// Replies and reactions lock the conversation first.
pub fn repair_message(tx: &Tx<'_>, project: ProjectId, id: ChatMessageId) -> Result<()> {
    let Some(row) = messages::find(tx, project, id)? else { return Ok(()) };
    conversations::lock(tx, project, row.conversation_id)?;
    tx.execute(&RECOUNT_REPLIES, args![project, id])?;
    let counts = reactions(tx, project, &[id])?.remove(&id).unwrap_or_default();
    messages::set_reactions(tx, project, id, &JsonText(to_json(&counts)))
}
