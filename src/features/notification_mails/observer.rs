//! A notification schedules a mail to its user, in the same transaction.

use db::Tx;
use serde::Deserialize;

use crate::domain_events::{Context, Event, EventObserver};
use crate::error::{Error, Result};
use crate::features::notification_mails::{are_sent_by, schedule, store};
use crate::features::notifications;
use crate::features::push::EventType;
use crate::tenancy::Project;
use crate::values::ids::UserId;

#[derive(Debug)]
pub struct Mails;

/// What is needed of a notification.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Notification {
    user_id: UserId,
    r#type: String,
}

impl EventObserver for Mails {
    fn observes(&self, project: &Project, name: &str) -> bool {
        are_sent_by(project) && name == notifications::CREATED.name()
    }

    fn happened(&self, tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()> {
        let Context { project, now, .. } = context;
        let new: Notification = serde_json::from_str(event.data.get()).map_err(Error::internal)?;
        if EventType::from_name(&new.r#type).is_none() {
            return Ok(());
        }
        let preferences = store::find(tx, project.id, new.user_id)?;
        match schedule::due(&preferences, now) {
            Some(due) => store::schedule(tx, project.id, new.user_id, now, due),
            None => Ok(()),
        }
    }
}
