//! The job that sends one event to one endpoint.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::features::webhooks::body::canonical;
use crate::features::webhooks::signature::Secrets;
use crate::features::webhooks::{admin, store};
use crate::jobs::Job;
use crate::outbound::{Limits, Message, Target};
use crate::state::App;
use crate::values::ids::{JobId, ProjectId, QueueId};
use crate::values::time::Timestamp;

pub(super) const LIMITS: Limits = Limits { time: Duration::from_secs(10), body: 0, redirects: 0 };

#[derive(Debug, Serialize, Deserialize)]
pub struct Delivery {
    /// The same at every attempt.
    pub id: JobId,
    pub endpoint: QueueId,
    pub event: String,
    /// Not canonical yet: the request that causes a delivery need not wait for that.
    pub body: Box<RawValue>,
}

impl Job for Delivery {
    const KIND: &'static str = "webhook";
    const IS_KEPT: bool = true;

    async fn run(self, app: &App, project: ProjectId) -> Result<()> {
        let endpoint = self.endpoint;
        let found = app.db.read(move |c| store::find(c, project, endpoint)).await?;
        // Removed, or without a URL since.
        let Some(row) = found.filter(|row| row.url.is_some()) else { return Ok(()) };
        let secrets = Secrets::open(&app.sealer, project, &row)?;
        let request = request(&secrets, canonical(&self.body)?, app.clock.now())
            .with_header("X-Webhook-Id", self.id.to_string());
        let target = target(row.url.as_deref())?;
        let answer = app.outbound.call(target, request, LIMITS).await.map_err(Error::internal)?;
        if answer.status.is_success() {
            return Ok(());
        }
        Err(Error::internal(format!("the endpoint replied with status {}", answer.status.as_u16())))
    }

    async fn paused(app: &App, project: ProjectId, queue: QueueId) -> Result<()> {
        admin::mail_paused(app, project, queue).await
    }
}

/// A signed request.
pub(super) fn request(secrets: &Secrets, body: String, now: Timestamp) -> Message {
    let timestamp = now.millis().to_string();
    let signatures = secrets.sign(&timestamp, &body);
    let names = ["X-Signature", "X-Signature-Previous"];
    let message = Message::post("application/json", "application/json", body)
        .with_header("X-Timestamp", timestamp);
    names
        .into_iter()
        .zip(signatures)
        .fold(message, |message, (name, signature)| message.with_header(name, signature))
}

pub(super) fn target(url: Option<&str>) -> Result<Target> {
    Target::parse(url.unwrap_or_default()).map_err(Error::internal)
}
