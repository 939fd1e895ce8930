//! Addresses as published clients spell them: without the project for connections, and in version 7 with the
//! version twice after a socket reconnects. Each is the same endpoint as the full address.

use http::Method;
use serde_json::{Value, json};

use crate::comments::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    connections_are_found_without_the_project,
    without_a_token_the_project_is_that_of_the_user,
    anonymous_callers_are_refused_as_at_the_full_address,
    other_versions_and_paths_name_their_project,
    the_version_may_be_repeated,
    both_spellings_count_for_one_limit,
];

/// Each with the names of a list of requests and of connections.
const PREFIXES: [(&str, &str, &str); 4] = [
    ("/v7", "data", "data"),
    ("/api/v7", "data", "data"),
    ("/api/v6", "requests", "connections"),
    ("/api/v5", "requests", "connections"),
];

/// The same caller at the full address.
fn named<'a>(prefix: &str, actor: &Actor<'a>) -> Actor<'a> {
    if prefix.ends_with('7') { actor.v7() } else { actor.legacy() }
}

async fn ask(actor: &Actor<'_>, method: Method, address: &str, body: Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    actor.raw(method, address, "application/json", body).await
}

async fn get(actor: &Actor<'_>, address: &str) -> Reply {
    ask(actor, Method::GET, address, Value::Null).await
}

async fn connections_are_found_without_the_project(app: TestApp) {
    for (prefix, requests, connections) in PREFIXES {
        let (ada, bob) = (app.user().await, app.user().await);
        let to_bob = format!("{prefix}/users/{}/connection", bob.id);
        for answer in ["decline", "accept"] {
            let from = if answer == "accept" { (&bob, &ada) } else { (&ada, &bob) };
            let address = format!("{prefix}/users/{}/connection", from.1.id);
            let asked = ask(from.0, Method::POST, &address, json!({})).await.expect(201);
            let sent = get(from.0, &format!("{prefix}/connections/pending/sent")).await;
            assert_eq!(sent.expect(200)[requests][0]["id"], asked["id"]);
            let received = get(from.1, &format!("{prefix}/connections/pending/received")).await;
            assert_eq!(received.expect(200)[requests][0]["id"], asked["id"]);
            let id = asked["id"].as_str().unwrap();
            let answered = format!("{prefix}/connections/{id}/{answer}");
            ask(from.1, Method::PATCH, &answered, json!({})).await.expect(200);
        }
        assert_eq!(get(&ada, &to_bob).await.expect(200)["status"], "connected");
        let all = get(&ada, &format!("{prefix}/connections?limit=5")).await.expect(200);
        assert_eq!(all, named(prefix, &ada).get("/connections?limit=5").await.expect(200));
        assert_eq!(get(&ada, &format!("{prefix}/connections/count")).await.expect(200)["count"], 1);
        let id = all[connections][0]["id"].as_str().unwrap();
        let removed = format!("{prefix}/connections/{id}");
        ask(&bob, Method::DELETE, &removed, Value::Null).await.expect(200);
        let none = ask(&ada, Method::DELETE, &to_bob, Value::Null).await;
        none.refused(404, "connection/not-found");
    }
}

async fn without_a_token_the_project_is_that_of_the_user(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    for (prefix, ..) in PREFIXES {
        for user in [ada.id, stranger.id] {
            for end in ["connections", "connections-count"] {
                let address = format!("{prefix}/users/{user}/{end}");
                get(&app.anonymous(), &address).await.expect(200);
                get(&app.bearer("null"), &address).await.expect(200);
            }
        }
        let unknown = format!("{prefix}/users/{UNKNOWN}/connections");
        get(&app.anonymous(), &unknown).await.refused(404, "user/not-found");
        get(&app.anonymous(), &format!("{prefix}/users/x/connections"))
            .await
            .refused(404, "user/not-found");
        // A token is of its project: users of another are not there.
        let foreign = format!("{prefix}/users/{}/connections", stranger.id);
        let own = named(prefix, &ada).get(&format!("/users/{}/connections", stranger.id)).await;
        assert_eq!(get(&ada, &foreign).await.outcome(), own.outcome());
    }
}

async fn anonymous_callers_are_refused_as_at_the_full_address(app: TestApp) {
    let ada = app.user().await;
    let with_user = format!("/users/{}/connection", ada.id);
    let unknown = format!("/users/{UNKNOWN}/connection");
    let key = app.project.service_key.as_str();
    for (prefix, ..) in PREFIXES {
        for bearer in [None, Some("null"), Some("x.y.z"), Some(key)] {
            let actor = bearer.map_or_else(|| app.anonymous(), |bearer| app.bearer(bearer));
            let refused = match bearer {
                None => app.anonymous(),
                // Without a project nobody knows whose key it is.
                Some(bearer) => app.bearer(if bearer == key { "x" } else { bearer }),
            };
            let full = named(prefix, &refused).get("/connections").await;
            for path in ["/connections", "/connections/count", &unknown] {
                let reply = get(&actor, &format!("{prefix}{path}")).await;
                let found = (reply.status, reply.text());
                assert_eq!(found, (full.status, full.text()), "{prefix} {bearer:?} {path}");
            }
            if bearer != Some(key) {
                let reply = get(&actor, &format!("{prefix}{with_user}")).await;
                assert_eq!(reply.status, full.status, "{prefix} {bearer:?}");
            }
        }
    }
}

async fn other_versions_and_paths_name_their_project(app: TestApp) {
    let ada = app.user().await;
    for address in
        ["/v8/connections/count", "/v6/connections/count", "/v7/users/x", "/v7/entities/x"]
    {
        get(&ada, address).await.refused(404, "route/not-found");
    }
}

async fn the_version_may_be_repeated(app: TestApp) {
    let ada = app.user().await;
    let id = app.project.id;
    let expected = ada.v7().get("/chat/conversations").await.expect(200);
    for prefix in [format!("/v7/{id}/v7"), format!("/api/v7/{id}/v7"), format!("/{id}/api/v7/v7")] {
        let found = get(&ada, &format!("{prefix}/chat/conversations")).await;
        assert_eq!(found.expect(200), expected, "{prefix}");
    }
    for address in
        [format!("/v8/{id}/v8/chat/conversations"), format!("/v7/{id}/v7/v7/chat/conversations")]
    {
        get(&ada, &address).await.refused(404, "route/not-found");
    }
}

async fn both_spellings_count_for_one_limit(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let ada = app.user().await;
    let left =
        |reply: &Reply| -> i64 { reply.header("x-ratelimit-remaining").unwrap().parse().unwrap() };
    let first = left(&ada.v7().get("/connections/count").await);
    for (number, address) in [
        "/v7/connections/count".to_owned(),
        "/api/v7/connections/count".to_owned(),
        "/api/v6/connections/count".to_owned(),
        "/api/v5/connections/count".to_owned(),
        format!("/v7/{}/v7/connections/count", app.project.id),
    ]
    .iter()
    .enumerate()
    {
        let now = left(&get(&ada, address).await);
        assert_eq!(now, first - 1 - i64::try_from(number).unwrap(), "{address}");
    }
}
