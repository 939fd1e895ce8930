//! Entities in collections: adding, removing and listing them.

use std::time::Duration;

use db::{Command, args};
use serde_json::{Value, json};
use townhall::features::reactions::ReactionCounts;
use townhall::values::ids::EntityId;

use crate::collections::{counts_are_exact, create, id, path, root, save, try_save};
use crate::entities::{UNKNOWN, create as post_entity};
use crate::support::feed::{post, react, set_score, titles};
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    saving_and_removing_twice_changes_nothing,
    one_entity_is_in_many_collections,
    only_visible_entities_can_be_saved,
    contents_are_sorted_both_ways,
    pages_follow_each_other_and_totals_are_exact,
    contents_show_the_included_parts,
    wrong_queries_are_refused,
    hidden_entities_are_left_out_and_not_counted,
];

pub(crate) fn inside(collection: &Value) -> String {
    format!("{}/entities", path(collection))
}

pub(crate) fn entry(collection: &Value, entity: &Value) -> String {
    format!("{}/{}", inside(collection), id(entity))
}

pub(crate) async fn contents(actor: &Actor<'_>, collection: &Value, query: &str) -> Value {
    actor.get(&format!("{}?{query}", inside(collection))).await.expect(200)
}

/// The titles of what fits on one page, and is counted as what it shows.
pub(crate) async fn listed(actor: &Actor<'_>, collection: &Value, query: &str) -> String {
    let page = contents(actor, collection, &format!("limit=100&{query}")).await;
    assert_eq!(page["pagination"]["totalItems"], page["data"].as_array().unwrap().len(), "{query}");
    titles(&page)
}

/// Entities of the user, each a second younger than the one before.
pub(crate) async fn posted(app: &TestApp, user: &User<'_>, titles: &[&str]) -> Vec<Value> {
    let mut entities = Vec::new();
    for title in titles {
        let id = post(app, user, json!({ "title": title })).await;
        entities.push(json!({ "id": id }));
    }
    entities
}

/// Every entity of the project in each of its collections, in the order of their age.
pub(crate) async fn save_everything(app: &TestApp) {
    let save = "INSERT INTO collection_entities
            (project_id, collection_id, entity_id, id, user_id, created_at)
         SELECT e.project_id, c.id, e.id, e.id, c.user_id, e.created_at
         FROM entities e JOIN collections c ON c.project_id = e.project_id
         WHERE e.project_id = $1";
    let count = "UPDATE collections SET entity_count = (SELECT count(*) FROM collection_entities l
            WHERE l.project_id = collections.project_id AND l.collection_id = collections.id)
         WHERE project_id = $1";
    let project = app.project.id;
    let written = app.app.db.write(move |tx| {
        for text in [save, count] {
            tx.execute(&Command::<()>::built("test::save", text), args![project])?;
        }
        Ok::<_, db::Error>(())
    });
    written.await.unwrap();
}

async fn set(app: &TestApp, entity: &Value, what: &'static str) {
    let (project, id): (_, EntityId) = (app.project.id, id(entity).parse().unwrap());
    let text = format!("UPDATE entities SET {what} WHERE project_id = $1 AND id = $2");
    let changed = app.app.db.write(move |tx| {
        tx.execute(&Command::<()>::built("test::set", text.clone()), args![project, id])
    });
    assert_eq!(changed.await.unwrap(), 1);
}

async fn saving_and_removing_twice_changes_nothing(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let entities = posted(&app, &ada, &["a", "b"]).await;
    let changed_at = async || root(&ada).await["updatedAt"].clone();
    let saved_at = json!(app.now());
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        let reply = try_save(&actor, &top, &entities[0]).await.expect(200);
        let expected =
            json!({ "success": true, "collection": { "id": top["id"], "entityCount": 1 } });
        assert_eq!(reply, expected);
        app.advance(Duration::from_secs(1));
    }
    assert_eq!(changed_at().await, saved_at);
    assert_eq!(save(&ada, &top, &entities[1]).await, 2);
    assert_eq!(root(&ada).await["entityCount"], 2);
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        let reply = actor.delete(&entry(&top, &entities[0])).await.expect(200);
        let expected =
            json!({ "success": true, "collection": { "id": top["id"], "entityCount": 1 } });
        assert_eq!(reply, expected);
    }
    ada.delete(&entry(&top, &json!({ "id": UNKNOWN }))).await.expect(200);
    assert_eq!(listed(&ada, &top, "").await, "b");
    counts_are_exact(&app).await;
}

async fn one_entity_is_in_many_collections(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (top, theirs) = (root(&ada).await, root(&bob).await);
    let inner = create(&ada, &top, "inner").await;
    let entity = posted(&app, &ada, &["a"]).await.remove(0);
    for (user, collection) in [(&ada, &top), (&ada, &inner), (&bob, &theirs)] {
        assert_eq!(save(user, collection, &entity).await, 1);
    }
    ada.delete(&entry(&top, &entity)).await.expect(200);
    assert_eq!(listed(&ada, &top, "").await, "");
    assert_eq!(listed(&ada, &inner, "").await, "a");
    assert_eq!(listed(&bob, &theirs, "").await, "a");
    counts_are_exact(&app).await;
}

async fn only_visible_entities_can_be_saved(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.stranger().await);
    let top = root(&ada).await;
    let draft = post_entity(&bob, json!({ "isDraft": true })).await;
    let foreign = post_entity(&eve, json!({})).await;
    let deleted = post_entity(&bob, json!({})).await;
    bob.delete(&crate::entities::path(&deleted)).await.expect(204);
    let unknown = try_save(&ada, &top, &json!({ "id": UNKNOWN })).await;
    unknown.refused(404, "entity/not-found");
    for hidden in [&draft, &foreign, &deleted] {
        let refused = try_save(&ada, &top, hidden).await;
        assert_eq!((refused.status, &refused.body), (404, &unknown.body));
        // A key sees more, but the collection is the user's.
        let body = json!({ "entityId": id(hidden), "userId": ada.id });
        let refused = app.service().post(&inside(&top), body).await;
        assert_eq!((refused.status, &refused.body), (404, &unknown.body));
    }
    let own = post_entity(&ada, json!({ "isDraft": true, "title": "own" })).await;
    assert_eq!(save(&ada, &top, &own).await, 1);
    assert_eq!(listed(&ada, &top, "").await, "own");
    for wrong in [json!({}), json!({ "entityId": "x" }), json!({ "entityId": null }), json!([])] {
        ada.post(&inside(&top), wrong).await.refused(400, "collection/invalid-body");
    }
    counts_are_exact(&app).await;
}

async fn contents_are_sorted_both_ways(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let entities = posted(&app, &ada, &["a", "b", "c", "d"]).await;
    for (n, upvote, score) in [(0, 2, 1.0), (1, 0, 3.0), (2, 5, 2.0), (3, 0, 3.0)] {
        let entity: EntityId = id(&entities[n]).parse().unwrap();
        react(&app, entity, ReactionCounts { upvote, ..ReactionCounts::default() }).await;
        set_score(&app, entity, score).await;
    }
    for n in [1, 3, 0, 2] {
        app.advance(Duration::from_secs(1));
        save(&ada, &top, &entities[n]).await;
    }
    for (query, expected) in [
        ("", "d c b a"),
        ("sortBy=new", "d c b a"),
        ("sortBy=new&sortDir=asc", "a b c d"),
        ("sortBy=top", "c a d b"),
        ("sortBy=top&sortDir=ASC", "d b a c"),
        ("sortBy=hot", "d b c a"),
        ("sortBy=hot&sortDir=asc", "a c d b"),
        ("sortBy=added", "c a d b"),
        ("sortBy=added&sortDir=desc", "c a d b"),
        ("sortBy=added&sortDir=Asc", "b d a c"),
    ] {
        for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
            assert_eq!(listed(&actor, &top, query).await, expected, "{query}");
        }
    }
}

async fn pages_follow_each_other_and_totals_are_exact(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    assert_eq!(contents(&ada, &top, "").await["pagination"]["totalPages"], 0);
    let names: Vec<String> = (0..23).map(|n| format!("t{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for entity in posted(&app, &ada, &names).await {
        save(&ada, &top, &entity).await;
    }
    let first = contents(&ada, &top, "").await;
    let expected =
        json!({ "page": 1, "pageSize": 20, "totalPages": 2, "totalItems": 23, "hasMore": true });
    assert_eq!(first["pagination"], expected);
    for sort in ["new", "top", "hot", "added"] {
        for direction in ["asc", "desc"] {
            let query = format!("sortBy={sort}&sortDir={direction}");
            let whole = titles(&contents(&ada, &top, &format!("{query}&limit=1000")).await);
            let mut parts = Vec::new();
            for page in 1..=4 {
                let part = contents(&ada, &top, &format!("{query}&limit=7&page={page}")).await;
                assert_eq!(part["pagination"]["hasMore"], page < 4);
                parts.push(titles(&part));
            }
            assert_eq!(parts.join(" "), whole, "{query}");
            let beyond = contents(&ada, &top, &format!("{query}&limit=7&page=5")).await;
            assert_eq!(beyond["data"], json!([]));
            assert_eq!(beyond["pagination"]["totalItems"], 23);
        }
    }
    assert_eq!(contents(&ada, &top, "limit=1000").await["pagination"]["pageSize"], 100);
}

async fn contents_show_the_included_parts(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let top = root(&ada).await;
    let entity = post_entity(&bob, json!({ "title": "a" })).await;
    let react = format!("{}/reactions", crate::entities::path(&entity));
    ada.post(&react, json!({ "reactionType": "love" })).await.expect(200);
    save(&ada, &top, &entity).await;
    let plain = contents(&ada, &top, "").await["data"][0].clone();
    assert_eq!((&plain["isSaved"], &plain["userReaction"]), (&json!(true), &json!("love")));
    for key in ["user", "space", "files", "grants"] {
        assert!(plain.get(key).is_none(), "{key}");
    }
    let query = "include=user,%20SPACE,topcomment,files,grants,saved,bogus";
    let full = contents(&ada, &top, query).await["data"][0].clone();
    assert_eq!(full["user"]["id"], json!(bob.id));
    assert_eq!((&full["space"], &full["files"]), (&Value::Null, &json!([])));
    assert!(full["grants"].is_object() && full["isSaved"] == true);
    // The same as a fetch shows.
    let query = "include=user,space,files,grants,saved";
    let mut fetched =
        ada.get(&format!("{}?{query}", crate::entities::path(&entity))).await.expect(200);
    fetched["views"] = full["views"].clone();
    assert_eq!(fetched, full);
}

async fn wrong_queries_are_refused(app: TestApp) {
    let ada = app.user().await;
    let address = inside(&root(&ada).await);
    for query in [
        "page=0",
        "page=x",
        "limit=0",
        "limit=-1",
        "limit=x",
        "sortBy=createdAt",
        "sortBy=",
        "sortBy=NEW",
        "sortDir=up",
    ] {
        for actor in [ada.v6(), (*ada).clone()] {
            let refused = actor.get(&format!("{address}?{query}")).await;
            refused.refused(400, "collection/invalid-query");
        }
    }
}

async fn hidden_entities_are_left_out_and_not_counted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let top = root(&ada).await;
    let entities = posted(&app, &bob, &["shown", "removed", "draft"]).await;
    let own = post_entity(&ada, json!({ "isDraft": true, "title": "own" })).await;
    let removed = post_entity(&ada, json!({ "isDraft": true, "title": "gone" })).await;
    for entity in entities.iter().chain([&own, &removed]) {
        save(&ada, &top, entity).await;
    }
    set(&app, &entities[1], "is_listed = FALSE, moderation_status = 'removed'").await;
    set(&app, &entities[2], "is_listed = FALSE, is_draft = TRUE").await;
    set(&app, &removed, "moderation_status = 'removed'").await;
    for sort in ["new", "top", "hot", "added"] {
        for direction in ["asc", "desc"] {
            let query = format!("sortBy={sort}&sortDir={direction}");
            let listed = listed(&ada, &top, &query).await;
            assert!(["own shown", "shown own"].contains(&listed.as_str()), "{query}: {listed}");
            let page = contents(&ada, &top, &format!("{query}&limit=1&page=2")).await;
            assert_eq!(
                (titles(&page).is_empty(), &page["pagination"]["hasMore"]),
                (false, &json!(false))
            );
        }
    }
    // A key that acts as the user sees what the user sees.
    let as_ada = contents(&app.service(), &top, &format!("userId={}", ada.id)).await;
    assert_eq!(as_ada["pagination"]["totalItems"], 2);
    // They are still saved, and may be taken out.
    assert_eq!(root(&ada).await["entityCount"], 5);
    let out = ada.delete(&entry(&top, &entities[1])).await.expect(200);
    assert_eq!(out["collection"]["entityCount"], 4);
}
