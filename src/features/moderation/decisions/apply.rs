//! Applying decisions: the job that does what was decided once it cannot be undone any more. Each decision is one
//! transaction, so that one that cannot be applied does not hinder the others.

use std::sync::Arc;
use std::time::Duration;

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::auth::caller::ActorOrKey;
use crate::domain_events::Context;
use crate::error::{Error, Refusal, Result};
use crate::features::moderation::appeals;
use crate::features::moderation::decisions::model::{Decision, Verdict};
use crate::features::moderation::decisions::{notify, store};
use crate::features::moderation::reports::Orders;
use crate::features::moderation::reports::handler::{Handler, lock};
use crate::features::moderation::reports::store as reports;
use crate::jobs::{self, Job};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::{DecisionId, NotificationId, ProjectId, SuspensionId, new_id};
use crate::values::time::Timestamp;

#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyDecisions {
    pub ids: Vec<DecisionId>,
}

impl Job for ApplyDecisions {
    const KIND: &'static str = "apply-decisions";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let found = app.projects.get(&app.db, project, app.clock.uptime()).await?;
        let Some(project) = found else { return Ok(()) };
        for id in self.ids {
            apply(app, &project, id).await?;
        }
        Ok(())
    }
}

/// A decision this late has lost its job: jobs are not part of an export, or of the backup of one project.
const LOST_AFTER: Duration = Duration::from_secs(600);

/// Enqueues jobs for pending decisions without one; returns how many.
pub fn enqueue_overdue(tx: &Tx<'_>, now: Timestamp, limit: i64) -> Result<u64> {
    let (before, mut enqueued) = (now.minus(LOST_AFTER), 0);
    for (project, id) in store::overdue(tx, before, limit)? {
        if store::renew(tx, project, id, before, now)? {
            let job = jobs::derived_id(&format!("decision {id} {now}"));
            jobs::insert(tx, project, job, &ApplyDecisions { ids: vec![id] }, now)?;
            enqueued += 1;
        }
    }
    Ok(enqueued)
}

async fn apply(app: &App, project: &Arc<Project>, id: DecisionId) -> Result<()> {
    let now = app.clock.now();
    let key = ActorOrKey::Key { user: None };
    // A suspension has the id of its decision, by which an appeal ends it.
    let handler = Handler::new(app, project, key, now).suspending_as(SuspensionId(id.0));
    let (of, notice) = (project.id, NotificationId(new_id(now, &app.random)));
    let applied = app.db.write(move |tx| match store::take(tx, of, id, now)? {
        Some(decision) => carry_out(tx, &handler, &decision, notice),
        None => Ok(()),
    });
    match applied.await {
        Err(Error::Refused(refusal)) => {
            let why = why(&refusal);
            let failed = app.db.write(move |tx| {
                if store::fail(tx, of, id, &why)? {
                    store::release(tx, of, &[id])?;
                }
                Ok(())
            });
            failed.await
        }
        other => other,
    }
}

fn why(refusal: &Refusal) -> String {
    let text = refusal.message.as_deref().unwrap_or(refusal.fault.message);
    format!("{}: {text}", refusal.fault.code)
}

fn carry_out(
    tx: &Tx<'_>,
    handler: &Handler,
    decision: &Decision,
    notice: NotificationId,
) -> Result<()> {
    if let Some(appeal) = decision.appeal_id {
        return appeals::settle(tx, handler, (appeal, decision), notice);
    }
    let project = handler.project.id;
    let orders = orders(decision);
    // Deleted with its only reporter, perhaps.
    let report = match decision.report_id {
        Some(id) => reports::find(tx, project, id)?,
        None => None,
    };
    let acts_on_content = match &report {
        Some(report) => orders.concerns_content(report),
        None => orders.remove || orders.dismiss,
    };
    // Lock order: the content before the report.
    let content = match decision.target_type.content() {
        Some(kind) if acts_on_content => Some(lock(tx, project, kind, decision.target_id)?),
        _ => None,
    };
    match report {
        Some(report) => handler.carry_out(tx, &report, content, &orders).map(drop)?,
        None => handler.act(tx, content, &orders).map(drop)?,
    }
    let context = Context { app: &handler.app, project: &handler.project, now: handler.now };
    notify::author(tx, context, decision, notice)
}

fn orders(decision: &Decision) -> Orders {
    let reason = decision.reason.clone();
    Orders {
        dismiss: decision.action == Verdict::Approve,
        remove: decision.action == Verdict::Remove,
        suspend: decision.action == Verdict::Suspend,
        summary: Some(reason.clone().unwrap_or_else(|| decision.action.name().to_owned())),
        user_id: decision.author_id,
        reason,
        end_date: decision.ends_at,
        names_target: true,
        ..Orders::default()
    }
}
