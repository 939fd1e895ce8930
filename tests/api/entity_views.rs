//! Views and scores, which are buffered and written in batches; Increment Entity Views.

use std::time::Duration;

use serde_json::{Value, json};

use crate::entities::{UNKNOWN, create, path};
use crate::support::{Actor, TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    each_fetch_is_a_view_except_in_v6,
    views_are_written_exactly_once,
    a_view_of_a_deleted_entity_is_ignored,
    a_stale_score_is_made_anew_after_the_reply,
    scores_follow_reactions_views_and_the_projects_pace,
    entities_from_the_future_are_not_scored,
    a_key_adds_views_and_in_v6_anybody_does,
];

pub(crate) async fn flush(app: &TestApp) {
    app.flush_views().await;
}

/// As it is stored: lists count no views.
pub(crate) async fn stored(app: &TestApp) -> Value {
    app.anonymous().get("/entities?include=user").await.expect(200)["data"][0].clone()
}

async fn views(actor: &Actor<'_>, entity: &Value) -> Value {
    actor.get(&path(entity)).await.expect(200)["views"].clone()
}

async fn each_fetch_is_a_view_except_in_v6(app: TestApp) {
    app.stay_on_one_node();
    let ada = app.user().await;
    let entity = create(&ada, json!({ "foreignId": "f" })).await;
    let short = format!("/entities/by-short-id?shortId={}", entity["shortId"].as_str().unwrap());
    let foreign = "/entities/by-foreign-id?foreignId=f";
    assert_eq!(views(&ada, &entity).await, 2);
    assert_eq!(views(&app.service().v7(), &entity).await, 3);
    assert_eq!(app.anonymous().get(&short).await.expect(200)["views"], 4);
    assert_eq!(app.anonymous().get(foreign).await.expect(200)["views"], 5);
    flush(&app).await;
    let v6 = app.anonymous().v6();
    for address in [&path(&entity), &short, foreign] {
        assert_eq!(v6.get(address).await.expect(200)["views"], 5);
    }
    flush(&app).await;
    assert_eq!(stored(&app).await["views"], 5);
    ada.get("/entities").await.expect(200);
    ada.patch(&path(&entity), json!({ "title": "x" })).await.expect(200);
    flush(&app).await;
    assert_eq!(stored(&app).await["views"], 5, "lists and changes are no views");
    let draft = create(&ada, json!({ "isDraft": true })).await;
    assert_eq!(views(&ada, &draft).await, 1);
    flush(&app).await;
    assert_eq!(views(&ada, &draft).await, 1);
    let moved = stored(&app).await;
    assert_eq!(moved["updatedAt"], moved["createdAt"], "the clock stood still");
    app.advance(Duration::from_secs(60));
    views(&ada, &entity).await;
    flush(&app).await;
    assert_eq!(stored(&app).await["updatedAt"], entity["updatedAt"], "a view is no change");
}

async fn views_are_written_exactly_once(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let mut entities = Vec::new();
    for _ in 0..8 {
        entities.push(create(&ada, json!({})).await);
    }
    let theirs = create(&stranger, json!({})).await;
    // Flushes and looks at the same time.
    let looks = all_at_once((0..400).map(|n| {
        let (entity, app) = (&entities[n % 8], &app);
        async move {
            if n % 25 == 0 {
                flush(app).await;
            }
            app.anonymous().get(&path(entity)).await.expect(200)["views"].as_i64().unwrap()
        }
    }));
    assert!(looks.await.iter().all(|views| (2..=51).contains(views)));
    views(&stranger, &theirs).await;
    all_at_once((0..4).map(|_| flush(&app))).await;
    flush(&app).await;
    let listed = app.anonymous().get("/entities").await.expect(200);
    for entity in listed["data"].as_array().unwrap() {
        assert_eq!(entity["views"], 51);
    }
    assert_eq!(stranger.get("/entities").await.expect(200)["data"][0]["views"], 2);
}

async fn a_view_of_a_deleted_entity_is_ignored(app: TestApp) {
    let ada = app.user().await;
    let (gone, stays) = (create(&ada, json!({})).await, create(&ada, json!({})).await);
    app.advance(Duration::from_secs(360));
    for entity in [&gone, &stays] {
        views(&ada, entity).await;
    }
    ada.delete(&path(&gone)).await.expect(204);
    flush(&app).await;
    assert_eq!(stored(&app).await["views"], 2);
    assert_eq!(stored(&app).await["scoreUpdatedAt"], json!(app.now()));
}

async fn a_stale_score_is_made_anew_after_the_reply(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({})).await;
    app.advance(Duration::from_millis(359_999));
    views(&ada, &entity).await;
    flush(&app).await;
    assert_eq!(stored(&app).await["scoreUpdatedAt"], entity["scoreUpdatedAt"], "not yet");
    app.advance(Duration::from_millis(1));
    let seen = ada.get(&path(&entity)).await.expect(200);
    assert_eq!((&seen["score"], &seen["scoreUpdatedAt"]), (&json!(1.4), &entity["createdAt"]));
    flush(&app).await;
    let after = stored(&app).await;
    assert_eq!((&after["score"], &after["scoreUpdatedAt"]), (&json!(1.4), &json!(app.now())));
    // Six hours later it is no longer young; a list is a reason as well.
    app.advance(Duration::from_secs(6 * 3600));
    stored(&app).await;
    flush(&app).await;
    assert_eq!(stored(&app).await["score"], 0.95);
    // v6 counts no view but makes the score anew.
    app.advance(Duration::from_secs(234 * 3600 - 360));
    app.anonymous().v6().get(&path(&entity)).await.expect(200);
    flush(&app).await;
    let after = stored(&app).await;
    assert_eq!((&after["score"], &after["views"]), (&json!(0.14), &json!(3)));
}

async fn scores_follow_reactions_views_and_the_projects_pace(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({})).await;
    let kinds = ["upvote", "like", "love", "wow", "funny", "sad", "angry", "downvote"];
    for kind in kinds {
        let user = app.user().await;
        let react = format!("{}/reactions", path(&entity));
        user.post(&react, json!({ "reactionType": kind })).await.expect(200);
    }
    assert_eq!(stored(&app).await["score"], 1.4, "reactions alone make no new score");
    let views = format!("{}/increment-views?count=98", path(&entity));
    app.service().patch(&views, json!({})).await.expect(200);
    app.advance(Duration::from_secs(12 * 3600));
    app.anonymous().get(&path(&entity)).await.expect(200);
    flush(&app).await;
    // e^(-12/120) + (5 - 0.7) / √log₂(101) + 2 · 5/100, with 100 views and five that like it
    assert_eq!(stored(&app).await["score"], 2.67);

    app.change_settings(app.project.id, |settings| settings.score_hours = 12.0).await;
    app.advance(Duration::from_secs(12 * 3600 - 1));
    app.anonymous().v6().get(&path(&entity)).await.expect(200);
    flush(&app).await;
    // e^(-24/12) in place of the first
    assert_eq!(stored(&app).await["score"], 1.9);
}

async fn entities_from_the_future_are_not_scored(app: TestApp) {
    let entity = create(&app.service(), json!({ "createdAt": "2027-01-01T00:00:00Z" })).await;
    app.advance(Duration::from_secs(3600));
    views(&app.anonymous(), &entity).await;
    flush(&app).await;
    assert_eq!(stored(&app).await["scoreUpdatedAt"], entity["scoreUpdatedAt"]);
}

async fn a_key_adds_views_and_in_v6_anybody_does(app: TestApp) {
    let entity = create(&app.anonymous(), json!({})).await;
    let address = format!("{}/increment-views", path(&entity));
    let (key, anybody) = (app.service(), app.anonymous());
    let add = async |actor: &Actor<'_>, query: &str, body: Value| {
        actor.patch(&format!("{address}{query}"), body).await
    };
    let ten = json!({ "count": 10 });
    assert_eq!(add(&key, "", json!({})).await.expect(200)["views"], 2);
    assert_eq!(add(&key, "?count=5", ten.clone()).await.expect(200)["views"], 7);
    assert_eq!(add(&key.v7(), "", ten.clone()).await.expect(200)["views"], 17);
    assert_eq!(add(&key.v6(), "?count=3", json!({})).await.expect(200)["views"], 20);
    assert_eq!(add(&anybody.v6(), "?count=3", ten.clone()).await.expect(200)["views"], 21);
    assert_eq!(add(&anybody.v6(), "?count=x", ten.clone()).await.expect(200)["views"], 22);
    for wrong in ["0", "-1", "1.5", "x", "", "9223372036854775807", "99999999999999999999"] {
        let query = format!("?count={wrong}");
        let refused = add(&key, &query, json!({})).await.refused(400, "entity/invalid-query");
        assert_eq!(refused["error"], "Count must be a positive integer");
        let refused = add(&key.v6(), &query, json!({})).await.refused(400, "entity/invalid-count");
        assert_eq!(refused["error"], "Invalid views count");
    }
    add(&key, "", json!({ "count": "many" })).await.refused(400, "entity/invalid-query");
    let refused = add(&anybody, "", ten).await.refused(403, "auth/elevated-auth-required");
    assert_eq!(refused["error"], "Service or master key required.");
    let unknown = key.patch(&format!("/entities/{UNKNOWN}/increment-views"), json!({})).await;
    unknown.refused(404, "entity/not-found");
    let added = all_at_once((0..16).map(|_| add(&key, "?count=2", json!({})))).await;
    assert_eq!(count(&added, 200), 16);
    assert_eq!(stored(&app).await["views"], 22 + 32);
}
