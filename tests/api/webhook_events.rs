//! Broadcast events: what is stored is sent, as the API returns it, once and in order.

use serde_json::{Value, json};

use crate::support::receiver::{Answer, subscribe, subscribed};
use crate::support::{TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_created_entity_arrives_as_the_api_returns_it,
    every_event_arrives_in_the_order_of_what_happened,
    notifications_are_events,
    only_subscribed_events_are_sent,
    what_is_rolled_back_is_not_sent,
    each_of_many_concurrent_writes_is_sent_once,
    a_sign_in_that_changes_a_user_is_an_update,
];

async fn a_created_entity_arrives_as_the_api_returns_it(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created.complete"]).await;
    let user = app.user().await;
    let new = json!({ "title": "T", "metadata": { "z": 0.5, "2": [], "1": {} } });
    let created = user.post("/entities", new).await.expect(201);
    assert_eq!(app.run_jobs().await, 1);
    let [sent] = &hook.take()[..] else { panic!("sent once") };
    let expected = json!({
        "type": "entity.created.complete",
        "projectId": app.project.id,
        "initiatorId": user.id,
        "stage": "complete",
        "data": created,
    });
    assert_eq!(sent.json, expected);
    assert!(sent.text.contains(r#""metadata":{"1":{},"2":[],"z":0.5}"#), "{}", sent.text);
    assert!(uuid::Uuid::parse_str(sent.id.as_ref().unwrap()).is_ok());
    assert_eq!(sent.timestamp, app.now().millis().to_string());
    assert_eq!(app.run_jobs().await, 0);
}

const COMPLETE: [&str; 9] = [
    "user.created.complete",
    "user.updated.complete",
    "entity.created.complete",
    "entity.updated.complete",
    "comment.created.complete",
    "comment.updated.complete",
    "space.created.complete",
    "space.updated.complete",
    "message.created.complete",
];

async fn every_event_arrives_in_the_order_of_what_happened(app: TestApp) {
    let (app, hook) = subscribed(app, &COMPLETE).await;
    let user = app.user().await;
    let user_shown = user.patch(&format!("/users/{}", user.id), json!({ "name": "N" })).await;
    let entity = user.post("/entities", json!({ "title": "T" })).await.expect(201);
    let path = format!("/entities/{}", entity["id"].as_str().unwrap());
    let entity_shown = user.patch(&path, json!({ "title": "U" })).await;
    let new = json!({ "entityId": entity["id"], "content": "C" });
    let comment = user.post("/comments", new).await.expect(201);
    let path = format!("/comments/{}", comment["id"].as_str().unwrap());
    let comment_shown = user.patch(&path, json!({ "content": "D" })).await;
    let space = user.post("/spaces", json!({ "name": "First" })).await.expect(201);
    let path = format!("/spaces/{}", space["id"].as_str().unwrap());
    let space_shown = user.patch(&path, json!({ "name": "Second" })).await;
    let other = app.user().await;
    let direct = json!({ "userId": other.id });
    let chat = user.post("/chat/conversations/direct", direct).await.json();
    let path = format!("/chat/conversations/{}/messages", chat["id"].as_str().unwrap());
    let message = user.post(&path, json!({ "content": "Hello", "localId": "l" })).await.expect(201);

    assert_eq!(app.run_jobs().await, 10);
    let sent = hook.take();
    let mut expected = COMPLETE.to_vec();
    expected.insert(8, "user.created.complete");
    assert_eq!(sent.iter().map(|one| one.name()).collect::<Vec<_>>(), expected);
    let data = |at: usize| sent[at].json["data"].clone();
    assert_eq!(data(0)["email"], user.email);
    assert_eq!(data(1), user_shown.expect(200));
    assert_eq!(data(2), entity);
    assert_eq!(data(3), entity_shown.expect(200));
    assert_eq!(data(4), comment);
    assert_eq!(data(5), comment_shown.expect(200));
    assert_eq!(data(6), space);
    assert_eq!(data(7), space_shown.expect(200));
    assert_eq!(data(9), message);
    let initiators: Vec<Option<&Value>> =
        sent.iter().map(|one| one.json.get("initiatorId")).collect();
    let id = json!(user.id);
    for (at, initiator) in initiators.into_iter().enumerate() {
        assert_eq!(initiator, (2..6).contains(&at).then_some(&id), "{}", expected[at]);
    }
}

async fn notifications_are_events(app: TestApp) {
    let (app, hook) = subscribed(app, &["notification.created"]).await;
    let (author, fan) = (app.user().await, app.user().await);
    let entity = author.post("/entities", json!({ "title": "T" })).await.expect(201);
    let new = json!({ "entityId": entity["id"], "content": "C" });
    fan.post("/comments", new).await.expect(201);
    let path = format!("/entities/{}/reactions", entity["id"].as_str().unwrap());
    fan.post(&path, json!({ "reactionType": "like" })).await.expect(200);
    fan.delete(&path).await.expect(200);
    // A repeat of an unread notification is not stored, so it is no event.
    fan.post(&path, json!({ "reactionType": "like" })).await.expect(200);
    fan.post(&format!("/users/{}/follow", author.id), json!({})).await.expect(201);
    let body = json!({ "title": "News", "userIds": [author.id, fan.id] });
    app.service().post("/app-notifications/system", body).await.expect(201);
    app.run_jobs().await;
    let sent = hook.take();
    let kinds: Vec<&str> =
        sent.iter().map(|one| one.json["data"]["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["entity-comment", "entity-reaction", "new-follow", "system", "system"],
        "{kinds:?}"
    );
    let listed = author.get("/app-notifications").await.expect(200);
    let listed = listed["data"].as_array().unwrap().iter();
    let mut expected =
        listed.into_iter().find(|one| one["id"] == sent[0].json["data"]["id"]).unwrap().clone();
    expected.as_object_mut().unwrap().remove("updatedAt");
    assert_eq!(sent[0].json["data"], expected);
    assert_eq!(sent[0].json["stage"], "complete");
}

async fn only_subscribed_events_are_sent(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created"]).await;
    let user = app.user().await;
    user.post("/entities", json!({ "title": "T" })).await.expect(201);
    assert_eq!(app.run_jobs().await, 0);
    assert_eq!(hook.take_names(), ["entity.created"]);
    subscribe(&app.master(), &hook, &["entity.updated.complete"]).await;
    user.post("/entities", json!({ "title": "T" })).await.expect(201);
    assert_eq!((app.run_jobs().await, hook.take().len()), (0, 0));
}

async fn what_is_rolled_back_is_not_sent(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created", "entity.created.complete"]).await;
    let user = app.user().await;
    let new = json!({ "title": "T", "foreignId": "f" });
    user.post("/entities", new.clone()).await.expect(201);
    user.post("/entities", new).await.refused(409, "entity/duplicate-foreign-id");
    hook.reply_next([Answer::Invalid(json!({}))]);
    user.post("/entities", json!({ "title": "U" })).await.expect(400);
    assert_eq!(app.run_jobs().await, 1);
    let names = hook.take_names();
    assert_eq!(names, ["entity.created", "entity.created", "entity.created.complete"]);
}

async fn each_of_many_concurrent_writes_is_sent_once(app: TestApp) {
    let (app, hook) = subscribed(app, &["entity.created.complete"]).await;
    let user = app.user().await;
    let created =
        all_at_once(
            (0..64).map(|n| {
                let user = &user;
                async move {
                    user.post("/entities", json!({ "title": n.to_string() })).await.expect(201)
                }
            }),
        );
    let mut created: Vec<String> =
        created.await.iter().map(|entity| entity["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(app.run_jobs().await, 64);
    let sent = hook.take();
    let mut ids: Vec<String> =
        sent.iter().map(|one| one.json["data"]["id"].as_str().unwrap().to_owned()).collect();
    created.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ids, created);
}

async fn a_sign_in_that_changes_a_user_is_an_update(app: TestApp) {
    let (app, hook) = subscribed(app, &["user.created.complete", "user.updated.complete"]).await;
    for (name, expected) in
        [("A", Some("user.created.complete")), ("A", None), ("B", Some("user.updated.complete"))]
    {
        let jwt = app.vouch_for(json!({ "sub": "them", "userData": { "name": name } }));
        let body = json!({ "userJwt": jwt });
        app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
        app.run_jobs().await;
        assert_eq!(hook.take_names(), expected.into_iter().collect::<Vec<_>>());
    }
}
