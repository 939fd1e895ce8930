//! Sends digests: the schedule turns each one that is due into a job, which puts it together and sends it.

use std::time::Duration;

use db::Tx;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::digests::content::digest;
use crate::features::digests::store::{self, place};
use crate::jobs::{self, Job, derived_id};
use crate::outbound::{Limits, Message, Target, signature};
use crate::state::App;
use crate::tenancy::{Bundle, ProjectState};
use crate::values::ids::{ProjectId, SpaceId};
use crate::values::javascript;
use crate::values::time::Timestamp;

/// What a digest reports on.
const WINDOW: Duration = Duration::from_secs(24 * 60 * 60);
const LIMITS: Limits = Limits { time: Duration::from_secs(10), body: 1024, redirects: 0 };

/// Enqueues digests that are due, of any project; returns how many. Each is moved on to its next time in the same
/// transaction, so it is sent once, whatever node does it. One that was missed is sent late, once.
pub fn enqueue_due(tx: &Tx<'_>, now: Timestamp, limit: i64) -> Result<u64> {
    let mut enqueued = 0;
    for (project, space, at) in store::due(tx, now, limit)? {
        let next = store::find(tx, project, space)?.and_then(|row| row.due_after(now));
        if store::move_on(tx, project, space, at, next)? {
            let job = SendDigest { space, at };
            let id = derived_id(&format!("digest {space} {at}"));
            jobs::insert(tx, project, id, &job, now)?;
            enqueued += 1;
        }
    }
    Ok(enqueued)
}

#[derive(Debug, Serialize, Deserialize)]
pub struct SendDigest {
    space: SpaceId,
    /// When it was due.
    at: Timestamp,
}

impl Job for SendDigest {
    const KIND: &'static str = "space-digest";

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let uptime = app.clock.uptime();
        let Some(project) = app.projects.get(&app.db, project, uptime).await? else {
            return Ok(());
        };
        if project.state != ProjectState::Active || !project.has(Bundle::Spaces) {
            return Ok(());
        }
        let (id, space) = (project.id, self.space);
        let found = app.db.read(move |c| store::find(c, id, space)).await?;
        let Some(row) = found.filter(|row| row.is_enabled) else { return Ok(()) };
        let (Some(url), Some(sealed)) = (row.url, row.secret) else { return Ok(()) };
        let secret = app.sealer.open(&sealed, &place(id, space))?;
        let window = (self.at.minus(WINDOW), self.at);
        let links = app.signer.links(id, app.clock.now());
        let digest = app.db.read_slow(move |c| digest(c, &project, &links, space, window));
        let Some(digest) = digest.await? else { return Ok(()) };
        let body = serde_json::to_string(&digest).map_err(Error::internal)?;
        let body = javascript::restringify(&body).map_err(Error::internal)?;
        let target = Target::parse(&url).map_err(Error::internal)?;
        let json = "application/json";
        let now = app.clock.now();
        let message = Message::post(json, json, body.clone())
            .with_header("x-timestamp", now.millis().to_string())
            .with_header("x-signature", signature(&secret, now, &body));
        let answer = app.outbound.call(target, message, LIMITS).await.map_err(Error::internal)?;
        if answer.status.is_success() {
            return Ok(());
        }
        Err(Error::internal(format!("the webhook of a digest answered {}", answer.status)))
    }
}
