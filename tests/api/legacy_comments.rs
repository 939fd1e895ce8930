//! Comments in the legacy dialect: a bare array without placeholders.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::comments::{comment, id_of, path as comment_path, reply};
use crate::entities::{create, path};
use crate::legacy_entities::{has, id, ids, is_user};
use crate::reactions::publish;
use crate::support::{TestApp, User, keys, on_both_engines};

on_both_engines![
    comments_are_a_bare_array,
    every_reply_with_a_comment_has_its_keys,
    deleted_and_removed_comments_do_not_exist,
    placeholders_are_left_out_on_request,
    replies_below_a_deleted_comment_are_not_counted,
    spaces_are_not_mentioned,
];

const COMMENT: &str = "id projectId entityId userId user foreignId parentId referencedCommentId content \
    gif mentions attachments upvotes downvotes metadata repliesCount parentDeletedAt createdAt updatedAt \
    deletedAt";

#[track_caller]
fn is_comment(comment: &Value) {
    has(comment, COMMENT);
    is_user(&comment["user"]);
}

async fn comments_are_a_bare_array(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = create(&author, json!({ "title": "x", "sourceId": "s" })).await;
    let said = comment(&reader, &path(&entity), "said").await;
    app.advance(Duration::from_secs(1));
    let answer = reply(&author, &said, "answer").await;
    let query = format!("/comments?entityId={}", id(&entity));
    let listed = app.anonymous().legacy().get(&query).await.expect(200);
    assert_eq!(ids(&listed), [id(&answer), id(&said)]);
    listed.as_array().unwrap().iter().for_each(is_comment);
    assert_eq!((&listed[0]["parentId"], &listed[1]["parentId"]), (&said["id"], &Value::Null));
    assert_eq!(listed[1]["repliesCount"], 1);
    assert!(listed[0].get("entity").is_none());
    let with_entity = format!("{query}&includeEntity=true&sourceId=s&limit=1");
    let listed = app.anonymous().legacy().get(&with_entity).await.expect(200);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let shown = &listed[0]["entity"];
    assert_eq!(shown["id"], entity["id"]);
    assert!(shown.get("upvotes").is_none() && shown.get("downvotes").is_none());
    let below = format!("/comments?parentId={}", id(&said));
    assert_eq!(ids(&reader.legacy().get(&below).await.expect(200)), [id(&answer)]);
}

async fn every_reply_with_a_comment_has_its_keys(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let gif = json!({
        "id": "g", "url": "u", "gifUrl": "u", "gifPreviewUrl": "u", "altText": "t", "aspectRatio": "1.5",
    });
    let new = json!({ "entityId": id_of(&entity), "content": "x", "foreignId": "f", "gif": gif });
    let said = author.legacy().post("/comments", new).await.expect(201);
    is_comment(&said);
    assert_eq!(said["gif"], gif);
    app.advance(Duration::from_secs(1));
    let answer = reply(&reader, &said, "answer").await;
    let one = comment_path(&answer);
    for (query, has_parent) in [
        ("", false),
        ("?withParent=", false),
        ("?withParent=true", true),
        ("?withParent=false", true),
    ] {
        let found = app.anonymous().legacy().get(&format!("{one}{query}")).await.expect(200);
        assert_eq!(keys(&found), ["comment", "parentComment"]);
        is_comment(&found["comment"]);
        assert_eq!(found["parentComment"].is_object(), has_parent, "{query}");
    }
    let foreign = "/comments/by-foreign-id?foreignId=f&withParent=true";
    let found = author.legacy().get(foreign).await.expect(200);
    is_comment(&found["comment"]);
    assert_eq!(found["parentComment"], Value::Null);
    for change in [json!({ "content": "y" }), json!({ "metadata": { "a": 1 } })] {
        is_comment(&reader.legacy().patch(&one, change).await.expect(200));
    }
    for verb in ["upvote", "downvote", "remove-downvote"] {
        let address = format!("{one}/{verb}");
        is_comment(&author.legacy().send(Method::PATCH, &address, None).await.expect(200));
    }
    let top = app.anonymous().legacy().get(&format!("{entity}/top-comment")).await.expect(200);
    is_comment(&top);
    assert_eq!(top["id"], said["id"]);
    let none = format!("{}/top-comment", publish(&author).await);
    assert_eq!(app.anonymous().legacy().get(&none).await.expect(200), Value::Null);
}

/// An entity in a space with three comments: one that stays, one that its author deleted in a later version,
/// and one that a moderator removed.
struct Thread {
    entity: String,
    kept: Value,
    deleted: Value,
    removed: Value,
}

impl Thread {
    async fn new(app: &TestApp, team: &User<'_>, author: &User<'_>) -> Thread {
        let space = crate::space_members::open_space(team).await;
        crate::spaces::join(author, &space).await;
        let new = json!({ "title": "t", "spaceId": space["id"] });
        let entity = path(&create(author, new).await);
        let mut said = Vec::new();
        for text in ["kept", "deleted", "removed"] {
            said.push(comment(author, &entity, text).await);
            app.advance(Duration::from_secs(1));
        }
        let [kept, deleted, removed] = said.try_into().unwrap();
        author.delete(&comment_path(&deleted)).await.expect(204);
        let moderation = format!("{}{}", crate::spaces::path(&space), comment_path(&removed));
        let remove = json!({ "action": "remove" });
        team.patch(&format!("{moderation}/moderation"), remove).await.expect(200);
        Thread { entity, kept, deleted, removed }
    }

    fn listed(&self, more: &str) -> String {
        format!("/comments?entityId={}{more}", id_of(&self.entity))
    }
}

async fn deleted_and_removed_comments_do_not_exist(app: TestApp) {
    let (team, author) = (app.user().await, app.user().await);
    let thread = Thread::new(&app, &team, &author).await;
    let kept = id(&thread.kept);
    for actor in [app.anonymous(), (*author).clone(), (*team).clone(), app.service()] {
        let listed = actor.legacy().get(&thread.listed("&limit=1")).await.expect(200);
        assert_eq!(ids(&listed), [kept], "nothing is dropped after paging");
        for gone in [&thread.deleted, &thread.removed] {
            actor.legacy().get(&comment_path(gone)).await.refused(404, "comment/not-found");
        }
    }
    let own = format!("/comments?userId={}", author.id);
    assert_eq!(ids(&author.legacy().get(&own).await.expect(200)), [kept]);
    // A comment that is deleted here is gone everywhere, once, and not by a service key.
    let one = comment_path(&thread.kept);
    app.service().legacy().delete(&one).await.refused(403, "comment/not-authorized");
    author.legacy().delete(&one).await.expect(204);
    author.legacy().delete(&one).await.refused(404, "comment/not-found");
    for actor in [author.legacy(), author.v7(), (*author).clone()] {
        actor.get(&one).await.refused(404, "comment/not-found");
    }
}

async fn placeholders_are_left_out_on_request(app: TestApp) {
    let (team, author) = (app.user().await, app.user().await);
    let thread = Thread::new(&app, &team, &author).await;
    for actor in [app.anonymous(), (*author).clone(), app.service()] {
        for (more, number) in [("", 3), ("&placeholders=true", 3), ("&placeholders=false", 1)] {
            let listed = actor.get(&thread.listed(more)).await.expect(200);
            assert_eq!(listed["data"].as_array().unwrap().len(), number, "{more}");
            assert_eq!(listed["pagination"]["totalItems"], number, "{more}");
        }
    }
}

async fn replies_below_a_deleted_comment_are_not_counted(app: TestApp) {
    let user = app.user().await;
    let entity = publish(&user).await;
    let top = comment(&user, &entity, "top").await;
    let middle = reply(&user, &top, "middle").await;
    reply(&user, &middle, "low").await;
    user.legacy().delete(&comment_path(&top)).await.expect(204);
    app.run_jobs().await;
    let found = user.legacy().get(&comment_path(&middle)).await.expect(200);
    assert_eq!(found["comment"]["content"], "middle");
    assert!(found["comment"]["parentDeletedAt"].is_string());
    assert_eq!(found["comment"]["repliesCount"], 0);
    assert_eq!(user.get(&comment_path(&middle)).await.expect(200)["repliesCount"], 1);
    assert_eq!(user.legacy().get(&entity).await.expect(200)["repliesCount"], 0);
    let listed = user.legacy().get(&format!("/comments?entityId={}", id_of(&entity))).await;
    assert_eq!(listed.expect(200).as_array().unwrap().len(), 2);
}

async fn spaces_are_not_mentioned(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let space = crate::spaces::create(&author, json!({ "name": "Space" })).await;
    let mentions = json!([
        { "type": "space", "id": space["id"], "slug": "s" },
        { "id": reader.id, "username": "reader" },
    ]);
    let entity = create(&author, json!({ "title": "x", "mentions": mentions })).await;
    let new = json!({ "entityId": entity["id"], "content": "x", "mentions": mentions });
    let said = author.legacy().post("/comments", new).await.expect(201);
    let found = author.legacy().get(&path(&entity)).await.expect(200);
    let listed = author.legacy().get("/comments?includeEntity=true").await.expect(200);
    let root = author.legacy().get("/lists/root").await.expect(200);
    let add = format!("/lists/{}/add-entity", id(&root));
    let saved = author.legacy().patch(&add, json!({ "entityId": entity["id"] })).await.expect(200);
    for shown in [&said, &found, &listed[0], &listed[0]["entity"], &saved["entities"][0]] {
        let mentions = shown["mentions"].as_array().unwrap();
        assert_eq!(mentions.len(), 1, "{shown:#}");
        assert_eq!(mentions[0]["id"], reader.id.to_string());
    }
    let common = author.v6().get(&path(&entity)).await.expect(200);
    assert_eq!(common["mentions"].as_array().unwrap().len(), 2);
}
