//! Change Password and Set Password, and which sessions they end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    a_changed_password_ends_every_other_session,
    a_key_that_changes_a_password_ends_every_session,
    change_password_validates_the_new_password,
    who_may_not_change_a_password,
    only_one_of_two_changes_at_once_holds,
    an_account_without_a_password_may_set_one_and_keeps_its_sessions,
    set_password_validates_the_new_password,
];

const NEW: &str = "battery staple";

fn change(password: &str, new: &str) -> Value {
    json!({ "password": password, "newPassword": new })
}

async fn sign_in(app: &TestApp, email: &str, password: &str) -> Reply {
    app.anonymous().post("/auth/sign-in", json!({ "email": email, "password": password })).await
}

async fn refresh(app: &TestApp, user: &User<'_>) -> Reply {
    let body = json!({ "refreshToken": user.refresh_token });
    app.anonymous().post("/auth/request-new-access-token", body).await
}

/// An external user: no password, no address.
async fn external<'a>(app: &'a TestApp, sub: &str) -> User<'a> {
    let body = json!({ "userJwt": app.vouch_for(json!({ "sub": sub })) });
    let reply = app.anonymous().post("/auth/verify-external-user", body).await;
    User::from_reply(app, app.project.id, &reply.expect(200))
}

async fn a_changed_password_ends_every_other_session(app: TestApp) {
    let bystander = app.user().await;
    for (actor, user) in
        [("v6", app.user().await), ("v7", app.user().await), ("v8", app.user().await)]
    {
        let other = user.sign_in_again().await;
        let caller = match actor {
            "v6" => user.v6(),
            "v7" => user.v7(),
            _ => (*user).clone(),
        };
        let changed = caller.post("/auth/change-password", change(User::PASSWORD, NEW)).await;
        let expected = json!({ "success": true, "message": "Password updated successfully." });
        assert_eq!(changed.expect(200), expected);
        refresh(&app, &user).await.expect(200);
        refresh(&app, &other).await.refused(403, "auth/refresh-token-mismatch");
        other.get("/oauth/identities").await.expect(200);
        sign_in(&app, &user.email, User::PASSWORD).await.refused(401, "auth/wrong-password");
        sign_in(&app, &user.email, NEW).await.expect(200);
    }
    refresh(&app, &bystander).await.expect(200);
}

async fn a_key_that_changes_a_password_ends_every_session(app: TestApp) {
    for key in [app.service(), app.master()] {
        let user = app.user().await;
        let mut body = change(User::PASSWORD, NEW);
        body["userId"] = json!(user.id);
        key.post("/auth/change-password", body).await.expect(200);
        refresh(&app, &user).await.refused(403, "auth/refresh-token-mismatch");
        sign_in(&app, &user.email, NEW).await.expect(200);
    }
}

async fn change_password_validates_the_new_password(app: TestApp) {
    let user = app.user().await;
    for body in [
        change(User::PASSWORD, User::PASSWORD),
        change(User::PASSWORD, "12345"),
        change(User::PASSWORD, &"x".repeat(257)),
        change(User::PASSWORD, &"x".repeat(1_000_000)),
        json!({ "password": 7, "newPassword": NEW }),
        json!({ "password": User::PASSWORD, "newPassword": NEW, "pushDevice": { "platform": "x" } }),
    ] {
        user.post("/auth/change-password", body).await.refused(400, "auth/invalid-body");
    }
    for body in [json!({}), json!({ "password": "x" }), json!({ "newPassword": NEW })] {
        let v6 = user.v6().post("/auth/change-password", body.clone()).await;
        v6.refused(400, "auth/missing-fields");
        user.post("/auth/change-password", body).await.refused(400, "auth/invalid-body");
    }
    let wrong = user.post("/auth/change-password", change("wrong horse", NEW)).await;
    wrong.refused(401, "auth/wrong-password");
    let guest = external(&app, "7").await;
    let refused = guest.post("/auth/change-password", change("whatever", NEW)).await;
    refused.refused(400, "auth/not-password-authenticated");
    sign_in(&app, &user.email, User::PASSWORD).await.expect(200);
}

async fn who_may_not_change_a_password(app: TestApp) {
    let (user, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let body = |name: Value| {
        let mut body = change(User::PASSWORD, NEW);
        body["userId"] = name;
        body
    };
    let nobody = json!("01234567-89ab-4def-8123-456789abcdef");
    for path in ["/auth/change-password", "/auth/set-password", "/auth/send-verification-email"] {
        let post = async |actor: &crate::support::Actor<'_>, name: Value| {
            actor.post(path, body(name)).await
        };
        post(&app.anonymous(), json!(user.id)).await.says(401, "Unauthorized");
        post(&user, json!(other.id)).await.refused(403, "auth/unauthorized");
        post(&user, json!("not an id")).await.refused(403, "auth/unauthorized");
        post(&app.service(), Value::Null).await.refused(400, "auth/missing-user-id");
        post(&app.service(), nobody.clone()).await.refused(403, "auth/no-user-found");
        post(&app.service(), json!(stranger.id)).await.refused(403, "auth/no-user-found");
        post(&app.bearer(&stranger.access_token), Value::Null).await.says(403, "Forbidden");
    }
    for (account, project) in
        [(&user, &app.project), (&other, &app.project), (&stranger, &app.other)]
    {
        let anonymous = app.anonymous().in_project(project.id);
        let body = json!({ "email": account.email, "password": User::PASSWORD });
        anonymous.post("/auth/sign-in", body).await.expect(200);
    }
    // Naming oneself is no offence.
    user.post("/auth/change-password", body(json!(user.id))).await.expect(200);
}

async fn only_one_of_two_changes_at_once_holds(app: TestApp) {
    let user = app.user().await;
    let replies = all_at_once((0..8).map(|number| {
        let body = change(User::PASSWORD, &format!("new password {number}"));
        let user = &user;
        async move { user.post("/auth/change-password", body).await }
    }))
    .await;
    assert_eq!(count(&replies, 200), 1);
    assert_eq!(count(&replies, 401), 7);
    let winner = replies.iter().position(|reply| reply.status == 200).unwrap();
    sign_in(&app, &user.email, &format!("new password {winner}")).await.expect(200);
}

async fn an_account_without_a_password_may_set_one_and_keeps_its_sessions(app: TestApp) {
    let claims = json!({ "sub": "7", "userData": { "email": "ext@example.com" } });
    let body = json!({ "userJwt": app.vouch_for(claims) });
    let verify = || app.anonymous();
    let first = verify().post("/auth/verify-external-user", body.clone()).await.expect(200);
    let second = verify().post("/auth/verify-external-user", body).await.expect(200);
    let [first, second] = [first, second].map(|r| User::from_reply(&app, app.project.id, &r));
    app.advance(Duration::from_secs(1));

    let set =
        first.v7().post("/auth/set-password", json!({ "newPassword": NEW })).await.expect(200);
    assert_eq!(set, json!({ "success": true, "message": "Password set successfully." }));
    let signed_in = sign_in(&app, "ext@example.com", NEW).await.expect(200);
    assert_eq!(signed_in["user"]["authMethods"], json!(["password", "external"]));
    assert_eq!(signed_in["user"]["updatedAt"], json!(app.now()));
    refresh(&app, &first).await.expect(200);
    refresh(&app, &second).await.expect(200);

    let guest = external(&app, "8").await;
    let by_key = json!({ "newPassword": NEW, "userId": guest.id });
    app.service().post("/auth/set-password", by_key).await.expect(200);
    let identities = guest.get("/oauth/identities").await.expect(200);
    assert_eq!(identities["hasPassword"], true);
}

async fn set_password_validates_the_new_password(app: TestApp) {
    let user = app.user().await;
    let refused = user.post("/auth/set-password", json!({ "newPassword": NEW })).await;
    refused.refused(400, "auth/already-password-authenticated");
    let guest = external(&app, "7").await;
    for body in
        [json!({}), json!({ "newPassword": "12345" }), json!({ "newPassword": "x".repeat(257) })]
    {
        guest.post("/auth/set-password", body).await.refused(400, "auth/invalid-body");
    }
    let replies = all_at_once(
        (0..8).map(|_| guest.post("/auth/set-password", json!({ "newPassword": NEW }))),
    )
    .await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 7));
}
