//! Entities: creating, fetching, changing, deleting.

use serde_json::{Value, json};

use crate::support::{TestApp, on_both_engines};

on_both_engines![an_entity_is_created_fetched_changed_and_deleted, a_feed_shows_what_is_published];

async fn an_entity_is_created_fetched_changed_and_deleted(app: TestApp) {
    let ada = app.user().await;
    let new = json!({
        "title": "Hello", "content": "World", "keywords": ["a", "b"], "foreignId": "f1",
        "metadata": { "status": "draft", "n": 1 }, "location": { "latitude": 52.5, "longitude": 13.4 },
    });
    let created = ada.post("/entities", new).await.expect(201);
    let id = created["id"].as_str().unwrap();
    assert_eq!(created["user"]["id"], json!(ada.id));
    assert_eq!(created["user"]["reputation"], 5);
    assert_eq!(created["views"], 1);
    assert_eq!(created["score"], 1.4);
    assert_eq!(created["userReaction"], Value::Null);

    let path = format!("/entities/{id}");
    let fetched = app.anonymous().get(&path).await.expect(200);
    assert_eq!(fetched["views"], 2);
    assert!(fetched.get("user").is_none() && fetched.get("userReaction").is_none());
    let short = format!(
        "/entities/by-short-id?shortId={}&include=user",
        created["shortId"].as_str().unwrap()
    );
    assert_eq!(app.anonymous().get(&short).await.expect(200)["views"], 3);
    let foreign = app.anonymous().get("/entities/by-foreign-id?foreignId=f1").await.expect(200);
    assert_eq!(foreign["id"], created["id"]);

    let changed =
        ada.patch(&path, json!({ "title": null, "keywords": ["b", "c"] })).await.expect(200);
    assert_eq!((&changed["title"], &changed["keywords"]), (&Value::Null, &json!(["b", "c"])));
    assert_eq!(ada.delete(&path).await.status, 204);
    app.anonymous().get(&path).await.refused(404, "entity/not-found");
    assert_eq!(app.anonymous().get("/entities").await.expect(200)["pagination"]["totalItems"], 0);
}

async fn a_feed_shows_what_is_published(app: TestApp) {
    let ada = app.user().await;
    for n in 1..=3 {
        let new = json!({ "title": format!("Post {n}"), "keywords": [format!("k{n}"), "all"],
            "metadata": { "n": n, "o": { "x": n } } });
        ada.post("/entities", new).await.expect(201);
        app.advance(std::time::Duration::from_secs(1));
    }
    ada.post("/entities", json!({ "title": "Draft", "isDraft": true })).await.expect(201);
    let titles = async |query: &str| {
        let page = app.anonymous().get(&format!("/entities?{query}")).await.expect(200);
        let data = page["data"].as_array().unwrap().clone();
        assert_eq!(page["pagination"]["totalItems"], data.len(), "{query}");
        data.iter()
            .map(|entity| entity["title"].as_str().unwrap()[5..].to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (query, expected) in [
        ("", "3 2 1"),
        ("sortBy=hot", "3 2 1"),
        ("sortBy=top", "3 2 1"),
        ("sortBy=controversial", "3 2 1"),
        ("sortDir=ASC", "1 2 3"),
        ("sourceId=null&spaceId=null", "3 2 1"),
        ("keywordsFilters[includes]=all", "3 2 1"),
        ("keywordsFilters[includes]=k2", "2"),
        ("keywordsFilters[includes]=k2&sortBy=hot", "2"),
        ("keywordsFilters[includes][]=k2&keywordsFilters[includes][]=all", "2"),
        ("keywordsFilters[doesNotInclude]=k2", "3 1"),
        ("metadataFilters[includes][n]=2", "2"),
        ("metadataFilters=%7B%22includes%22:%7B%22o%22:%7B%22x%22:3%7D%7D%7D", "3"),
        ("metadataFilters[doesNotInclude][n]=2", "3 1"),
        ("metadataFilters[exists]=n&metadataFilters[doesNotExist]=z", "3 2 1"),
        ("sortBy=metadata.n&sortDir=asc", "1 2 3"),
        ("titleFilters[includes]=POST", "3 2 1"),
        ("titleFilters[includes]=ost%201", "1"),
        ("timeFrame=hour", "3 2 1"),
        ("sourceId=x", ""),
        ("spaceId=x", ""),
    ] {
        assert_eq!(titles(query).await, expected, "{query}");
    }
}
