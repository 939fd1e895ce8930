//! Entities and lists of them in the legacy dialect: a bare array, and every key that its clients read.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::comments::{comment, path as comment_path};
use crate::entities::{create, path};
use crate::reactions::{publish, react};
use crate::support::{TestApp, User, on_both_engines};

on_both_engines![
    entities_are_a_bare_array,
    without_a_source_named_entities_have_none,
    every_reply_with_an_entity_has_its_keys,
    voters_are_in_the_order_of_their_current_votes,
    votes_and_reactions_are_one,
    an_unknown_order_is_the_newest_first,
    times_of_a_user_are_ignored,
    lists_show_their_entities,
];

const ENTITY: &str = "id projectId shortId foreignId sourceId userId spaceId title content mentions \
    attachments keywords upvotes downvotes sharesCount views score scoreUpdatedAt location metadata \
    repliesCount user topComment createdAt updatedAt deletedAt";
const USER: &str = "id projectId foreignId role name username avatar bio birthdate location metadata \
    reputation createdAt updatedAt";
const LIST: &str =
    "id projectId userId parentId isRoot name entityIds entities createdAt updatedAt";

/// Every key is there.
#[track_caller]
pub(crate) fn has(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "{key} is missing: {value:#}");
    }
}

/// A user as everybody sees them.
#[track_caller]
pub(crate) fn is_user(user: &Value) {
    has(user, USER);
    for private in ["email", "isVerified", "isActive", "lastActive", "secureMetadata"] {
        assert!(user.get(private).is_none(), "{private}: {user:#}");
    }
}

#[track_caller]
fn is_entity(entity: &Value) {
    has(entity, ENTITY);
    is_user(&entity["user"]);
}

pub(crate) fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

pub(crate) fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(id).collect()
}

fn named(users: &[&User<'_>]) -> Value {
    users.iter().map(|user| json!(user.id)).collect()
}

async fn entities_are_a_bare_array(app: TestApp) {
    let user = app.user().await;
    let mut created = Vec::new();
    for number in 0..3 {
        created.push(create(&user, json!({ "title": number.to_string() })).await);
        app.advance(Duration::from_secs(1));
    }
    let listed = user.legacy().get("/entities?sortBy=new&limit=2").await.expect(200);
    assert_eq!(ids(&listed), [id(&created[2]), id(&created[1])]);
    listed.as_array().unwrap().iter().for_each(is_entity);
    assert_eq!(listed[0]["topComment"], Value::Null);
    // The last page is shorter than its limit, and the one after it empty.
    let rest = user.legacy().get("/entities?sortBy=new&limit=2&page=2").await.expect(200);
    assert_eq!(ids(&rest), [id(&created[0])]);
    assert_eq!(user.legacy().get("/entities?page=9").await.expect(200), json!([]));
    let ignored = app.bearer("null").legacy().get("/entities?followedOnly=true").await;
    assert_eq!(ignored.expect(200).as_array().unwrap().len(), 3);
    let filtered = "/entities?keywordsFilters%5Bincludes%5D%5B0%5D=nothing";
    assert_eq!(user.legacy().get(filtered).await.expect(200), json!([]));
}

async fn without_a_source_named_entities_have_none(app: TestApp) {
    let user = app.user().await;
    let plain = create(&user, json!({ "title": "plain" })).await;
    let sourced = create(&user, json!({ "title": "sourced", "sourceId": "s" })).await;
    for absent in ["", "?sourceId=", "?sourceId=null", "?sourceId=undefined"] {
        let listed = app.anonymous().legacy().get(&format!("/entities{absent}")).await;
        assert_eq!(ids(&listed.expect(200)), [id(&plain)], "{absent}");
    }
    let listed = user.legacy().get("/entities?sourceId=s&followedOnly=false").await.expect(200);
    assert_eq!(ids(&listed), [id(&sourced)]);
}

async fn every_reply_with_an_entity_has_its_keys(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let place = json!({ "latitude": 1, "longitude": 2 });
    let new = json!({ "title": "x", "foreignId": "f", "location": place });
    let made = author.legacy().post("/entities", new).await.expect(200);
    is_entity(&made);
    let numbers = (&made["views"], &made["score"], &made["sharesCount"]);
    assert_eq!(numbers, (&json!(1), &json!(1.4), &json!(0)));
    assert_eq!(made["location"], json!({ "type": "Point", "coordinates": [2.0, 1.0] }));
    let one = path(&made);
    let short = format!("/entities/by-short-id?shortId={}", made["shortId"].as_str().unwrap());
    for path in [one.as_str(), short.as_str(), "/entities/by-foreign-id?foreignId=f"] {
        let found = app.anonymous().legacy().get(path).await.expect(200);
        is_entity(&found);
        assert_eq!(found["views"], 1, "fetches are not counted");
    }
    let updated = author.legacy().patch(&one, json!({ "title": "y" })).await.expect(200);
    is_entity(&updated);
    assert_eq!(updated["title"], "y");
    for verb in ["increment-views", "upvote", "downvote", "remove-downvote"] {
        let address = format!("{one}/{verb}");
        is_entity(&reader.legacy().send(Method::PATCH, &address, None).await.expect(200));
    }
    let blank = "/entities/by-foreign-id?foreignId=g&createIfNotFound=true";
    let blank = app.anonymous().legacy().get(blank).await.expect(200);
    has(&blank, ENTITY);
    assert_eq!((&blank["user"], &blank["foreignId"]), (&Value::Null, &json!("g")));
    author.legacy().delete(&one).await.expect(204);
}

async fn voters_are_in_the_order_of_their_current_votes(app: TestApp) {
    let author = app.user().await;
    let (a, b, c) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let said = comment_path(&comment(&author, &entity, "x").await);
    for target in [entity, said] {
        for (user, verb) in
            [(&a, "upvote"), (&b, "upvote"), (&c, "upvote"), (&a, "downvote"), (&a, "upvote")]
        {
            user.legacy().patch(&format!("{target}/{verb}"), json!({})).await.expect(200);
            app.advance(Duration::from_secs(1));
        }
        let found = author.legacy().get(&target).await.expect(200);
        let found = found.get("comment").unwrap_or(&found);
        assert_eq!(found["upvotes"], named(&[&b, &c, &a]), "{target}");
        assert_eq!(found["downvotes"], json!([]), "{target}");
    }
}

async fn votes_and_reactions_are_one(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let said = comment_path(&comment(&author, &entity, "x").await);
    for target in [entity, said] {
        let votes = async || {
            let found = author.legacy().get(&target).await.expect(200);
            let found = found.get("comment").cloned().unwrap_or(found);
            (found["upvotes"].clone(), found["downvotes"].clone())
        };
        react(&reader, &target, "upvote").await;
        assert_eq!(votes().await, (named(&[&reader]), json!([])));
        reader.legacy().patch(&format!("{target}/downvote"), json!({})).await.expect(200);
        assert_eq!(votes().await, (json!([]), named(&[&reader])));
        reader.legacy().patch(&format!("{target}/remove-downvote"), json!({})).await.expect(200);
        let later = reader.get(&target).await.expect(200);
        let later = later.get("comment").cloned().unwrap_or(later);
        assert_eq!(later["userReaction"], Value::Null);
        react(&reader, &target, "like").await;
        assert_eq!(votes().await, (json!([]), json!([])));
    }
}

async fn an_unknown_order_is_the_newest_first(app: TestApp) {
    let user = app.user().await;
    let old = create(&user, json!({ "title": "old" })).await;
    app.advance(Duration::from_secs(1));
    let new = create(&user, json!({ "title": "new" })).await;
    let first = comment(&user, &path(&old), "first").await;
    app.advance(Duration::from_secs(1));
    let second = comment(&user, &path(&old), "second").await;
    for order in ["newest", "random&sortDir=asc", "", "createdAt"] {
        let listed = user.legacy().get(&format!("/entities?sortBy={order}")).await.expect(200);
        assert_eq!(ids(&listed), [id(&new), id(&old)], "{order}");
        let listed = user.legacy().get(&format!("/comments?sortBy={order}")).await.expect(200);
        assert_eq!(ids(&listed), [id(&second), id(&first)], "{order}");
    }
    let oldest = user.legacy().get("/comments?sortBy=old").await.expect(200);
    assert_eq!(ids(&oldest), [id(&first), id(&second)]);
    user.v6().get("/entities?sortBy=newest").await.refused(400, "entity/invalid-query");
    user.v6().get("/comments?sortBy=newest").await.refused(400, "comment/invalid-query");
}

async fn times_of_a_user_are_ignored(app: TestApp) {
    let user = app.user().await;
    let now = json!(app.now());
    let new = json!({ "title": "x", "createdAt": "2020-01-01", "updatedAt": "2019-01-01" });
    for actor in [user.legacy(), app.anonymous().legacy(), app.bearer("null").legacy()] {
        let made = actor.post("/entities", new.clone()).await.expect(200);
        assert_eq!((&made["createdAt"], &made["updatedAt"]), (&now, &now));
    }
    user.v6().post("/entities", new.clone()).await.refused(403, "entity/unauthorized");
    let key = app.service().legacy();
    key.post("/entities", new).await.refused(400, "entity/invalid-timestamp");
    let new = json!({ "title": "x", "createdAt": "2020-01-01" });
    let made = key.post("/entities", new).await.expect(200);
    assert_eq!(made["createdAt"], "2020-01-01T00:00:00.000Z");
    let said = json!({ "entityId": made["id"], "content": "x", "createdAt": "2020-01-01" });
    let said = user.legacy().post("/comments", said).await.expect(201);
    assert_eq!(said["createdAt"], now);
}

async fn lists_show_their_entities(app: TestApp) {
    let user = app.user().await;
    let v6 = user.legacy();
    let a = create(&user, json!({ "title": "a" })).await;
    let b = create(&user, json!({ "title": "b" })).await;
    let root = v6.get("/lists/root").await.expect(200);
    has(&root, LIST);
    assert_eq!((&root["isRoot"], &root["name"]), (&json!(true), &json!("root")));
    let top = format!("/lists/{}", id(&root));
    for entity in [&b, &a] {
        app.advance(Duration::from_secs(1));
        let body = json!({ "entityId": entity["id"] });
        let list = v6.patch(&format!("{top}/add-entity"), body).await.expect(200);
        has(&list, LIST);
        list["entities"].as_array().unwrap().iter().for_each(is_entity);
    }
    let full = v6.get("/lists/root").await.expect(200);
    assert_eq!(full["entityIds"], json!([b["id"], a["id"]]));
    assert_eq!(ids(&full["entities"]), [id(&b), id(&a)]);
    let later = user.get("/collections/root").await.expect(200);
    assert_eq!((&later["id"], &later["entityCount"]), (&root["id"], &json!(2)));
    let saved = format!("/lists/is-entity-saved?entityId={}", id(&a));
    assert_eq!(v6.get(&saved).await.expect(200), json!(true));
    let made = v6.post(&format!("{top}/sub-lists"), json!({ "listName": "n" })).await.expect(201);
    has(&made, LIST);
    let below = format!("/lists/{}", id(&made));
    let renamed = v6.patch(&below, json!({ "update": { "name": "m" } })).await.expect(200);
    has(&renamed, LIST);
    let children = v6.get(&format!("{top}/sub-lists")).await.expect(200);
    assert_eq!((ids(&children), &children[0]["name"]), (vec![id(&made)], &json!("m")));
    has(&children[0], LIST);
    let removed = v6.patch(&format!("{top}/remove-entity"), json!({ "entityId": b["id"] })).await;
    assert_eq!(removed.expect(200)["entityIds"], json!([a["id"]]));
    v6.delete(&below).await.expect(204);
}
