//! Send System Notification: messages of a project to its users.

use serde_json::{Value, json};
use townhall::values::ids::{UserId, new_id};

use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    named_users_are_notified_once_each,
    without_names_everybody_is_notified,
    the_message_is_shown_as_it_was_sent,
    the_message_must_say_something_of_bounded_size,
    only_keys_send,
];

const UNKNOWN: &str = "01234567-89ab-4def-8123-456789abcdef";

async fn send(actor: &Actor<'_>, body: Value) -> Reply {
    actor.post("/app-notifications/system", body).await
}

async fn created(actor: &Actor<'_>, body: Value) -> Value {
    let reply = send(actor, body).await.expect(201);
    assert_eq!(reply.as_object().unwrap().len(), 1);
    reply["created"].clone()
}

async fn latest(user: &User<'_>) -> Value {
    user.get("/app-notifications?limit=1").await.expect(200)["data"][0].clone()
}

async fn unread(user: &User<'_>) -> Value {
    user.get("/app-notifications/count").await.expect(200)
}

/// Users without a password, quickly.
async fn make_users(app: &TestApp, number: usize) {
    use townhall::features::users::store::{self, UserRow};
    let (project, now) = (app.project.id, app.now());
    let ids: Vec<_> = (0..number).map(|_| UserId(new_id(now, &app.app.random))).collect();
    let made = app.app.db.write(move |tx| {
        ids.iter().try_for_each(|id| store::insert(tx, project, &UserRow::new(*id, now)))
    });
    made.await.unwrap();
}

async fn named_users_are_notified_once_each(app: TestApp) {
    let (user, other, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let ids = json!([user.id, user.id, UNKNOWN, stranger.id]);
    let body = json!({ "userIds": ids, "title": "Hello" });
    assert_eq!(created(&app.service(), body).await, 1);
    assert_eq!((unread(&user).await, unread(&other).await), (json!(1), json!(0)));
    assert_eq!(unread(&stranger).await, 0);
    for key in [app.master().v6(), app.service().v7()] {
        assert_eq!(
            created(&key, json!({ "userIds": [user.id, other.id], "content": "x" })).await,
            2
        );
    }
    assert_eq!(created(&app.service(), json!({ "userIds": [], "title": "Nobody" })).await, 0);
    assert_eq!((unread(&user).await, unread(&other).await), (json!(3), json!(2)));
}

async fn without_names_everybody_is_notified(app: TestApp) {
    let (first, stranger) = (app.user().await, app.stranger().await);
    let body = json!({ "title": "News", "content": "We have a new home." });
    assert_eq!(created(&app.service(), body.clone()).await, 1);
    // More than one transaction takes, and exactly as many as two take.
    make_users(&app, 1_998).await;
    let last = app.user().await;
    assert_eq!(created(&app.service(), body.clone()).await, 2000);
    make_users(&app, 1).await;
    assert_eq!(created(&app.service(), body).await, 2001);
    assert_eq!((unread(&first).await, unread(&last).await), (json!(3), json!(2)));
    assert_eq!(unread(&stranger).await, 0, "another project is not everybody");
    crate::notifications::counts_are_exact(&app).await;
}

async fn the_message_is_shown_as_it_was_sent(app: TestApp) {
    let user = app.user().await;
    let told = async |mut body: Value| {
        body["userIds"] = json!([user.id]);
        assert_eq!(created(&app.service(), body).await, 1);
        app.advance(std::time::Duration::from_secs(1));
        latest(&user).await
    };
    let plain = told(json!({ "title": "Hi", "extra": 1 })).await;
    assert_eq!((&plain["type"], &plain["action"]), (&json!("system"), &json!("do-nothing")));
    assert_eq!(plain["metadata"], json!({ "title": "Hi", "buttonData": null }));
    assert_eq!(plain["isRead"], false);
    let button = json!({ "text": "Open", "url": "myapp://news/1" });
    let full = told(json!({
        "title": "A", "content": "B", "action": "open-news", "buttonData": button,
    }));
    let full = full.await;
    assert_eq!(full["action"], "open-news");
    assert_eq!(full["metadata"], json!({ "title": "A", "content": "B", "buttonData": button }));
    let nulls = json!({ "title": null, "content": "B", "action": null, "buttonData": null });
    assert_eq!(told(nulls).await["metadata"], json!({ "content": "B", "buttonData": null }));
}

async fn the_message_must_say_something_of_bounded_size(app: TestApp) {
    let user = app.user().await;
    let text = |length: usize| "é".repeat(length);
    let button = |text: Value, url: Value| json!({ "text": text, "url": url });
    let full = json!({
        "title": text(255), "content": text(10_000), "action": text(255),
        "buttonData": button(text(255).into(), text(2048).into()), "userIds": [user.id],
    });
    assert_eq!(created(&app.service(), full).await, 1);
    let ids = |number: usize| json!(vec![UNKNOWN; number]);
    let most = json!({ "title": "x", "userIds": ids(10_000) });
    assert_eq!(created(&app.service(), most).await, 0);
    for (field, value) in [
        ("title", text(256).into()),
        ("title", "".into()),
        ("title", 5.into()),
        ("content", text(10_001).into()),
        ("content", "".into()),
        ("action", text(256).into()),
        ("action", "".into()),
        ("buttonData", button(text(256).into(), "x".into())),
        ("buttonData", button("x".into(), text(2049).into())),
        ("buttonData", json!({ "text": "x" })),
        ("buttonData", "x".into()),
        ("userIds", Value::Null),
        ("userIds", json!(["me"])),
        ("userIds", user.id.to_string().into()),
        ("userIds", ids(10_001)),
    ] {
        let mut body = json!({ "title": "x", "content": "x", "userIds": [user.id] });
        body[field] = value;
        let refused = send(&app.service(), body).await;
        let error = refused.refused(400, "app-notification/invalid-body");
        assert!(error["error"].as_str().unwrap().starts_with(field), "{field}: {error}");
    }
    for nothing in [
        json!({}),
        json!({ "title": null }),
        json!({ "buttonData": button("x".into(), "x".into()) }),
        json!([]),
    ] {
        send(&app.service(), nothing).await.refused(400, "app-notification/invalid-body");
    }
    assert_eq!(unread(&user).await, 1, "nothing else was stored");
}

async fn only_keys_send(app: TestApp) {
    let user = app.user().await;
    let body = json!({ "title": "Hello", "userIds": [user.id] });
    send(&user, body.clone()).await.refused(403, "auth/elevated-auth-required");
    send(&app.anonymous(), body.clone()).await.says(401, "Unauthorized");
    let other = app.bearer(&app.other.service_key);
    send(&other, body).await.says(403, "Forbidden");
    assert_eq!(unread(&user).await, 0);
}
