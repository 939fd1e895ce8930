//! The OAuth identities of a user: listing and unlinking, except the last way to sign in.

use db::{Command, args};
use serde_json::{Value, json};
use townhall::values::ids::{IdentityId, new_id};

use crate::support::{TestApp, User, all_at_once, keys, on_both_engines};

on_both_engines![
    identities_are_listed_oldest_first,
    the_last_identity_of_a_user_without_password_stays,
    unlinking_leaves_sessions_and_the_foreign_id,
    only_ones_own_identities_can_be_unlinked,
    two_unlinkings_at_once_leave_one_way_in,
    identities_are_for_users_only,
];

/// An external user: an identity and no password.
async fn external<'a>(app: &'a TestApp, sub: &str) -> User<'a> {
    let body = json!({ "userJwt": app.vouch_for(json!({ "sub": sub })) });
    let signed_in = app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
    User::from_reply(app, app.project.id, &signed_in)
}

async fn link(app: &TestApp, user: &User<'_>, provider: &'static str) -> IdentityId {
    let (project, user, now) = (app.project.id, user.id, app.now());
    let id = IdentityId(new_id(now, &app.app.random));
    let sql = "INSERT INTO identities (project_id, id, user_id, provider, provider_account_id,
                email, name, avatar, is_verified, created_at, updated_at)
               VALUES ($1, $2, $3, $4, $5, 'a@b.example', 'Ada', 'https://img', TRUE, $6, $6)";
    let linked = app.app.db.write(move |tx| {
        let account = id.to_string();
        tx.execute(
            &Command::<()>::built("identity", sql),
            args![project, id, user, provider, account, now],
        )
    });
    linked.await.unwrap();
    id
}

async fn listed(user: &User<'_>) -> Vec<Value> {
    let body = user.get("/oauth/identities").await.expect(200);
    body["identities"].as_array().unwrap().clone()
}

async fn identities_are_listed_oldest_first(app: TestApp) {
    let user = external(&app, "42").await;
    app.advance(std::time::Duration::from_secs(1));
    let github = link(&app, &user, "github").await;
    let reply = user.get("/oauth/identities").await;
    let body = reply.expect(200);
    assert_eq!(reply.keys(), ["hasPassword", "identities"]);
    assert_eq!(body["hasPassword"], false);
    let fields = [
        "avatar",
        "createdAt",
        "email",
        "id",
        "isVerified",
        "name",
        "provider",
        "providerAccountId",
    ];
    let [first, second] = body["identities"].as_array().unwrap().as_slice() else {
        panic!("{body}");
    };
    assert_eq!(keys(first), fields);
    let id = first["id"].clone();
    assert_eq!(
        *first,
        json!({
            "id": id,
            "provider": "external",
            "providerAccountId": "42",
            "email": null,
            "name": null,
            "avatar": null,
            "isVerified": false,
            "createdAt": "2026-08-01T12:00:00.000Z",
        })
    );
    assert_eq!(second["id"], github.to_string());
    assert_eq!(
        (second["isVerified"].as_bool(), second["name"].as_str()),
        (Some(true), Some("Ada"))
    );
    let own = format!("/users/{}", user.id);
    let methods = &user.patch(&own, json!({})).await.expect(200)["authMethods"];
    assert_eq!(*methods, json!(["external", "github"]));

    let with_password = app.user().await.get("/oauth/identities").await.expect(200);
    assert_eq!(with_password, json!({ "identities": [], "hasPassword": true }));
}

async fn the_last_identity_of_a_user_without_password_stays(app: TestApp) {
    let user = external(&app, "42").await;
    let id = listed(&user).await[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/oauth/identities/{id}");
    user.delete(&path).await.refused(400, "oauth/last-identity");
    assert_eq!(listed(&user).await.len(), 1, "it is still there");

    let other = link(&app, &user, "github").await;
    let unlinked = user.delete(&format!("/oauth/identities/{other}")).await.expect(200);
    assert_eq!(unlinked, json!({ "success": true }));
    user.delete(&path).await.refused(400, "oauth/last-identity");

    let password = json!({ "newPassword": "correct horse" });
    user.post("/auth/set-password", password).await.expect(200);
    user.delete(&path).await.expect(200);
    let left = user.get("/oauth/identities").await.expect(200);
    assert_eq!(left, json!({ "identities": [], "hasPassword": true }));
}

async fn unlinking_leaves_sessions_and_the_foreign_id(app: TestApp) {
    let user = external(&app, "42").await;
    user.post("/auth/set-password", json!({ "newPassword": "correct horse" })).await.expect(200);
    let id = listed(&user).await[0]["id"].as_str().unwrap().to_owned();
    user.delete(&format!("/oauth/identities/{id}")).await.expect(200);
    let body = json!({ "refreshToken": user.refresh_token });
    let refreshed = app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
    assert_eq!(refreshed["user"]["foreignId"], "42");
    assert_eq!(refreshed["user"]["authMethods"], json!(["password"]));
}

async fn only_ones_own_identities_can_be_unlinked(app: TestApp) {
    let (user, other) = (external(&app, "1").await, external(&app, "2").await);
    let identity = link(&app, &user, "github").await;
    let not_theirs = format!("/oauth/identities/{identity}");
    let unknown = format!("/oauth/identities/{}", app.project.id);
    for path in [not_theirs.as_str(), unknown.as_str(), "/oauth/identities/x"] {
        other.delete(path).await.refused(404, "oauth/identity-not-found");
        other.v6().delete(path).await.refused(404, "oauth/identity-not-found");
    }
    let stranger = app.stranger().await;
    stranger.delete(&not_theirs).await.refused(404, "oauth/identity-not-found");
    assert_eq!(listed(&user).await.len(), 2);
}

async fn two_unlinkings_at_once_leave_one_way_in(app: TestApp) {
    let user = external(&app, "42").await;
    link(&app, &user, "github").await;
    let paths: Vec<String> = listed(&user)
        .await
        .iter()
        .map(|identity| format!("/oauth/identities/{}", identity["id"].as_str().unwrap()))
        .collect();
    let replies = all_at_once(paths.iter().map(|path| user.delete(path))).await;
    let mut outcomes: Vec<String> = replies.iter().map(|reply| reply.outcome()).collect();
    outcomes.sort();
    assert_eq!(outcomes, ["200", "400 oauth/last-identity"]);
    assert_eq!(listed(&user).await.len(), 1);
}

async fn identities_are_for_users_only(app: TestApp) {
    let user = external(&app, "42").await;
    let id = link(&app, &user, "github").await;
    let path = format!("/oauth/identities/{id}");
    for actor in [app.anonymous(), app.service(), app.master()] {
        assert_eq!(actor.get("/oauth/identities").await.outcome(), "401 Unauthorized");
        assert_eq!(actor.delete(&path).await.outcome(), "401 Unauthorized");
        let v7 = actor.v7().get("/oauth/identities").await;
        assert_eq!(v7.refused(401, "auth/unauthorized")["error"], "Unauthorized");
    }
}
