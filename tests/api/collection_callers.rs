//! Who may see and change collections, and the errors for others.

use http::Method;
use serde_json::{Value, json};
use townhall::features;
use townhall::tenancy::Bundle;

use crate::collections::{create, id, names, path, root, save};
use crate::entities::{UNKNOWN, create as post_entity, suspend};
use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    users_see_and_change_only_their_own_collections,
    a_key_acts_as_the_user_it_names,
    a_credential_is_needed_everywhere,
    a_suspended_user_reads_and_writes_nothing,
    without_the_bundle_there_is_nothing,
    malformed_ids_are_refused,
];

/// Every operation on the collection and the entity: method, path, body.
fn operations(collection: &str, entity: &str) -> Vec<(Method, String, Option<Value>)> {
    let one = format!("/collections/{collection}");
    let list = format!("/lists/{collection}");
    let (name, of_entity) = (json!({ "collectionName": "x" }), json!({ "entityId": entity }));
    let update = json!({ "update": { "name": "x" } });
    vec![
        (Method::GET, "/collections/root".to_owned(), None),
        (Method::GET, format!("{one}/sub-collections"), None),
        (Method::POST, format!("{one}/sub-collections"), Some(name)),
        (Method::GET, format!("{one}/entities"), None),
        (Method::POST, format!("{one}/entities"), Some(of_entity.clone())),
        (Method::DELETE, format!("{one}/entities/{entity}"), None),
        (Method::PATCH, one.clone(), Some(json!({ "name": "x" }))),
        (Method::DELETE, one, None),
        (Method::GET, format!("/entities/is-entity-saved?entityId={entity}"), None),
        (Method::GET, format!("/collections/is-entity-saved?entityId={entity}"), None),
        (Method::GET, "/lists/root".to_owned(), None),
        (Method::GET, format!("{list}/sub-lists"), None),
        (Method::POST, format!("{list}/sub-lists"), Some(json!({ "listName": "x" }))),
        (Method::PATCH, format!("{list}/add-entity"), Some(of_entity.clone())),
        (Method::PATCH, format!("{list}/remove-entity"), Some(of_entity)),
        (Method::PATCH, list.clone(), Some(update)),
        (Method::DELETE, list, None),
        (Method::GET, format!("/lists/is-entity-saved?entityId={entity}"), None),
    ]
}

async fn outcomes(actor: &Actor<'_>, collection: &str, entity: &str) -> Vec<String> {
    let mut outcomes = Vec::new();
    for (method, path, body) in operations(collection, entity) {
        outcomes.push(actor.send(method, &path, body).await.outcome());
    }
    outcomes
}

/// The reply of each operation for an unknown collection.
const ABSENT: [&str; 18] = [
    "200",
    "200",
    "400 collection/invalid-parent",
    "404 collection/not-found",
    "404 collection/not-found",
    "404 collection/not-found",
    "404 collection/not-found",
    "404 collection/not-found",
    "200",
    "200",
    "200",
    "200",
    "400 list/invalid-parent",
    "404 list/not-found",
    "404 list/not-found",
    "404 list/not-found",
    "404 list/not-found",
    "200",
];

async fn users_see_and_change_only_their_own_collections(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.stranger().await);
    let top = root(&ada).await;
    let inner = create(&ada, &top, "inner").await;
    let innermost = create(&ada, &inner, "innermost").await;
    let entity = post_entity(&ada, json!({})).await;
    for collection in [&top, &inner, &innermost] {
        save(&ada, collection, &entity).await;
    }
    for actor in [&bob, &eve] {
        for collection in [&top, &inner] {
            for actor in [actor.v6(), actor.v7(), (**actor).clone()] {
                assert_eq!(outcomes(&actor, id(collection), id(&entity)).await, ABSENT);
                assert_eq!(outcomes(&actor, UNKNOWN, id(&entity)).await, ABSENT);
                assert_eq!(names(&actor, collection).await, "");
            }
            // The user that a token names is ignored.
            let named = actor.delete(&format!("{}?userId={}", path(collection), ada.id)).await;
            named.refused(404, "collection/not-found");
            let unknown = actor.get(&format!("/collections/{UNKNOWN}/entities")).await;
            let theirs = actor.get(&format!("{}/entities", path(collection))).await;
            assert_eq!((theirs.status, &theirs.body), (404, &unknown.body));
        }
        let saved = actor.get(&format!("/entities/is-entity-saved?entityId={}", id(&entity))).await;
        assert_eq!(saved.expect(200)["saved"], false);
    }
    // Nor can a key of the other project, for any user.
    let key = app.bearer(&app.other.service_key).in_project(app.other.id);
    let theirs = key.get(&format!("{}/entities?userId={}", path(&top), ada.id)).await;
    theirs.refused(404, "user/not-found");
    let theirs = key.get(&format!("{}/entities?userId={}", path(&top), eve.id)).await;
    theirs.refused(404, "collection/not-found");
    assert_eq!(names(&ada, &top).await, "inner");
    assert_eq!(names(&ada, &inner).await, "innermost");
    assert_eq!(app.rows("collection_entities").await, 3);
}

async fn a_key_acts_as_the_user_it_names(app: TestApp) {
    let ada = app.user().await;
    let entity = post_entity(&ada, json!({ "title": "a" })).await;
    for key in [app.service(), app.master().v6(), app.service().v7()] {
        let query = format!("?userId={}", ada.id);
        let top = key.get(&format!("/collections/root{query}")).await.expect(200);
        assert_eq!(top, root(&ada).await);
        let body = json!({ "collectionName": "made", "userId": ada.id });
        let below = format!("{}/sub-collections", path(&top));
        let made = key.post(&below, body).await.expect(201);
        assert_eq!(made["userId"], json!(ada.id));
        let listed = key.get(&format!("{below}{query}")).await.expect(200);
        assert_eq!(listed, json!([made]));
        let body = json!({ "name": "renamed", "userId": ada.id });
        key.patch(&path(&made), body).await.expect(200);
        let body = json!({ "entityId": id(&entity), "userId": ada.id });
        key.post(&format!("{}/entities", path(&made)), body).await.expect(200);
        let inside = key.get(&format!("{}/entities{query}", path(&made))).await.expect(200);
        assert_eq!(inside["data"][0]["title"], "a");
        let entry = format!("{}/entities/{}{query}", path(&made), id(&entity));
        key.delete(&entry).await.expect(200);
        // The body may name the user where there usually is none.
        let named = Some(json!({ "userId": ada.id }));
        key.send(Method::DELETE, &path(&made), named).await.expect(204);

        for (method, path, body) in operations(id(&top), id(&entity)) {
            let missing = if path.starts_with("/lists") {
                "list/missing-data"
            } else {
                "collection/missing-user-id"
            };
            let nobody = key.send(method.clone(), &path, body.clone()).await;
            nobody.refused(400, missing);
            let and = if path.contains('?') { '&' } else { '?' };
            for unknown in [UNKNOWN, "me"] {
                let path = format!("{path}{and}userId={unknown}");
                let reply = key.send(method.clone(), &path, body.clone()).await;
                reply.refused(404, "user/not-found");
            }
        }
    }
    assert_eq!(app.rows("collections").await, 1);
}

async fn a_credential_is_needed_everywhere(app: TestApp) {
    let user = app.user().await;
    let elsewhere = user.in_project(app.other.id);
    for (method, path, body) in operations(UNKNOWN, UNKNOWN) {
        let ask = async |actor: &Actor<'_>| -> Reply {
            actor.send(method.clone(), &path, body.clone()).await
        };
        ask(&app.anonymous()).await.says(401, "Unauthorized");
        ask(&app.anonymous().v6()).await.says(401, "Unauthorized");
        ask(&app.anonymous().v7()).await.refused(401, "auth/unauthorized");
        for unusable in [&app.bearer("not.a.token"), &elsewhere] {
            ask(unusable).await.says(403, "Forbidden");
        }
    }
    assert_eq!(app.rows("collections").await, 0);
}

async fn a_suspended_user_reads_and_writes_nothing(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    let inner = create(&ada, &top, "inner").await;
    let entity = post_entity(&ada, json!({})).await;
    save(&ada, &inner, &entity).await;
    suspend(&app, ada.id).await;
    for (method, path, body) in operations(id(&inner), id(&entity)) {
        let reply = ada.send(method.clone(), &path, body.clone()).await;
        if method == Method::GET {
            reply.expect(200);
            continue;
        }
        reply.refused(403, "user/suspended");
        let mut body = body.unwrap_or_else(|| json!({}));
        body["userId"] = json!(ada.id);
        let reply = app.service().send(method.clone(), &path, Some(body)).await;
        reply.refused(403, "user/suspended");
    }
    assert_eq!(app.rows("collections").await, 2);
    assert_eq!(app.rows("collection_entities").await, 1);
    let by_master = app.master().delete(&format!("{}?userId={}", path(&inner), ada.id)).await;
    by_master.expect(204);
}

async fn without_the_bundle_there_is_nothing(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let body = json!({ "email": "ada@example.com", "password": User::PASSWORD });
    let anonymous = app.anonymous().in_project(project.id);
    let signed_up = anonymous.post("/auth/sign-up", body).await.expect(201);
    let user = User::from_reply(&app, project.id, &signed_up);
    for (method, path, body) in operations(UNKNOWN, UNKNOWN) {
        let reply = user.send(method, &path, body).await;
        let body = reply.refused(403, "database/tables-not-available");
        assert_eq!(body["missingTables"], json!(["Collections", "CollectionEntities"]));
    }
}

async fn malformed_ids_are_refused(app: TestApp) {
    let ada = app.user().await;
    let top = root(&ada).await;
    for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
        let outcomes = outcomes(&actor, "x", UNKNOWN).await;
        let (params, data) = ("400 collection/invalid-params", "400 list/missing-data");
        let expected = [
            "200",
            params,
            params,
            params,
            params,
            params,
            params,
            params,
            "200",
            "200",
            "200",
            "400 list/missing-params",
            "400 list/invalid-parent",
            data,
            data,
            data,
            "400 list/invalid-id",
            "200",
        ];
        assert_eq!(outcomes, expected);
        let entry = format!("{}/entities/x", path(&top));
        actor.delete(&entry).await.refused(400, "collection/invalid-params");
    }
}

#[test]
fn limits_are_those_of_the_contract() {
    let rate = |id: &str| {
        let operation = features::operations().iter().find(|one| one.id == id).unwrap();
        operation.rate.map(|rate| (rate.max, rate.window.as_secs()))
    };
    for (id, most) in [
        ("GET /collections/root", 100),
        ("GET /collections/{collectionId}/sub-collections", 100),
        ("GET /collections/{collectionId}/entities", 100),
        ("POST /collections/{collectionId}/sub-collections", 50),
        ("POST /collections/{collectionId}/entities", 50),
        ("DELETE /collections/{collectionId}/entities/{entityId}", 50),
        ("PATCH /collections/{collectionId}", 50),
        ("DELETE /collections/{collectionId}", 50),
        ("GET /entities/is-entity-saved", 250),
        ("GET /collections/is-entity-saved", 250),
        ("GET /lists/root", 100),
        ("PATCH /lists/{listId}/add-entity", 50),
        ("GET /lists/is-entity-saved", 250),
    ] {
        assert_eq!(rate(id), Some((most, 300)), "{id}");
    }
}
