//! Get Webhook Config and Set Webhook Config: the first endpoint of the project, with the master key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{ELEVATED_AUTH_REQUIRED, KeyHolder};
use crate::error::Result;
use crate::features::webhooks::admin::{self, Change};
use crate::features::webhooks::store::{self, EndpointRow};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::tenancy::keys::KeyKind;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebhookConfig {
    /// Null if nothing is sent.
    url: Option<String>,
    /// The events that are sent.
    events: Vec<String>,
    /// The secret itself is never returned.
    has_secret: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct NewWebhookConfig {
    /// Null sends nothing any more.
    url: Option<String>,
    /// Signs every request, and the replies to validation events. Without it the present one stays.
    secret: Option<String>,
    /// Names of events, for instance `entity.created` and `entity.created.complete`.
    events: Vec<String>,
}

pub(super) async fn get_webhook_config(
    call: Call<KeyHolder>,
    (): (),
) -> Result<Json<WebhookConfig>> {
    require_master_key(&call)?;
    let project = call.project.id;
    let found = call.app.db.read(move |c| store::find_first(c, project)).await?;
    Ok(Json(shown(found)))
}

pub(super) async fn set_webhook_config(
    call: Call<KeyHolder>,
    Body(new): Body<NewWebhookConfig>,
) -> Result<Json<WebhookConfig>> {
    require_master_key(&call)?;
    let change = Change {
        url: Some(new.url),
        secret: new.secret,
        events: Some(new.events),
        keeps_previous_secret: false,
    };
    let row = admin::set_first(&call.app, call.project.id, change, call.now).await?;
    Ok(Json(shown(Some(row))))
}

fn require_master_key(call: &Call<KeyHolder>) -> Result<()> {
    match call.caller.kind {
        KeyKind::Master => Ok(()),
        KeyKind::Service => Err(ELEVATED_AUTH_REQUIRED.because("The master key is required")),
    }
}

fn shown(row: Option<EndpointRow>) -> WebhookConfig {
    let has_secret = row.as_ref().is_some_and(|row| row.secret.is_some());
    let (url, events) =
        row.map_or((None, Vec::new()), |row| (row.url.clone(), admin::events(&row)));
    WebhookConfig { url, events, has_secret }
}
