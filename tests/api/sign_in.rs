//! Sign In: an email address and its password give a session.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    sign_in_opens_a_second_session_and_shows_the_own_user,
    the_address_is_trimmed_and_lowered,
    sign_in_refuses_unknown_addresses_and_wrong_passwords,
    an_account_without_a_password_cannot_sign_in_with_one,
    an_incomplete_sign_in_is_named_by_version,
    a_user_of_one_project_is_unknown_in_the_other,
];

fn credentials(email: &str, password: &str) -> Value {
    json!({ "email": email, "password": password })
}

async fn sign_in_opens_a_second_session_and_shows_the_own_user(app: TestApp) {
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD, "bio": "first" });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    app.advance(Duration::from_secs(60));
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
        let body = credentials("ada@example.com", User::PASSWORD);
        let signed_in = actor.post("/auth/sign-in", body).await.expect(200);
        let mut user = signed_up["user"].clone();
        user["lastActive"] = json!(app.now());
        let expected = json!({
            "success": true,
            "accessToken": signed_in["accessToken"],
            "refreshToken": signed_in["refreshToken"],
            "user": user,
        });
        assert_eq!(signed_in, expected);
        assert_ne!(signed_in["refreshToken"], signed_up["refreshToken"]);
        let session = User::from_reply(&app, app.project.id, &signed_in);
        session.get("/oauth/identities").await.expect(200);
    }
    let first = json!({ "refreshToken": signed_up["refreshToken"] });
    app.anonymous().post("/auth/request-new-access-token", first).await.expect(200);
}

async fn the_address_is_trimmed_and_lowered(app: TestApp) {
    let user = app.user().await;
    let spelled = format!("  {} ", user.email.to_uppercase());
    let body = credentials(&spelled, User::PASSWORD);
    app.anonymous().post("/auth/sign-in", body).await.expect(200);
}

async fn sign_in_refuses_unknown_addresses_and_wrong_passwords(app: TestApp) {
    let user = app.user().await;
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
        let unknown = credentials("nobody@example.com", User::PASSWORD);
        actor.post("/auth/sign-in", unknown).await.refused(403, "auth/no-user-found");
        for wrong in ["wrong horse", "", &"x".repeat(1_000_000)] {
            let body = credentials(&user.email, wrong);
            actor.post("/auth/sign-in", body).await.refused(401, "auth/wrong-password");
        }
    }
}

async fn an_account_without_a_password_cannot_sign_in_with_one(app: TestApp) {
    let jwt = app.vouch_for(json!({ "sub": "7", "userData": { "email": "ext@example.com" } }));
    let body = json!({ "userJwt": jwt });
    app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
    let body = credentials("ext@example.com", User::PASSWORD);
    app.anonymous().post("/auth/sign-in", body).await.refused(403, "auth/invalid-credentials");
}

async fn an_incomplete_sign_in_is_named_by_version(app: TestApp) {
    for body in [
        json!({}),
        json!({ "email": "ada@example.com" }),
        json!({ "password": "correct horse" }),
        json!({ "email": null, "password": "correct horse" }),
        json!({ "email": "ada@example.com", "password": 123_456 }),
        json!(["ada@example.com", "correct horse"]),
    ] {
        let anonymous = app.anonymous();
        let v6 = anonymous.v6().post("/auth/sign-in", body.clone()).await;
        v6.refused(400, "auth/missing-fields");
        for actor in [anonymous.v7(), anonymous] {
            let reply = actor.post("/auth/sign-in", body.clone()).await;
            reply.refused(400, "auth/invalid-credentials");
        }
    }
}

async fn a_user_of_one_project_is_unknown_in_the_other(app: TestApp) {
    let stranger = app.stranger().await;
    let body = credentials(&stranger.email, User::PASSWORD);
    app.anonymous().post("/auth/sign-in", body).await.refused(403, "auth/no-user-found");
}
