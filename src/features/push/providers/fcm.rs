//! FCM, version 1 of its HTTP API: a service account signs a token request, and the access token that it gets
//! for it is used until shortly before it expires.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{FcmSettings, LIMITS, Outcome};
use crate::auth::keys::hash;
use crate::auth::rs256;
use crate::features::push::message::PushMessage;
use crate::features::push::store::DeviceRow;
use crate::http::query::percent_encode;
use crate::outbound::{Answer, Message, Target};
use crate::state::App;
use crate::values::random::hex;
use crate::values::time::Timestamp;

pub const DEFAULT_URL: &str = "https://fcm.googleapis.com";
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_SECONDS: i64 = 60 * 60;
/// A token is replaced this long before it expires.
const MARGIN_SECONDS: i64 = 5 * 60;
const JSON: &str = "application/json";

/// The file that Google hands out.
#[derive(Debug, Clone, Deserialize)]
pub struct ServiceAccount {
    pub project_id: String,
    pub client_email: String,
    pub private_key: String,
    pub private_key_id: Option<String>,
    pub token_uri: String,
}

impl ServiceAccount {
    pub fn read(text: &str) -> Result<Self, String> {
        let account: ServiceAccount = serde_json::from_str(text)
            .map_err(|error| format!("this is no file of a service account: {error}"))?;
        Target::parse(&account.token_uri).map_err(|error| format!("token_uri: {error}"))?;
        match account.assertion(Timestamp::from_millis(0)) {
            Some(_) => Ok(account),
            None => Err("private_key: this is no RSA key".to_owned()),
        }
    }

    /// The signed request for an access token.
    fn assertion(&self, now: Timestamp) -> Option<String> {
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": self.token_uri,
            "iat": now.seconds(),
            "exp": now.seconds() + TOKEN_SECONDS,
        });
        rs256::sign_as(&self.private_key, self.private_key_id.as_deref(), &claims)
    }
}

/// Access tokens and when they expire, by account and key.
#[derive(Debug, Default)]
struct AccessTokens(Mutex<HashMap<String, (String, i64)>>);

#[derive(Debug)]
pub struct Fcm {
    pub settings: FcmSettings,
    pub account: ServiceAccount,
}

impl Fcm {
    pub(super) async fn send(&self, app: &App, message: &PushMessage, to: &DeviceRow) -> Outcome {
        let token = match self.access_token(app).await {
            Ok(token) => token,
            Err(outcome) => return outcome,
        };
        let base = self.settings.url.as_deref().unwrap_or(DEFAULT_URL).trim_end_matches('/');
        let project = percent_encode(&self.account.project_id);
        let Ok(target) = Target::parse(&format!("{base}/v1/projects/{project}/messages:send"))
        else {
            return Outcome::Refused("invalid_credentials".to_owned());
        };
        let body = json!({ "message": of(message, to) }).to_string();
        let request =
            Message::post(JSON, JSON, body).secured().authorized(format!("Bearer {token}"));
        match app.outbound.call(target, request, LIMITS).await {
            Ok(answer) => self.outcome(app, &answer),
            Err(failure) => Outcome::unreachable(&failure),
        }
    }

    fn outcome(&self, app: &App, answer: &Answer) -> Outcome {
        let error: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let details = error["error"]["details"].as_array().cloned().unwrap_or_default();
        let code = details.iter().find_map(|detail| detail["errorCode"].as_str());
        let code = code.or(error["error"]["status"].as_str()).map(str::to_lowercase);
        match (answer.status.as_u16(), code.as_deref()) {
            (200..=299, _) => Outcome::Sent,
            (_, Some("unregistered")) => Outcome::Dead,
            (401, _) => {
                // Revoked before it expired: the next try asks for another.
                self.forget_token(app);
                Outcome::later("unauthenticated")
            }
            _ => Outcome::of_status(answer, code, app.clock.now()),
        }
    }

    async fn access_token(&self, app: &App) -> Result<String, Outcome> {
        let now = app.clock.now();
        let tokens = app.features.get::<AccessTokens>();
        let known = {
            let tokens = tokens.0.lock().unwrap_or_else(PoisonError::into_inner);
            tokens.get(&self.cache_key()).cloned()
        };
        if let Some((token, _)) = known.filter(|(_, expires)| *expires > now.seconds()) {
            return Ok(token);
        }
        let refused = || Outcome::Refused("invalid_credentials".to_owned());
        let assertion = self.account.assertion(now).ok_or_else(refused)?;
        let target = Target::parse(&self.account.token_uri).map_err(|_| refused())?;
        let form = format!("grant_type={}&assertion={assertion}", percent_encode(GRANT));
        let request = Message::post(JSON, "application/x-www-form-urlencoded", form).secured();
        let called = app.outbound.call(target, request, LIMITS).await;
        let answer = called.map_err(|failure| Outcome::unreachable(&failure))?;
        let reply: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let (Some(token), true) = (reply["access_token"].as_str(), answer.status.is_success())
        else {
            let reason = Some("invalid_credentials".to_owned());
            return Err(Outcome::of_status(&answer, reason, now));
        };
        let seconds = reply["expires_in"].as_i64().unwrap_or(0) - MARGIN_SECONDS;
        let kept = (token.to_owned(), now.seconds() + seconds);
        let mut tokens = tokens.0.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.insert(self.cache_key(), kept);
        Ok(token.to_owned())
    }

    fn forget_token(&self, app: &App) {
        let tokens = app.features.get::<AccessTokens>();
        tokens.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.cache_key());
    }

    /// By the key, too: a project that names an account without having its key gets no token of it.
    fn cache_key(&self) -> String {
        let ServiceAccount { client_email, private_key, token_uri, .. } = &self.account;
        format!("{client_email} {token_uri} {}", hex(&hash(private_key)))
    }
}

/// A message of FCM. Values of `data` are texts there.
fn of(message: &PushMessage, to: &DeviceRow) -> Value {
    let delivery = &message.delivery;
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let data: Map<String, Value> =
        message.data_for(to.user_id).into_iter().map(|(k, v)| (k, text(v).into())).collect();
    let shown = present([
        ("sound", delivery.sound.clone().map(Value::from)),
        ("channel_id", delivery.channel_id.clone().map(Value::from)),
        ("tag", delivery.tag.clone().map(Value::from)),
        ("notification_count", delivery.badge.map(Value::from)),
    ]);
    let priority = if message.is_urgent() { "HIGH" } else { "NORMAL" };
    let android = present([
        ("priority", Some(priority.into())),
        ("ttl", delivery.ttl.map(|seconds| format!("{seconds}s").into())),
        ("collapse_key", delivery.collapse_id.clone().map(Value::from)),
        ("notification", Some(shown.into()).filter(|shown| *shown != json!({}))),
    ]);
    let notification = present([
        ("title", Some(message.title.clone().into())),
        ("body", Some(message.body.clone().into())),
        ("image", delivery.image_url.clone().map(Value::from)),
    ]);
    json!({
        "token": to.device_key,
        "notification": notification,
        "data": data,
        "android": android,
    })
}

/// The keys that have a value.
pub(super) fn present<const N: usize>(keys: [(&str, Option<Value>); N]) -> Map<String, Value> {
    keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
