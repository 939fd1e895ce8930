//! Search with a model of the operator: content is found by its meaning as well, and a provider that is down, refuses or
//! knows what others may not read changes nothing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::search_content::{found, search};
use crate::spaces::create;
use crate::support::chat::{group, send};
use crate::support::feed::post;
use crate::support::provider::Provider;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    content_is_found_by_its_meaning,
    words_and_meaning_count_together,
    a_provider_that_is_down_is_done_without,
    what_the_provider_refuses_is_found_by_its_words,
    what_is_deleted_leaves_no_vector,
    a_new_model_makes_all_vectors_anew,
    vectors_of_hidden_content_change_nothing,
    messages_are_not_sent_unless_the_operator_says_so,
];

async fn with_vectors(app: TestApp) -> (TestApp, Provider) {
    let provider = Provider::start().await;
    let app = app.restart_with(|config| provider.makes_vectors(config)).await;
    (app, provider)
}

/// The titles and similarities of what is found.
async fn ranked(actor: &crate::support::Actor<'_>, query: &str) -> Vec<(String, f64)> {
    let results = search(actor, json!({ "query": query })).await;
    let one = |result: &Value| {
        let title = result["record"]["title"].as_str().unwrap_or_default();
        (title.to_owned(), result["similarity"].as_f64().unwrap())
    };
    results.iter().map(one).collect()
}

async fn content_is_found_by_its_meaning(app: TestApp) {
    let (app, provider) = with_vectors(app).await;
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "Growing a tomato" })).await;
    post(&app, &ada, json!({ "title": "Repairing bicycles" })).await;
    let long = format!("{} An automobile.", "Nothing to see here. ".repeat(120));
    post(&app, &ada, json!({ "title": "Long", "content": long })).await;
    app.index().await;
    let results = ranked(&ada, "vegetable").await;
    assert_eq!(results.len(), 1, "{results:?}");
    assert_eq!(results[0].0, "Growing a tomato");
    assert!(results[0].1 > 0.5 && results[0].1 <= 1.0, "{results:?}");
    assert_eq!(ranked(&ada, "car").await[0].0, "Long", "a later chunk counts as well");
    assert_eq!(ranked(&ada, "weather").await, []);
    let (first, document) = &provider.requests("/embeddings")[0];
    assert_eq!(first.header("authorization"), Some("Bearer vector key"));
    assert_eq!(document["model"], "small");
    assert!(document["input"].as_array().unwrap().len() >= 4, "{document}");
}

async fn words_and_meaning_count_together(app: TestApp) {
    let (app, _provider) = with_vectors(app).await;
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "tomato" })).await;
    post(&app, &ada, json!({ "title": "vegetable" })).await;
    post(&app, &ada, json!({ "title": "automobile" })).await;
    app.index().await;
    let results = ranked(&ada, "vegetable").await;
    assert_eq!(
        results.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(),
        ["vegetable", "tomato"]
    );
    assert!(results[0].1 >= results[1].1);
}

async fn a_provider_that_is_down_is_done_without(app: TestApp) {
    let (app, provider) = with_vectors(app).await;
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "tomato" })).await;
    app.index().await;
    provider.be_down(true);
    assert_eq!(found(&ada, "tomato").await, ["tomato"]);
    assert_eq!(found(&ada, "vegetable").await, [""; 0]);
    let asked = provider.requests("/embeddings").len();
    assert_eq!(found(&ada, "tomato").await, ["tomato"]);
    assert_eq!(provider.requests("/embeddings").len(), asked, "it is left alone for a while");
    // What comes meanwhile is found by its words at once, and by its meaning later.
    post(&app, &ada, json!({ "title": "automobile" })).await;
    app.index().await;
    assert_eq!(found(&ada, "automobile").await, ["automobile"]);
    provider.be_down(false);
    app.advance(Duration::from_secs(11));
    app.index().await;
    assert_eq!(found(&ada, "vegetable").await, ["tomato"]);
    assert_eq!(found(&ada, "car").await, ["automobile"]);
}

async fn what_the_provider_refuses_is_found_by_its_words(app: TestApp) {
    let (app, provider) = with_vectors(app).await;
    let ada = app.user().await;
    provider.refuse("poison");
    for title in ["tomato", "poison automobile", "conspiracy"] {
        post(&app, &ada, json!({ "title": title })).await;
    }
    app.index().await;
    assert_eq!(found(&ada, "vegetable").await, ["tomato"]);
    assert_eq!(found(&ada, "secret").await, ["conspiracy"]);
    assert_eq!(found(&ada, "automobile").await, ["poison automobile"]);
    assert_eq!(found(&ada, "car").await, [""; 0]);
    assert_eq!(found(&ada, "poison").await, ["poison automobile"]);
}

async fn what_is_deleted_leaves_no_vector(app: TestApp) {
    let (app, _provider) = with_vectors(app).await;
    let ada = app.user().await;
    let entity = post(&app, &ada, json!({ "title": "tomato" })).await;
    app.index().await;
    assert_eq!((app.rows("search_vectors").await, app.rows("search_vector_blocks").await), (1, 1));
    ada.patch(&format!("/entities/{entity}"), json!({ "title": "automobile" })).await.expect(200);
    app.index().await;
    assert_eq!(found(&ada, "vegetable").await, [""; 0]);
    assert_eq!(found(&ada, "car").await, ["automobile"]);
    assert_eq!((app.rows("search_vectors").await, app.rows("search_vector_blocks").await), (1, 1));
    ada.delete(&format!("/entities/{entity}")).await.expect(204);
    app.index().await;
    assert_eq!((app.rows("search_vectors").await, app.rows("search_vector_blocks").await), (0, 0));
}

async fn a_new_model_makes_all_vectors_anew(app: TestApp) {
    let (app, provider) = with_vectors(app).await;
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "tomato" })).await;
    app.index().await;
    let project = app.project.id;
    let other = app.app.db.write(move |tx| {
        townhall::features::search::store::vectors::start_over(tx, project, "another")
    });
    other.await.unwrap();
    let asked = provider.requests("/embeddings").len();
    assert_eq!(found(&ada, "vegetable").await, [""; 0]);
    assert_eq!(provider.requests("/embeddings").len(), asked, "vectors of models are not compared");
    app.index().await;
    assert_eq!(found(&ada, "vegetable").await, ["tomato"]);
}

async fn vectors_of_hidden_content_change_nothing(app: TestApp) {
    let (app, _provider) = with_vectors(app).await;
    let (ada, stranger) = (app.user().await, app.user().await);
    post(&app, &ada, json!({ "title": "A tomato" })).await;
    post(&app, &ada, json!({ "title": "Vegetable soup" })).await;
    app.index().await;
    let queries = ["vegetable", "tomato", "secret", "car"];
    let mut before = Vec::new();
    for query in queries {
        before.push(ranked(&stranger, query).await);
    }
    let space = create(&ada, json!({ "readingPermission": "members" })).await;
    for title in ["secret tomato", "conspiracy of vegetables", "automobile"] {
        post(&app, &ada, json!({ "title": title, "spaceId": space["id"] })).await;
    }
    app.index().await;
    for (query, before) in queries.into_iter().zip(before) {
        assert_eq!(ranked(&stranger, query).await, before, "{query}");
    }
    assert_eq!(ranked(&ada, "car").await[0].0, "automobile");
    assert_eq!(ranked(&ada, "vegetable").await.len(), 4);
}

async fn messages_are_not_sent_unless_the_operator_says_so(app: TestApp) {
    let (app, provider) = with_vectors(app).await;
    let sent = |provider: &Provider| {
        provider
            .requests("/embeddings")
            .iter()
            .any(|(request, _)| request.body.contains("conspiracy"))
    };
    let (ada, grace) = (app.user().await, app.user().await);
    let conversation = group(&ada, &[&grace]).await;
    send(&ada, &conversation, "a conspiracy").await;
    app.index().await;
    assert!(!sent(&provider));
    assert_eq!(found(&ada, "conspiracy").await.len(), 1);
    let app = app.restart_with(|config| config.set("TOWNHALL_MODELS_READ_MESSAGES", "on")).await;
    let (ada, grace) = (app.user().await, app.user().await);
    let conversation = group(&ada, &[&grace]).await;
    send(&ada, &conversation, "a conspiracy").await;
    app.index().await;
    assert!(sent(&provider));
    assert_eq!(found(&ada, "secret").await.len(), 1);
    let stranger = app.user().await;
    assert_eq!(found(&stranger, "secret").await, [""; 0]);
}
