//! Notifications about reactions: the user who reacted, and the content.

use std::time::Duration;

use serde_json::{Value, json};

use crate::notifications::{MARK_ALL, counts_are_exact, list};
use crate::reactions::{publish, react, reactions, unreact};
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![
    a_new_reaction_notifies_the_author,
    a_notification_is_a_snapshot,
    only_the_first_of_a_users_reactions_notifies,
    an_upvote_has_its_own_notification_and_a_downvote_has_none,
    nobody_is_notified_of_their_own_reaction,
    a_key_tells_in_the_name_of_the_user_it_acts_for,
];

/// The user's notifications of a type, newest first.
pub(crate) async fn told(user: &Actor<'_>, kind: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for page in 1.. {
        let listed = list(user, &format!("?limit=50&page={page}")).await;
        all.extend(listed["data"].as_array().unwrap().iter().cloned());
        if listed["pagination"]["hasMore"] == false {
            break;
        }
    }
    all.retain(|one| one["type"] == kind);
    all
}

pub(crate) async fn total(user: &Actor<'_>) -> Value {
    list(user, "").await["pagination"]["totalItems"].clone()
}

async fn a_new_reaction_notifies_the_author(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let profile = json!({ "name": "Ada", "avatar": "https://a.example/ada.png" });
    reader.patch(&format!("/users/{}", reader.id), profile).await.expect(200);
    let new = json!({ "title": "Hello", "content": "World", "foreignId": "f1",
        "metadata": { "a": 1 } });
    let created = author.post("/entities", new).await.expect(201);
    let entity = format!("/entities/{}", created["id"].as_str().unwrap());
    app.advance(Duration::from_secs(1));
    react(&reader, &entity, "wow").await;
    let told = told(&author, "entity-reaction").await;
    assert_eq!(told.len(), 1);
    let expected = json!({
        "entityId": created["id"], "entityShortId": created["shortId"], "entityForeignId": "f1",
        "entityTitle": "Hello", "entityContent": "World", "entityMetadata": { "a": 1 },
        "initiatorId": reader.id, "initiatorForeignId": null, "initiatorName": "Ada",
        "initiatorUsername": "user1", "initiatorAvatar": "https://a.example/ada.png",
        "reactionType": "wow",
    });
    assert_eq!(told[0]["metadata"], expected);
    assert_eq!((&told[0]["action"], &told[0]["isRead"]), (&json!("open-entity"), &json!(false)));
    assert_eq!(told[0]["createdAt"], app.now().to_string());
    assert_eq!((total(&author).await, total(&reader).await), (json!(1), json!(0)));
    counts_are_exact(&app).await;
}

async fn a_notification_is_a_snapshot(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let new = json!({ "content": "ü".repeat(250) });
    let created = author.post("/entities", new).await.expect(201);
    let entity = format!("/entities/{}", created["id"].as_str().unwrap());
    react(&reader, &entity, "like").await;
    author.patch(&entity, json!({ "title": "Later", "content": null })).await.expect(200);
    let before = told(&author, "entity-reaction").await.remove(0);
    assert_eq!(before["metadata"]["entityContent"], "ü".repeat(200));
    assert_eq!(before["metadata"]["entityTitle"], Value::Null);
    app.advance(Duration::from_secs(1));
    react(&other, &entity, "like").await;
    let all = told(&author, "entity-reaction").await;
    assert_eq!(all.len(), 2);
    assert_eq!(all[1], before);
    assert_eq!(all[0]["metadata"]["entityContent"], "");
    assert_eq!(all[0]["metadata"]["entityTitle"], "Later");
}

async fn only_the_first_of_a_users_reactions_notifies(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    for kind in ["sad", "sad", "love", "downvote", "upvote"] {
        react(&reader, &entity, kind).await;
    }
    let only = told(&author, "entity-reaction").await;
    assert_eq!(only.len(), 1);
    assert_eq!(only[0]["metadata"]["reactionType"], "sad");
    unreact(&reader, &entity).await;
    unreact(&reader, &entity).await;
    assert_eq!(total(&author).await, 1, "a removal is not told");
    // Another user's reaction notifies, too, and the same user's once the first is read.
    app.advance(Duration::from_secs(1));
    react(&other, &entity, "downvote").await;
    react(&reader, &entity, "angry").await;
    assert_eq!(told(&author, "entity-reaction").await.len(), 2);
    author.patch(MARK_ALL, json!({})).await.expect(200);
    unreact(&reader, &entity).await;
    app.advance(Duration::from_secs(1));
    react(&reader, &entity, "wow").await;
    let all = told(&author, "entity-reaction").await;
    let kinds: Vec<_> = all.iter().map(|one| &one["metadata"]["reactionType"]).collect();
    assert_eq!(kinds, ["wow", "downvote", "sad"]);
}

async fn an_upvote_has_its_own_notification_and_a_downvote_has_none(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    for (n, actor) in [reader.v6(), reader.v7()].iter().enumerate() {
        let entity = publish(&author).await;
        actor.patch(&format!("{entity}/upvote"), json!({})).await.expect(200);
        let told = told(&author, "entity-upvote").await;
        assert_eq!(told.len(), n + 1);
        let expected = [
            "entityContent",
            "entityForeignId",
            "entityId",
            "entityMetadata",
            "entityShortId",
            "entityTitle",
            "initiatorAvatar",
            "initiatorForeignId",
            "initiatorId",
            "initiatorName",
            "initiatorUsername",
        ];
        assert_eq!(keys(&told[0]["metadata"]), expected);
        assert_eq!(told[0]["metadata"]["initiatorId"], json!(reader.id));
        assert_eq!(told[0]["action"], "open-entity");
        actor.patch(&format!("{entity}/remove-upvote"), json!({})).await.expect(200);
        other.patch(&format!("{entity}/downvote"), json!({})).await.expect(200);
        other.patch(&format!("{entity}/remove-downvote"), json!({})).await.expect(200);
        assert_eq!(total(&author).await, n + 1);
    }
    // A reaction that is an upvote is a reaction.
    react(&reader, &publish(&author).await, "upvote").await;
    assert_eq!(told(&author, "entity-upvote").await.len(), 2);
    let reaction = told(&author, "entity-reaction").await.remove(0);
    assert_eq!(reaction["metadata"]["reactionType"], "upvote");
}

async fn nobody_is_notified_of_their_own_reaction(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    react(&author, &entity, "love").await;
    author.patch(&format!("{entity}/upvote"), json!({})).await.expect(200);
    unreact(&author, &entity).await;
    author.patch(&format!("{entity}/upvote"), json!({})).await.expect(200);
    let body = json!({ "reactionType": "like", "userId": author.id });
    app.service().post(&reactions(&entity), body).await.expect(200);
    assert_eq!(total(&author).await, 0);
}

async fn a_key_tells_in_the_name_of_the_user_it_acts_for(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let body = json!({ "reactionType": "like", "userId": reader.id });
    app.service().post(&reactions(&entity), body).await.expect(200);
    let told = told(&author, "entity-reaction").await;
    assert_eq!(told[0]["metadata"]["initiatorId"], json!(reader.id));
}
