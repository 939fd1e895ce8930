//! Search Content: what is found, in which order, and how requests are checked.

use std::time::Duration;

use serde_json::{Value, json};

use crate::comments::comment;
use crate::spaces::create;
use crate::support::chat::{direct, group, send};
use crate::support::feed::post;
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    words_are_found_in_every_form_and_place,
    small_slips_are_corrected,
    the_best_and_newest_come_first,
    results_are_whole_records_with_highlights,
    kinds_spaces_and_conversations_limit_a_search,
    content_not_safe_for_work_is_asked_for,
    requests_are_checked,
    version_8_requires_a_user_or_a_key,
    points_of_authors_are_shown_on_request,
];

pub(crate) async fn search(actor: &Actor<'_>, body: Value) -> Vec<Value> {
    let found = actor.post("/search/content", body).await.expect(200);
    found.as_array().unwrap().clone()
}

/// The titles or contents of what is found, in order.
pub(crate) async fn found(actor: &Actor<'_>, query: &str) -> Vec<String> {
    texts(&search(actor, json!({ "query": query })).await)
}

pub(crate) fn texts(results: &[Value]) -> Vec<String> {
    let text = |result: &Value| {
        let record = &result["record"];
        record["title"].as_str().or(record["content"].as_str()).unwrap().to_owned()
    };
    results.iter().map(text).collect()
}

async fn words_are_found_in_every_form_and_place(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "Growing tomatoes" })).await;
    post(&app, &ada, json!({ "title": "Weather", "content": "Rain is good for TOMATO plants" }))
        .await;
    post(&app, &ada, json!({ "title": "Soup", "keywords": ["tomato"] })).await;
    let entity = post(&app, &ada, json!({ "title": "Bread" })).await;
    comment(&ada, &entity.to_string(), "Dried tomatoes are good in it").await;
    post(&app, &ada, json!({ "title": "東京都の天気" })).await;
    app.index().await;

    let mut all = found(&ada, "tomato").await;
    all.sort();
    assert_eq!(all, ["Dried tomatoes are good in it", "Growing tomatoes", "Soup", "Weather"]);
    assert_eq!(found(&ada, "tomatoes").await.len(), 4);
    assert_eq!(found(&ada, "the rain!").await, ["Weather"]);
    assert_eq!(found(&ada, "東京").await, ["東京都の天気"]);
    assert_eq!(found(&ada, "zebra").await, [""; 0]);
    assert_eq!(found(&ada, "the").await, [""; 0], "no such word here");
    assert_eq!(found(&ada, "is for").await, ["Weather"], "stop words alone are searched");
}

async fn small_slips_are_corrected(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "Astronomy for beginners" })).await;
    post(&app, &ada, json!({ "title": "Bread" })).await;
    app.index().await;
    for slip in ["astronmy", "asrtonomy", "astronomyy", "astronami", "begginers"] {
        assert_eq!(found(&ada, slip).await, ["Astronomy for beginners"], "{slip}");
    }
    assert_eq!(found(&ada, "braed").await, ["Bread"]);
    assert_eq!(found(&ada, "brad").await, [""; 0], "four letters are too few");
    let exact = search(&ada, json!({ "query": "bread" })).await;
    let slip = search(&ada, json!({ "query": "braed" })).await;
    assert!(exact[0]["similarity"].as_f64() > slip[0]["similarity"].as_f64());
}

async fn the_best_and_newest_come_first(app: TestApp) {
    let ada = app.user().await;
    for title in ["Roses", "Tulips and roses", "Roses", "Gardens"] {
        let content =
            if title == "Gardens" { "Roses, tulips, daffodils and much more" } else { "" };
        post(&app, &ada, json!({ "title": title, "content": content })).await;
        app.advance(Duration::from_secs(1));
    }
    app.index().await;
    let results = search(&ada, json!({ "query": "roses" })).await;
    assert_eq!(texts(&results), ["Roses", "Roses", "Tulips and roses", "Gardens"]);
    let times: Vec<&str> =
        results.iter().map(|result| result["record"]["createdAt"].as_str().unwrap()).collect();
    assert!(times[0] > times[1], "the newer of two equals comes first");
    let scores: Vec<f64> =
        results.iter().map(|result| result["similarity"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|s| *s > 0.0 && *s <= 1.0));
    assert_eq!(search(&ada, json!({ "query": "roses", "limit": 2 })).await.len(), 2);
    let both = search(&ada, json!({ "query": "tulips roses" })).await;
    assert_eq!(texts(&both)[0], "Tulips and roses");
}

async fn results_are_whole_records_with_highlights(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = post(&app, &ada, json!({ "title": "😀 Bees", "content": "A bee and bees" })).await;
    comment(&grace, &entity.to_string(), "Bees need water").await;
    let conversation = direct(&ada, &grace).await;
    send(&grace, &conversation, "My bees are well").await;
    app.index().await;
    let results = search(&ada, json!({ "query": "bees" })).await;
    let of = |kind: &str| results.iter().find(|one| one["sourceType"] == kind).unwrap();
    let (post, reply, message) = (of("entity"), of("comment"), of("message"));
    assert_eq!(post["record"]["user"]["id"], json!(ada.id));
    assert_eq!(reply["record"]["user"]["id"], json!(grace.id));
    assert_eq!(reply["record"]["entity"]["title"], "😀 Bees");
    assert_eq!(message["record"]["user"]["id"], json!(grace.id));
    let expected = json!([
        { "field": "title", "start": 3, "end": 7 },
        { "field": "content", "start": 2, "end": 5 },
        { "field": "content", "start": 10, "end": 14 },
    ]);
    assert_eq!(post["highlights"], expected);
    assert_eq!(message["highlights"], json!([{ "field": "content", "start": 3, "end": 7 }]));
}

async fn kinds_spaces_and_conversations_limit_a_search(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "name": "Gardens" })).await;
    let child = json!({ "name": "Herbs", "parentSpaceId": space["id"] });
    let child = create(&ada, child).await;
    let inside = json!({ "title": "mint inside", "spaceId": space["id"] });
    let inside = post(&app, &ada, inside).await;
    post(&app, &ada, json!({ "title": "mint below", "spaceId": child["id"] })).await;
    post(&app, &ada, json!({ "title": "mint outside" })).await;
    comment(&ada, &inside.to_string(), "mint reply").await;
    let (one, two) = (direct(&ada, &grace).await, group(&ada, &[&grace]).await);
    send(&ada, &one, "mint one").await;
    send(&ada, &two, "mint two").await;
    app.index().await;
    let unknown = "01900000-0000-4000-8000-000000000000";
    let table: [(Value, &[&str]); 9] = [
        (json!({}), &["below", "inside", "one", "outside", "reply", "two"]),
        (json!({ "sourceTypes": ["comment"] }), &["reply"]),
        (json!({ "sourceTypes": ["message", "comment"] }), &["one", "reply", "two"]),
        (json!({ "spaceId": space["id"] }), &["inside", "reply"]),
        (
            json!({ "spaceId": space["id"], "includeChildSpaces": true }),
            &["below", "inside", "reply"],
        ),
        (
            json!({ "includeChildSpaces": true }),
            &["below", "inside", "one", "outside", "reply", "two"],
        ),
        (json!({ "conversationId": one }), &["below", "inside", "one", "outside", "reply"]),
        (json!({ "spaceId": unknown }), &[]),
        (json!({ "conversationId": unknown, "sourceTypes": ["message"] }), &[]),
    ];
    for (mut body, expected) in table {
        body["query"] = "mint".into();
        let mut all = texts(&search(&ada, body.clone()).await);
        all.sort();
        let expected: Vec<String> = expected.iter().map(|end| format!("mint {end}")).collect();
        assert_eq!(all, expected, "{body}");
    }
}

async fn content_not_safe_for_work_is_asked_for(app: TestApp) {
    let ada = app.user().await;
    let space = create(&ada, json!({ "name": "Dark", "nsfw": true })).await;
    post(&app, &ada, json!({ "title": "secret one", "nsfw": true })).await;
    post(&app, &ada, json!({ "title": "secret two", "spaceId": space["id"] })).await;
    post(&app, &ada, json!({ "title": "secret three" })).await;
    app.index().await;
    assert_eq!(found(&ada, "secret").await, ["secret three"]);
    let all = search(&ada, json!({ "query": "secret", "includeNsfw": true })).await;
    assert_eq!(all.len(), 3);
}

async fn requests_are_checked(app: TestApp) {
    let ada = app.user().await;
    let wrong = [
        json!({}),
        json!({ "query": null }),
        json!({ "query": 7 }),
        json!({ "query": "  \n" }),
        json!({ "query": "x".repeat(1001) }),
        json!({ "query": "x", "sourceTypes": [] }),
        json!({ "query": "x", "sourceTypes": ["user"] }),
        json!({ "query": "x", "spaceId": "no" }),
        json!({ "query": "x", "conversationId": "no" }),
    ];
    for path in ["/search/content", "/search/ask"] {
        for body in &wrong {
            ada.post(path, body.clone()).await.refused(400, "search/invalid-body");
        }
    }
    for path in ["/search/users", "/search/spaces"] {
        for body in &wrong[..5] {
            ada.post(path, body.clone()).await.refused(400, "search/invalid-body");
        }
    }
    for limit in [json!(0), json!(-1), json!("many"), json!(1000)] {
        let body = json!({ "query": "x", "limit": limit });
        ada.post("/search/content", body).await.expect(200);
    }
    ada.post("/search/content", json!({ "query": "x".repeat(1000) })).await.expect(200);
    ada.v6().post("/search/content", json!({ "query": "x" })).await.refused(404, "route/not-found");

    app.change_settings(app.project.id, |settings| settings.has_search = false).await;
    for path in ["/search/content", "/search/users", "/search/spaces", "/search/ask"] {
        let off = ada.post(path, json!({ "query": "x" })).await;
        off.refused(403, "project/plan-required");
    }
    let bare = app.project_with(&[]).await;
    let outside = app.bearer(&bare.service_key).in_project(bare.id);
    let missing = outside.post("/search/content", json!({ "query": "x" })).await;
    assert_eq!(
        missing.refused(403, "database/tables-not-available")["missingTables"],
        json!(["Embeddings"])
    );
}

async fn version_8_requires_a_user_or_a_key(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "open words" })).await;
    app.index().await;
    let body = json!({ "query": "words" });
    for path in ["/search/content", "/search/users", "/search/spaces", "/search/ask"] {
        app.anonymous().post(path, body.clone()).await.says(401, "Unauthorized");
        app.bearer("nonsense").post(path, body.clone()).await.says(403, "Forbidden");
        assert_eq!(app.anonymous().v7().post(path, body.clone()).await.status, 200);
        assert_eq!(app.bearer("nonsense").v7().post(path, body.clone()).await.status, 200);
        assert_eq!(app.service().post(path, body.clone()).await.status, 200);
    }
    assert_eq!(found(&app.service(), "words").await, ["open words"]);
    assert_eq!(found(&app.anonymous().v7(), "words").await, ["open words"]);
    app.suspend(ada.id).await;
    assert_eq!(found(&ada, "words").await, ["open words"], "reading stays open");
}

async fn points_of_authors_are_shown_on_request(app: TestApp) {
    let ada = app.user().await;
    let space = create(&ada, json!({})).await;
    post(&app, &ada, json!({ "title": "points", "spaceId": space["id"] })).await;
    app.index().await;
    let path = "/search/content?spaceReputationId=context";
    let results = ada.post(path, json!({ "query": "points" })).await.expect(200);
    assert_eq!(results[0]["record"]["user"]["spaceReputation"], 5);
    let wrong = "/search/content?spaceReputationId=general";
    ada.post(wrong, json!({ "query": "points" })).await.refused(400, "search/invalid-query");
}
