//! Notifications about comments and reactions to them.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::comments::{comment, id_of, path, reply};
use crate::reactions::{publish, user_of};
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    the_author_of_the_entity_is_notified_of_top_level_comments,
    the_author_of_a_comment_is_notified_of_replies,
    mentioned_users_are_notified_once,
    nobody_is_notified_of_their_own_comment,
    reactions_to_comments_notify,
    ten_reactions_are_a_milestone,
    without_notifications_comments_still_work,
];

/// All notifications of the user, newest first: types, and the metadata of the newest.
async fn notified(user: &User<'_>) -> (String, Value) {
    let page = user.get("/app-notifications?limit=50").await.expect(200);
    let data = page["data"].as_array().unwrap();
    let types = data.iter().map(|one| one["type"].as_str().unwrap());
    let newest = data.first().map(|one| one["metadata"].clone()).unwrap_or_default();
    for one in data {
        assert_eq!(one["action"], "open-comment");
    }
    (types.collect::<Vec<_>>().join(" "), newest)
}

async fn mention(
    actor: &Actor<'_>,
    entity: &str,
    parent: Option<&Value>,
    users: &[&User<'_>],
) -> Value {
    let mentions: Vec<Value> =
        users.iter().map(|user| json!({ "id": user.id, "username": "someone" })).collect();
    let new = json!({
        "entityId": id_of(entity), "parentId": parent.map(|parent| &parent["id"]), "content": "Hi",
        "mentions": mentions,
    });
    actor.post("/comments", new).await.expect(201)
}

async fn the_author_of_the_entity_is_notified_of_top_level_comments(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let content = "é".repeat(300);
    let said = comment(&bob, &entity, &content).await;
    let (types, metadata) = notified(&ada).await;
    assert_eq!(types, "entity-comment");
    assert_eq!(metadata["entityId"], json!(id_of(&entity)));
    assert_eq!(metadata["entityTitle"], "Post");
    assert_eq!(metadata["commentId"], said["id"]);
    assert_eq!(metadata["commentContent"], "é".repeat(200));
    assert_eq!(metadata["commentMetadata"], json!({}));
    assert_eq!(metadata["initiatorId"], json!(bob.id));
    assert_eq!(metadata["initiatorUsername"], said["user"]["username"]);
    // The author of the entity is not notified of replies between others.
    reply(&eve, &said, "x").await;
    assert_eq!(notified(&ada).await.0, "entity-comment");
}

async fn the_author_of_a_comment_is_notified_of_replies(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "First").await;
    let answer = reply(&ada, &said, "Second").await;
    let (types, metadata) = notified(&bob).await;
    assert_eq!(types, "comment-reply");
    assert_eq!(
        (&metadata["commentId"], &metadata["commentContent"]),
        (&said["id"], &json!("First"))
    );
    assert_eq!(
        (&metadata["replyId"], &metadata["replyContent"]),
        (&answer["id"], &json!("Second"))
    );
    assert_eq!(metadata["initiatorId"], json!(ada.id));
    assert_eq!(metadata["entityId"], json!(id_of(&entity)));
}

async fn mentioned_users_are_notified_once(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = mention(&bob, &entity, None, &[&eve, &eve, &ada, &bob]).await;
    assert_eq!(notified(&eve).await.0, "comment-mention");
    assert_eq!(notified(&eve).await.1["commentId"], said["id"]);
    assert_eq!(notified(&ada).await.0, "entity-comment", "what concerns them most");
    assert_eq!(notified(&bob).await.0, "");
    app.advance(Duration::from_secs(1));
    mention(&eve, &entity, Some(&said), &[&bob, &ada]).await;
    assert_eq!(notified(&bob).await.0, "comment-reply");
    assert_eq!(notified(&ada).await.0, "comment-mention entity-comment");
    let new = json!({
        "entityId": id_of(&entity), "content": "x",
        "mentions": [
            { "type": "space", "id": ada.id, "slug": "s" },
            { "id": crate::comments::UNKNOWN, "username": "nobody" }, { "id": "x", "username": "y" },
        ],
    });
    app.advance(Duration::from_secs(1));
    bob.post("/comments", new).await.expect(201);
    assert_eq!(notified(&ada).await.0, "entity-comment comment-mention entity-comment");
}

async fn nobody_is_notified_of_their_own_comment(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "x").await;
    mention(&ada, &entity, Some(&said), &[&ada]).await;
    let body = json!({ "reactionType": "like" });
    ada.post(&format!("{}/reactions", path(&said)), body).await.expect(200);
    assert_eq!(notified(&ada).await.0, "");
    // A key that acts for somebody causes what they would cause.
    let bob = app.user().await;
    let new = json!({ "entityId": id_of(&entity), "content": "x", "userId": bob.id });
    app.service().post("/comments", new).await.expect(201);
    assert_eq!(notified(&ada).await.1["initiatorId"], json!(bob.id));
}

async fn reactions_to_comments_notify(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&eve).await;
    let said = comment(&ada, &entity, "x").await;
    let body = |kind: &str| json!({ "reactionType": kind });
    let reactions = format!("{}/reactions", path(&said));
    bob.post(&reactions, body("funny")).await.expect(200);
    let (types, metadata) = notified(&ada).await;
    assert_eq!(types, "comment-reaction");
    assert_eq!((&metadata["reactionType"], &metadata["commentId"]), (&json!("funny"), &said["id"]));
    assert_eq!(
        (&metadata["entityTitle"], &metadata["initiatorId"]),
        (&json!("Post"), &json!(bob.id))
    );
    bob.post(&reactions, body("wow")).await.expect(200);
    assert_eq!(notified(&ada).await.0, "comment-reaction", "a change is silent");
    app.advance(Duration::from_secs(1));
    eve.patch(&format!("{}/upvote", path(&said)), json!({})).await.expect(200);
    assert_eq!(notified(&ada).await.0, "comment-upvote comment-reaction");
    bob.patch(&format!("{}/downvote", path(&said)), json!({})).await.expect(200);
    assert_eq!(notified(&ada).await.0, "comment-upvote comment-reaction");
}

async fn ten_reactions_are_a_milestone(app: TestApp) {
    let ada = app.user().await;
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let mut users = Vec::new();
    for _ in 0..10 {
        app.advance(Duration::from_secs(1));
        let user = app.user().await;
        let body = json!({ "reactionType": "like" });
        user.post(&format!("{}/reactions", path(&said)), body).await.expect(200);
        users.push(user);
    }
    let page = ada.get("/app-notifications?limit=50").await.expect(200);
    let of_type = |kind: &str| {
        let data = page["data"].as_array().unwrap().iter();
        data.filter(|one| one["type"] == kind)
            .map(|one| one["metadata"].clone())
            .collect::<Vec<_>>()
    };
    let specific = of_type("comment-reaction-milestone-specific");
    let total = of_type("comment-reaction-milestone-total");
    assert_eq!((specific.len(), total.len(), of_type("comment-reaction").len()), (1, 1, 10));
    assert_eq!(specific[0]["milestoneCount"], 10);
    assert_eq!(specific[0]["commentId"], said["id"]);
    assert_eq!(total[0]["reactionCounts"]["like"], 10);
    let last: Vec<_> = total[0]["lastThreeUsers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["id"].clone())
        .collect();
    assert_eq!(last, [json!(users[9].id), json!(users[8].id), json!(users[7].id)]);
}

async fn without_notifications_comments_still_work(app: TestApp) {
    let bundles = [Bundle::Entities, Bundle::Comments, Bundle::Reactions];
    let project = app.project_with(&bundles).await;
    let (ada, bob) = (user_of(&app, &project, "ada").await, user_of(&app, &project, "bob").await);
    let said = comment(&bob, &publish(&ada).await, "x").await;
    reply(&ada, &said, "y").await;
    assert_eq!(said["user"]["reputation"], 0, "nor is anything earned without reputation");
}
