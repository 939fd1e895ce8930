//! Sends mails: the schedule turns each one that is due into a job, which puts it together from what is unread and
//! readable by then.

use db::{Conn, Tx};
use serde::{Deserialize, Serialize};

use crate::auth::store::suspensions;
use crate::error::{Error, Result};
use crate::features::notification_mails::compose::{Letter, News, compose};
use crate::features::notification_mails::schedule::{self, MIN_GAP};
use crate::features::notification_mails::store::{self, Frequency, PreferenceRow};
use crate::features::notification_mails::template::Template;
use crate::features::notification_mails::{are_sent_by, unsubscribe};
use crate::features::notifications::{self, SYSTEM};
use crate::features::push::EventType;
use crate::features::push::preferences::disabled;
use crate::features::users::store as users;
use crate::features::visibility::store::blocks;
use crate::jobs::{self, Job, derived_id};
use crate::state::App;
use crate::tenancy::{Bundle, Project, ProjectState};
use crate::values::ids::{ProjectId, UserId};
use crate::values::time::Timestamp;

/// Notifications that a mail looks at, the newest.
const MAX_READ: usize = 200;

/// Enqueues mails that are due, of any project; returns how many. Each is taken off the schedule in the same
/// transaction, so it is sent once, whatever node does it.
pub fn enqueue_due(tx: &Tx<'_>, now: Timestamp, limit: i64) -> Result<u64> {
    let mut enqueued = 0;
    for row in store::due(tx, now, limit)? {
        if store::take(tx, &row, now.plus(MIN_GAP))? {
            let job = MailNotifications { user: row.user_id, since: row.since, until: now };
            jobs::insert(tx, row.project_id, derived_id(&format!("{job:?}")), &job, now)?;
            enqueued += 1;
        }
    }
    Ok(enqueued)
}

/// The mail about everything that a user was notified of in some time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct MailNotifications {
    user: UserId,
    since: Timestamp,
    until: Timestamp,
}

impl Job for MailNotifications {
    const KIND: &'static str = "mail-notifications";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let found = app.projects.get(&app.db, project, app.clock.uptime()).await?;
        let Some(project) = found.filter(|project| are_sent_by(project)) else { return Ok(()) };
        match project.state {
            ProjectState::Active => {}
            ProjectState::PendingDeletion => return Ok(()),
            ProjectState::Migrating => return Err(Error::internal("the project is maintained")),
        }
        let (now, id, user) = (app.clock.now(), project.id, self.user);
        let preferences = app.db.read(move |c| store::find(c, id, user)).await?;
        if preferences.frequency == Frequency::Off {
            return Ok(());
        }
        // A mail that was late, because it failed before or another one had just been sent.
        if let Some(end) = schedule::quiet_until(&preferences, now) {
            return app.db.write(move |tx| store::schedule(tx, id, user, self.since, end)).await;
        }
        let of = project.clone();
        let found = app.db.read(move |c| Content::load(c, &of, self, &preferences, now)).await?;
        let Some(content) = found else { return Ok(()) };
        let letter = Letter {
            to: content.to,
            name: &content.name,
            project: &project.name,
            news: &content.news,
            is_cut: content.is_cut,
            unsubscribe: unsubscribe::link(app, id, user),
        };
        app.mailer.send(compose(letter, &content.template), now, &app.random).await
    }
}

struct Content {
    to: String,
    name: String,
    news: Vec<News>,
    is_cut: bool,
    template: Template,
}

impl Content {
    /// None if there is nothing to send, or nobody to send it to.
    fn load(
        c: &Conn<'_>,
        project: &Project,
        job: MailNotifications,
        preferences: &PreferenceRow,
        now: Timestamp,
    ) -> Result<Option<Content>> {
        let MailNotifications { user, since, until } = job;
        let row = users::find(c, project.id, user)?.filter(|row| row.is_verified && row.is_active);
        let Some(row) = row else { return Ok(None) };
        let (Some(to), name) = (row.email, row.name.or(row.username)) else { return Ok(None) };
        if project.has(Bundle::Moderation)
            && !suspensions::active(c, project.id, user, now)?.is_empty()
        {
            return Ok(None);
        }
        let (news, is_cut) = news(c, project, user, (since, until))?;
        if news.is_empty() {
            return Ok(None);
        }
        let template = Template::find(c, project.id, preferences.language.as_deref())?;
        Ok(Some(Content { to, name: name.unwrap_or_default(), news, is_cut, template }))
    }
}

/// The notifications that the user wants by mail and may read, and whether there are more.
fn news(
    c: &Conn<'_>,
    project: &Project,
    user: UserId,
    window: (Timestamp, Timestamp),
) -> Result<(Vec<News>, bool)> {
    let unwanted = disabled(c, project.id, &[user])?.into_iter().flat_map(|(_, types)| types);
    let unwanted: Vec<String> =
        unwanted.map(EventType::name).chain([SYSTEM]).map(ToOwned::to_owned).collect();
    let rows = notifications::store::unread(c, project.id, user, window, unwanted, MAX_READ)?;
    let is_cut = rows.len() == MAX_READ;
    let actors: Vec<UserId> = rows.iter().filter_map(|row| row.actor_id).collect();
    let blocked = blocks::blocked_among(c, project, Some(user), &actors)?;
    let mut news = Vec::new();
    for row in rows.into_iter().filter(|row| row.actor_id.is_none_or(|id| !blocked.contains(&id))) {
        let Some(kind) = EventType::from_name(&row.r#type) else { continue };
        let mut metadata: serde_json::Map<_, _> =
            serde_json::from_str(&row.metadata.0).map_err(Error::internal)?;
        metadata.insert("type".to_owned(), row.r#type.into());
        metadata.insert("action".to_owned(), row.action.into());
        metadata.insert("notificationId".to_owned(), row.id.to_string().into());
        news.push(News { kind, metadata });
    }
    Ok((news, is_cut))
}
