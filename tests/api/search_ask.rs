//! Ask: an answer from what the caller may read, as server-sent events.

use serde_json::{Value, json};

use crate::spaces::create;
use crate::support::feed::post;
use crate::support::{Actor, TestApp, on_both_engines};

on_both_engines![
    answers_quote_their_sources,
    nothing_relevant_is_said_so,
    answers_never_quote_what_is_hidden,
    the_index_must_be_there,
];

/// The events in order, each with its data.
pub(crate) async fn ask(actor: &Actor<'_>, query: &str) -> Vec<(String, Value)> {
    let reply = actor.post("/search/ask", json!({ "query": query })).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
    let text = reply.text();
    let events = text.strip_suffix("\n\n").unwrap().split("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        let data = data.strip_prefix("data: ").unwrap();
        assert!(!data.contains('\n') && !data.contains('\r'));
        (name.to_owned(), serde_json::from_str(data).unwrap())
    });
    events.collect()
}

pub(crate) fn answer(events: &[(String, Value)]) -> String {
    let tokens = events.iter().filter(|(name, _)| name == "token");
    tokens.map(|(_, data)| data["content"].as_str().unwrap()).collect()
}

async fn answers_quote_their_sources(app: TestApp) {
    let ada = app.user().await;
    let watering = "I like tea.\nWater tomatoes in the morning, never at noon. That is all.";
    post(&app, &ada, json!({ "title": "Watering", "content": watering })).await;
    post(&app, &ada, json!({ "title": "Bread", "content": "Bake it twice." })).await;
    app.index().await;
    let events = ask(&ada, "When should I water the tomatoes?").await;
    let text = answer(&events);
    assert!(text.contains("Water tomatoes in the morning, never at noon. [1]"), "{text}");
    assert!(!text.contains("Bake"), "{text}");
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.len() > 5);
    assert!(names[..names.len() - 2].iter().all(|name| *name == "token"));
    assert_eq!(names[names.len() - 2..], ["sources", "done"]);
    let (_, sources) = &events[events.len() - 2];
    assert_eq!(sources.as_array().unwrap().len(), 1);
    assert_eq!(sources[0]["record"]["title"], "Watering");
    assert_eq!(sources[0]["sourceType"], "entity");
    assert_eq!(events.last().unwrap().1, json!({}));
}

async fn nothing_relevant_is_said_so(app: TestApp) {
    let ada = app.user().await;
    post(&app, &ada, json!({ "title": "Bread" })).await;
    app.index().await;
    let events = ask(&ada, "What is the weather on Mars?").await;
    let expected = [
        ("token".to_owned(), json!({ "content": "Nothing relevant was found." })),
        ("sources".to_owned(), json!([])),
        ("done".to_owned(), json!({})),
    ];
    assert_eq!(events, expected);
}

async fn answers_never_quote_what_is_hidden(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "readingPermission": "members" })).await;
    let hidden = json!({ "title": "Plans", "content": "The password is swordfish.",
        "spaceId": space["id"] });
    post(&app, &ada, hidden).await;
    app.index().await;
    assert!(answer(&ask(&ada, "password").await).contains("swordfish"));
    assert_eq!(answer(&ask(&stranger, "password").await), "Nothing relevant was found.");
}

async fn the_index_must_be_there(app: TestApp) {
    let ada = app.user().await;
    let early = ada.post("/search/ask", json!({ "query": "anything" })).await;
    early.refused(503, "search/unavailable");
    app.index().await;
    assert_eq!(ask(&ada, "anything").await.len(), 3);
}
