//! How a conversation goes: at once for everybody in it. What was written in it is removed in small
//! transactions by a job, so that other writers need not wait for a long one.

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::chat::conversations::store::{self, ConversationRow};
use crate::features::chat::events;
use crate::features::chat::members::store as members;
use crate::features::chat::messages::store as messages;
use crate::features::files::purge;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::values::ids::{ConversationId, FileId, JobId, ProjectId};
use crate::values::time::Timestamp;

/// As many messages are removed in one transaction.
const BATCH_SIZE: i64 = 500;
/// After so many transactions the job makes room for others and goes on behind them.
const STEPS: u32 = 100;

/// What was written in a deleted conversation.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveConversation {
    conversation: ConversationId,
}

/// Of a conversation that is held. The rest is done by a job, which the caller wakes.
pub fn hide(tx: &Tx<'_>, project: ProjectId, row: &ConversationRow, now: Timestamp) -> Result<()> {
    events::gone(tx, project, row.id)?;
    let avatar: Vec<FileId> = row.avatar_file_id.into_iter().collect();
    purge::delete(tx, project, &avatar, now)?;
    members::delete_all(tx, project, row.id)?;
    store::hide(tx, project, row.id, now)?;
    // A conversation is deleted once, so its id is a fresh one for the job.
    let job = RemoveConversation { conversation: row.id };
    jobs::insert(tx, project, JobId(row.id.0), &job, now)
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

/// One step; false once the conversation itself is gone.
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
    let left = left.await?;
    // What has gone may have left jobs of its own.
    app.job_added.notify_one();
    Ok(left)
}
