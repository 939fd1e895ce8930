//! Collections: the root, the tree below it, names, and what a deletion removes.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::features::collections::store::recount;

use crate::entities::{UNKNOWN, create as post_entity};
use crate::support::{Actor, Reply, TestApp, keys, on_both_engines};

on_both_engines![
    the_root_is_made_when_first_asked_for_and_then_only_read,
    a_collection_shows_these_keys_and_no_others,
    sub_collections_are_the_direct_children_oldest_first,
    names_are_trimmed_and_taken_once_below_a_parent,
    malformed_names_are_refused,
    a_parent_must_be_one_s_own,
    collections_nest_fifty_deep,
    a_collection_is_renamed,
    the_root_is_neither_renamed_nor_deleted,
    deletion_takes_everything_below_and_leaves_the_entities,
    the_deepest_and_widest_tree_is_deleted_at_once,
    collections_go_with_their_user,
];

pub(crate) fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

pub(crate) async fn root(actor: &Actor<'_>) -> Value {
    actor.get("/collections/root").await.expect(200)
}

pub(crate) fn below(parent: &Value) -> String {
    format!("/collections/{}/sub-collections", id(parent))
}

pub(crate) fn path(collection: &Value) -> String {
    format!("/collections/{}", id(collection))
}

pub(crate) async fn try_create(actor: &Actor<'_>, parent: &Value, name: &str) -> Reply {
    actor.post(&below(parent), json!({ "collectionName": name })).await
}

pub(crate) async fn create(actor: &Actor<'_>, parent: &Value, name: &str) -> Value {
    try_create(actor, parent, name).await.expect(201)
}

pub(crate) async fn try_save(actor: &Actor<'_>, collection: &Value, entity: &Value) -> Reply {
    let address = format!("{}/entities", path(collection));
    actor.post(&address, json!({ "entityId": id(entity) })).await
}

/// How many entities the collection holds now.
pub(crate) async fn save(actor: &Actor<'_>, collection: &Value, entity: &Value) -> Value {
    let done = try_save(actor, collection, entity).await.expect(200);
    assert_eq!((&done["success"], &done["collection"]["id"]), (&json!(true), &collection["id"]));
    done["collection"]["entityCount"].clone()
}

pub(crate) async fn children(actor: &Actor<'_>, parent: &Value) -> Vec<Value> {
    let children = actor.get(&below(parent)).await.expect(200);
    children.as_array().unwrap().clone()
}

pub(crate) async fn names(actor: &Actor<'_>, parent: &Value) -> String {
    let children = children(actor, parent).await;
    children.iter().map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

/// Every stored count agrees with what it counts.
pub(crate) async fn counts_are_exact(app: &TestApp) {
    let drifted = app.app.db.read_slow(recount::drifted).await;
    let drifted = drifted.map_err(|error| error.to_string()).unwrap();
    assert_eq!(app.own(drifted), []);
    crate::entities::counts_are_exact(app).await;
}

async fn the_root_is_made_when_first_asked_for_and_then_only_read(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let made = root(&ada).await;
    let expected = json!({
        "id": made["id"], "projectId": app.project.id, "userId": ada.id, "parentId": null,
        "isRoot": true, "name": "root", "entityCount": 0,
        "createdAt": app.now(), "updatedAt": app.now(),
    });
    assert_eq!(made, expected);
    app.advance(Duration::from_secs(60));
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        assert_eq!(root(&actor).await, made);
    }
    let seen = app.statements.during(ada.get("/collections/root")).await;
    // The caller's standing and the root: nothing is written.
    assert!(seen.len() <= 2, "{seen:?}");
    assert_ne!(root(&bob).await["id"], made["id"]);
    assert_eq!(app.rows("collections").await, 2);
}

async fn a_collection_shows_these_keys_and_no_others(app: TestApp) {
    let ada = app.user().await;
    let root = root(&ada).await;
    let made = create(&ada, &root, "a").await;
    let expected: Vec<&str> =
        "createdAt entityCount id isRoot name parentId projectId updatedAt userId"
            .split(' ')
            .collect();
    assert_eq!(keys(&root), expected);
    assert_eq!(keys(&made), expected);
    assert_eq!(made["parentId"], root["id"]);
    assert_eq!((&made["isRoot"], &made["entityCount"]), (&json!(false), &json!(0)));
    assert_eq!(children(&ada, &root).await, [made]);
}

async fn sub_collections_are_the_direct_children_oldest_first(app: TestApp) {
    let ada = app.user().await;
    let root = root(&ada).await;
    assert_eq!(names(&ada, &root).await, "");
    let mut first = Value::Null;
    for name in ["c", "a", "b"] {
        app.advance(Duration::from_secs(1));
        first = create(&ada, &root, name).await;
    }
    create(&ada, &first, "deeper").await;
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        assert_eq!(names(&actor, &root).await, "c a b");
        assert_eq!(names(&actor, &first).await, "deeper");
    }
    let unknown = json!({ "id": UNKNOWN });
    assert_eq!(children(&ada, &unknown).await, Vec::<Value>::new());
}

async fn names_are_trimmed_and_taken_once_below_a_parent(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let top = root(&ada).await;
    let first = create(&ada, &top, "  To read\t").await;
    assert_eq!(first["name"], "To read");
    let taken = try_create(&ada, &top, "To read ").await.refused(409, "collection/name-taken");
    assert_eq!(taken["field"], "name");
    create(&ada, &top, "to read").await;
    create(&ada, &first, "To read").await;
    create(&ada, &top, "root").await;
    create(&bob, &root(&bob).await, "To read").await;
    // A name that is given up is free.
    ada.patch(&path(&first), json!({ "name": "Read" })).await.expect(200);
    create(&ada, &top, "To read").await;
    ada.delete(&path(&first)).await.expect(204);
    create(&ada, &top, "Read").await;
}

async fn malformed_names_are_refused(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let inner = create(&ada, &top, &"é".repeat(255)).await;
    let long = "é".repeat(256);
    for wrong in [json!(""), json!(" \n"), json!(long), json!(7), json!(null), json!(["a"])] {
        for actor in [ada.v6(), (*ada).clone()] {
            let body = json!({ "collectionName": wrong });
            actor.post(&below(&top), body).await.refused(400, "collection/invalid-body");
            let body = json!({ "name": wrong });
            actor.patch(&path(&inner), body).await.refused(400, "collection/invalid-body");
        }
    }
    ada.post(&below(&top), json!({})).await.refused(400, "collection/invalid-body");
    ada.post(&below(&top), json!([])).await.refused(400, "collection/invalid-body");
    ada.patch(&path(&inner), json!({})).await.refused(400, "collection/invalid-body");
    assert_eq!(children(&ada, &top).await.len(), 1);
}

async fn a_parent_must_be_one_s_own(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.stranger().await);
    let top = root(&ada).await;
    let inner = create(&ada, &top, "a").await;
    for parent in [&top, &inner, &json!({ "id": UNKNOWN })] {
        for actor in [&bob, &eve] {
            let refused = try_create(actor, parent, "mine").await;
            refused.refused(400, "collection/invalid-parent");
        }
    }
    ada.delete(&path(&inner)).await.expect(204);
    try_create(&ada, &inner, "b").await.refused(400, "collection/invalid-parent");
    assert_eq!(app.rows("collections").await, 1);
}

async fn collections_nest_fifty_deep(app: TestApp) {
    let ada = app.user().await;
    let mut deepest = root(&ada).await;
    for depth in 1..=50 {
        deepest = create(&ada, &deepest, &depth.to_string()).await;
    }
    for actor in [ada.v6(), (*ada).clone()] {
        let deeper = try_create(&actor, &deepest, "51").await;
        deeper.refused(400, "collection/invalid-parent");
    }
    assert_eq!(app.rows("collections").await, 51);
}

async fn a_collection_is_renamed(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let mut made = create(&ada, &top, "a").await;
    app.advance(Duration::from_secs(1));
    create(&ada, &top, "b").await;
    app.advance(Duration::from_secs(60));
    made["name"] = json!("c");
    made["updatedAt"] = json!(app.now());
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        let renamed = actor.patch(&path(&made), json!({ "name": " c " })).await;
        assert_eq!(renamed.expect(200), made);
    }
    assert_eq!(names(&ada, &top).await, "c b");
    let taken = ada.patch(&path(&made), json!({ "name": "b" })).await;
    assert_eq!(taken.refused(409, "collection/name-taken")["field"], "name");
    let unknown = ada.patch(&format!("/collections/{UNKNOWN}"), json!({ "name": "x" })).await;
    unknown.refused(404, "collection/not-found");
    assert_eq!(names(&ada, &top).await, "c b");
}

async fn the_root_is_neither_renamed_nor_deleted(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    ada.patch(&path(&top), json!({ "name": "x" })).await.refused(404, "collection/not-found");
    ada.delete(&path(&top)).await.refused(404, "collection/not-found");
    assert_eq!(root(&ada).await, top);
}

async fn deletion_takes_everything_below_and_leaves_the_entities(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let kept = create(&ada, &top, "kept").await;
    let gone = create(&ada, &top, "gone").await;
    let (inner, twin) = (create(&ada, &gone, "a").await, create(&ada, &gone, "b").await);
    let innermost = create(&ada, &inner, "c").await;
    let entity = post_entity(&ada, json!({})).await;
    for collection in [&top, &kept, &gone, &inner, &twin, &innermost] {
        assert_eq!(save(&ada, collection, &entity).await, 1);
    }
    let reply = ada.delete(&path(&gone)).await;
    assert_eq!((reply.status, reply.body.len()), (204, 0));
    assert_eq!(app.rows("collections").await, 2);
    assert_eq!(app.rows("collection_entities").await, 2);
    for collection in [&gone, &inner, &twin, &innermost] {
        let address = path(collection);
        ada.delete(&address).await.refused(404, "collection/not-found");
        ada.get(&format!("{address}/entities")).await.refused(404, "collection/not-found");
        assert_eq!(names(&ada, collection).await, "");
    }
    assert_eq!(names(&ada, &top).await, "kept");
    ada.get(&crate::entities::path(&entity)).await.expect(200);
    counts_are_exact(&app).await;
}

async fn the_deepest_and_widest_tree_is_deleted_at_once(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let gone = create(&ada, &top, "gone").await;
    let mut deepest = gone.clone();
    for depth in 2..=50 {
        for name in ["a", "b"] {
            create(&ada, &deepest, &format!("{name}{depth}")).await;
        }
        deepest = children(&ada, &deepest).await.remove(0);
    }
    assert_eq!(app.rows("collections").await, 2 + 2 * 49);
    ada.delete(&path(&gone)).await.expect(204);
    assert_eq!(app.rows("collections").await, 1);
}

async fn collections_go_with_their_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (ours, theirs) = (root(&ada).await, root(&bob).await);
    let inner = create(&bob, &create(&bob, &theirs, "a").await, "b").await;
    let (of_ada, of_bob) = (post_entity(&ada, json!({})).await, post_entity(&bob, json!({})).await);
    for entity in [&of_ada, &of_bob] {
        save(&ada, &ours, entity).await;
        save(&bob, &theirs, entity).await;
        save(&bob, &inner, entity).await;
    }
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert_eq!(app.rows("collections").await, 1);
    assert_eq!(app.rows("collection_entities").await, 2);
    // What the user wrote is empty now, and no list shows it.
    let left = ada.get(&format!("{}/entities", path(&ours))).await.expect(200);
    assert_eq!(left["pagination"]["totalItems"], 1);
    bob.get("/collections/root").await.refused(403, "auth/no-user-found");
    counts_are_exact(&app).await;
}
