//! Notifications in the legacy dialect: the types and the metadata of version 6, over the rows of all.

use serde_json::{Value, json};

use crate::comments::{comment, path as comment_path, reply};
use crate::entities::{create, path};
use crate::follows::follow;
use crate::legacy_entities::has;
use crate::notifications::{MARK_ALL, list};
use crate::reactions::react;
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    every_type_has_its_action_and_its_keys,
    upvotes_of_later_versions_are_upvotes,
    other_reactions_are_sent_as_they_are,
    a_reply_is_the_comment_to_open,
    the_list_is_bare_and_as_long_as_the_other,
    marking_replies_with_text_and_numbers,
];

const ENTITY: &str =
    "entityId entityForeignId entityShortId entityTitle entityContent entityMetadata";
const COMMENT: &str = "commentId commentForeignId commentContent commentMetadata";
const INITIATOR: &str = "initiatorId initiatorName initiatorUsername initiatorAvatar";

async fn newest(user: &User<'_>) -> Value {
    let listed = user.legacy().get("/app-notifications?limit=1").await.expect(200);
    listed[0].clone()
}

#[track_caller]
fn is(notification: &Value, kind: &str, action: &str, groups: &[&str]) {
    has(notification, "id projectId userId type action isRead metadata createdAt updatedAt");
    assert_eq!((&notification["type"], &notification["action"]), (&json!(kind), &json!(action)));
    groups.iter().for_each(|keys| has(&notification["metadata"], keys));
}

async fn every_type_has_its_action_and_its_keys(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let step = || app.advance(std::time::Duration::from_secs(1));
    let long = "é".repeat(300);
    let entity = create(&author, json!({ "title": "t", "content": long, "foreignId": "f" })).await;
    let said = comment(&reader, &path(&entity), "said").await;
    let found = newest(&author).await;
    is(&found, "entity-comment", "open-comment", &[ENTITY, COMMENT, INITIATOR]);
    assert_eq!(found["metadata"]["entityContent"], "é".repeat(200));
    assert_eq!(found["metadata"]["initiatorId"], reader.id.to_string());
    step();
    let mentions = json!([{ "id": author.id, "username": "author" }]);
    create(&reader, json!({ "title": "m", "mentions": mentions })).await;
    is(&newest(&author).await, "entity-mention", "open-entity", &[ENTITY, INITIATOR]);
    step();
    let own = create(&reader, json!({ "title": "own" })).await;
    let new = json!({ "entityId": own["id"], "content": "x", "mentions": mentions });
    reader.legacy().post("/comments", new).await.expect(201);
    is(&newest(&author).await, "comment-mention", "open-comment", &[ENTITY, COMMENT, INITIATOR]);
    step();
    reader.legacy().patch(&format!("{}/upvote", path(&entity)), json!({})).await.expect(200);
    is(&newest(&author).await, "entity-upvote", "open-entity", &[ENTITY, INITIATOR]);
    author.legacy().patch(&format!("{}/upvote", comment_path(&said)), json!({})).await.expect(200);
    is(&newest(&reader).await, "comment-upvote", "open-comment", &[ENTITY, COMMENT, INITIATOR]);
    step();
    follow(&reader, author.id).await;
    is(&newest(&author).await, "new-follow", "open-profile", &[INITIATOR]);
    step();
    let asked = reader.legacy().post(&format!("/users/{}/connection", author.id), json!({})).await;
    let asked = asked.expect(201);
    let found = newest(&author).await;
    is(&found, "connection-request", "open-profile", &["connectionId", INITIATOR]);
    step();
    let accept = format!("/connections/{}/accept", asked["id"].as_str().unwrap());
    author.legacy().patch(&accept, json!({})).await.expect(200);
    let found = newest(&reader).await;
    is(&found, "connection-accepted", "open-profile", &["connectionId", INITIATOR]);
    step();
    let note = json!({ "userId": author.id, "title": "News", "content": "text" });
    app.service().post("/app-notifications/system", note).await;
    assert_eq!(newest(&author).await["type"], "system");
}

async fn upvotes_of_later_versions_are_upvotes(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = path(&create(&author, json!({ "title": "t" })).await);
    react(&reader, &entity, "upvote").await;
    is(&newest(&author).await, "entity-upvote", "open-entity", &[ENTITY, INITIATOR]);
    assert_eq!(list(&author, "").await["data"][0]["type"], "entity-reaction");
    let said = comment_path(&comment(&author, &entity, "x").await);
    app.advance(std::time::Duration::from_secs(1));
    react(&reader, &said, "upvote").await;
    is(&newest(&author).await, "comment-upvote", "open-comment", &[ENTITY, COMMENT, INITIATOR]);
}

async fn other_reactions_are_sent_as_they_are(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = path(&create(&author, json!({ "title": "t" })).await);
    react(&reader, &entity, "love").await;
    let found = newest(&author).await;
    assert_eq!(found, list(&author, "").await["data"][0]);
    assert_eq!(found["metadata"]["reactionType"], "love");
}

async fn a_reply_is_the_comment_to_open(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = create(&author, json!({ "title": "t" })).await;
    let said = comment(&author, &path(&entity), "said").await;
    let answer = reply(&reader, &said, "answer").await;
    let found = newest(&author).await;
    is(&found, "comment-reply", "open-comment", &[ENTITY, COMMENT, INITIATOR]);
    let metadata = &found["metadata"];
    assert_eq!(
        (&metadata["commentId"], &metadata["commentContent"]),
        (&answer["id"], &json!("answer"))
    );
    assert_eq!((&metadata["replyId"], &metadata["replyContent"]), (&said["id"], &json!("")));
    // Stored once, in the order of the later versions.
    let stored = &list(&author, "").await["data"][0]["metadata"];
    assert_eq!((&stored["commentId"], &stored["replyId"]), (&said["id"], &answer["id"]));
}

async fn the_list_is_bare_and_as_long_as_the_other(app: TestApp) {
    let user = app.user().await;
    crate::notifications::tell(&app, &user, 0..7).await;
    let common = list(&user, "?limit=50").await;
    let order = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|one| one["id"].clone()).collect()
    };
    let all = user.legacy().get("/app-notifications?limit=99").await.expect(200);
    assert_eq!(order(&all), order(&common["data"]));
    let first = user.legacy().get("/app-notifications").await.expect(200);
    assert_eq!(first.as_array().unwrap().len(), 5);
    let second = user.legacy().get("/app-notifications?page=2").await.expect(200);
    assert_eq!(second.as_array().unwrap().len(), 2);
    let count = user.legacy().get("/app-notifications/count").await;
    assert_eq!((count.expect(200), count.text().as_str()), (json!(7), "7"));
}

async fn marking_replies_with_text_and_numbers(app: TestApp) {
    let user = app.user().await;
    crate::notifications::tell(&app, &user, 0..3).await;
    let listed = user.legacy().get("/app-notifications").await.expect(200);
    let mark = format!("/app-notifications/{}/mark-as-read", listed[0]["id"].as_str().unwrap());
    for body in [Some(json!({})), None] {
        user.legacy().send(http::Method::PATCH, &mark, body).await.says(200, "OK");
    }
    let unknown = mark.replace(listed[0]["id"].as_str().unwrap(), crate::notifications::UNKNOWN);
    user.legacy().patch(&unknown, json!({})).await.refused(404, "app-notification/not-found");
    assert_eq!(user.legacy().get("/app-notifications/count").await.expect(200), json!(2));
    let all = user.legacy().patch(MARK_ALL, json!({})).await.expect(200);
    assert_eq!(all, json!({ "markedAsRead": 2 }));
}
