//! Send System Notification: the project notifies some or all of its users.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::KeyHolder;
use crate::domain_events::Context;
use crate::error::{Error, Result};
use crate::features::notifications::rules::{Button, Message, Text};
use crate::features::notifications::store::insert;
use crate::features::notifications::{self, About, INVALID_BODY, Notification, SYSTEM};
use crate::features::users;
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::patch::Patch;
use crate::http::reply::Created;
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{NotificationId, UserId, new_id};
use crate::values::time::Timestamp;

/// Users notified in one transaction; other writers run in between.
const BATCH_SIZE: usize = 1000;
const MAX_NAMED: usize = 10_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SystemNotification")]
pub(super) struct SystemBody {
    /// At most 10,000; unknown ids are ignored, and nobody is notified twice. Without it every user of the
    /// project is notified.
    #[serde(default)]
    #[schemars(with = "Vec<UserId>")]
    user_ids: Patch<Vec<UserId>>,
    /// This or the content is required.
    title: Option<Text<255>>,
    content: Option<Text<10_000>>,
    /// `do-nothing` unless given.
    action: Option<Text<255>>,
    button_data: Option<Button>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SentNotifications")]
pub(super) struct Sent {
    created: u64,
}

pub(super) async fn send_system_notification(
    call: Call<KeyHolder>,
    Body(body): Body<SystemBody>,
) -> Result<Created<Sent>> {
    let message = Message::new(body.title, body.content, body.button_data)
        .ok_or_else(|| INVALID_BODY.because("title: this or content is required"))?;
    let named = match body.user_ids {
        Patch::Absent => None,
        // A missing list must not notify everybody by accident.
        Patch::Null => {
            return Err(
                INVALID_BODY.because("userIds: must be a list; without it every user is notified")
            );
        }
        Patch::Value(named) if named.len() > MAX_NAMED => {
            return Err(INVALID_BODY.because("userIds: must hold at most 10000 ids"));
        }
        Patch::Value(named) => Some(named),
    };
    let sending = Sending {
        app: call.app,
        project: call.project.clone(),
        now: call.now,
        action: body.action.map_or("do-nothing".into(), |action| action.as_str().into()),
        metadata: serde_json::to_string(&message).map_err(Error::internal)?.into(),
    };
    // Runs as a task of its own: a client that disconnects does not stop it halfway.
    let sent = tokio::spawn(async move {
        match named {
            Some(named) => sending.to_named(named).await,
            None => sending.to_all().await,
        }
    });
    let created = sent.await.map_err(Error::internal)??;
    Ok(Created(Sent { created }))
}

#[derive(Debug)]
struct Sending {
    app: App,
    project: Arc<Project>,
    now: Timestamp,
    action: Arc<str>,
    metadata: Arc<str>,
}

impl Sending {
    async fn to_named(&self, mut users: Vec<UserId>) -> Result<u64> {
        users.sort_unstable();
        users.dedup();
        let mut created = 0;
        for some in users.chunks(BATCH_SIZE) {
            created += self.to(some).await?;
        }
        Ok(created)
    }

    async fn to_all(&self) -> Result<u64> {
        let (project, mut created) = (self.project.id, 0);
        let mut after = UserId(uuid::Uuid::nil());
        loop {
            let ids =
                move |c: &db::Conn<'_>| users::store::ids_after(c, project, after, BATCH_SIZE);
            let some = self.app.db.read_slow(ids).await?;
            created += self.to(&some).await?;
            match some.last() {
                Some(last) if some.len() == BATCH_SIZE => after = *last,
                _ => return Ok(created),
            }
        }
    }

    /// One transaction.
    async fn to(&self, users: &[UserId]) -> Result<u64> {
        let id = || NotificationId(new_id(self.now, &self.app.random));
        let recipients: Vec<_> = users.iter().map(|user| (id(), *user)).collect();
        let (app, project, now) = (self.app.clone(), self.project.clone(), self.now);
        let (action, metadata) = (self.action.clone(), self.metadata.clone());
        let written = self.app.db.write(move |tx| {
            let new: Vec<Notification<'_>> = recipients
                .iter()
                .map(|(id, user)| Notification {
                    id: *id,
                    user: *user,
                    kind: SYSTEM,
                    action: &action,
                    metadata: Cow::Borrowed(&metadata),
                    about: About::NOTHING,
                })
                .collect();
            let created = insert::insert(tx, project.id, now, &new)?;
            notifications::created(tx, Context { app: &app, project: &project, now }, &new)?;
            Ok(created)
        });
        written.await
    }
}
