//! Automatic pushes: each notification and each chat message leaves a job in its own transaction, so that sending
//! neither delays nor fails the request. In the order of the contract: whether the project pushes the type, then
//! mutes, then the preferences of the user.

use std::time::Duration;

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain_events::{Context, Event, EventObserver};
use crate::error::{Error, Result};
use crate::features::chat::messages;
use crate::features::notifications;
use crate::features::push::EventType;
use crate::features::push::chat_message::PushChatMessage;
use crate::features::push::devices::forget_dead;
use crate::features::push::preferences::disabled;
use crate::features::push::providers::{self, Later, Outcome};
use crate::features::push::store::{self, DeviceRow, ProviderRow};
use crate::features::push::template::Templates;
use crate::jobs::{self, Job, TryLater};
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{
    ChatMessageId, ConversationId, JobId, NotificationId, ProjectId, PushDeviceId, UserId, new_id,
};

/// The first retry to a device whose service failed; later ones are the queue's.
const RETRY: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Push;

impl EventObserver for Push {
    fn observes(&self, project: &Project, name: &str) -> bool {
        project.pushes
            && project.has(Bundle::Push)
            && [notifications::CREATED.name(), messages::CREATED.name()].contains(&name)
    }

    fn happened(&self, tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()> {
        let Context { app, project, now } = context;
        let id = JobId(new_id(now, &app.random));
        if event.name == messages::CREATED.name() {
            let Message { id: message, conversation_id } = read(event)?;
            let job = PushChatMessage::new(conversation_id, message);
            return jobs::insert(tx, project.id, id, &job, now);
        }
        let new: Notification = read(event)?;
        let Some(event) = EventType::from_name(&new.r#type) else { return Ok(()) };
        if !store::has_device(tx, project.id, new.user_id)? {
            return Ok(());
        }
        let data = data(&new);
        let news = News { event, metadata: new.metadata, data };
        let job = PushNotification { user: new.user_id, device: None, news };
        jobs::insert(tx, project.id, id, &job, now)
    }
}

fn read<T: for<'de> Deserialize<'de>>(event: &Event) -> Result<T> {
    serde_json::from_str(event.data.get()).map_err(Error::internal)
}

/// What is needed of a notification.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    id: NotificationId,
    user_id: UserId,
    r#type: String,
    action: String,
    metadata: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    id: ChatMessageId,
    conversation_id: ConversationId,
}

/// What an app needs to open what a notification is about: no long texts, as a message is short.
fn data(new: &Notification) -> Map<String, Value> {
    let long = ["Content", "Metadata", "Avatar"];
    let is_short = |key: &str, value: &Value| {
        !value.is_object()
            && !value.is_array()
            && !value.is_null()
            && !long.iter().any(|end| key.ends_with(end))
    };
    let kept = new.metadata.iter().filter(|(key, value)| is_short(key, value));
    let mut data: Map<String, Value> =
        kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    data.insert("type".to_owned(), new.r#type.clone().into());
    data.insert("action".to_owned(), new.action.clone().into());
    data.insert("notificationId".to_owned(), new.id.to_string().into());
    data
}

/// What a push is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct News {
    pub(super) event: EventType,
    pub(super) metadata: Map<String, Value>,
    pub(super) data: Map<String, Value>,
}

/// A push to all devices of a user, or to one whose service has failed before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PushNotification {
    user: UserId,
    device: Option<PushDeviceId>,
    #[serde(flatten)]
    news: News,
}

impl Job for PushNotification {
    const KIND: &'static str = "push-notification";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let (users, event, device) = ([self.user], self.news.event, self.device);
        let found = app.db.read(move |c| Plan::load(c, project, event, &users)).await?;
        let Some(mut plan) = found else { return Ok(()) };
        plan.devices.retain(|one| device.is_none_or(|device| one.id == device));
        let failed = plan.send(app, project, &self.news).await?;
        match (device, failed.first()) {
            (Some(_), Some((_, Later { reason, after }))) => {
                let reason = format!("the push service failed: {reason}");
                Err(Error::internal(TryLater { reason, after: *after }))
            }
            _ => retry(app, project, &self.news, failed).await,
        }
    }
}

/// Everything that a push needs, read at once. Only devices of users who have not switched it off.
pub(super) struct Plan {
    pub(super) devices: Vec<DeviceRow>,
    providers: Vec<ProviderRow>,
    templates: Templates,
}

impl Plan {
    /// None if the project does not push this type.
    pub(super) fn load(
        c: &Conn<'_>,
        project: ProjectId,
        event: EventType,
        users: &[UserId],
    ) -> Result<Option<Plan>> {
        let templates = Templates::load(c, project)?;
        if !templates.is_enabled(event) {
            return Ok(None);
        }
        let unwanted = disabled(c, project, users)?.into_iter();
        let unwanted: Vec<UserId> =
            unwanted.filter(|(_, types)| types.contains(&event)).map(|(user, _)| user).collect();
        let mut devices = store::devices(c, project, users)?;
        devices.retain(|device| !unwanted.contains(&device.user_id));
        Ok(Some(Plan { devices, providers: store::providers(c, project)?, templates }))
    }

    /// Sends it; returns the devices whose service failed for now.
    pub(super) async fn send(
        self,
        app: &App,
        project: ProjectId,
        news: &News,
    ) -> Result<Vec<(DeviceRow, Later)>> {
        let ready = providers::open(app, project, self.providers)?;
        let message = self.templates.message(news.event, &news.metadata, news.data.clone());
        let sent = providers::send_all(app, &ready, &message, self.devices).await;
        forget_dead(app, project, &sent).await?;
        let failed = sent.into_iter().filter_map(|(device, outcome)| match outcome {
            Outcome::Later(later) => Some((device, later)),
            _ => None,
        });
        Ok(failed.collect())
    }
}

/// Each failed device gets a job of its own, so that those which were reached are not sent the same again.
pub(super) async fn retry(
    app: &App,
    project: ProjectId,
    news: &News,
    failed: Vec<(DeviceRow, Later)>,
) -> Result<()> {
    if failed.is_empty() {
        return Ok(());
    }
    let now = app.clock.now();
    let mut rows = Vec::new();
    for (device, later) in failed {
        let due = now.plus(RETRY.max(later.after));
        let (user, device) = (device.user_id, Some(device.id));
        let job = PushNotification { user, device, news: news.clone() };
        rows.push((JobId(new_id(now, &app.random)), jobs::payload(&job)?, due));
    }
    let insert = move |tx: &Tx<'_>| {
        let mut rows = rows.iter();
        rows.try_for_each(|(id, job, due)| jobs::store::insert(tx, project, *id, job, *due, now))
    };
    app.db.write(insert).await
}
