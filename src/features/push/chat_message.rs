//! The push about a chat message, to members of its conversation. A large conversation takes several jobs.

use std::sync::Arc;

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::chat::messages::store as messages;
use crate::features::notifications::initiator;
use crate::features::push::automatic::{News, Plan, retry};
use crate::features::push::{EventType, store};
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{ChatMessageId, ConversationId, JobId, ProjectId, UserId, new_id};
use crate::values::time::Timestamp;

/// Users reached by one job.
const BATCH_SIZE: i64 = 200;
const ATTACHMENT: &str = "Sent an attachment";
const MAX_CONTENT: usize = 200;

#[derive(Debug, Serialize, Deserialize)]
pub struct PushChatMessage {
    conversation: ConversationId,
    message: ChatMessageId,
    /// The last user that an earlier job has reached.
    after: UserId,
}

impl PushChatMessage {
    pub(super) fn new(conversation: ConversationId, message: ChatMessageId) -> Self {
        PushChatMessage { conversation, message, after: UserId(Uuid::nil()) }
    }
}

impl Job for PushChatMessage {
    const KIND: &'static str = "push-chat-message";

    async fn run(self, app: &App, id: ProjectId) -> Result<()> {
        let found = app.projects.get(&app.db, id, app.clock.uptime()).await?;
        let Some(project) = found.filter(|project| project.has(Bundle::Chat)) else {
            return Ok(());
        };
        let now = app.clock.now();
        let PushChatMessage { conversation, message, after } = self;
        let batch =
            app.db.read(move |c| Batch::load(c, &project, (conversation, message), after, now));
        let Some(batch) = batch.await? else { return Ok(()) };
        if let Some(last) = batch.last {
            let next = PushChatMessage { conversation, message, after: last };
            let job = JobId(new_id(now, &app.random));
            app.db.write(move |tx: &Tx<'_>| jobs::insert(tx, id, job, &next, now)).await?;
        }
        let failed = batch.plan.send(app, id, &batch.news).await?;
        retry(app, id, &batch.news, failed).await
    }
}

struct Batch {
    plan: Plan,
    news: News,
    /// The last user of this batch, if there may be more.
    last: Option<UserId>,
}

impl Batch {
    /// None if the message has no recipients, or was deleted.
    fn load(
        c: &Conn<'_>,
        project: &Arc<Project>,
        (conversation, message): (ConversationId, ChatMessageId),
        after: UserId,
        now: Timestamp,
    ) -> Result<Option<Batch>> {
        let row = messages::find(c, project.id, message)?;
        let row = row.filter(|row| !row.is_removed && row.user_deleted_at.is_none());
        let Some((row, sender)) = row.and_then(|row| row.user_id.map(|sender| (row, sender)))
        else {
            return Ok(None);
        };
        let Some(author) = users::find(c, project.id, sender)? else { return Ok(None) };
        let window = (now, after, BATCH_SIZE);
        let mut listeners = store::listeners(c, project.id, conversation, sender, window)?;
        let is_full = i64::try_from(listeners.len()).map_err(Error::internal)? == BATCH_SIZE;
        let last = listeners.last().copied().filter(|_| is_full);
        let blocked = blocks::blocked_among(c, project, Some(sender), &listeners)?;
        listeners.retain(|user| !blocked.contains(user));
        let event = EventType::Message;
        let Some(plan) = Plan::load(c, project.id, event, &listeners)? else { return Ok(None) };
        let content = row.content.unwrap_or_else(|| ATTACHMENT.to_owned());
        let content: String = content.chars().take(MAX_CONTENT).collect();
        let mut metadata = Map::new();
        initiator(&mut metadata, &author);
        metadata.insert("messageContent".to_owned(), content.into());
        let data = json!({
            "type": event, "action": "open-conversation", "conversationId": conversation,
            "messageId": message, "initiatorId": sender,
        });
        let Value::Object(data) = data else { return Ok(None) };
        Ok(Some(Batch { plan, news: News { event, metadata, data }, last }))
    }
}
