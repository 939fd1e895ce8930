//! An invalid token where the user is optional: reads are anonymous, writes are refused, so that no post
//! silently loses its author.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, on_both_engines};
use crate::tables::create as create_table;

on_both_engines![
    who_reads_with_a_bad_token_is_anonymous,
    who_writes_with_a_bad_token_is_refused,
    without_a_token_writes_are_anonymous,
    rows_of_open_tables_enforce_nothing,
    a_refused_write_leaves_nothing_behind,
];

/// Callers whose credential does not hold.
async fn bad_tokens(app: &TestApp) -> Vec<(&'static str, Actor<'_>)> {
    let expired = app.user().await;
    app.advance(Duration::from_secs(1800));
    let (user, stranger) = (app.user().await, app.stranger().await);
    let cut = user.access_token[..user.access_token.len() - 2].to_owned();
    vec![
        ("expired", app.bearer(&expired.access_token)),
        ("forged", app.bearer(&cut)),
        ("of another project", app.bearer(&stranger.access_token)),
        ("a refresh token", app.bearer(&user.refresh_token)),
        ("a key of another project", app.bearer(&app.other.service_key)),
        ("an unknown key", app.bearer("thk_service_unknown")),
        ("empty", app.bearer("")),
        ("Null", app.bearer("Null")),
    ]
}

/// The same caller in every version.
fn versions<'a>(actor: &Actor<'a>) -> [(&'static str, Actor<'a>); 3] {
    [("v6", actor.v6()), ("v7", actor.v7()), ("v8", actor.clone())]
}

fn check_refusal(version: &str, what: &str, reply: &Reply) {
    let context = format!("{version} {what}: {}", reply.text());
    if version == "v7" {
        let body = json!({ "error": "Unauthorized", "code": "auth/unauthorized" });
        assert_eq!((reply.status, reply.json()), (401, body), "{context}");
    } else {
        assert_eq!((reply.status, reply.text().as_str()), (403, "Forbidden"), "{context}");
    }
}

/// The operations that write although the user is optional.
fn writes() -> [(Method, String, Option<Value>); 3] {
    [
        (Method::POST, "/entities".to_owned(), Some(json!({ "title": "x" }))),
        // Refused before anything is looked at.
        (Method::POST, "/entities".to_owned(), Some(json!({ "title": 7 }))),
        (Method::GET, find_or_create("new"), None),
    ]
}

fn find_or_create(foreign_id: &str) -> String {
    format!("/entities/by-foreign-id?foreignId={foreign_id}&createIfNotFound=true")
}

async fn who_reads_with_a_bad_token_is_anonymous(app: TestApp) {
    let author = app.user().await;
    let made = author.post("/entities", json!({ "foreignId": "f" })).await.expect(201);
    // Only a key creates users on the way: for everybody else it is a read.
    let user = "/users/by-foreign-id?foreignId=7&createIfNotFound=true";
    app.service().get(user).await.expect(201);
    let id = made["id"].as_str().unwrap();
    let reads = [
        format!("/entities/{id}"),
        "/entities".to_owned(),
        "/entities/by-foreign-id?foreignId=f".to_owned(),
        "/entities/by-foreign-id?foreignId=f&createIfNotFound=false".to_owned(),
        format!("/comments?entityId={id}"),
        format!("/users/{}", author.id),
        user.to_owned(),
        "/spaces".to_owned(),
    ];
    for (name, actor) in bad_tokens(&app).await {
        for (version, actor) in versions(&actor) {
            for path in &reads {
                let reply = actor.get(path).await;
                assert_eq!(reply.status, 200, "{version} {name} {path}: {}", reply.text());
            }
        }
    }
}

async fn who_writes_with_a_bad_token_is_refused(app: TestApp) {
    for (name, actor) in bad_tokens(&app).await {
        for (version, actor) in versions(&actor) {
            for (method, path, body) in writes() {
                let reply = actor.send(method, &path, body).await;
                check_refusal(version, &format!("{name} {path}"), &reply);
            }
        }
    }
    // Found or not: what is asked for is a write.
    app.service().post("/entities", json!({ "foreignId": "there" })).await.expect(201);
    app.bearer("expired").get(&find_or_create("there")).await.says(403, "Forbidden");
    app.anonymous().get(&find_or_create("there")).await.expect(200);

    let gone = app.user().await;
    app.service().delete(&format!("/users/{}", gone.id)).await.expect(204);
    for (_, gone) in versions(&gone) {
        for (method, path, body) in writes() {
            gone.send(method, &path, body).await.refused(403, "auth/no-user-found");
        }
        gone.get("/entities/by-foreign-id?foreignId=there").await.expect(200);
    }
}

async fn without_a_token_writes_are_anonymous(app: TestApp) {
    let basic = app.anonymous().with_header("authorization", "Basic YWRhOnNlY3JldA==");
    let actors = [app.anonymous(), app.bearer("null"), app.bearer("undefined"), basic];
    for (number, actor) in actors.iter().enumerate() {
        for (at, (version, actor)) in versions(actor).into_iter().enumerate() {
            let created = actor.post("/entities", json!({ "title": "x" })).await;
            let expected = if version == "v6" { 200 } else { 201 };
            assert_eq!(created.expect(expected)["userId"], Value::Null);
            actor.get(&find_or_create(&format!("new-{number}-{at}"))).await.expect(200);
        }
    }
    // Where a user is required the two words are no token.
    for word in ["null", "undefined"] {
        app.bearer(word).get("/oauth/identities").await.says(403, "Forbidden");
    }
}

async fn rows_of_open_tables_enforce_nothing(app: TestApp) {
    create_table(&app.service(), "t", &[("n", "integer")], json!({})).await;
    for (name, actor) in bad_tokens(&app).await {
        for (version, actor) in [("v7", actor.v7()), ("v8", actor)] {
            let made = actor.post("/db/t", json!({ "n": 1 })).await;
            assert_eq!(made.status, 201, "{version} {name}: {}", made.text());
            let row = format!("/db/t/{}", made.json()["row"]["id"].as_str().unwrap());
            actor.get(&row).await.expect(200);
            actor.patch(&row, json!({ "n": 2 })).await.expect(200);
            assert_eq!(actor.delete(&row).await.status / 100, 2, "{version} {name}");
        }
    }
}

async fn a_refused_write_leaves_nothing_behind(app: TestApp) {
    for (_, actor) in bad_tokens(&app).await {
        for (method, path, body) in writes() {
            actor.send(method, &path, body).await;
        }
    }
    let listed = app.service().get("/entities").await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 0);
}
