//! What users do not want to hear of.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    preferences_replace_each_other,
    unknown_types_are_refused,
    a_key_names_the_user,
    everybody_else_is_refused,
];

const PREFERENCES: &str = "/push-notifications/preferences";

async fn put(actor: &Actor<'_>, body: Value) -> Reply {
    actor.send(Method::PUT, PREFERENCES, Some(body)).await
}

const TYPES: [&str; 21] = [
    "entity-comment",
    "comment-reply",
    "entity-mention",
    "comment-mention",
    "entity-reaction",
    "comment-reaction",
    "entity-reaction-milestone-specific",
    "entity-reaction-milestone-total",
    "comment-reaction-milestone-specific",
    "comment-reaction-milestone-total",
    "new-follow",
    "connection-request",
    "connection-accepted",
    "space-membership-approved",
    "event-invite",
    "event-updated",
    "event-cancelled",
    "reputation-grant",
    "message",
    "entity-upvote",
    "comment-upvote",
];

async fn preferences_replace_each_other(app: TestApp) {
    let user = app.user().await;
    for actor in [user.v7(), (*user).clone()] {
        assert_eq!(actor.get(PREFERENCES).await.expect(200), json!({ "disabledTypes": [] }));
        let all = json!({ "disabledTypes": TYPES });
        assert_eq!(put(&actor, all.clone()).await.expect(200), all);
        assert_eq!(actor.get(PREFERENCES).await.expect(200), all);
        let repeated = json!({ "disabledTypes": ["message", "new-follow", "message"] });
        let once = json!({ "disabledTypes": ["message", "new-follow"] });
        assert_eq!(put(&actor, repeated).await.expect(200), once);
        assert_eq!(actor.get(PREFERENCES).await.expect(200), once);
        let none = json!({ "disabledTypes": [] });
        assert_eq!(put(&actor, none.clone()).await.expect(200), none);
    }
    user.v6().get(PREFERENCES).await.expect(404);
    app.suspend(user.id).await;
    put(&user, json!({ "disabledTypes": ["message"] })).await.expect(200);
}

async fn unknown_types_are_refused(app: TestApp) {
    let user = app.user().await;
    put(&user, json!({ "disabledTypes": ["message"] })).await.expect(200);
    for body in [
        json!({}),
        json!({ "disabledTypes": null }),
        json!({ "disabledTypes": "message" }),
        json!({ "disabledTypes": ["messages"] }),
        json!({ "disabledTypes": ["system"] }),
        json!({ "disabledTypes": [7] }),
    ] {
        put(&user, body).await.refused(400, "notification-preferences/invalid-body");
    }
    let kept = user.get(PREFERENCES).await.expect(200);
    assert_eq!(kept, json!({ "disabledTypes": ["message"] }));
}

async fn a_key_names_the_user(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let stranger = app.stranger().await;
    for key in [app.service(), app.master()] {
        let body = json!({ "userId": user.id, "disabledTypes": ["message"] });
        put(&key, body).await.expect(200);
        let of = |id: &dyn std::fmt::Display| format!("{PREFERENCES}?userId={id}");
        let found = key.get(&of(&user.id)).await.expect(200);
        assert_eq!(found, json!({ "disabledTypes": ["message"] }));
        let found = key.get(&of(&other.id)).await.expect(200);
        assert_eq!(found, json!({ "disabledTypes": [] }));
        key.get(PREFERENCES).await.refused(400, "notification-preferences/missing-user-id");
        let unnamed = put(&key, json!({ "disabledTypes": [] })).await;
        unnamed.refused(400, "notification-preferences/missing-user-id");
        key.get(&of(&stranger.id)).await.refused(404, "user/not-found");
    }
}

async fn everybody_else_is_refused(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let of_other = format!("{PREFERENCES}?userId={}", other.id);
    user.get(&of_other).await.refused(403, "notification-preferences/unauthorized");
    let body = json!({ "userId": other.id, "disabledTypes": [] });
    put(&user, body).await.refused(403, "notification-preferences/unauthorized");
    // A user may name themselves.
    user.get(&format!("{PREFERENCES}?userId={}", user.id)).await.expect(200);
    let stranger = app.stranger().await.in_project(app.project.id);
    for (actor, status, text) in [
        (app.anonymous(), 401, "Unauthorized"),
        (app.anonymous().v7(), 401, "Unauthorized"),
        (app.bearer("nonsense"), 403, "Forbidden"),
        (stranger, 403, "Forbidden"),
    ] {
        actor.get(PREFERENCES).await.says(status, text);
        put(&actor, json!({ "disabledTypes": [] })).await.says(status, text);
    }
}
