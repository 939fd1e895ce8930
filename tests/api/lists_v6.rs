//! Lists: collections in v6, over the same rows.

use std::time::Duration;

use serde_json::{Value, json};

use crate::collection_contents::{posted, save_everything};
use crate::collections::{counts_are_exact, create, id, root, save};
use crate::entities::{UNKNOWN, create as post_entity};
use crate::support::feed::seed_many;
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![
    the_root_list_is_the_root_collection,
    a_list_shows_everything_in_it_in_the_order_of_saving,
    sub_lists_show_their_entities,
    an_entity_is_added_once_and_removed_once,
    lists_are_made_renamed_and_deleted,
    wrong_names_and_parents_are_refused,
    a_list_tells_whether_an_entity_is_saved,
    sub_lists_cost_as_many_statements_as_one,
    a_reply_shows_the_first_thousand_entities,
];

async fn fetch_root(actor: &Actor<'_>) -> Value {
    actor.get("/lists/root").await.expect(200)
}

fn path(list: &Value) -> String {
    format!("/lists/{}", id(list))
}

fn titles(list: &Value) -> Vec<&str> {
    let entities = list["entities"].as_array().unwrap().iter();
    entities.map(|entity| entity["title"].as_str().unwrap_or("-")).collect()
}

async fn add(actor: &Actor<'_>, list: &Value, entity: &Value) -> crate::support::Reply {
    let address = format!("{}/add-entity", path(list));
    actor.patch(&address, json!({ "entityId": id(entity) })).await
}

async fn remove(actor: &Actor<'_>, list: &Value, entity: &Value) -> crate::support::Reply {
    let address = format!("{}/remove-entity", path(list));
    actor.patch(&address, json!({ "entityId": id(entity) })).await
}

async fn the_root_list_is_the_root_collection(app: TestApp) {
    let ada = app.user().await;
    let mut list = fetch_root(&ada.v6()).await;
    assert_eq!((&list["entityIds"], &list["entities"]), (&json!([]), &json!([])));
    for key in ["entityIds", "entities"] {
        list.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(list, root(&ada).await);
    assert_eq!((&list["name"], &list["isRoot"]), (&json!("root"), &json!(true)));
    assert_eq!(app.rows("collections").await, 1);
}

async fn a_list_shows_everything_in_it_in_the_order_of_saving(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let top = root(&ada).await;
    let entities = posted(&app, &bob, &["a", "b", "c"]).await;
    for n in [1, 0, 2] {
        app.advance(Duration::from_secs(1));
        save(&ada, &top, &entities[n]).await;
    }
    let draft = post_entity(&ada, json!({ "isDraft": true, "title": "own" })).await;
    app.advance(Duration::from_secs(1));
    save(&ada, &top, &draft).await;
    let list = fetch_root(&ada.v6()).await;
    let ids: Vec<&str> = [&entities[1], &entities[0], &entities[2], &draft].map(id).to_vec();
    assert_eq!(list["entityIds"], json!(ids));
    assert_eq!(titles(&list), ["b", "a", "c", "own"]);
    assert_eq!(list["entityCount"], 4);
    assert_eq!(list["entities"][0]["user"]["id"], json!(bob.id));
    let fetched = ada.v6().get(&crate::entities::path(&entities[1])).await;
    assert_eq!(keys(&list["entities"][0]), fetched.keys());
    // What may not be seen is not among the entities.
    let project = app.project.id;
    let set = app.app.db.write(move |tx| {
        let text = "UPDATE entities SET is_listed = FALSE, moderation_status = 'removed'
                    WHERE project_id = $1";
        let hide = db::Command::<()>::built("test::hide", text);
        tx.execute(&hide, db::args![project])
    });
    assert_eq!(set.await.unwrap(), 4);
    let list = fetch_root(&ada.v6()).await;
    assert_eq!((list["entityIds"].as_array().unwrap().len(), titles(&list).len()), (4, 0));
}

async fn sub_lists_show_their_entities(app: TestApp) {
    let ada = app.user().await;
    let v6 = ada.v6();
    let top = root(&ada).await;
    let mut made = Vec::new();
    for name in ["one", "two", "three"] {
        app.advance(Duration::from_secs(1));
        made.push(create(&ada, &top, name).await);
    }
    let entities = posted(&app, &ada, &["a", "b"]).await;
    for (list, entity) in [(0, 0), (1, 1), (1, 0)] {
        app.advance(Duration::from_secs(1));
        save(&ada, &made[list], &entities[entity]).await;
    }
    let lists = v6.get(&format!("{}/sub-lists", path(&top))).await.expect(200);
    let lists = lists.as_array().unwrap();
    let shown: Vec<(&str, Vec<&str>)> =
        lists.iter().map(|list| (list["name"].as_str().unwrap(), titles(list))).collect();
    assert_eq!(shown, [("one", vec!["a"]), ("two", vec!["b", "a"]), ("three", vec![])]);
    for list in lists {
        assert_eq!(list["entityCount"], list["entityIds"].as_array().unwrap().len());
        // The same entity looks the same in both.
        assert!(titles(list).iter().all(|title| ["a", "b"].contains(title)));
    }
    assert_eq!(lists[0]["entities"][0], lists[1]["entities"][1]);
    let unknown = v6.get(&format!("/lists/{UNKNOWN}/sub-lists")).await.expect(200);
    assert_eq!(unknown, json!([]));
}

async fn an_entity_is_added_once_and_removed_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let v6 = ada.v6();
    let top = fetch_root(&v6).await;
    let entities = posted(&app, &bob, &["a", "b"]).await;
    let list = add(&v6, &top, &entities[0]).await.expect(200);
    assert_eq!((titles(&list), &list["entityCount"]), (vec!["a"], &json!(1)));
    add(&v6, &top, &entities[0]).await.refused(409, "list/entity-exists");
    app.advance(Duration::from_secs(1));
    let list = add(&v6, &top, &entities[1]).await.expect(200);
    assert_eq!(titles(&list), ["a", "b"]);
    assert_eq!(list, fetch_root(&v6).await);
    let list = remove(&v6, &top, &entities[0]).await.expect(200);
    assert_eq!((titles(&list), &list["entityIds"]), (vec!["b"], &json!([id(&entities[1])])));
    remove(&v6, &top, &entities[0]).await.refused(409, "list/entity-not-found");
    let unknown = json!({ "id": UNKNOWN });
    let draft = post_entity(&bob, json!({ "isDraft": true })).await;
    for hidden in [&unknown, &draft] {
        add(&v6, &top, hidden).await.refused(404, "entity/not-found");
        remove(&v6, &top, hidden).await.refused(409, "list/entity-not-found");
        add(&v6, hidden, &entities[0]).await.refused(404, "list/not-found");
        remove(&v6, hidden, &entities[0]).await.refused(404, "list/not-found");
    }
    for name in ["add-entity", "remove-entity"] {
        for body in [json!({}), json!({ "entityId": "x" }), json!({ "entityId": null })] {
            let refused = v6.patch(&format!("{}/{name}", path(&top)), body).await;
            refused.refused(400, "list/missing-data");
        }
    }
    counts_are_exact(&app).await;
}

async fn lists_are_made_renamed_and_deleted(app: TestApp) {
    let ada = app.user().await;
    let v6 = ada.v6();
    let top = fetch_root(&v6).await;
    let below = format!("{}/sub-lists", path(&top));
    let made = v6.post(&below, json!({ "listName": " Made " })).await.expect(201);
    assert_eq!((&made["name"], &made["parentId"]), (&json!("Made"), &top["id"]));
    assert_eq!((&made["entityIds"], &made["entities"]), (&json!([]), &json!([])));
    let taken = v6.post(&below, json!({ "listName": "Made" })).await;
    assert_eq!(taken.refused(409, "list/name-taken")["field"], "name");
    let update = |name: Value| json!({ "update": { "name": name } });
    let renamed = v6.patch(&path(&made), update(json!("New"))).await.expect(200);
    assert_eq!((&renamed["name"], &renamed["id"]), (&json!("New"), &made["id"]));
    v6.post(&below, json!({ "listName": "Made" })).await.expect(201);
    let taken = v6.patch(&path(&made), update(json!("Made"))).await;
    taken.refused(409, "list/name-taken");
    let deeper = format!("{}/sub-lists", path(&made));
    v6.post(&deeper, json!({ "listName": "deeper" })).await.expect(201);
    for root_or_unknown in [&top, &json!({ "id": UNKNOWN })] {
        let renamed = v6.patch(&path(root_or_unknown), update(json!("x"))).await;
        renamed.refused(404, "list/not-found");
        v6.delete(&path(root_or_unknown)).await.refused(404, "list/not-found");
    }
    v6.delete(&path(&made)).await.expect(204);
    v6.delete(&path(&made)).await.refused(404, "list/not-found");
    assert_eq!(app.rows("collections").await, 2);
}

async fn wrong_names_and_parents_are_refused(app: TestApp) {
    let ada = app.user().await;
    let v6 = ada.v6();
    let top = fetch_root(&v6).await;
    let below = format!("{}/sub-lists", path(&top));
    let made = v6.post(&below, json!({ "listName": "made" })).await.expect(201);
    let long = "x".repeat(256);
    for wrong in [json!({}), json!({ "listName": " " }), json!({ "listName": long }), json!([])] {
        v6.post(&below, wrong).await.refused(400, "list/missing-parameters");
    }
    let orphan = v6.post(&format!("/lists/{UNKNOWN}/sub-lists"), json!({ "listName": "x" })).await;
    orphan.refused(400, "list/invalid-parent");
    for (wrong, code) in [
        (json!({}), "list/missing-data"),
        (json!({ "name": "x" }), "list/missing-data"),
        (json!({ "update": {} }), "list/missing-data"),
        (json!({ "update": null }), "list/missing-data"),
        (json!({ "update": { "name": 7 } }), "list/missing-data"),
        (json!({ "update": { "name": long } }), "list/missing-data"),
        (json!({ "update": { "name": "" } }), "list/blank-name"),
        (json!({ "update": { "name": " \t" } }), "list/blank-name"),
    ] {
        v6.patch(&path(&made), wrong).await.refused(400, code);
    }
}

async fn a_list_tells_whether_an_entity_is_saved(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let v6 = ada.v6();
    let top = fetch_root(&v6).await;
    let entity = posted(&app, &bob, &["a"]).await.remove(0);
    let saved = format!("/lists/is-entity-saved?entityId={}", id(&entity));
    assert_eq!(v6.get(&saved).await.expect(200), json!(false));
    add(&v6, &top, &entity).await.expect(200);
    assert_eq!(v6.get(&saved).await.expect(200), json!(true));
    assert_eq!(bob.v6().get(&saved).await.expect(200), json!(false));
    let as_ada = format!("{saved}&userId={}", ada.id);
    assert_eq!(app.service().v6().get(&as_ada).await.expect(200), json!(true));
    for wrong in ["/lists/is-entity-saved", "/lists/is-entity-saved?entityId=x"] {
        v6.get(wrong).await.refused(400, "list/invalid-entity-id");
    }
}

async fn sub_lists_cost_as_many_statements_as_one(app: TestApp) {
    let ada = app.user().await;
    let v6 = ada.v6();
    let top = root(&ada).await;
    let below = format!("{}/sub-lists", path(&top));
    let entities = posted(&app, &ada, &["a", "b", "c"]).await;
    let mut counts = Vec::new();
    for n in 0..6 {
        let made = create(&ada, &top, &n.to_string()).await;
        for entity in &entities {
            save(&ada, &made, entity).await;
        }
        counts.push(app.statements.during(v6.get(&below)).await.len());
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

async fn a_reply_shows_the_first_thousand_entities(app: TestApp) {
    let app = app.own_server().await;
    let ada = app.user().await;
    root(&ada).await;
    seed_many(&app, 1100).await;
    save_everything(&app).await;
    let list = fetch_root(&ada.v6()).await;
    let (ids, titles) = (list["entityIds"].as_array().unwrap(), titles(&list));
    assert_eq!((ids.len(), titles.len()), (1100, 1000));
    assert_eq!((titles[0], titles[999]), ("n0", "n999"));
}
