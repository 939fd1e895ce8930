//! Request New Access Token: rotation, the grace period for lost replies, and the reuse of stolen tokens.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::values::ids::{RefreshTokenId, SessionId, UserId};

use crate::support::{Actor, Reply, TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_refresh_rotates_and_shows_the_own_user,
    a_missing_token_is_refused,
    v6_does_not_rotate,
    a_token_that_does_not_hold_is_named_by_version,
    within_the_grace_the_successor_is_fetched_again,
    reuse_after_the_grace_ends_the_session_and_no_other,
    an_older_ancestor_is_reuse_even_within_the_grace,
    thirty_two_refreshes_with_one_token_make_one_successor,
    a_session_that_ends_while_it_is_refreshed_leaves_no_token_behind,
    a_refresh_token_lasts_thirty_days_from_its_rotation,
    the_tokens_of_a_deleted_user_are_unknown,
];

async fn exchange(actor: &Actor<'_>, token: &str) -> Reply {
    actor.post("/auth/request-new-access-token", json!({ "refreshToken": token })).await
}

fn refresh_token(reply: &Value) -> String {
    reply["refreshToken"].as_str().unwrap().to_owned()
}

async fn a_refresh_rotates_and_shows_the_own_user(app: TestApp) {
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let signed_up = app.anonymous().post("/auth/sign-up", body).await.expect(201);
    app.advance(Duration::from_secs(60));
    let mut token = refresh_token(&signed_up);
    for actor in [app.anonymous().v7(), app.anonymous()] {
        let refreshed = exchange(&actor, &token).await.expect(200);
        let mut user = signed_up["user"].clone();
        user["lastActive"] = json!(app.now());
        let expected = json!({
            "success": true,
            "accessToken": refreshed["accessToken"],
            "refreshToken": refreshed["refreshToken"],
            "user": user,
        });
        assert_eq!(refreshed, expected);
        assert_ne!(refreshed["accessToken"], signed_up["accessToken"]);
        assert_ne!(refresh_token(&refreshed), token);
        let session = User::from_reply(&app, app.project.id, &refreshed);
        session.get("/oauth/identities").await.expect(200);
        token = refresh_token(&refreshed);
    }
}

async fn a_missing_token_is_refused(app: TestApp) {
    for actor in [app.anonymous().v6(), app.anonymous().v7(), app.anonymous()] {
        for body in [json!({}), json!({ "refreshToken": null }), json!({ "refreshToken": "" })] {
            let reply = actor.post("/auth/request-new-access-token", body).await.expect(200);
            assert_eq!(reply, json!({ "user": null, "accessToken": null }));
        }
        let body = json!({ "refreshToken": 7 });
        let reply = actor.post("/auth/request-new-access-token", body).await;
        reply.refused(400, "auth/invalid-body");
    }
}

async fn v6_does_not_rotate(app: TestApp) {
    let user = app.user().await;
    for _ in 0..2 {
        let refreshed = exchange(&app.anonymous().v6(), &user.refresh_token).await.expect(200);
        let keys: Vec<&String> = refreshed.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["accessToken", "success", "user"]);
        app.advance(Duration::from_secs(60));
    }
    // Rotated by a newer version, the token is nothing v6 knows; and v6 ends no session over it.
    let rotated = exchange(&app.anonymous(), &user.refresh_token).await.expect(200);
    app.advance(Duration::from_secs(31));
    let refused = exchange(&app.anonymous().v6(), &user.refresh_token).await;
    refused.refused(403, "auth/refresh-token-mismatch");
    exchange(&app.anonymous(), &refresh_token(&rotated)).await.expect(200);
}

async fn a_token_that_does_not_hold_is_named_by_version(app: TestApp) {
    let expired = app.user().await;
    app.advance(Duration::from_secs(30 * 86_400));
    let (user, stranger, gone) = (app.user().await, app.stranger().await, app.user().await);
    let body = json!({ "refreshToken": gone.refresh_token });
    app.anonymous().post("/auth/sign-out", body).await.expect(204);
    let (signed, _) = user.refresh_token.rsplit_once('.').unwrap();
    let unsigned = format!("{signed}.");
    // The secret of the server, but the token of a session that never was.
    let invented = app.app.tokens.refresh(&townhall::auth::tokens::RefreshToken {
        id: RefreshTokenId(user.id.0),
        project: app.project.id,
        user: user.id,
        issued: app.now(),
        expires: app.now().plus(Duration::from_secs(60)),
    });

    let (malformed, v6_malformed) = ("auth/refresh-token-malformed", "auth/refresh-token-invalid");
    let mismatch = "auth/refresh-token-mismatch";
    let other = ("auth/refresh-token-project-mismatch", "auth/invalid-refresh-token");
    for (token, code, v6_code) in [
        ("not a token", malformed, v6_malformed),
        (&unsigned, malformed, v6_malformed),
        (&user.access_token, malformed, v6_malformed),
        (&expired.refresh_token, malformed, v6_malformed),
        (&app.project.service_key, malformed, v6_malformed),
        (&stranger.refresh_token, other.0, other.1),
        (&gone.refresh_token, mismatch, mismatch),
        (&invented, mismatch, mismatch),
    ] {
        exchange(&app.anonymous().v6(), token).await.refused(403, v6_code);
        exchange(&app.anonymous().v7(), token).await.refused(403, code);
        exchange(&app.anonymous(), token).await.refused(403, code);
    }
    let at_home = app.anonymous().in_project(app.other.id);
    exchange(&at_home, &stranger.refresh_token).await.expect(200);
}

async fn within_the_grace_the_successor_is_fetched_again(app: TestApp) {
    let user = app.user().await;
    let first = exchange(&app.anonymous(), &user.refresh_token).await.expect(200);
    for seconds in [0, 29, 1] {
        app.advance(Duration::from_secs(seconds));
        let again = exchange(&app.anonymous(), &user.refresh_token).await.expect(200);
        assert_eq!(refresh_token(&again), refresh_token(&first));
        User::from_reply(&app, app.project.id, &again).get("/oauth/identities").await.expect(200);
    }
}

async fn reuse_after_the_grace_ends_the_session_and_no_other(app: TestApp) {
    for actor in [app.anonymous().v7(), app.anonymous()] {
        let user = app.user().await;
        let other = user.sign_in_again().await;
        let rotated = exchange(&actor, &user.refresh_token).await.expect(200);
        app.advance(Duration::from_secs(31));
        exchange(&actor, &user.refresh_token).await.refused(401, "auth/token-reuse-detected");
        let successor = exchange(&actor, &refresh_token(&rotated)).await;
        successor.refused(403, "auth/refresh-token-mismatch");
        let again = exchange(&actor, &user.refresh_token).await;
        again.refused(403, "auth/refresh-token-mismatch");
        exchange(&actor, &other.refresh_token).await.expect(200);
    }
}

async fn an_older_ancestor_is_reuse_even_within_the_grace(app: TestApp) {
    let user = app.user().await;
    let second = exchange(&app.anonymous(), &user.refresh_token).await.expect(200);
    let third = exchange(&app.anonymous(), &refresh_token(&second)).await.expect(200);
    let stolen = exchange(&app.anonymous(), &user.refresh_token).await;
    stolen.refused(401, "auth/token-reuse-detected");
    for ended in [&second, &third] {
        let reply = exchange(&app.anonymous(), &refresh_token(ended)).await;
        reply.refused(403, "auth/refresh-token-mismatch");
    }
}

db::row! {
    #[derive(Debug)]
    struct Families {
        family_id: SessionId,
        rows: i64,
        live: i64,
    }
}

async fn families(app: &TestApp, user: UserId) -> Vec<Families> {
    let project = app.project.id;
    let query = db::Query::<Families>::built(
        "families",
        "SELECT family_id, count(*) AS rows, count(*) - count(revoked_at) AS live
         FROM refresh_tokens WHERE project_id = $1 AND user_id = $2 GROUP BY family_id",
    );
    app.app.db.read(move |c| c.all(&query, db::args![project, user])).await.unwrap()
}

async fn thirty_two_refreshes_with_one_token_make_one_successor(app: TestApp) {
    let user = app.user().await;
    let anonymous = app.anonymous();
    let replies = all_at_once((0..32).map(|_| exchange(&anonymous, &user.refresh_token))).await;
    let mut successors: Vec<String> =
        replies.iter().map(|reply| refresh_token(&reply.expect(200))).collect();
    successors.dedup();
    assert_eq!(successors.len(), 1);
    let families = families(&app, user.id).await;
    assert_eq!(families.len(), 1);
    assert_eq!((families[0].rows, families[0].live), (2, 1), "{families:?}");
}

async fn a_session_that_ends_while_it_is_refreshed_leaves_no_token_behind(app: TestApp) {
    let anonymous = app.anonymous();
    for _ in 0..8 {
        let user = app.user().await;
        let second = exchange(&anonymous, &user.refresh_token).await.expect(200);
        let third = exchange(&anonymous, &refresh_token(&second)).await.expect(200);
        let tokens = [refresh_token(&third), user.refresh_token.clone()];
        let replies = all_at_once(tokens.iter().map(|token| exchange(&anonymous, token))).await;
        replies[1].refused(401, "auth/token-reuse-detected");
        if replies[0].status == 200 {
            let fourth = refresh_token(&replies[0].json());
            let left = exchange(&anonymous, &fourth).await;
            left.refused(403, "auth/refresh-token-mismatch");
        }
    }
}

async fn a_refresh_token_lasts_thirty_days_from_its_rotation(app: TestApp) {
    let user = app.user().await;
    app.advance(Duration::from_secs(30 * 86_400 - 1));
    let rotated = exchange(&app.anonymous(), &user.refresh_token).await.expect(200);
    app.advance(Duration::from_secs(30 * 86_400 - 1));
    let again = exchange(&app.anonymous(), &refresh_token(&rotated)).await.expect(200);
    app.advance(Duration::from_secs(30 * 86_400));
    let late = exchange(&app.anonymous(), &refresh_token(&again)).await;
    late.refused(403, "auth/refresh-token-malformed");
}

async fn the_tokens_of_a_deleted_user_are_unknown(app: TestApp) {
    let user = app.user().await;
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
    let refused = exchange(&app.anonymous(), &user.refresh_token).await;
    refused.refused(403, "auth/refresh-token-mismatch");
}
