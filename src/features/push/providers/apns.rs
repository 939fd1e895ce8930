//! APNs over HTTP/2, with a token that a key of the team has signed. One token serves for a while: Apple
//! refuses senders that make a new one for each message.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::fcm::present;
use super::{ApnsSettings, LIMITS, Outcome};
use crate::auth::es256;
use crate::auth::keys::hash;
use crate::features::push::message::PushMessage;
use crate::features::push::store::DeviceRow;
use crate::http::query::percent_encode;
use crate::outbound::{Answer, Message, Target};
use crate::state::App;
use crate::values::ids::UserId;
use crate::values::random::hex;

pub const DEFAULT_URL: &str = "https://api.push.apple.com";
/// Apple takes a token between 20 minutes and an hour after it was made, and none that is newer by the minute.
const TOKEN_SECONDS: i64 = 40 * 60;
const MAX_PAYLOAD: usize = 4096;
const MAX_COLLAPSE_ID: usize = 64;
const JSON: &str = "application/json";

/// Tokens and when they were made, by the key and its team.
#[derive(Debug, Default)]
struct ProviderTokens(Mutex<HashMap<String, (String, i64)>>);

#[derive(Debug)]
pub struct Apns {
    pub settings: ApnsSettings,
    /// P-256, PEM.
    pub private_key: String,
}

impl Apns {
    pub(super) async fn send(&self, app: &App, message: &PushMessage, to: &DeviceRow) -> Outcome {
        let refused = || Outcome::Refused("invalid_credentials".to_owned());
        let Some(token) = self.provider_token(app) else { return refused() };
        let base = self.settings.url.as_deref().unwrap_or(DEFAULT_URL).trim_end_matches('/');
        let address = format!("{base}/3/device/{}", percent_encode(&to.device_key));
        let Ok(target) = Target::parse(&address) else { return Outcome::Dead };
        let payload = payload(message, to.user_id).to_string();
        if payload.len() > MAX_PAYLOAD {
            return Outcome::too_large();
        }
        let mut request = Message::post(JSON, JSON, payload)
            .over_http2()
            .secured()
            .authorized(format!("bearer {token}"))
            .with_header("apns-topic", self.settings.topic.clone())
            .with_header("apns-push-type", "alert")
            .with_header("apns-priority", if message.is_urgent() { "10" } else { "5" });
        if let Some(seconds) = message.delivery.ttl {
            let expires = app.clock.now().seconds() + i64::from(seconds);
            // Zero means that the message is not kept at all.
            let expires = if seconds == 0 { 0 } else { expires };
            request = request.with_header("apns-expiration", expires.to_string());
        }
        if let Some(id) = header_text(message.delivery.collapse_id.as_deref()) {
            request = request.with_header("apns-collapse-id", id);
        }
        match app.outbound.call(target, request, LIMITS).await {
            Ok(answer) => self.outcome(app, &answer),
            Err(failure) => Outcome::unreachable(&failure),
        }
    }

    fn outcome(&self, app: &App, answer: &Answer) -> Outcome {
        let error: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let reason = error["reason"].as_str();
        match (answer.status.as_u16(), reason) {
            (200..=299, _) => Outcome::Sent,
            (410, _) | (400, Some("BadDeviceToken")) => Outcome::Dead,
            (413, _) => Outcome::too_large(),
            (403, Some("ExpiredProviderToken")) => {
                self.forget_token(app);
                Outcome::later("ExpiredProviderToken")
            }
            _ => Outcome::of_status(answer, reason.map(ToOwned::to_owned), app.clock.now()),
        }
    }

    fn provider_token(&self, app: &App) -> Option<String> {
        let now = app.clock.now().seconds();
        let tokens = app.features.get::<ProviderTokens>();
        let mut tokens = tokens.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tokens.get(&self.cache_key());
        let is_fresh = |made: i64| (made..made + TOKEN_SECONDS).contains(&now);
        if let Some((token, _)) = known.filter(|(_, made)| is_fresh(*made)) {
            return Some(token.clone());
        }
        let claims = json!({ "iss": self.settings.team_id, "iat": now });
        let token = es256::sign(&self.private_key, Some(&self.settings.key_id), &claims)?;
        tokens.insert(self.cache_key(), (token.clone(), now));
        Some(token)
    }

    fn forget_token(&self, app: &App) {
        let tokens = app.features.get::<ProviderTokens>();
        tokens.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.cache_key());
    }

    fn cache_key(&self) -> String {
        let ApnsSettings { team_id, key_id, .. } = &self.settings;
        // Two projects may claim the same ids with different keys.
        format!("{team_id} {key_id} {}", hex(&hash(&self.private_key)))
    }
}

fn payload(message: &PushMessage, user: UserId) -> Value {
    let delivery = &message.delivery;
    let alert = present([
        ("title", Some(message.title.clone().into())),
        ("subtitle", delivery.subtitle.clone().map(Value::from)),
        ("body", Some(message.body.clone().into())),
    ]);
    let is_mutable = delivery.mutable_content == Some(true) || delivery.image_url.is_some();
    let aps = present([
        ("alert", Some(alert.into())),
        ("badge", delivery.badge.map(Value::from)),
        ("sound", delivery.sound.clone().map(Value::from)),
        ("thread-id", delivery.thread_id.clone().map(Value::from)),
        // An extension of the app loads the image.
        ("mutable-content", is_mutable.then(|| 1.into())),
    ]);
    let mut payload = message.data_for(user);
    if let Some(url) = &delivery.image_url {
        payload.insert("imageUrl".to_owned(), url.clone().into());
    }
    payload.insert("aps".to_owned(), aps.into());
    payload.into()
}

/// What a header may hold, as far as Apple takes it.
fn header_text(id: Option<&str>) -> Option<String> {
    let id: String = id?.chars().filter(char::is_ascii_graphic).take(MAX_COLLAPSE_ID).collect();
    Some(id).filter(|id| !id.is_empty())
}
