//! Deleting a conversation hides it from all members at once. A job then removes its messages in small
//! transactions, so that other writers do not wait for long.

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::events;
use crate::features::chat::members::store as members;
use crate::features::chat::messages::store as messages;
use crate::features::files::purge;
use crate::features::notifications::store::hide;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::values::ids::{ConversationId, FileId, JobId, ProjectId};
use crate::values::time::Timestamp;

/// Messages removed in one transaction.
const BATCH_SIZE: i64 = 500;
/// Transactions after which the job goes to the back of the queue.
const STEPS: u32 = 100;

/// The messages of a deleted conversation.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveConversation {
    conversation: ConversationId,
}

/// The caller has locked the conversation. A job does the rest; the caller wakes it.
pub fn hide(tx: &Tx<'_>, project: ProjectId, row: &ConversationRow, now: Timestamp) -> Result<()> {
    events::conversation_deleted(tx, project, row.id)?;
    let avatar: Vec<FileId> = row.avatar_file_id.into_iter().collect();
    purge::delete(tx, project, &avatar, now)?;
    members::delete_all(tx, project, row.id)?;
    store::hide(tx, project, row.id, now)?;
    // A conversation is deleted once, so its id is unique as a job id.
    let job = RemoveConversation { conversation: row.id };
    jobs::insert(tx, project, JobId(row.id.0), &job, now)?;
    hide::delete_of_subjects(tx, project, vec![row.id.0])
}

impl Job for RemoveConversation {
    const KIND: &'static str = "remove-conversation";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        run(app, project, self.conversation).await
    }
}

async fn run(app: &App, project: ProjectId, conversation: ConversationId) -> Result<()> {
    for _ in 0..STEPS {
        if !remove_some(app, project, conversation).await? {
            return Ok(());
        }
    }
    jobs::enqueue(app, project, RemoveConversation { conversation }, app.clock.now()).await
}

/// One batch; false once the conversation itself is deleted.
async fn remove_some(app: &App, project: ProjectId, id: ConversationId) -> Result<bool> {
    let now = app.clock.now();
    let left = app.db.write(move |tx| {
        let some = messages::some_of(tx, project, id, BATCH_SIZE)?;
        if some.is_empty() {
            store::delete(tx, project, id)?;
            return Ok(false);
        }
        purge::delete_of_messages(tx, project, &some, now)?;
        messages::delete_all(tx, project, &some)?;
        Ok::<_, Error>(true)
    });
    left.await
}
