//! The push services: Web Push for browsers, FCM for Android, APNs for iOS. Each turns a message into its own
//! request, and its reply into an outcome.

pub mod apns;
pub mod encryption;
pub mod fcm;
pub mod web;

use std::time::Duration;

use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::push::devices::Platform;
use crate::features::push::message::PushMessage;
use crate::features::push::store::{DeviceRow, ProviderRow};
use crate::outbound::{Answer, Failure, Limits};
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::names::names;
use crate::values::time::Timestamp;

/// Requests to push services at the same time, for one call or job.
const AT_ONCE: usize = 16;
/// A service that asks for more time is tried again after this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);
pub(super) const LIMITS: Limits =
    Limits { time: Duration::from_secs(10), body: 16 * 1024, redirects: 0 };

names! {
    /// The services, as operators name them.
    #[derive(clap::ValueEnum)]
    Kind {
        Web "web",
        Fcm "fcm",
        Apns "apns",
    }
}

/// What became of a message to one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The service has accepted it.
    Sent,
    NotConfigured,
    /// The service says that the device is gone for good.
    Dead,
    /// It would be refused again.
    Refused(String),
    /// Another try may succeed.
    Later(Later),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Later {
    pub reason: String,
    /// The time that the service asks to wait, as far as this server does.
    pub after: Duration,
}

impl Outcome {
    /// For the sender; none if it was sent.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Outcome::Sent => return None,
            Outcome::NotConfigured => "credentials_not_configured".to_owned(),
            Outcome::Dead => "device_not_registered".to_owned(),
            Outcome::Refused(reason) | Outcome::Later(Later { reason, .. }) => reason.clone(),
        })
    }

    fn later(reason: &str) -> Self {
        Outcome::Later(Later { reason: reason.to_owned(), after: Duration::ZERO })
    }

    fn too_large() -> Self {
        Outcome::Refused("payload_too_large".to_owned())
    }

    fn unreachable(failure: &Failure) -> Self {
        match failure {
            Failure::Url(_) | Failure::Blocked | Failure::Redirect => {
                Outcome::Refused("endpoint_not_allowed".to_owned())
            }
            Failure::Unreachable(_) | Failure::Broken(_) | Failure::Late => {
                Outcome::later("provider_unreachable")
            }
        }
    }

    /// For a status that says nothing of the device: whether to try again.
    fn of_status(answer: &Answer, reason: Option<String>, now: Timestamp) -> Self {
        let reason = reason.unwrap_or_else(|| format!("provider_error_{}", answer.status.as_u16()));
        if answer.status.as_u16() == 429 || answer.status.is_server_error() {
            let after = answer.retry_after(now).unwrap_or_default().min(MAX_RETRY_AFTER);
            return Outcome::Later(Later { reason, after });
        }
        Outcome::Refused(reason)
    }
}

/// The services that a project has configured, with their secrets.
#[derive(Debug, Default)]
pub struct Ready {
    pub web: Option<web::WebPush>,
    pub fcm: Option<fcm::Fcm>,
    pub apns: Option<apns::Apns>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebSettings {
    /// Base64 of the uncompressed point.
    pub public_key: String,
    /// The contact for push services: `mailto:` or an address.
    pub subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FcmSettings {
    pub project_id: String,
    pub client_email: String,
    pub url: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApnsSettings {
    pub key_id: String,
    pub team_id: String,
    pub topic: String,
    pub url: Option<String>,
}

/// What the secret of a service is sealed for.
pub fn place(project: ProjectId, provider: &str) -> String {
    format!("push provider {provider} of project {project}")
}

pub fn settings_of<T: DeserializeOwned>(row: &ProviderRow) -> Result<T> {
    serde_json::from_str(&row.settings.0).map_err(Error::internal)
}

/// Opens the secrets.
pub fn open(app: &App, project: ProjectId, rows: Vec<ProviderRow>) -> Result<Ready> {
    let mut ready = Ready::default();
    for row in rows {
        let secret = app.sealer.open(&row.secret, &place(project, &row.provider))?;
        if row.provider == Kind::Web.name() {
            ready.web = Some(web::WebPush { settings: settings_of(&row)?, private_key: secret });
        } else if row.provider == Kind::Fcm.name() {
            let account = fcm::ServiceAccount::read(&secret).map_err(Error::internal)?;
            ready.fcm = Some(fcm::Fcm { settings: settings_of(&row)?, account });
        } else if row.provider == Kind::Apns.name() {
            ready.apns = Some(apns::Apns { settings: settings_of(&row)?, private_key: secret });
        }
    }
    Ok(ready)
}

/// Sends one message to several devices, some at the same time.
pub async fn send_all(
    app: &App,
    ready: &Ready,
    message: &PushMessage,
    devices: Vec<DeviceRow>,
) -> Vec<(DeviceRow, Outcome)> {
    let sending = devices.into_iter().map(|device| async {
        let outcome = send(app, ready, message, &device).await;
        (device, outcome)
    });
    futures_util::stream::iter(sending).buffered(AT_ONCE).collect().await
}

pub async fn send(app: &App, ready: &Ready, message: &PushMessage, device: &DeviceRow) -> Outcome {
    let outcome = match device.platform {
        Platform::Web => match &ready.web {
            Some(web) => web.send(app, message, device).await,
            None => Outcome::NotConfigured,
        },
        Platform::Android => match &ready.fcm {
            Some(fcm) => fcm.send(app, message, device).await,
            None => Outcome::NotConfigured,
        },
        Platform::Ios => match &ready.apns {
            Some(apns) => apns.send(app, message, device).await,
            None => Outcome::NotConfigured,
        },
    };
    if let Outcome::Refused(reason) | Outcome::Later(Later { reason, .. }) = &outcome {
        tracing::warn!(device = %device.id, platform = device.platform.name(), reason, "a push failed");
    }
    outcome
}
