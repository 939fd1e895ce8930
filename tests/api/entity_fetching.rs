//! Fetch Entity by id, short id and foreign id, which may also create it.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::entities::{UNKNOWN, counts_are_exact, create, feed_size, path};
use crate::entity_views::{flush, stored};
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    three_names_lead_to_one_entity,
    short_and_foreign_ids_must_be_given_and_exact,
    a_missing_foreign_id_is_created_once,
    a_fetch_creates_an_empty_entity_without_an_author,
    an_invalid_token_is_anonymous,
    points_beside_the_author_need_a_bucket,
];

async fn three_names_lead_to_one_entity(app: TestApp) {
    app.stay_on_one_node();
    let ada = app.user().await;
    let made = create(&ada, json!({ "foreignId": "ä&b=c d", "title": "One" })).await;
    create(&app.anonymous(), json!({ "title": "Other" })).await;
    let short = made["shortId"].as_str().unwrap();
    for (number, address) in [
        path(&made),
        path(&made).to_uppercase().replace("/ENTITIES", "/entities"),
        format!("/entities/by-short-id?shortId={short}"),
        "/entities/by-foreign-id?foreignId=%C3%A4%26b%3Dc%20d".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let mut expected = made.clone();
        expected["views"] = json!(number + 2);
        let with_user = if address.contains('?') { "&include=user" } else { "?include=user" };
        assert_eq!(ada.get(&format!("{address}{with_user}")).await.expect(200), expected);
    }
}

async fn short_and_foreign_ids_must_be_given_and_exact(app: TestApp) {
    let anybody = app.anonymous();
    let made = create(&anybody, json!({ "foreignId": "Abc" })).await;
    for wrong in [
        "/entities/by-short-id",
        "/entities/by-foreign-id",
        "/entities/by-foreign-id?foreignId=",
        "/entities/by-foreign-id?foreignId=%20&createIfNotFound=true",
        &format!("/entities/by-foreign-id?createIfNotFound=true&foreignId={}", "x".repeat(501)),
    ] {
        anybody.get(wrong).await.refused(400, "entity/invalid-query");
    }
    let flipped: String =
        made["shortId"]
            .as_str()
            .unwrap()
            .chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    for unknown in ["x", &"Z".repeat(22), &flipped, "mhvXdrZT4jP5T8vBxuvm75"] {
        let reply = anybody.get(&format!("/entities/by-short-id?shortId={unknown}")).await;
        reply.refused(404, "entity/not-found");
    }
    for unknown in ["abc", "Abc%20", "Ab", "Abc&createIfNotFound=1", "Abd&createIfNotFound=TRUE"] {
        let reply = anybody.get(&format!("/entities/by-foreign-id?foreignId={unknown}")).await;
        let expected = if unknown.starts_with("Abc&") { 200 } else { 404 };
        assert_eq!(reply.status, expected, "{unknown}");
    }
    let unknown = anybody.get(&format!("/entities/{UNKNOWN}")).await;
    assert_eq!(unknown.refused(404, "entity/not-found")["error"], "Entity not found");
}

async fn a_missing_foreign_id_is_created_once(app: TestApp) {
    let anybody = app.anonymous();
    let address = "/entities/by-foreign-id?foreignId=https%3A%2F%2Fx.org&createIfNotFound=true";
    let replies = all_at_once((0..32).map(|_| anybody.get(address))).await;
    assert_eq!(count(&replies, 200), 32);
    let id = replies[0].json()["id"].clone();
    assert!(replies.iter().all(|reply| reply.json()["id"] == id));
    assert_eq!(feed_size(&app, "").await, 1);
    counts_are_exact(&app).await;
    flush(&app).await;
    assert_eq!(stored(&app).await["views"], 1 + 31, "the one that created it did not look");
}

async fn a_fetch_creates_an_empty_entity_without_an_author(app: TestApp) {
    let ada = app.user().await;
    let address = "/entities/by-foreign-id?foreignId=f&createIfNotFound=true&include=user";
    let mut expected = create(&app.anonymous(), json!({ "foreignId": "f2" })).await;
    let made = ada.get(address).await.expect(200);
    expected["foreignId"] = json!("f");
    expected["userReaction"] = Value::Null;
    for key in ["id", "shortId"] {
        expected[key] = made[key].clone();
    }
    assert_eq!(made, expected);
    assert_eq!(ada.get(address).await.expect(200)["id"], made["id"]);
}

async fn an_invalid_token_is_anonymous(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let entity = create(&ada, json!({})).await;
    for token in ["nonsense", &stranger.access_token] {
        for actor in [app.bearer(token), app.bearer(token).v7(), app.bearer(token).v6()] {
            let shown = actor.get(&path(&entity)).await.expect(200);
            assert!(shown.get("userReaction").is_none());
        }
    }
    app.advance(Duration::from_secs(365 * 24 * 3600));
    let expired = ada.get(&path(&entity)).await.expect(200);
    assert!(expired.get("userReaction").is_none());
}

async fn points_beside_the_author_need_a_bucket(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({})).await;
    let shown = async |query: &str| {
        let address = format!("{}?include=user&{query}", path(&entity));
        app.anonymous().get(&address).await
    };
    for query in [
        "spaceReputationId=none",
        "spaceReputationId=context",
        "spaceReputation[spaceId]=context",
        "spaceReputationId=none&spaceReputationDescendants=true",
        "spaceReputation=%7B%22spaceId%22:%22none%22%7D&spaceReputationId=general",
    ] {
        assert_eq!(shown(query).await.expect(200)["user"]["spaceReputation"], 5, "{query}");
    }
    let elsewhere = format!("spaceReputationId={UNKNOWN}");
    assert_eq!(shown(&elsewhere).await.expect(200)["user"]["spaceReputation"], 0);
    assert!(shown("").await.expect(200)["user"].get("spaceReputation").is_none());
    for wrong in ["", "general", "null", "context&spaceReputationDescendants=true"] {
        let reply = shown(&format!("spaceReputationId={wrong}")).await;
        reply.refused(400, "entity/invalid-query");
    }
    let plain = app.project_with(&[Bundle::Entities]).await;
    let there = app.anonymous().in_project(plain.id);
    let reply = there.get(&format!("/entities/{UNKNOWN}?spaceReputationId=none")).await;
    reply.refused(403, "database/tables-not-available");
}
