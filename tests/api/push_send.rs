//! Send Push and the push services behind it. The tests play the services and check what arrives: a browser
//! decrypts it, FCM and APNs check every header, token and field.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::jwk::{Jwt, KeySet};
use townhall::auth::rs256;
use townhall::http::query::pairs;

use crate::support::apns::Apns;
use crate::support::fake::{Fake, key};
use crate::support::openid::allowing_this_machine;
use crate::support::push::{
    Browser, DEVICES, FCM_SEND, rsa_key, with_apns, with_fcm, with_web_push,
};
use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    without_services_each_device_says_so,
    a_browser_reads_what_it_is_sent,
    fcm_gets_its_own_form,
    apns_gets_its_own_form,
    a_device_that_its_service_calls_dead_is_forgotten,
    a_failing_service_is_reported,
    messages_that_are_none_are_refused,
    only_keys_send,
];

async fn send(app: &TestApp, body: Value) -> Reply {
    app.service().post("/push-notifications/send", body).await
}

fn to(users: &[&User<'_>]) -> Value {
    let ids: Vec<_> = users.iter().map(|user| user.id).collect();
    json!({ "userIds": ids, "title": "Hello", "body": "How are you?" })
}

fn with(mut message: Value, more: Value) -> Value {
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

/// Later than all others.
async fn device(app: &TestApp, user: &User<'_>, platform: &str, token: &str) {
    app.advance(Duration::from_secs(1));
    user.post(DEVICES, json!({ "platform": platform, "token": token })).await.expect(200);
}

/// Every option that there is.
fn options() -> Value {
    json!({
        "data": { "postId": 7, "nested": { "a": [1] }, "recipientUserId": "forged" },
        "sound": "ding.caf", "badge": 3, "channelId": "replies", "priority": "normal",
        "subtitle": "Sub", "imageUrl": "https://img.example/1.png", "tag": "t",
        "collapseId": "c-1", "threadId": "thread", "ttl": 60, "mutableContent": true,
    })
}

async fn without_services_each_device_says_so(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let stranger = app.stranger().await;
    device(&app, &ada, "ios", "a").await;
    device(&app, &ada, "android", "b").await;
    device(&app, &stranger, "ios", "c").await;
    let endpoint = "https://push.example/1";
    let keys = json!({ "p256dh": "x", "auth": "y" });
    let web = json!({ "platform": "web", "subscription": { "endpoint": endpoint, "keys": keys } });
    app.advance(Duration::from_secs(1));
    ada.post(DEVICES, web).await.expect(200);
    let unset = |platform: &str| json!({ "platform": platform, "success": false, "reason": "credentials_not_configured" });
    for key in [app.service(), app.master(), app.service().v7()] {
        let sent = key.post("/push-notifications/send", to(&[&ada, &bob, &stranger, &ada])).await;
        let mut expected = json!({});
        expected[ada.id.to_string()] = json!([unset("ios"), unset("android"), unset("web")]);
        expected[bob.id.to_string()] = json!([]);
        expected[stranger.id.to_string()] = json!([]);
        assert_eq!(sent.expect(200), json!({ "results": expected }));
    }
    let path = "/push-notifications/vapid-public-key";
    let none = json!({ "publicKey": null });
    for actor in [app.anonymous(), app.bearer("nonsense"), app.anonymous().v7()] {
        assert_eq!(actor.get(path).await.expect(200), none);
    }
}

async fn a_browser_reads_what_it_is_sent(app: TestApp) {
    let (app, service) = (allowing_this_machine(app).await, Fake::start().await);
    with_web_push(&app).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let browser = Browser::new(&service, "/wp/1");
    browser.register(&ada).await;
    browser.register(&bob).await;
    let sent = send(&app, to(&[&ada, &bob])).await.expect(200);
    let success = json!([{ "platform": "web", "success": true }]);
    assert_eq!(sent["results"][ada.id.to_string()], success);
    assert_eq!(sent["results"][bob.id.to_string()], success);

    let requests = service.requests("/wp/1");
    let mut recipients = Vec::new();
    for request in &requests {
        let message = browser.read(request);
        let recipient = message["data"]["recipientUserId"].clone();
        let expected = json!({
            "title": "Hello", "body": "How are you?", "data": { "recipientUserId": recipient },
        });
        assert_eq!(message, expected);
        recipients.push(recipient);
        let header = |name: &str| request.headers[name].as_str();
        assert_eq!(header("content-encoding"), "aes128gcm");
        assert_eq!((header("ttl"), header("urgency")), ("2419200", "high"));
        assert!(!request.headers.contains_key("topic"));
    }
    recipients.sort_by_key(ToString::to_string);
    let mut both = vec![json!(ada.id), json!(bob.id)];
    both.sort_by_key(ToString::to_string);
    assert_eq!(recipients, both);

    // The token of RFC 8292, under the key that browsers subscribe with.
    let path = "/push-notifications/vapid-public-key";
    let public = app.anonymous().get(path).await.expect(200)["publicKey"].clone();
    let authorization = &requests[0].headers["authorization"];
    let (token, shown) =
        authorization.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    assert_eq!(shown, public);
    let point = base64(shown);
    assert_eq!((point.len(), point[0]), (65, 4));
    let (x, y) = (encoded(&point[1..33]), encoded(&point[33..]));
    let jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "alg": "ES256" });
    let keys = KeySet::parse(&json!({ "keys": [jwk] })).unwrap();
    let claims = Jwt::parse(token).unwrap().verified(&keys).unwrap();
    let expires = app.now().seconds() + 12 * 60 * 60;
    let origin = service.url("");
    let expected = json!({ "aud": origin, "exp": expires, "sub": "mailto:ops@example.com" });
    assert_eq!(claims, expected);

    send(&app, with(to(&[&ada]), options())).await.expect(200);
    let request = service.requests("/wp/1").pop().unwrap();
    let message = browser.read(&request);
    assert_eq!(message["data"]["recipientUserId"], json!(ada.id));
    assert_eq!(message["data"]["nested"], json!({ "a": [1] }));
    assert_eq!((&message["image"], &message["tag"]), (&options()["imageUrl"], &json!("t")));
    let header = |name: &str| request.headers[name].as_str();
    assert_eq!((header("ttl"), header("urgency"), header("topic")), ("60", "normal", "c-1"));
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn encoded(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

async fn fcm_gets_its_own_form(app: TestApp) {
    let (app, google) = (allowing_this_machine(app).await, Fake::start().await);
    with_fcm(&app, &google).await;
    let user = app.user().await;
    device(&app, &user, "android", "token:1").await;
    let sent = send(&app, to(&[&user])).await.expect(200);
    let success = json!([{ "platform": "android", "success": true }]);
    assert_eq!(sent["results"][user.id.to_string()], success);

    let asked = &google.requests("/oauth2/token")[0];
    assert_eq!(asked.headers["content-type"], "application/x-www-form-urlencoded");
    let form = pairs(&asked.body);
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let assertion = form["assertion"].as_str().unwrap();
    let header = base64(assertion.split('.').next().unwrap());
    let header: Value = serde_json::from_slice(&header).unwrap();
    assert_eq!(header, json!({ "alg": "RS256", "typ": "JWT", "kid": "key-7" }));
    let claims = rs256::verify(assertion, [rsa_key().public.as_str()].into_iter()).unwrap();
    let now = app.now().seconds();
    let expected = json!({
        "iss": "push@forum.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/firebase.messaging",
        "aud": google.url("/oauth2/token"),
        "iat": now,
        "exp": now + 3600,
    });
    assert_eq!(claims, expected);

    let request = &google.requests(FCM_SEND)[0];
    assert_eq!(request.headers["authorization"], "Bearer ya29.Token");
    assert_eq!(request.headers["content-type"], "application/json");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let expected = json!({ "message": {
        "token": "token:1",
        "notification": { "title": "Hello", "body": "How are you?" },
        "data": { "recipientUserId": user.id },
        "android": { "priority": "HIGH" },
    }});
    assert_eq!(body, expected);

    send(&app, with(to(&[&user]), options())).await.expect(200);
    let body: Value = serde_json::from_str(&google.requests(FCM_SEND)[1].body).unwrap();
    let expected = json!({ "message": {
        "token": "token:1",
        "notification": {
            "title": "Hello", "body": "How are you?", "image": "https://img.example/1.png",
        },
        "data": { "recipientUserId": user.id, "postId": "7", "nested": "{\"a\":[1]}" },
        "android": {
            "priority": "NORMAL", "ttl": "60s", "collapse_key": "c-1",
            "notification": {
                "sound": "ding.caf", "channel_id": "replies", "tag": "t", "notification_count": 3,
            },
        },
    }});
    assert_eq!(body, expected);
    // One access token serves until shortly before it expires.
    assert_eq!(google.requests("/oauth2/token").len(), 1);
    app.advance(Duration::from_secs(3599 - 299));
    send(&app, to(&[&user])).await.expect(200);
    assert_eq!(google.requests("/oauth2/token").len(), 2);
}

async fn apns_gets_its_own_form(app: TestApp) {
    let (app, apple) = (allowing_this_machine(app).await, Apns::start().await);
    with_apns(&app, &apple.url()).await;
    let user = app.user().await;
    device(&app, &user, "ios", "00fc13").await;
    let sent = send(&app, to(&[&user])).await.expect(200);
    let success = json!([{ "platform": "ios", "success": true }]);
    assert_eq!(sent["results"][user.id.to_string()], success);
    let request = &apple.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/3/device/00fc13"));
    assert_eq!(request.header("apns-topic"), Some("com.example.forum"));
    assert_eq!(request.header("apns-push-type"), Some("alert"));
    assert_eq!(request.header("apns-priority"), Some("10"));
    assert_eq!(request.header("apns-expiration"), None);
    let token = request.header("authorization").unwrap().strip_prefix("bearer ").unwrap();
    let header: Value = serde_json::from_slice(&base64(token.split('.').next().unwrap())).unwrap();
    assert_eq!((&header["alg"], &header["kid"]), (&json!("ES256"), &json!("first")));
    let keys = KeySet::parse(&json!({ "keys": [key().public] })).unwrap();
    let claims = Jwt::parse(token).unwrap().verified(&keys).unwrap();
    assert_eq!(claims, json!({ "iss": "TEAM", "iat": app.now().seconds() }));
    let expected = json!({
        "aps": { "alert": { "title": "Hello", "body": "How are you?" } },
        "recipientUserId": user.id,
    });
    assert_eq!(request.body, expected);

    send(&app, with(to(&[&user]), options())).await.expect(200);
    let request = &apple.requests()[1];
    assert_eq!(request.header("apns-priority"), Some("5"));
    assert_eq!(request.header("apns-collapse-id"), Some("c-1"));
    let expires = (app.now().seconds() + 60).to_string();
    assert_eq!(request.header("apns-expiration"), Some(expires.as_str()));
    let expected = json!({
        "aps": {
            "alert": { "title": "Hello", "subtitle": "Sub", "body": "How are you?" },
            "badge": 3, "sound": "ding.caf", "thread-id": "thread", "mutable-content": 1,
        },
        "recipientUserId": user.id, "postId": 7, "nested": { "a": [1] },
        "imageUrl": "https://img.example/1.png",
    });
    assert_eq!(request.body, expected);
    // One token for some time, and one connection for all messages.
    assert_eq!(request.header("authorization"), apple.requests()[0].header("authorization"));
    app.advance(Duration::from_secs(41 * 60));
    send(&app, to(&[&user])).await.expect(200);
    let later = apple.requests()[2].header("authorization").map(ToOwned::to_owned);
    assert_ne!(later.as_deref(), apple.requests()[0].header("authorization"));
    assert_eq!(apple.connections.load(SeqCst), 1);
}

async fn a_device_that_its_service_calls_dead_is_forgotten(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let (service, google, apple) = (Fake::start().await, Fake::start().await, Apns::start().await);
    with_web_push(&app).await;
    with_fcm(&app, &google).await;
    with_apns(&app, &apple.url()).await;
    let (ada, bob, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let details = json!([{
        "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "UNREGISTERED",
    }]);
    let error = json!({ "code": 404, "status": "NOT_FOUND", "details": details });
    google.reply(FCM_SEND, 404, json!({ "error": error }));
    apple.reply("unregistered", 410, "Unregistered");
    apple.reply("bad", 400, "BadDeviceToken");
    let mut browsers = Vec::new();
    for (path, status) in [("/gone", 410), ("/unknown", 404)] {
        browsers.push(Browser::new(&service, path));
        service.reply(path, status, json!({}));
    }
    for user in [&ada, &bob, &stranger] {
        device(&app, user, "android", "a").await;
        device(&app, user, "ios", "unregistered").await;
        device(&app, user, "ios", "bad").await;
        for browser in &browsers {
            browser.register(user).await;
        }
    }
    device(&app, &ada, "ios", "alive").await;
    let sent = send(&app, to(&[&ada])).await.expect(200);
    let results = sent["results"][ada.id.to_string()].as_array().unwrap().clone();
    assert_eq!(results.len(), 6);
    for result in &results[..5] {
        let (success, reason) = (&result["success"], &result["reason"]);
        assert_eq!((success, reason), (&json!(false), &json!("device_not_registered")));
    }
    assert_eq!(results[5], json!({ "platform": "ios", "success": true }));
    // For all users of the project, and no other project.
    assert_eq!(app.rows_of(app.project.id, "push_devices").await, 1);
    assert_eq!(app.rows_of(app.other.id, "push_devices").await, 5);
}

async fn a_failing_service_is_reported(app: TestApp) {
    let app = allowing_this_machine(app).await;
    let (service, google, apple) = (Fake::start().await, Fake::start().await, Apns::start().await);
    with_web_push(&app).await;
    with_fcm(&app, &google).await;
    with_apns(&app, &apple.url()).await;
    let user = app.user().await;
    let browser = Browser::new(&service, "/1");
    browser.register(&user).await;
    device(&app, &user, "android", "g").await;
    device(&app, &user, "ios", "a").await;
    let reasons = async |more: Value| {
        let sent = send(&app, with(to(&[&user]), more)).await.expect(200);
        let results = sent["results"][user.id.to_string()].as_array().unwrap().clone();
        assert!(results.iter().all(|result| result["success"] == false), "{results:?}");
        results.iter().map(|result| result["reason"].clone()).collect::<Vec<_>>()
    };
    service.reply("/1", 503, json!({}));
    let error = json!({ "code": 400, "status": "INVALID_ARGUMENT", "details": [] });
    google.reply(FCM_SEND, 400, json!({ "error": error }));
    apple.reply("a", 403, "InvalidProviderToken");
    let expected = ["provider_error_503", "invalid_argument", "InvalidProviderToken"];
    assert_eq!(reasons(json!({})).await, expected);

    // A revoked token is replaced by the next try.
    google.reply(FCM_SEND, 401, json!({ "error": { "status": "UNAUTHENTICATED" } }));
    service.reply("/1", 307, json!({}));
    apple.reply("a", 403, "ExpiredProviderToken");
    let before = google.requests("/oauth2/token").len();
    let expected = ["provider_error_307", "unauthenticated", "ExpiredProviderToken"];
    assert_eq!(reasons(json!({})).await, expected);
    assert!(service.requests("/elsewhere").is_empty(), "redirects are not followed");
    reasons(json!({})).await;
    assert_eq!(google.requests("/oauth2/token").len(), before + 1);

    let long = json!({ "data": { "text": "x".repeat(4096) } });
    google.reply(FCM_SEND, 400, json!({ "error": { "status": "INVALID_ARGUMENT" } }));
    let expected = ["payload_too_large", "invalid_argument", "payload_too_large"];
    assert_eq!(reasons(long).await, expected);
    google.reply("/oauth2/token", 400, json!({ "error": "invalid_grant" }));
    google.reply(FCM_SEND, 401, json!({ "error": { "status": "UNAUTHENTICATED" } }));
    reasons(json!({})).await;
    assert_eq!(reasons(json!({})).await[1], "invalid_credentials");
    assert_eq!(app.rows("push_devices").await, 3, "a failing service kills no device");
}

async fn messages_that_are_none_are_refused(app: TestApp) {
    let user = app.user().await;
    let id = user.id.to_string();
    let many: Vec<_> = (0..101).map(|_| &id).collect();
    let valid = to(&[&user]);
    for change in [
        json!({ "userIds": [] }),
        json!({ "userIds": many }),
        json!({ "userIds": ["x"] }),
        json!({ "userIds": id }),
        json!({ "title": "" }),
        json!({ "title": null }),
        json!({ "body": 7 }),
        json!({ "data": [] }),
        json!({ "priority": "urgent" }),
        json!({ "badge": 1.5 }),
        json!({ "badge": "1" }),
        json!({ "ttl": -1 }),
        json!({ "mutableContent": "yes" }),
    ] {
        let refused = send(&app, with(valid.clone(), change.clone())).await;
        refused.refused(400, "push-send/invalid-body");
    }
    for missing in ["userIds", "title", "body"] {
        let mut body = valid.clone();
        body.as_object_mut().unwrap().remove(missing);
        send(&app, body).await.refused(400, "push-send/invalid-body");
    }
    send(&app, with(valid, json!({ "sound": null, "unknown": 1 }))).await.expect(200);
}

async fn only_keys_send(app: TestApp) {
    let user = app.user().await;
    let other = app.bearer(&app.other.service_key);
    for (actor, outcome) in [
        (app.anonymous(), "401 Unauthorized"),
        (other, "403 Forbidden"),
        ((*user).clone(), "403 auth/elevated-auth-required"),
        (user.v7(), "403 auth/elevated-auth-required"),
    ] {
        let sent = actor.post("/push-notifications/send", to(&[&user])).await;
        assert_eq!(sent.outcome(), outcome);
    }
    app.service().v6().post("/push-notifications/send", to(&[&user])).await.expect(404);
}
