//! Who may see and mark notifications, and the errors for others.

use std::time::Duration;

use http::Method;
use serde_json::json;
use townhall::auth::store::suspensions::{self, NewSuspension};
use townhall::tenancy::Bundle;
use townhall::values::ids::{SuspensionId, new_id};

use crate::notifications::{
    MARK_ALL, UNKNOWN, add_in, counts_are_exact, in_every_version, list, mark_path, numbers, tell,
    told, total, unread,
};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    users_read_and_mark_only_their_own_notifications,
    a_key_acts_as_the_user_it_names,
    a_missing_or_unusable_credential_is_refused_in_plain_text_in_every_version,
    a_suspended_user_reads_and_marks,
    without_the_bundle_there_is_nothing,
];

async fn users_read_and_mark_only_their_own_notifications(app: TestApp) {
    let (user, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    tell(&app, &user, 0..2).await;
    let path = mark_path(&list(&user, "").await, 0);
    for actor in [&other, &stranger] {
        actor.patch(&path, json!({})).await.refused(404, "app-notification/not-found");
        let named = actor.patch(&path, json!({ "userId": user.id })).await;
        named.refused(404, "app-notification/not-found");
        // The user that a token names is ignored: everybody sees their own.
        let query = format!("?userId={}", user.id);
        assert_eq!(list(actor, &query).await["data"], json!([]));
        assert_eq!(actor.get(&format!("/app-notifications/count{query}")).await.expect(200), 0);
        let marked = actor.patch(MARK_ALL, json!({ "userId": user.id })).await.expect(200);
        assert_eq!(marked, json!({ "markedAsRead": 0 }));
    }
    // Keys of the other project neither.
    let key = app.bearer(&app.other.service_key).in_project(app.other.id);
    let query = format!("?userId={}", user.id);
    key.get(&format!("/app-notifications{query}")).await.refused(404, "user/not-found");
    key.patch(&path, json!({ "userId": stranger.id }))
        .await
        .refused(404, "app-notification/not-found");
    // A record that names a user of another project is left out.
    add_in(&app, app.other.id, vec![told(&app, user.id, &json!({}))]).await;
    assert_eq!((unread(&user).await, total(&user).await), (json!(2), json!(2)));
    counts_are_exact(&app).await;
}

async fn a_key_acts_as_the_user_it_names(app: TestApp) {
    let user = app.user().await;
    tell(&app, &user, 0..3).await;
    let path = mark_path(&list(&user, "").await, 0);
    for key in [app.service(), app.master().v6(), app.service().v7()] {
        let query = format!("?userId={}", user.id);
        assert_eq!(numbers(&list(&key, &format!("{query}&limit=2")).await), [2, 1]);
        assert_eq!(list(&key, &query).await["pagination"]["totalItems"], 3);
        key.get(&format!("/app-notifications/count{query}")).await.expect(200);
        key.patch(&path, json!({ "userId": user.id })).await.expect(200);
        key.patch(&format!("{path}{query}"), json!({})).await.expect(200);
        key.patch(MARK_ALL, json!({ "userId": user.id })).await.expect(200);
        let in_body =
            key.send(Method::GET, "/app-notifications/count", Some(json!({ "userId": user.id })));
        assert_eq!(in_body.await.expect(200), 0);
        for (method, path) in [
            (Method::GET, "/app-notifications"),
            (Method::GET, "/app-notifications/count"),
            (Method::PATCH, path.as_str()),
            (Method::PATCH, MARK_ALL),
        ] {
            let nobody = key.send(method.clone(), path, None).await;
            nobody.refused(400, "app-notification/missing-user-id");
            let unknown = key.send(method.clone(), &format!("{path}?userId={UNKNOWN}"), None).await;
            unknown.refused(404, "user/not-found");
            let wrong = key.send(method, &format!("{path}?userId=me"), None).await;
            wrong.refused(404, "user/not-found");
        }
    }
}

async fn a_missing_or_unusable_credential_is_refused_in_plain_text_in_every_version(app: TestApp) {
    let user = app.user().await;
    let (anonymous, forged) = (app.anonymous(), app.bearer("not.a.token"));
    let elsewhere = user.in_project(app.other.id);
    app.advance(Duration::from_secs(31 * 60));
    for (method, path) in [
        (Method::GET, "/app-notifications"),
        (Method::GET, "/app-notifications/count"),
        (Method::PATCH, &format!("/app-notifications/{UNKNOWN}/mark-as-read")),
        (Method::PATCH, MARK_ALL),
        (Method::POST, "/app-notifications/system"),
    ] {
        for actor in in_every_version(&anonymous) {
            actor.send(method.clone(), path, None).await.says(401, "Unauthorized");
        }
        for unusable in [&forged, &elsewhere, &*user] {
            for actor in in_every_version(unusable) {
                actor.send(method.clone(), path, None).await.says(403, "Forbidden");
            }
        }
    }
    // A signed-in user without permission gets a JSON error.
    let user = user.sign_in_again().await;
    let body = json!({ "title": "Hello" });
    for actor in in_every_version(&user) {
        let refused = actor.post("/app-notifications/system", body.clone()).await;
        refused.refused(403, "auth/elevated-auth-required");
    }
}

async fn a_suspended_user_reads_and_marks(app: TestApp) {
    let user = app.user().await;
    tell(&app, &user, 0..2).await;
    let new = NewSuspension {
        id: SuspensionId(new_id(app.now(), &app.app.random)),
        user: user.id,
        reason: None,
        end_date: None,
        created_by: "test",
    };
    let (project, now) = (app.project.id, app.now());
    let suspended = app.app.db.write(move |tx| suspensions::insert(tx, project, &new, now));
    suspended.await.unwrap();
    let path = mark_path(&list(&user, "").await, 0);
    user.patch(&path, json!({})).await.expect(200);
    assert_eq!(user.patch(MARK_ALL, json!({})).await.expect(200), json!({ "markedAsRead": 1 }));
    let by_key = app.service().patch(MARK_ALL, json!({ "userId": user.id })).await;
    by_key.expect(200);
}

async fn without_the_bundle_there_is_nothing(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let anonymous = app.anonymous().in_project(project.id);
    let signed_up = anonymous.post("/auth/sign-up", body).await.expect(201);
    let user = User::from_reply(&app, project.id, &signed_up);
    let key = app.bearer(&project.service_key).in_project(project.id);
    for refused in [
        user.get("/app-notifications").await,
        user.get("/app-notifications/count").await,
        user.patch(&format!("/app-notifications/{UNKNOWN}/mark-as-read"), json!({})).await,
        user.patch(MARK_ALL, json!({})).await,
        key.post("/app-notifications/system", json!({ "title": "Hello" })).await,
    ] {
        let body = refused.refused(403, "database/tables-not-available");
        assert_eq!(body["missingTables"], json!(["AppNotifications"]));
    }
}
