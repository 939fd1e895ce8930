//! Asks endpoints whether something may be stored. Only a signed `{"valid": true}` in time lets it pass.

use std::time::Duration;

use serde::Deserialize;

use crate::domain_events::{Event, Refusal};
use crate::features::webhooks::body::{Stage, canonical, raw_body};
use crate::features::webhooks::deliver::{request, target};
use crate::features::webhooks::observer::subscribers;
use crate::features::webhooks::signature::Secrets;
use crate::features::webhooks::store;
use crate::outbound::{Answer, Limits};
use crate::state::App;
use crate::tenancy::Project;
use crate::values::ids::QueueId;

const LIMITS: Limits = Limits { time: Duration::from_secs(5), body: 64 * 1024, redirects: 0 };
const RESPONSE_SIGNATURE: &str = "X-Response-Signature";
/// Longer messages are cut off.
const MAX_MESSAGE: usize = 1000;

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    valid: serde_json::Value,
    message: Option<serde_json::Value>,
}

/// All endpoints that validate such events must let it pass.
pub(super) async fn ask_all(app: &App, project: &Project, event: &Event) -> Result<(), Refusal> {
    for endpoint in subscribers(project, event.name) {
        ask(app, project, endpoint, event).await?;
    }
    Ok(())
}

async fn ask(
    app: &App,
    project: &Project,
    endpoint: QueueId,
    event: &Event,
) -> Result<(), Refusal> {
    let refuse = |why: &dyn std::fmt::Display| {
        tracing::warn!(project = %project.id, %endpoint, event = event.name, %why, "validation failed");
        Refusal(None)
    };
    let id = project.id;
    let found = app.db.read(move |c| store::find(c, id, endpoint)).await;
    let Some(row) = found.map_err(|error| refuse(&error))? else { return Ok(()) };
    let secrets = Secrets::open(&app.sealer, id, &row).map_err(|error| refuse(&error))?;
    let body = raw_body(id, event.name, event, Stage::Before).and_then(|body| canonical(&body));
    let body = body.map_err(|error| refuse(&error))?;
    let target = target(row.url.as_deref()).map_err(|error| refuse(&error))?;
    let request = request(&secrets, body, app.clock.now());
    let called = app.outbound.call(target, request, LIMITS).await;
    read(&called.map_err(|failure| refuse(&failure))?, &secrets).map_err(|why| match why {
        Refused::ByEndpoint(message) => Refusal(message),
        Refused::Unusable(why) => refuse(&why),
    })
}

enum Refused {
    ByEndpoint(Option<String>),
    Unusable(&'static str),
}

fn read(answer: &Answer, secrets: &Secrets) -> Result<(), Refused> {
    if !answer.status.is_success() {
        return Err(Refused::Unusable("the status is not 2xx"));
    }
    let signature = answer.headers.get(RESPONSE_SIGNATURE).and_then(|value| value.to_str().ok());
    if !signature.is_some_and(|signature| secrets.verify_reply(&answer.body, signature)) {
        return Err(Refused::Unusable("the signature of the reply is missing or wrong"));
    }
    let reply: Reply = serde_json::from_slice(&answer.body)
        .map_err(|_| Refused::Unusable("the reply is not the JSON object that it should be"))?;
    if reply.valid == true {
        return Ok(());
    }
    let message = reply.message.as_ref().and_then(|message| message.as_str());
    let message = message.filter(|message| !message.is_empty());
    Err(Refused::ByEndpoint(message.map(|text| text.chars().take(MAX_MESSAGE).collect())))
}
