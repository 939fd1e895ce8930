//! Register and Deregister Push Device. A device may serve several users; each has a binding of their own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::{NO_USER_FOUND, Viewer};
use crate::auth::keys::hash;
use crate::error::{Error, Result};
use crate::features::push::INVALID_DEVICE;
use crate::features::push::providers::Outcome;
use crate::features::push::rules::{DeviceToken, SubscriptionEndpoint, SubscriptionKey};
use crate::features::push::store::{self, DeviceRow};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::{Done, Json};
use crate::outbound::{Failure, Schemes, Target};
use crate::state::App;
use crate::values::ids::{ProjectId, PushDeviceId, UserId, new_id};
use crate::values::names::names;
use crate::values::time::Timestamp;

/// The devices that a user was seen with last; others are forgotten.
pub const MAX_DEVICES: i64 = 20;

/// A device as its user names it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "platform", rename_all = "lowercase")]
pub enum NamedDevice {
    Ios { token: DeviceToken },
    Android { token: DeviceToken },
    Web { subscription: WebSubscription },
}

/// As a browser's `PushSubscription` is written in JSON.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct WebSubscription {
    endpoint: SubscriptionEndpoint,
    keys: WebKeys,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[schemars(rename = "WebSubscriptionKeys")]
pub struct WebKeys {
    p256dh: SubscriptionKey,
    auth: SubscriptionKey,
}

impl NamedDevice {
    /// What its bindings are looked up by.
    pub fn key_hash(&self) -> Vec<u8> {
        hash(self.key())
    }

    fn key(&self) -> &str {
        match self {
            NamedDevice::Ios { token } | NamedDevice::Android { token } => token.as_str(),
            NamedDevice::Web { subscription } => subscription.endpoint.as_str(),
        }
    }

    fn bound_to(&self, user_id: UserId, id: PushDeviceId, now: Timestamp) -> DeviceRow {
        let (platform, keys) = match self {
            NamedDevice::Ios { .. } => (Platform::Ios, None),
            NamedDevice::Android { .. } => (Platform::Android, None),
            NamedDevice::Web { subscription } => (Platform::Web, Some(&subscription.keys)),
        };
        DeviceRow {
            id,
            user_id,
            platform,
            device_key: self.key().to_owned(),
            p256dh: keys.map(|keys| keys.p256dh.as_str().to_owned()),
            auth: keys.map(|keys| keys.auth.as_str().to_owned()),
            created_at: now,
            updated_at: now,
        }
    }
}

names! {
    #[schemars(rename = "PushPlatform")]
    Platform {
        Ios "ios",
        Android "android",
        Web "web",
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PushDevice {
    id: PushDeviceId,
    user_id: UserId,
    platform: Platform,
    payload: Payload,
    device_key: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// The token, or the subscription of a browser.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PushDevicePayload")]
enum Payload {
    Token(String),
    Subscription { endpoint: String, keys: Keys },
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PushDeviceKeys")]
struct Keys {
    p256dh: String,
    auth: String,
}

impl From<DeviceRow> for PushDevice {
    fn from(row: DeviceRow) -> Self {
        let payload = match (row.p256dh, row.auth) {
            (Some(p256dh), Some(auth)) => Payload::Subscription {
                endpoint: row.device_key.clone(),
                keys: Keys { p256dh, auth },
            },
            _ => Payload::Token(row.device_key.clone()),
        };
        PushDevice {
            id: row.id,
            user_id: row.user_id,
            platform: row.platform,
            payload,
            device_key: row.device_key,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

pub(super) async fn register(
    call: Call<Viewer>,
    Body(device): Body<NamedDevice>,
) -> Result<Json<PushDevice>> {
    let (app, project, now) = (&call.app, call.project.id, call.now);
    if let NamedDevice::Web { subscription } = &device {
        let refused =
            |failure: Failure| INVALID_DEVICE.because(format!("subscription.endpoint: {failure}"));
        let target = Target::parse(subscription.endpoint.as_str()).map_err(refused)?;
        app.outbound.check(&target, Schemes::Https).await.map_err(refused)?;
    }
    let id = PushDeviceId(new_id(now, &app.random));
    let row = device.bound_to(call.caller.user, id, now);
    let written = app.db.write(move |tx| {
        let row = store::register(tx, project, &row, &device.key_hash())?;
        store::forget_older(tx, project, row.user_id, MAX_DEVICES)?;
        Ok(row)
    });
    // A user may be deleted meanwhile.
    let row = written.await.map_err(|error: Error| error.on_foreign_key(NO_USER_FOUND))?;
    Ok(Json(row.into()))
}

pub(super) async fn deregister(
    call: Call<Viewer>,
    Body(device): Body<NamedDevice>,
) -> Result<Json<Done>> {
    let (project, user, key) = (call.project.id, call.caller.user, device.key_hash());
    call.app.db.write(move |tx| store::unbind(tx, project, user, &key)).await?;
    Ok(Json(Done::SILENT))
}

/// Removes devices that a push service calls dead, for all their users.
pub(super) async fn forget_dead(
    app: &App,
    project: ProjectId,
    sent: &[(DeviceRow, Outcome)],
) -> Result<()> {
    let dead = sent.iter().filter(|(_, outcome)| *outcome == Outcome::Dead);
    let keys: Vec<Vec<u8>> = dead.map(|(device, _)| hash(&device.device_key)).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let forget =
        move |tx: &db::Tx<'_>| keys.iter().try_for_each(|key| store::forget(tx, project, key));
    app.db.write(forget).await
}
