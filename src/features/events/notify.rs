//! Notifications about events: to the one who is invited, and to those who come, perhaps many. The first of them are
//! notified in the transaction that causes it; a job goes on with the rest in small ones.

use std::sync::Arc;

use db::Tx;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain_events::Context;
use crate::error::Result;
use crate::features::events::rules::Visibility;
use crate::features::events::store::{self, EventRow, people};
use crate::features::notifications::{self, About, Notification, Subject, initiator};
use crate::features::spaces::store as spaces;
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::http::operation::Call;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::tenancy::{Bundle, Project};
use crate::values::ids::{EventId, JobId, NotificationId, ProjectId, UserId, new_id, short_id};
use crate::values::metadata::to_json;
use crate::values::time::Timestamp;

const OPEN_EVENT: &str = "open-event";
/// How many are notified in one transaction.
const BATCH_SIZE: usize = 250;

/// What the notification says: a snapshot of the event and of the user who caused it.
fn keys(
    tx: &Tx<'_>,
    project: ProjectId,
    event: &EventRow,
    actor: Option<UserId>,
) -> Result<Map<String, Value>> {
    let mut keys = Map::new();
    keys.insert("eventId".to_owned(), json!(event.id));
    keys.insert("eventShortId".to_owned(), short_id(event.id.0).into());
    keys.insert("eventTitle".to_owned(), event.title.clone().into());
    if let Some(space) = event.space_id {
        let slug = spaces::find(tx, project, space)?.and_then(|space| space.slug);
        keys.insert("spaceId".to_owned(), json!(space));
        keys.insert("spaceShortId".to_owned(), short_id(space.0).into());
        keys.insert("spaceSlug".to_owned(), slug.into());
    }
    let actor = actor.map(|actor| users::find(tx, project, actor)).transpose()?;
    if let Some(actor) = actor.flatten() {
        initiator(&mut keys, &actor);
    }
    Ok(keys)
}

/// Users who may not read the space of an event for its members do not get the notification.
fn about(event: &EventRow, actor: Option<UserId>) -> About {
    let space = event.space_id.filter(|_| event.visibility == Visibility::Members);
    About { subject: Subject::Event(event.id), space, actor }
}

fn add(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    (kind, metadata, about): (&str, &str, About),
    mut users: Vec<UserId>,
    now: Timestamp,
) -> Result<()> {
    let blocked = blocks::blocked_among(tx, project, about.actor, &users)?;
    users.retain(|user| Some(*user) != about.actor && !blocked.contains(user));
    let notices: Vec<Notification<'_>> = users
        .into_iter()
        .map(|user| Notification {
            id: NotificationId(new_id(now, &app.random)),
            user,
            kind,
            action: OPEN_EVENT,
            metadata: metadata.into(),
            about,
        })
        .collect();
    if notices.is_empty() {
        Ok(())
    } else {
        notifications::add(tx, Context { app, project, now }, &notices)
    }
}

/// To a user who is newly invited.
pub(super) fn invited(
    tx: &Tx<'_>,
    app: &App,
    project: &Project,
    event: &EventRow,
    (user, actor): (UserId, Option<UserId>),
    now: Timestamp,
) -> Result<()> {
    if !project.has(Bundle::Notifications) {
        return Ok(());
    }
    let metadata = to_json(&keys(tx, project.id, event, actor)?);
    let says = ("event-invite", metadata.as_str(), about(event, actor));
    add(tx, app, project, says, vec![user], now)
}

/// Those who come, and what they are to be notified of.
#[derive(Debug)]
pub(super) struct Guests {
    app: App,
    project: Arc<Project>,
    kind: &'static str,
    actor: Option<UserId>,
    /// Drawn beforehand: a transaction may run twice.
    job: JobId,
    now: Timestamp,
}

impl Guests {
    pub(super) fn new<A>(call: &Call<A>, kind: &'static str, actor: Option<UserId>) -> Self {
        let job = JobId(new_id(call.now, &call.app.random));
        let (app, project, now) = (call.app.clone(), call.project.clone(), call.now);
        Guests { app, project, kind, actor, job, now }
    }

    /// The last write of a transaction.
    pub(super) fn notify(&self, tx: &Tx<'_>, event: &EventRow) -> Result<()> {
        if !self.project.has(Bundle::Notifications) {
            return Ok(());
        }
        let metadata = to_json(&keys(tx, self.project.id, event, self.actor)?);
        let rest = NotifyGuests {
            event: event.id,
            says: self.kind.to_owned(),
            actor: self.actor,
            metadata,
            after: UserId(uuid::Uuid::nil()),
        };
        rest.some(tx, &self.app, &self.project, event, self.job, self.now)
    }
}

/// The guests whose ids come after one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotifyGuests {
    event: EventId,
    /// The kind of the notification; `kind` is that of the job.
    says: String,
    actor: Option<UserId>,
    metadata: String,
    after: UserId,
}

impl NotifyGuests {
    fn some(
        self,
        tx: &Tx<'_>,
        app: &App,
        project: &Project,
        event: &EventRow,
        next: JobId,
        now: Timestamp,
    ) -> Result<()> {
        let most = i64::try_from(BATCH_SIZE).unwrap_or(i64::MAX);
        let users = people::attendees(tx, project.id, self.event, self.after, most)?;
        if let Some(last) = users.last().filter(|_| users.len() == BATCH_SIZE) {
            let rest = NotifyGuests { after: *last, ..self.clone() };
            jobs::insert(tx, project.id, next, &rest, now)?;
        }
        let says = (self.says.as_str(), self.metadata.as_str(), about(event, self.actor));
        add(tx, app, project, says, users, now)
    }
}

impl Job for NotifyGuests {
    const KIND: &'static str = "notify-guests";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let Some(project) = app.projects.get(&app.db, project, app.clock.uptime()).await? else {
            return Ok(());
        };
        let (state, now) = (app.clone(), app.clock.now());
        let next = JobId(new_id(now, &app.random));
        let notified = app.db.write(move |tx| match store::find(tx, project.id, self.event)? {
            Some(event) => self.clone().some(tx, &state, &project, &event, next, now),
            None => Ok(()),
        });
        notified.await
    }
}
