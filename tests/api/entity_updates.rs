//! Update Entity: only the fields that are sent change.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::entities::{UNKNOWN, counts_are_exact, create, feed_size, path, reputation};
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    each_field_changes_alone,
    null_and_blank_clear_a_text_and_a_place,
    an_empty_update_changes_nothing,
    what_cannot_be_changed_stays,
    what_breaks_a_rule_changes_nothing,
    an_entity_of_nobody_is_changed_by_keys_alone,
    lists_follow_an_update,
    updates_at_once_leave_one_of_them_whole,
    an_update_keeps_views_and_reactions_that_come_meanwhile,
];

fn full() -> Value {
    json!({
        "title": "Title", "content": "Content", "keywords": ["a", "b"], "nsfw": false,
        "attachments": [{ "a": 1 }], "mentions": [{ "type": "space", "id": "1", "slug": "s" }],
        "location": { "latitude": 1, "longitude": 2 }, "metadata": { "a": 1, "b": 2 },
        "foreignId": "f", "sourceId": "s",
    })
}

async fn each_field_changes_alone(app: TestApp) {
    let ada = app.user().await;
    let mut expected = create(&ada, full()).await;
    for (key, value) in [
        ("title", json!("New")),
        ("content", json!("New content")),
        ("keywords", json!(["c", "a"])),
        ("attachments", json!([])),
        ("mentions", json!([{ "type": "user", "id": UNKNOWN, "username": "bob" }])),
        ("metadata", json!({ "b": 3 })),
        ("nsfw", json!(true)),
    ] {
        app.advance(Duration::from_secs(1));
        let changed = ada.patch(&path(&expected), json!({ key: value })).await.expect(200);
        expected[key] = value;
        expected["nsfwEffective"] = expected["nsfw"].clone();
        expected["updatedAt"] = json!(app.now());
        assert_eq!(changed, expected, "{key}");
    }
    let place = json!({ "location": { "latitude": -3.5, "longitude": 4 } });
    let changed = app.service().patch(&path(&expected), place).await.expect(200);
    expected["location"] = json!({ "type": "Point", "coordinates": [4.0, -3.5] });
    expected.as_object_mut().unwrap().remove("userReaction");
    assert_eq!(changed, expected, "a key is no viewer");
    let v6 = ada.v6().patch(&path(&expected), json!({ "title": "Six" })).await.expect(200);
    assert_eq!((&v6["title"], &v6["sharesCount"]), (&json!("Six"), &json!(0)));
}

async fn null_and_blank_clear_a_text_and_a_place(app: TestApp) {
    let ada = app.user().await;
    for (clear, keys) in [
        (
            json!({ "title": null, "content": null, "location": null }),
            ["title", "content", "location"],
        ),
        (json!({ "title": "", "content": " \n" }), ["title", "content", "title"]),
    ] {
        let mut new = full();
        new["foreignId"] = Value::Null;
        let entity = create(&ada, new).await;
        let cleared = ada.patch(&path(&entity), clear).await.expect(200);
        for key in keys {
            assert_eq!(cleared[key], Value::Null, "{key}");
        }
        for kept in ["keywords", "metadata", "attachments", "mentions"] {
            assert_eq!(cleared[kept], entity[kept], "{kept}");
        }
    }
}

async fn an_empty_update_changes_nothing(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, full()).await;
    app.advance(Duration::from_secs(60));
    let same = json!({ "title": "Title", "keywords": ["a", "b"], "metadata": { "a": 1, "b": 2 } });
    let unknown = json!({ "whatever": 1, "keywords": null, "metadata": null, "nsfw": null });
    for nothing in [Some(json!({})), None, Some(unknown)] {
        let reply = ada.send(Method::PATCH, &path(&entity), nothing).await;
        assert_eq!(reply.expect(200), entity);
    }
    let mut touched = entity.clone();
    touched["updatedAt"] = json!(app.now());
    assert_eq!(ada.patch(&path(&entity), same).await.expect(200), touched);
}

async fn what_cannot_be_changed_stays(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = create(&ada, full()).await;
    let forged = json!({
        "id": UNKNOWN, "foreignId": "g", "sourceId": "t", "spaceId": UNKNOWN, "userId": bob.id,
        "views": 99, "score": 9, "isDraft": true, "createdAt": "2001-01-01T00:00:00Z",
        "updatedAt": "2001-01-01T00:00:00Z", "reactionCounts": { "like": 1 }, "deletedAt": app.now(),
        "moderationStatus": "removed", "upvotes": [bob.id],
    });
    for actor in [&*ada, &app.service()] {
        let changed = actor.patch(&path(&entity), forged.clone()).await.expect(200);
        for key in forged.as_object().unwrap().keys() {
            assert_eq!(changed[key], entity[key], "{key}");
        }
    }
    assert_eq!(reputation(&app, ada.id).await, 5, "an update earns nothing");
}

async fn what_breaks_a_rule_changes_nothing(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, full()).await;
    for wrong in [
        json!({ "title": "x".repeat(301) }),
        json!({ "content": "x".repeat(100_001) }),
        json!({ "content": ["x"] }),
        json!({ "keywords": { "a": 1 } }),
        json!({ "mentions": [{ "type": "user" }] }),
        json!({ "mentions": vec![json!({ "id": "1", "username": "x" }); 101] }),
        json!({ "location": { "latitude": 91, "longitude": 0 } }),
        json!({ "metadata": "x" }),
        json!({ "metadata": { "k": "x".repeat(1_048_576) } }),
        json!({ "nsfw": "yes" }),
        json!({ "title": "Good", "nsfw": 1 }),
    ] {
        let reply = ada.patch(&path(&entity), wrong.clone()).await;
        assert_eq!(reply.outcome(), "400 entity/invalid-body", "{:.100}", wrong.to_string());
    }
    let after = ada.get(&format!("{}?include=user", path(&entity))).await.expect(200);
    assert_eq!(after["title"], "Title");
    let missing = ada.patch(&format!("/entities/{UNKNOWN}"), json!({ "title": "x" })).await;
    missing.refused(404, "entity/not-found");
}

async fn an_entity_of_nobody_is_changed_by_keys_alone(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({ "excludeUserId": true })).await;
    for ada in [(*ada).clone(), ada.v6()] {
        let refused = ada.patch(&path(&entity), json!({ "title": "x" })).await;
        let refused = refused.refused(403, "entity/not-authorized");
        assert_eq!(refused["error"], "Not authorized to update this entity.");
        ada.delete(&path(&entity)).await.refused(403, "entity/not-authorized");
    }
    app.service().patch(&path(&entity), json!({ "title": "x" })).await.expect(200);
    assert_eq!(app.service().delete(&path(&entity)).await.status, 204);
}

async fn lists_follow_an_update(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, full()).await;
    let change = json!({ "keywords": ["b", "c"], "metadata": { "b": 2, "c": [1] }, "title": "Other",
        "attachments": [], "location": { "latitude": 50, "longitude": 50 }, "nsfw": true });
    ada.patch(&path(&entity), change).await.expect(200);
    let near = |place: u32| {
        format!(
            "locationFilters[latitude]={place}&locationFilters[longitude]={place}&locationFilters[radius]=200000"
        )
    };
    for (query, found) in [
        ("keywordsFilters[includes]=a", 0),
        ("keywordsFilters[includes]=b", 1),
        ("keywordsFilters[includes]=c", 1),
        ("metadataFilters[exists]=a", 0),
        ("metadataFilters[exists]=c", 1),
        ("metadataFilters[includes][b]=2", 1),
        ("titleFilters[includes]=title", 0),
        ("titleFilters[includes]=other", 1),
        ("attachmentsFilters[hasAttachments]=true", 0),
        ("nsfwFilter=only", 1),
        (&near(50), 1),
        (&near(1), 0),
    ] {
        assert_eq!(feed_size(&app, query).await, found, "{query}");
    }
    counts_are_exact(&app).await;
}

async fn updates_at_once_leave_one_of_them_whole(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({ "keywords": ["start"] })).await;
    let update = |n: usize| json!({ "title": n.to_string(), "keywords": [n.to_string(), "all"] });
    let address = path(&entity);
    let replies = all_at_once((0..24).map(|n| ada.patch(&address, update(n)))).await;
    assert_eq!(count(&replies, 200), 24);
    let after = ada.get(&address).await.expect(200);
    assert_eq!(after["keywords"][0], after["title"]);
    let word = after["title"].as_str().unwrap();
    assert_eq!(feed_size(&app, &format!("keywordsFilters[includes]={word}")).await, 1);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=all").await, 1);
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=start").await, 0);
    counts_are_exact(&app).await;
}

async fn an_update_keeps_views_and_reactions_that_come_meanwhile(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({})).await;
    let address = path(&entity);
    let (react, views) = (format!("{address}/reactions"), format!("{address}/increment-views"));
    let users = [app.user().await, app.user().await, app.user().await, app.user().await];
    let key = app.service();
    let (updates, reactions, looks) = tokio::join!(
        all_at_once((0..12).map(|n| ada.patch(&address, json!({ "title": n.to_string() })))),
        all_at_once(users.iter().map(|user| user.post(&react, json!({ "reactionType": "wow" })))),
        all_at_once((0..8).map(|_| key.patch(&views, json!({})))),
    );
    let done = [count(&updates, 200), count(&reactions, 200), count(&looks, 200)];
    assert_eq!(done, [12, 4, 8]);
    let after = key.v6().get(&address).await.expect(200);
    assert_eq!((&after["reactionCounts"]["wow"], &after["views"]), (&json!(4), &json!(9)));
    counts_are_exact(&app).await;
}
