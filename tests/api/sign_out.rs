//! Sign Out: ends one session, and never fails for a token without one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    sign_out_ends_its_session_and_no_other,
    an_older_token_of_the_session_ends_it_too,
    sign_out_with_a_token_that_ends_nothing_is_no_error,
    a_session_of_another_project_is_left_alone,
    a_malformed_push_device_is_refused_and_nothing_ends,
    sign_out_never_claims_success_when_the_session_could_not_be_ended,
];

async fn refresh(app: &TestApp, token: &str) -> Reply {
    let body = json!({ "refreshToken": token });
    app.anonymous().post("/auth/request-new-access-token", body).await
}

async fn sign_out_ends_its_session_and_no_other(app: TestApp) {
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
        let user = app.user().await;
        let other = user.sign_in_again().await;
        let reply =
            actor.post("/auth/sign-out", json!({ "refreshToken": user.refresh_token })).await;
        reply.expect(204);
        assert!(reply.body.is_empty());
        refresh(&app, &user.refresh_token).await.refused(403, "auth/refresh-token-mismatch");
        refresh(&app, &other.refresh_token).await.expect(200);
        // Access tokens are not revoked, they run out.
        user.get("/oauth/identities").await.expect(200);
    }
}

async fn an_older_token_of_the_session_ends_it_too(app: TestApp) {
    let user = app.user().await;
    let rotated = refresh(&app, &user.refresh_token).await.expect(200);
    app.anonymous()
        .post("/auth/sign-out", json!({ "refreshToken": user.refresh_token }))
        .await
        .expect(204);
    let successor = rotated["refreshToken"].as_str().unwrap();
    refresh(&app, successor).await.refused(403, "auth/refresh-token-mismatch");
}

async fn sign_out_with_a_token_that_ends_nothing_is_no_error(app: TestApp) {
    let user = app.user().await;
    let expired = app.user().await;
    let forged = format!("{}x", user.refresh_token);
    app.advance(Duration::from_secs(30 * 86_400));
    let gone = app.user().await;
    let anonymous = app.anonymous();
    let sign_out = |body: Value| anonymous.post("/auth/sign-out", body);
    sign_out(json!({ "refreshToken": gone.refresh_token })).await.expect(204);
    for body in [
        json!({}),
        json!({ "refreshToken": null }),
        json!({ "refreshToken": "" }),
        json!({ "refreshToken": "not a token" }),
        json!({ "refreshToken": forged }),
        json!({ "refreshToken": user.access_token }),
        json!({ "refreshToken": expired.refresh_token }),
        json!({ "refreshToken": gone.refresh_token }),
    ] {
        sign_out(body).await.expect(204);
    }
    anonymous.send(http::Method::POST, "/auth/sign-out", None).await.expect(204);
}

async fn a_session_of_another_project_is_left_alone(app: TestApp) {
    let stranger = app.stranger().await;
    let body = json!({ "refreshToken": stranger.refresh_token });
    app.anonymous().post("/auth/sign-out", body.clone()).await.expect(204);
    let at_home = app.anonymous().in_project(app.other.id);
    at_home.post("/auth/request-new-access-token", body).await.expect(200);
}

async fn a_malformed_push_device_is_refused_and_nothing_ends(app: TestApp) {
    let user = app.user().await;
    for device in [
        json!("ios"),
        json!({}),
        json!({ "platform": "ios" }),
        json!({ "platform": "fax", "token": "t" }),
        json!({ "platform": "android", "token": 7 }),
        json!({ "platform": "web", "token": "t" }),
        json!({ "platform": "web", "subscription": { "endpoint": "https://push.example" } }),
    ] {
        let body = json!({ "refreshToken": user.refresh_token, "pushDevice": device });
        app.anonymous().post("/auth/sign-out", body).await.refused(400, "auth/invalid-body");
    }
    let keys = json!({ "p256dh": "k", "auth": "a" });
    for device in [
        json!({ "platform": "ios", "token": "t" }),
        json!({ "platform": "web", "subscription": { "endpoint": "https://push.example", "keys": keys } }),
        json!(null),
    ] {
        let body = json!({ "refreshToken": user.refresh_token, "pushDevice": device });
        app.anonymous().post("/auth/sign-out", body).await.expect(204);
    }
    refresh(&app, &user.refresh_token).await.refused(403, "auth/refresh-token-mismatch");
}

async fn sign_out_never_claims_success_when_the_session_could_not_be_ended(app: TestApp) {
    let app = app.own_server().await;
    let user: User<'_> = app.user().await;
    let drop_table = db::Command::<()>::built("drop_tokens", "DROP TABLE refresh_tokens");
    let dropped = app.app.db.write(move |tx| tx.execute(&drop_table, db::args![]));
    dropped.await.unwrap();
    let body = json!({ "refreshToken": user.refresh_token });
    let failed = app.anonymous().post("/auth/sign-out", body.clone()).await;
    failed.refused(500, "auth/sign-out-failed");

    let sign_in = json!({ "email": user.email, "password": User::PASSWORD });
    let failed = app.anonymous().post("/auth/sign-in", sign_in.clone()).await;
    let expected = json!({ "error": "Internal server error", "code": "auth/server-error" });
    assert_eq!(failed.expect(500), expected);
    let failed = app.anonymous().v6().post("/auth/sign-in", sign_in).await.expect(500);
    assert!(failed["details"].is_string() && !failed.to_string().contains("refresh_tokens"));
}
