//! Delete Entity: hard or soft, by the project's setting.

use db::{Query, args};
use serde_json::json;
use townhall::values::ids::EntityId;

use crate::entities::{UNKNOWN, counts_are_exact, create, feed_size, path, reputation};
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    a_deleted_entity_is_not_found_anywhere,
    hard_deletion_leaves_no_row,
    soft_deletion_keeps_the_rows_out_of_sight,
    deletion_takes_back_the_points_of_publishing,
    a_deleted_foreign_id_is_free,
    an_entity_is_deleted_once,
    reactions_and_deletion_at_once_leave_nothing_behind,
];

pub(crate) async fn delete_softly(app: &TestApp) {
    app.change_settings(app.project.id, |settings| settings.entity_deletion = "soft").await;
}

/// Rows of the table that are about this entity.
async fn rows(app: &TestApp, table: &str, column: &str, id: EntityId) -> i64 {
    let text = format!("SELECT count(*) FROM {table} WHERE project_id = $1 AND {column} = $2");
    let project = app.project.id;
    let count = app
        .app
        .db
        .read(move |c| c.one(&Query::<i64>::built("rows", text.clone()), args![project, id]));
    count.await.unwrap()
}

async fn a_deleted_entity_is_not_found_anywhere(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for softly in [false, true] {
        if softly {
            delete_softly(&app).await;
        }
        let new = json!({ "foreignId": "f", "keywords": ["k"], "sourceId": "s", "title": "Gone" });
        let entity = create(&ada, new).await;
        let react = format!("{}/reactions", path(&entity));
        bob.post(&react, json!({ "reactionType": "like" })).await.expect(200);
        let reply = ada.delete(&path(&entity)).await;
        assert_eq!((reply.status, reply.body.len()), (204, 0));
        let short = entity["shortId"].as_str().unwrap();
        let unknown = ada.get(&format!("/entities/{UNKNOWN}")).await;
        for actor in [&*ada, &*bob, &app.service(), &app.master()] {
            for address in [
                path(&entity),
                format!("/entities/by-short-id?shortId={short}"),
                "/entities/by-foreign-id?foreignId=f".to_owned(),
            ] {
                let reply = actor.get(&address).await;
                assert_eq!((reply.status, &reply.body), (404, &unknown.body), "{address}");
            }
            actor.get(&react).await.refused(404, "entity/not-found");
        }
        for reply in [
            bob.post(&react, json!({ "reactionType": "wow" })).await,
            bob.delete(&react).await,
            ada.patch(&path(&entity), json!({ "title": "Back" })).await,
            ada.patch(&format!("{}/publish", path(&entity)), json!({})).await,
            ada.delete(&path(&entity)).await,
            app.service().patch(&format!("{}/increment-views", path(&entity)), json!({})).await,
        ] {
            reply.refused(404, "entity/not-found");
        }
        let author = format!("userId={}", ada.id);
        for query in [
            "",
            "sortBy=hot",
            "sortBy=top&sortByReaction=like",
            "sourceId=s",
            &author,
            "keywordsFilters[includes]=k",
            "titleFilters[includes]=gone",
            "spaceId=null",
        ] {
            assert_eq!(feed_size(&app, query).await, 0, "{query}");
        }
        counts_are_exact(&app).await;
    }
}

async fn hard_deletion_leaves_no_row(app: TestApp) {
    let ada = app.user().await;
    let new = json!({ "keywords": ["k"], "mentions": [{ "id": ada.id, "username": "a" }] });
    let entity = create(&ada, new).await;
    let id: EntityId = entity["id"].as_str().unwrap().parse().unwrap();
    let react = format!("{}/reactions", path(&entity));
    ada.post(&react, json!({ "reactionType": "like" })).await.expect(200);
    let tables = [("entities", "id"), ("entity_bodies", "id"), ("reactions", "target_id")];
    for (table, column) in tables {
        assert_eq!(rows(&app, table, column, id).await, 1, "{table}");
    }
    assert_eq!(rows(&app, "entity_terms", "entity_id", id).await, 2);
    ada.delete(&path(&entity)).await.expect(204);
    for (table, column) in tables.into_iter().chain([("entity_terms", "entity_id")]) {
        assert_eq!(rows(&app, table, column, id).await, 0, "{table}");
    }
}

async fn soft_deletion_keeps_the_rows_out_of_sight(app: TestApp) {
    let ada = app.user().await;
    delete_softly(&app).await;
    let entity = create(&ada, json!({ "keywords": ["k"] })).await;
    let id: EntityId = entity["id"].as_str().unwrap().parse().unwrap();
    let react = format!("{}/reactions", path(&entity));
    ada.post(&react, json!({ "reactionType": "like" })).await.expect(200);
    ada.delete(&path(&entity)).await.expect(204);
    for (table, column, left) in [
        ("entities", "id", 1),
        ("entity_bodies", "id", 1),
        ("reactions", "target_id", 1),
        ("entity_terms", "entity_id", 0),
    ] {
        assert_eq!(rows(&app, table, column, id).await, left, "{table}");
    }
    let text = "SELECT count(*) FROM entities WHERE project_id = $1 AND deleted_at = $2";
    let (project, now) = (app.project.id, app.now());
    let deleted =
        app.app.db.read(move |c| c.one(&Query::<i64>::built("deleted", text), args![project, now]));
    assert_eq!(deleted.await.unwrap(), 1);
}

async fn deletion_takes_back_the_points_of_publishing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for softly in [false, true] {
        if softly {
            delete_softly(&app).await;
        }
        let before = reputation(&app, ada.id).await.as_i64().unwrap();
        let entity = create(&ada, json!({})).await;
        let react = format!("{}/reactions", path(&entity));
        bob.post(&react, json!({ "reactionType": "love" })).await.expect(200);
        assert_eq!(reputation(&app, ada.id).await, before + 7);
        app.service().delete(&path(&entity)).await.expect(204);
        assert_eq!(reputation(&app, ada.id).await, before + 2, "what reactions gave stays");
        let draft = create(&ada, json!({ "isDraft": true })).await;
        ada.delete(&path(&draft)).await.expect(204);
        assert_eq!(reputation(&app, ada.id).await, before + 2, "a draft gave nothing");
    }
    counts_are_exact(&app).await;
}

async fn a_deleted_foreign_id_is_free(app: TestApp) {
    let ada = app.user().await;
    for softly in [false, true] {
        if softly {
            delete_softly(&app).await;
        }
        let first = create(&ada, json!({ "foreignId": "f" })).await;
        ada.delete(&path(&first)).await.expect(204);
        let second = create(&ada, json!({ "foreignId": "f" })).await;
        assert_ne!(first["id"], second["id"]);
        ada.delete(&path(&second)).await.expect(204);
        let address = "/entities/by-foreign-id?foreignId=f&createIfNotFound=true";
        let third = app.anonymous().get(address).await.expect(200);
        assert_ne!(second["id"], third["id"]);
        app.service().delete(&path(&third)).await.expect(204);
    }
}

async fn an_entity_is_deleted_once(app: TestApp) {
    let ada = app.user().await;
    for softly in [false, true] {
        if softly {
            delete_softly(&app).await;
        }
        create(&ada, json!({ "keywords": ["k"] })).await;
        let entity = create(&ada, json!({ "keywords": ["k"] })).await;
        let address = path(&entity);
        let replies = all_at_once((0..16).map(|_| ada.delete(&address))).await;
        assert_eq!((count(&replies, 204), count(&replies, 404)), (1, 15));
        counts_are_exact(&app).await;
    }
    assert_eq!(reputation(&app, ada.id).await, 10);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=k").await, 2);
}

async fn reactions_and_deletion_at_once_leave_nothing_behind(app: TestApp) {
    let ada = app.user().await;
    let mut users = Vec::new();
    for _ in 0..6 {
        users.push(app.user().await);
    }
    let mut earned = 0;
    for round in 0..4 {
        let entity = create(&ada, json!({ "keywords": [round.to_string()] })).await;
        let id: EntityId = entity["id"].as_str().unwrap().parse().unwrap();
        let (address, react) = (path(&entity), format!("{}/reactions", path(&entity)));
        let (deleted, reactions) = tokio::join!(
            ada.delete(&address),
            all_at_once(
                users.iter().map(|user| user.post(&react, json!({ "reactionType": "like" })))
            ),
        );
        deleted.expect(204);
        let in_time = count(&reactions, 200);
        assert_eq!(in_time + count(&reactions, 404), 6);
        earned += in_time;
        assert_eq!(rows(&app, "reactions", "target_id", id).await, 0);
        assert_eq!(reputation(&app, ada.id).await, earned);
    }
    counts_are_exact(&app).await;
}
