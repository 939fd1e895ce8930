//! Web Push (RFC 8030): an encrypted message to the endpoint that a browser has named, with a token that says
//! which server sends it (VAPID, RFC 8292).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

use super::encryption::{MAX_TEXT, Subscriber, encrypt};
use super::{LIMITS, Outcome, WebSettings};
use crate::auth::es256;
use crate::auth::keys::hash;
use crate::features::push::message::PushMessage;
use crate::features::push::store::DeviceRow;
use crate::outbound::{Message, Target};
use crate::state::App;
use crate::values::ids::UserId;
use crate::values::metadata::to_json;

/// A token is valid for at most a day; half of it bears with wrong clocks.
const TOKEN_SECONDS: i64 = 12 * 60 * 60;
/// Four weeks, as long as services keep a message.
const DEFAULT_TTL: u32 = 28 * 24 * 60 * 60;

#[derive(Debug)]
pub struct WebPush {
    pub settings: WebSettings,
    /// P-256, PEM.
    pub private_key: String,
}

impl WebPush {
    pub(super) async fn send(&self, app: &App, message: &PushMessage, to: &DeviceRow) -> Outcome {
        let invalid = || Outcome::Refused("invalid_subscription".to_owned());
        let Ok(target) = Target::parse(&to.device_key) else { return invalid() };
        let text = to_json(&payload(message, to.user_id));
        if text.len() > MAX_TEXT {
            return Outcome::too_large();
        }
        let Some(body) =
            subscriber(to).and_then(|keys| encrypt(text.as_bytes(), &keys, &app.random))
        else {
            return invalid();
        };
        let expires = app.clock.now().seconds() + TOKEN_SECONDS;
        let claims = json!({
            "aud": target.url().origin().ascii_serialization(),
            "exp": expires,
            "sub": self.settings.subject,
        });
        let Some(token) = es256::sign(&self.private_key, None, &claims) else {
            return Outcome::Refused("invalid_credentials".to_owned());
        };
        let key = &self.settings.public_key;
        let ttl = message.delivery.ttl.unwrap_or(DEFAULT_TTL);
        let mut request = Message::post("*/*", "application/octet-stream", body)
            .secured()
            .authorized(format!("vapid t={token}, k={key}"))
            .with_header("content-encoding", "aes128gcm")
            .with_header("ttl", ttl.to_string())
            .with_header("urgency", if message.is_urgent() { "high" } else { "normal" });
        if let Some(id) = &message.delivery.collapse_id {
            request = request.with_header("topic", topic(id));
        }
        let answer = match app.outbound.call(target, request, LIMITS).await {
            Ok(answer) => answer,
            Err(failure) => return Outcome::unreachable(&failure),
        };
        match answer.status.as_u16() {
            200..=299 => Outcome::Sent,
            404 | 410 => Outcome::Dead,
            413 => Outcome::too_large(),
            _ => Outcome::of_status(&answer, None, app.clock.now()),
        }
    }
}

fn subscriber(device: &DeviceRow) -> Option<Subscriber> {
    let public_key = decode(device.p256dh.as_deref()?)?;
    Some(Subscriber { public_key, auth: decode(device.auth.as_deref()?)? })
}

/// Base64 of either alphabet: browsers write the one for URLs, some apps the other.
fn decode(text: &str) -> Option<Vec<u8>> {
    let engines = [URL_SAFE_NO_PAD, URL_SAFE, STANDARD_NO_PAD, STANDARD];
    engines.iter().find_map(|engine| engine.decode(text).ok())
}

/// What the service worker of the page gets: the words of its `showNotification`.
fn payload(message: &PushMessage, user: UserId) -> Map<String, Value> {
    let delivery = &message.delivery;
    let mut payload = Map::new();
    payload.insert("title".to_owned(), message.title.clone().into());
    payload.insert("body".to_owned(), message.body.clone().into());
    payload.insert("data".to_owned(), message.data_for(user).into());
    let more = [
        ("subtitle", delivery.subtitle.clone().map(Value::from)),
        ("image", delivery.image_url.clone().map(Value::from)),
        ("tag", delivery.tag.clone().map(Value::from)),
        ("sound", delivery.sound.clone().map(Value::from)),
        ("badge", delivery.badge.map(Value::from)),
    ];
    payload.extend(more.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    payload
}

/// At most 32 characters of the base64 alphabet for URLs; another id is replaced by its digest.
fn topic(id: &str) -> String {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if (1..=32).contains(&id.len()) && id.bytes().all(fits) {
        return id.to_owned();
    }
    URL_SAFE_NO_PAD.encode(&hash(id)[..24])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_short_and_plain() {
        assert_eq!(topic("chat_7-A"), "chat_7-A");
        for id in ["", "ä", "a b", &"x".repeat(33)] {
            let topic = topic(id);
            assert_eq!(topic.len(), 32, "{id}");
            assert!(URL_SAFE_NO_PAD.decode(topic).is_ok());
        }
    }

    #[test]
    fn keys_of_both_alphabets_are_read() {
        for text in ["-_8", "-_8=", "+/8", "+/8="] {
            assert_eq!(decode(text).unwrap(), [0xfb, 0xff], "{text}");
        }
        assert!(decode("!").is_none());
    }
}
