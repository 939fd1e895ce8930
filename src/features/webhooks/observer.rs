//! From an event to one job for each endpoint that subscribes to it.

use db::Tx;

use crate::domain_events::{Context, Event, EventObserver, Verdict};
use crate::error::Result;
use crate::features::webhooks::body::{Stage, raw_body};
use crate::features::webhooks::deliver::Delivery;
use crate::features::webhooks::{COMPLETE, VALIDATING, validate};
use crate::jobs;
use crate::state::App;
use crate::tenancy::{Project, Subscription};
use crate::values::ids::{JobId, QueueId, new_id};

#[derive(Debug)]
pub struct Webhooks;

impl EventObserver for Webhooks {
    fn observes(&self, project: &Project, name: &str) -> bool {
        subscribers(project, &completed(name)).next().is_some()
    }

    fn validates(&self, project: &Project, name: &str) -> bool {
        subscribers(project, name).next().is_some() && VALIDATING.contains(&name)
    }

    fn happened(&self, tx: &Tx<'_>, context: Context<'_>, event: &Event) -> Result<()> {
        let Context { app, project, now } = context;
        let name = completed(event.name);
        let body = raw_body(project.id, &name, event, Stage::Complete)?;
        for endpoint in subscribers(project, &name) {
            let id = JobId(new_id(now, &app.random));
            let delivery = Delivery { id, endpoint, event: name.clone(), body: body.clone() };
            jobs::insert_queued(tx, project.id, endpoint, id, &delivery, now)?;
        }
        Ok(())
    }

    fn validate<'a>(&'a self, app: &'a App, project: &'a Project, event: &'a Event) -> Verdict<'a> {
        Box::pin(validate::ask_all(app, project, event))
    }
}

/// The name that an event has once it is stored.
fn completed(name: &str) -> String {
    let suffix = if VALIDATING.contains(&name) { COMPLETE } else { "" };
    format!("{name}{suffix}")
}

pub(super) fn subscribers(project: &Project, name: &str) -> impl Iterator<Item = QueueId> {
    let subscribes =
        move |subscription: &&Subscription| subscription.events.iter().any(|event| event == name);
    project.webhooks.iter().filter(subscribes).map(|subscription| subscription.endpoint)
}
