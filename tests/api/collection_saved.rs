//! Whether an entity is saved, the effects of a deletion on collections, and the cost of a page.

use db::Query;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::collection_contents::{contents, entry, inside, listed, posted, save_everything};
use crate::collections::{counts_are_exact, create, id, path, root, save};
use crate::entities::{UNKNOWN, create as post_entity};
use crate::entity_deletion::delete_softly;
use crate::feed_plans::run;
use crate::support::feed::{post, titles};
use crate::support::{Actor, TestApp, User, on_both_engines};

on_both_engines![
    a_deleted_entity_is_in_no_collection,
    the_collections_that_hold_an_entity_are_named,
    entities_tell_whether_they_are_saved,
    a_page_costs_as_many_statements_as_an_entity,
    contents_by_the_time_of_saving_are_read_off_an_index,
];

async fn a_deleted_entity_is_in_no_collection(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (top, theirs) = (root(&ada).await, root(&bob).await);
    let inner = create(&ada, &top, "inner").await;
    for softly in [false, true] {
        if softly {
            delete_softly(&app).await;
        }
        let entities = posted(&app, &ada, &["gone", "kept"]).await;
        for entity in &entities {
            for (user, collection) in [(&ada, &top), (&ada, &inner), (&bob, &theirs)] {
                save(user, collection, entity).await;
            }
        }
        ada.delete(&crate::entities::path(&entities[0])).await.expect(204);
        assert_eq!(app.rows("collection_entities").await, 3);
        for (user, collection) in [(&ada, &top), (&ada, &inner), (&bob, &theirs)] {
            assert_eq!(listed(user, collection, "").await, "kept");
        }
        assert_eq!(root(&ada).await["entityCount"], 1);
        let saved = format!("/entities/is-entity-saved?entityId={}", id(&entities[0]));
        assert_eq!(ada.get(&saved).await.expect(200)["saved"], false);
        counts_are_exact(&app).await;
        app.service().delete(&crate::entities::path(&entities[1])).await.expect(204);
        assert_eq!(app.rows("collection_entities").await, 0);
        counts_are_exact(&app).await;
    }
}

async fn the_collections_that_hold_an_entity_are_named(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (top, theirs) = (root(&ada).await, root(&bob).await);
    let (b, a) = (create(&ada, &top, "b").await, create(&ada, &top, "a").await);
    let entity = posted(&app, &ada, &["a"]).await.remove(0);
    let nothing = json!({ "saved": false, "collections": [] });
    for path in ["/entities/is-entity-saved", "/collections/is-entity-saved"] {
        let saved = |id: &str| format!("{path}?entityId={id}");
        assert_eq!(bob.get(&saved(id(&entity))).await.expect(200), nothing);
        assert_eq!(ada.get(&saved(UNKNOWN)).await.expect(200), nothing);
        for collection in [&b, &top, &a] {
            save(&ada, collection, &entity).await;
        }
        let named = |one: &Value| json!({ "id": one["id"], "name": one["name"] });
        let all = json!({ "saved": true, "collections": [named(&a), named(&b), named(&top)] });
        for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
            assert_eq!(actor.get(&saved(id(&entity))).await.expect(200), all);
        }
        let as_ada = format!("{}&userId={}", saved(id(&entity)), ada.id);
        assert_eq!(app.service().get(&as_ada).await.expect(200), all);
        assert_eq!(
            bob.get(&as_ada).await.expect(200),
            nothing,
            "a token acts for its own user only"
        );
        let code = match path {
            "/entities/is-entity-saved" => "collection/invalid-entity-id",
            _ => "collection/invalid-query",
        };
        for wrong in [path, &saved("x"), &saved("")] {
            ada.get(wrong).await.refused(400, code);
        }
    }
    save(&bob, &theirs, &entity).await;
    ada.delete(&path(&b)).await.expect(204);
    ada.delete(&entry(&top, &entity)).await.expect(200);
    let left = ada.get(&format!("/entities/is-entity-saved?entityId={}", id(&entity))).await;
    assert_eq!(left.expect(200)["collections"], json!([{ "id": a["id"], "name": "a" }]));
}

async fn entities_tell_whether_they_are_saved(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let top = root(&ada).await;
    let inner = create(&ada, &top, "inner").await;
    let entities = posted(&app, &ada, &["a", "b"]).await;
    save(&ada, &top, &entities[0]).await;
    save(&ada, &inner, &entities[0]).await;
    let told = async |actor: &Actor<'_>| {
        let feed = actor.get("/entities?include=saved").await.expect(200);
        let mut told: Vec<Value> =
            feed["data"].as_array().unwrap().iter().map(|one| one["isSaved"].clone()).collect();
        for entity in &entities {
            let address = format!("{}?include=saved", crate::entities::path(entity));
            told.push(actor.get(&address).await.expect(200)["isSaved"].clone());
        }
        json!(told)
    };
    for actor in [ada.v7(), (*ada).clone()] {
        assert_eq!(told(&actor).await, json!([false, true, true, false]));
    }
    assert_eq!(told(&bob).await, json!([false, false, false, false]));
    // Nobody is asked about where nobody asks.
    for actor in [app.anonymous(), app.service()] {
        assert_eq!(told(&actor).await, json!([null, null, null, null]));
    }
    let plain = ada.get(&crate::entities::path(&entities[0])).await.expect(200);
    assert!(plain.get("isSaved").is_none());
    ada.delete(&entry(&top, &entities[0])).await.expect(200);
    assert_eq!(told(&ada).await, json!([false, true, true, false]));
    ada.delete(&path(&inner)).await.expect(204);
    assert_eq!(told(&ada).await, json!([false, false, false, false]));
    // Where there are no collections nothing is saved.
    let bare = app.project_with(&[Bundle::Entities]).await;
    let body = json!({ "email": "eve@example.com", "password": User::PASSWORD });
    let signed_up = app.anonymous().in_project(bare.id).post("/auth/sign-up", body).await;
    let eve = User::from_reply(&app, bare.id, &signed_up.expect(201));
    let entity = post_entity(&eve, json!({})).await;
    let address = format!("{}?include=saved", crate::entities::path(&entity));
    assert_eq!(eve.get(&address).await.expect(200)["isSaved"], false);
}

async fn a_page_costs_as_many_statements_as_an_entity(app: TestApp) {
    let users = [app.user().await, app.user().await, app.user().await];
    let top = root(&users[0]).await;
    for n in 0..30 {
        let entity = json!({ "id": post(&app, &users[n % 3], json!({})).await });
        save(&users[0], &top, &entity).await;
    }
    let everything = "include=user,space,topComment,saved,grants,files";
    for (query, most) in [("", 7), (everything, 12), ("sortBy=added", 7), ("sortBy=top", 7)] {
        let mut counts = Vec::new();
        for limit in [1, 30] {
            let address = format!("{}?{query}&limit={limit}", inside(&top));
            users[0].get(&address).await.expect(200);
            counts.push(app.statements.during(users[0].get(&address)).await.len());
        }
        // The caller's standing, the collection, the total, the page, its rows, own reactions.
        assert!(counts[0] == counts[1] && counts[1] <= most, "{query}: {counts:?}");
    }
    // A feed with saved marks costs one more statement.
    let mut counts = Vec::new();
    for address in ["/entities?limit=30", "/entities?limit=30&include=saved"] {
        users[0].get(address).await.expect(200);
        counts.push(app.statements.during(users[0].get(address)).await.len());
    }
    assert_eq!(counts[1], counts[0] + 1);
}

async fn contents_by_the_time_of_saving_are_read_off_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let ada = app.user().await;
    let top = root(&ada).await;
    crate::support::feed::seed_many(&app, 2500).await;
    save_everything(&app).await;
    run(&app, "{analyze}".to_owned()).await;
    let mut pages = Vec::new();
    for direction in ["asc", "desc"] {
        let address = format!("{}?sortBy=added&sortDir={direction}", inside(&top));
        pages.extend(app.statements.during(ada.get(&address)).await);
    }
    pages.retain(|(name, _)| *name == "collections::links::page");
    let db = app.app.db.clone();
    let plans = tokio::task::spawn_blocking(move || {
        let explain = |(name, text)| db.explain(&Query::<()>::built(name, text)).unwrap();
        pages.into_iter().map(|page| explain(page).join("\n")).collect::<Vec<_>>()
    });
    let plans = plans.await.unwrap();
    assert_eq!(plans.len(), 2);
    for plan in plans {
        assert!(plan.contains("collection_entities_added"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("Sort"), "{plan}");
    }
    assert_eq!(
        titles(&contents(&ada, &top, "sortBy=added&limit=3&page=2").await),
        "n2496 n2495 n2494"
    );
}
