//! Send Push: the project's own server sends a message to devices of its users and gets the outcome for each device.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::auth::caller::KeyHolder;
use crate::error::{Error, Result};
use crate::features::push::devices::{Platform, forget_dead};
use crate::features::push::message::{Delivery, PushMessage};
use crate::features::push::providers::{self, Outcome};
use crate::features::push::rules::{MessageBody, MessageTitle};
use crate::features::push::{INVALID_MESSAGE, store};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::UserId;

const MAX_USERS: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NewPushMessage")]
pub(super) struct NewMessage {
    #[schemars(extend("minItems" = 1, "maxItems" = MAX_USERS))]
    user_ids: Vec<UserId>,
    title: MessageTitle,
    body: MessageBody,
    #[serde(default)]
    data: Option<Map<String, Value>>,
    #[serde(flatten)]
    delivery: Delivery,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PushResults")]
pub(super) struct Results {
    /// One list for each user, with one entry for each device.
    #[schemars(with = "std::collections::HashMap<String, Vec<DeviceResult>>")]
    results: BTreeMap<UserId, Vec<DeviceResult>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PushResult")]
struct DeviceResult {
    platform: Platform,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

pub(super) async fn send_push(
    call: Call<KeyHolder>,
    Body(new): Body<NewMessage>,
) -> Result<Json<Results>> {
    if !(1..=MAX_USERS).contains(&new.user_ids.len()) {
        return Err(INVALID_MESSAGE.because(format!("userIds: must hold 1 to {MAX_USERS} ids")));
    }
    let (app, project) = (call.app.clone(), call.project.id);
    let message = PushMessage {
        title: new.title.into_text(),
        body: new.body.into_text(),
        data: new.data.unwrap_or_default(),
        delivery: new.delivery,
    };
    let mut results: BTreeMap<UserId, Vec<DeviceResult>> =
        new.user_ids.iter().map(|user| (*user, Vec::new())).collect();
    // Runs as a task of its own: a client that disconnects does not stop it halfway.
    let sending = tokio::spawn(async move {
        let users = new.user_ids;
        let found = app.db.read(move |c| {
            Ok::<_, Error>((store::devices(c, project, &users)?, store::providers(c, project)?))
        });
        let (devices, rows) = found.await?;
        let ready = providers::open(&app, project, rows)?;
        let sent = providers::send_all(&app, &ready, &message, devices).await;
        forget_dead(&app, project, &sent).await?;
        Ok::<_, Error>(sent)
    });
    for (device, outcome) in sending.await.map_err(Error::internal)?? {
        let result = DeviceResult {
            platform: device.platform,
            success: outcome == Outcome::Sent,
            reason: outcome.reason(),
        };
        results.entry(device.user_id).or_default().push(result);
    }
    Ok(Json(Results { results }))
}
