//! Registering and deregistering devices, and what sign-out and new passwords do to them.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::support::fake::Fake;
use crate::support::openid::allowing_this_machine;
use crate::support::push::{Browser, DEVICES};
use crate::support::{Reply, TestApp, User, all_at_once, keys, on_both_engines};

on_both_engines![
    a_device_is_bound_and_released,
    one_device_serves_several_users,
    the_oldest_devices_are_forgotten,
    a_malformed_device_is_refused,
    an_endpoint_must_be_public_and_secure,
    only_users_have_devices,
    two_registrations_at_once_make_one_binding,
    sign_out_releases_the_named_device_only,
    a_late_sign_out_still_releases_its_device,
    a_new_password_releases_other_devices,
    a_deleted_user_has_no_devices,
];

fn ios(token: &str) -> Value {
    json!({ "platform": "ios", "token": token })
}

fn web(endpoint: &str) -> Value {
    let keys = json!({ "p256dh": "BPub", "auth": "secret" });
    json!({ "platform": "web", "subscription": { "endpoint": endpoint, "keys": keys } })
}

async fn release(user: &User<'_>, device: Value) -> Reply {
    user.send(Method::DELETE, DEVICES, Some(device)).await
}

async fn devices(app: &TestApp) -> i64 {
    app.rows("push_devices").await
}

async fn a_device_is_bound_and_released(app: TestApp) {
    let user = app.user().await;
    let first = user.post(DEVICES, ios("abc")).await.expect(200);
    let expected = ["createdAt", "deviceKey", "id", "payload", "platform", "updatedAt", "userId"];
    assert_eq!(keys(&first), expected);
    assert_eq!((&first["platform"], &first["payload"]), (&json!("ios"), &json!("abc")));
    assert_eq!((&first["deviceKey"], &first["userId"]), (&json!("abc"), &json!(user.id)));

    app.advance(Duration::from_secs(60));
    let again = user.v7().post(DEVICES, ios("abc")).await.expect(200);
    assert_eq!((&again["id"], &again["createdAt"]), (&first["id"], &first["createdAt"]));
    assert_ne!(again["updatedAt"], first["updatedAt"]);
    // Another platform with the same token is the same device.
    let moved = user.post(DEVICES, json!({ "platform": "android", "token": "abc" })).await;
    assert_eq!(moved.expect(200)["platform"], "android");
    assert_eq!(devices(&app).await, 1);

    let endpoint = "https://push.example/send/1";
    let browser = user.post(DEVICES, web(endpoint)).await.expect(200);
    assert_eq!(browser["deviceKey"], endpoint);
    assert_eq!(browser["payload"], web(endpoint)["subscription"]);

    // A browser is found by its endpoint, whatever its keys.
    let mut other_keys = web(endpoint);
    other_keys["subscription"]["keys"]["auth"] = json!("other");
    for device in [other_keys.clone(), other_keys, ios("abc"), ios("never seen")] {
        assert_eq!(release(&user, device).await.expect(200), json!({ "success": true }));
    }
    assert_eq!(devices(&app).await, 0);
    user.v6().post(DEVICES, ios("abc")).await.expect(404);
}

async fn one_device_serves_several_users(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let stranger = app.stranger().await;
    let mut ids = Vec::new();
    for user in [&ada, &bob, &stranger] {
        ids.push(user.post(DEVICES, ios("shared")).await.expect(200)["id"].clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    release(&ada, ios("shared")).await.expect(200);
    assert_eq!(app.rows_of(app.project.id, "push_devices").await, 1);
    assert_eq!(app.rows_of(app.other.id, "push_devices").await, 1);
}

async fn the_oldest_devices_are_forgotten(app: TestApp) {
    let user = app.user().await;
    for number in 0..22 {
        user.post(DEVICES, ios(&format!("token-{number}"))).await.expect(200);
        app.advance(Duration::from_secs(1));
        // In use again, so it is not among the oldest.
        user.post(DEVICES, ios("token-0")).await.expect(200);
    }
    assert_eq!(devices(&app).await, 20);
    for (number, left) in [(1, 20), (2, 20), (0, 19), (3, 18), (21, 17)] {
        release(&user, ios(&format!("token-{number}"))).await.expect(200);
        assert_eq!(devices(&app).await, left, "{number}");
    }
}

async fn a_malformed_device_is_refused(app: TestApp) {
    let user = app.user().await;
    let mut without_auth = web("https://push.example/1");
    without_auth["subscription"]["keys"].as_object_mut().unwrap().remove("auth");
    for body in [
        json!({}),
        json!([]),
        json!({ "platform": "ios" }),
        json!({ "platform": "ios", "token": "" }),
        json!({ "platform": "ios", "token": 7 }),
        json!({ "platform": "windows", "token": "abc" }),
        json!({ "platform": "web", "token": "abc" }),
        json!({ "platform": "android", "token": "x".repeat(4097) }),
        without_auth,
    ] {
        user.post(DEVICES, body.clone()).await.refused(400, "push-device/invalid-body");
        release(&user, body).await.refused(400, "push-device/invalid-body");
    }
    assert_eq!(devices(&app).await, 0);
}

async fn an_endpoint_must_be_public_and_secure(app: TestApp) {
    let user = app.user().await;
    for endpoint in [
        "push.example",
        "ftp://push.example/1",
        "http://push.example/1",
        "https://user@push.example/1",
        "https://127.0.0.1/1",
        "https://localhost/1",
        "https://[::1]/1",
        "https://10.0.0.1/1",
        "https://169.254.169.254/latest",
        "https://2130706433/1",
        "https://push.example:22/1",
    ] {
        let refused = user.post(DEVICES, web(endpoint)).await;
        let error = refused.refused(400, "push-device/invalid-body");
        assert!(error["error"].as_str().unwrap().starts_with("subscription.endpoint: "));
    }
    // The operator opens an address, also for plain HTTP.
    let app = allowing_this_machine(app).await;
    let (user, service) = (app.user().await, Fake::start().await);
    Browser::new(&service, "/1").register(&user).await;
    assert!(service.requests("/1").is_empty(), "registering calls nobody");
}

async fn only_users_have_devices(app: TestApp) {
    let user = app.user().await;
    let gone = app.user().await;
    app.service().delete(&format!("/users/{}", gone.id)).await.expect(204);
    let (service, master) = (app.service(), app.master());
    for (actor, outcome) in [
        (app.anonymous(), "401 Unauthorized"),
        (app.bearer("nonsense"), "403 Forbidden"),
        ((*app.stranger().await).in_project(app.project.id), "403 Forbidden"),
        (service, "401 push-device/unauthorized"),
        (master, "401 push-device/unauthorized"),
        ((*gone).clone(), "403 auth/no-user-found"),
    ] {
        assert_eq!(actor.post(DEVICES, ios("abc")).await.outcome(), outcome);
        let released = actor.send(Method::DELETE, DEVICES, Some(ios("abc"))).await;
        assert_eq!(released.outcome(), outcome);
    }
    app.anonymous().v7().post(DEVICES, ios("abc")).await.says(401, "Unauthorized");
    app.suspend(user.id).await;
    user.post(DEVICES, ios("abc")).await.expect(200);
    release(&user, ios("abc")).await.expect(200);

    let bare = app.project_with(&[Bundle::Entities]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let refused = key.get("/push-notifications/vapid-public-key").await;
    let body = refused.refused(403, "database/tables-not-available");
    let tables = ["PushProviderConfigs", "PushDevices", "NotificationPreferences"];
    assert_eq!(body["missingTables"], json!(tables));
}

async fn two_registrations_at_once_make_one_binding(app: TestApp) {
    let user = app.user().await;
    let registered = all_at_once((0..8).map(|_| user.post(DEVICES, ios("abc")))).await;
    let mut ids: Vec<Value> =
        registered.iter().map(|reply| reply.expect(200)["id"].clone()).collect();
    ids.dedup();
    assert_eq!((ids.len(), devices(&app).await), (1, 1));
}

async fn sign_out_releases_the_named_device_only(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    for token in ["one", "two"] {
        user.post(DEVICES, ios(token)).await.expect(200);
        other.post(DEVICES, ios(token)).await.expect(200);
    }
    let body = json!({ "refreshToken": user.refresh_token, "pushDevice": ios("one") });
    // Without the bundle the device is ignored.
    let anonymous = app.anonymous();
    let forged = json!({ "refreshToken": "x", "pushDevice": ios("two") });
    anonymous.post("/auth/sign-out", forged).await.expect(204);
    anonymous.in_project(app.other.id).post("/auth/sign-out", body.clone()).await.expect(204);
    assert_eq!(devices(&app).await, 4);
    anonymous.post("/auth/sign-out", body.clone()).await.expect(204);
    assert_eq!(devices(&app).await, 3);
    // The session is gone by now; its token still releases a device.
    user.post(DEVICES, ios("one")).await.expect(200);
    anonymous.post("/auth/sign-out", body).await.expect(204);
    assert_eq!(devices(&app).await, 3);
}

async fn a_late_sign_out_still_releases_its_device(app: TestApp) {
    let user = app.user().await;
    user.post(DEVICES, ios("one")).await.expect(200);
    let body = json!({ "refreshToken": user.refresh_token, "pushDevice": ios("one") });
    app.advance(Duration::from_secs(119 * 24 * 60 * 60));
    app.anonymous().post("/auth/sign-out", body.clone()).await.expect(204);
    assert_eq!(devices(&app).await, 0);

    let user = app.user().await;
    user.post(DEVICES, ios("one")).await.expect(200);
    let body = json!({ "refreshToken": user.refresh_token, "pushDevice": ios("one") });
    app.advance(Duration::from_secs(121 * 24 * 60 * 60));
    app.anonymous().post("/auth/sign-out", body).await.expect(204);
    assert_eq!(devices(&app).await, 1, "after 90 days beyond its expiry a token is worth nothing");
}

async fn a_new_password_releases_other_devices(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    for token in ["one", "two", "three"] {
        user.post(DEVICES, ios(token)).await.expect(200);
    }
    other.post(DEVICES, ios("one")).await.expect(200);
    let body = json!({
        "password": User::PASSWORD, "newPassword": "battery staple", "pushDevice": ios("two"),
    });
    user.post("/auth/change-password", body).await.expect(200);
    assert_eq!(devices(&app).await, 2);
    release(&user, ios("two")).await.expect(200);
    assert_eq!(devices(&app).await, 1);

    user.post(DEVICES, ios("two")).await.expect(200);
    let body = json!({ "email": user.email });
    app.anonymous().post("/auth/request-password-reset", body).await.expect(200);
    let mail = app.next_mail().await;
    let token = mail.split_once("token=").unwrap().1.split_whitespace().next().unwrap();
    let body = json!({ "token": token, "newPassword": "horse battery" });
    app.anonymous().post("/auth/reset-password", body).await.expect(200);
    assert_eq!(devices(&app).await, 1, "the other user's stays");
}

async fn a_deleted_user_has_no_devices(app: TestApp) {
    let user = app.user().await;
    user.post(DEVICES, ios("one")).await.expect(200);
    let body = json!({ "disabledTypes": ["message"] });
    user.send(Method::PUT, "/push-notifications/preferences", Some(body)).await.expect(200);
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    assert_eq!(devices(&app).await, 0);
    assert_eq!(app.rows("notification_preferences").await, 0);
}
