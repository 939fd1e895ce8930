//! Devices and push services of the tests: a browser that reads what it is sent, the services of a project, and
//! a service account.

use std::sync::OnceLock;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};
use townhall::features::push::admin::{self, Provider};
use townhall::features::push::providers::ApnsSettings;
use townhall::values::ids::ProjectId;

use super::fake::{Fake, Request, key};
use super::{TestApp, User};

pub const DEVICES: &str = "/push-notifications/devices";

/// A browser with one subscription at a push service.
#[derive(Debug)]
pub struct Browser {
    private: PrivateKey,
    auth: [u8; 16],
    pub endpoint: String,
}

impl Browser {
    pub fn new(service: &Fake, path: &str) -> Browser {
        service.reply(path, 201, json!({}));
        let private = PrivateKey::generate(&ECDH_P256).unwrap();
        Browser { private, auth: [7; 16], endpoint: service.url(path) }
    }

    /// As the page sends it on.
    pub fn device(&self) -> Value {
        let public = self.private.compute_public_key().unwrap();
        let keys = json!({ "p256dh": BASE64.encode(public), "auth": BASE64.encode(self.auth) });
        json!({ "platform": "web", "subscription": { "endpoint": self.endpoint, "keys": keys } })
    }

    pub async fn register(&self, user: &User<'_>) {
        user.post(DEVICES, self.device()).await.expect(200);
    }

    /// The text of a message (RFC 8291): read as the browser reads it.
    pub fn read(&self, request: &Request) -> Value {
        let body = &request.bytes;
        assert!(body.len() <= 4096);
        let (salt, rest) = body.split_at(16);
        let (size, rest) = rest.split_at(4);
        assert_eq!((size, rest[0]), (&4096_u32.to_be_bytes()[..], 65));
        let (server, record) = rest[1..].split_at(65);
        let own = self.private.compute_public_key().unwrap();
        let other = UnparsedPublicKey::new(&ECDH_P256, server);
        let (mut input, mut key, mut nonce) = ([0; 32], [0; 16], [0; 12]);
        agree(&self.private, other, aws_lc_rs::error::Unspecified, |shared| {
            let info = [b"WebPush: info\0", own.as_ref(), server];
            let first = Salt::new(HKDF_SHA256, &self.auth).extract(shared);
            first.expand(&info, Length(32))?.fill(&mut input)
        })
        .unwrap();
        let second = Salt::new(HKDF_SHA256, salt).extract(&input);
        let info: [&[u8]; 1] = [b"Content-Encoding: aes128gcm\0"];
        second.expand(&info, Length(16)).unwrap().fill(&mut key).unwrap();
        let info: [&[u8]; 1] = [b"Content-Encoding: nonce\0"];
        second.expand(&info, Length(12)).unwrap().fill(&mut nonce).unwrap();
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut text = record.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = key.open_in_place(nonce, Aad::empty(), &mut text).unwrap();
        let (end, text) = text.split_last().unwrap();
        assert_eq!(*end, 2, "the last record ends with 2");
        serde_json::from_slice(text).unwrap()
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

async fn configure(app: &TestApp, project: ProjectId, provider: Provider) {
    let (app, now) = (&app.app, app.now());
    let secret = provider.secret.clone().unwrap();
    let sealed = admin::seal(&app.sealer, project, provider.kind, &secret, &app.random).unwrap();
    let set = move |tx: &db::Tx<'_>| admin::set(tx, project, &provider, Some(&sealed), now);
    app.db.write(set).await.unwrap();
}

/// Gives the project a VAPID key.
pub async fn with_web_push(app: &TestApp) {
    let provider = admin::new_vapid_key("mailto:ops@example.com").unwrap();
    configure(app, app.project.id, provider).await;
}

/// The service account of the project `forum`, whose tokens come from `/oauth2/token`.
pub fn service_account(google: &Fake) -> Value {
    json!({
        "type": "service_account",
        "project_id": "forum",
        "private_key_id": "key-7",
        "private_key": &rsa_key().private,
        "client_email": "push@forum.iam.gserviceaccount.com",
        "token_uri": google.url("/oauth2/token"),
    })
}

pub fn rsa_key() -> &'static townhall::auth::rs256::KeyPair {
    static KEY: OnceLock<townhall::auth::rs256::KeyPair> = OnceLock::new();
    KEY.get_or_init(|| townhall::auth::rs256::generate().unwrap())
}

/// Where FCM takes the messages of that project.
pub const FCM_SEND: &str = "/v1/projects/forum/messages:send";

pub async fn with_fcm(app: &TestApp, google: &Fake) {
    let token = json!({ "access_token": "ya29.Token", "expires_in": 3599, "token_type": "Bearer" });
    google.reply("/oauth2/token", 200, token);
    google.reply(FCM_SEND, 200, json!({ "name": "projects/forum/messages/1" }));
    let account = service_account(google).to_string();
    configure(app, app.project.id, admin::fcm(&account, Some(google.url(""))).unwrap()).await;
}

pub async fn with_apns(app: &TestApp, url: &str) {
    let settings = ApnsSettings {
        key_id: "first".to_owned(),
        team_id: "TEAM".to_owned(),
        topic: "com.example.forum".to_owned(),
        url: Some(url.to_owned()),
    };
    let provider = admin::apns(&settings, Some(key().pem.clone())).unwrap();
    configure(app, app.project.id, provider).await;
}
