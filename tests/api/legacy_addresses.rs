//! Addresses of the legacy dialect: its prefixes, and calls outside of any project. Connections without a
//! project are in `connection_addresses.rs`.

use http::Method;
use serde_json::{Value, json};
use townhall::features;
use townhall::http::legacy::OPERATIONS;
use townhall::http::router::Router;
use townhall::http::version::Version;

use crate::comments::UNKNOWN;
use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    both_prefixes_speak_the_dialect_and_no_other_address_does,
    later_operations_are_served_as_they_are,
    a_list_creates_sub_lists_at_its_own_address,
    the_project_is_fetched_outside_of_any_version,
    a_testing_jwt_is_signed_outside_of_any_project,
    a_testing_jwt_needs_a_project_and_a_user,
];

async fn ask(actor: &Actor<'_>, method: Method, address: &str, body: Value) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    actor.raw(method, address, "application/json", body).await
}

async fn get(actor: &Actor<'_>, address: &str) -> Reply {
    ask(actor, Method::GET, address, Value::Null).await
}

#[test]
fn every_operation_of_the_dialect_exists() {
    let router = Router::new(features::operations()).unwrap();
    for (name, _) in OPERATIONS {
        let (method, path) = name.split_once(' ').unwrap();
        let method = method.parse().unwrap();
        let found = router.project(&method, path);
        let operation = found.unwrap_or_else(|| panic!("{name}")).operation;
        assert_eq!(operation.id, *name);
        assert!(operation.is_in(Version::V6), "{name}");
    }
    let mut names: Vec<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), OPERATIONS.len());
}

async fn both_prefixes_speak_the_dialect_and_no_other_address_does(app: TestApp) {
    let user = app.user().await;
    user.post("/entities", json!({ "title": "x" })).await.expect(201);
    let id = app.project.id;
    let mut replies = Vec::new();
    for prefix in ["/api/v6", "/api/v5", "//api//v6", "/api/%765"] {
        let listed = get(&user, &format!("{prefix}/{id}/entities")).await.expect(200);
        assert_eq!(listed.as_array().map(Vec::len), Some(1), "{prefix}");
        replies.push(listed);
    }
    assert!(replies.windows(2).all(|pair| pair[0] == pair[1]));
    for prefix in [format!("/v6/{id}"), format!("/{id}/api/v6"), format!("/api/v7/{id}")] {
        let listed = get(&user, &format!("{prefix}/entities")).await.expect(200);
        assert_eq!(listed["pagination"]["totalItems"], 1, "{prefix}");
    }
    for address in [format!("/v5/{id}/entities"), format!("/{id}/api/v5/entities")] {
        get(&user, &address).await.refused(404, "route/not-found");
    }
}

async fn later_operations_are_served_as_they_are(app: TestApp) {
    let user = app.user().await;
    let entity = user.post("/entities", json!({ "title": "x" })).await.expect(201);
    let reactions = format!("{}/reactions", crate::entities::path(&entity));
    user.post(&reactions, json!({ "reactionType": "like" })).await.expect(200);
    for path in ["/spaces", "/collections/root", reactions.as_str(), "/entities/drafts"] {
        let plain = user.v6().get(path).await.expect(200);
        assert_eq!(user.legacy().get(path).await.expect(200), plain, "{path}");
    }
    user.legacy().get("/db/tables").await.refused(404, "route/not-found");
}

async fn a_list_creates_sub_lists_at_its_own_address(app: TestApp) {
    let user = app.user().await;
    let root = user.legacy().get("/lists/root").await.expect(200);
    let root = format!("/lists/{}", root["id"].as_str().unwrap());
    let made = user.legacy().post(&root, json!({ "listName": "early" })).await.expect(201);
    assert_eq!((&made["name"], &made["entityIds"]), (&json!("early"), &json!([])));
    let below = user.legacy().get(&format!("{root}/sub-lists")).await.expect(200);
    assert_eq!(below[0]["id"], made["id"]);
    user.legacy().post(&root, json!({})).await.refused(400, "list/missing-parameters");
    let body = json!({ "listName": "x" });
    user.v6().post(&root, body.clone()).await.refused(404, "route/not-found");
    user.legacy().post(&format!("{root}/x"), body).await.refused(404, "route/not-found");
}

async fn the_project_is_fetched_outside_of_any_version(app: TestApp) {
    let id = app.project.id;
    let lean = get(&app.anonymous(), &format!("/internal/projects/{id}/lean")).await.expect(200);
    assert_eq!(lean, app.anonymous().get("/projects/lean").await.expect(200));
    assert_eq!(lean["integrations"], json!([]));
    let unknown = format!("/internal/projects/{UNKNOWN}/lean");
    get(&app.anonymous(), &unknown).await.refused(404, "project/not-found");
    let wrong = get(&app.anonymous(), "/internal/projects/x/lean").await;
    wrong.refused(400, "project/invalid-project-id");
}

const SIGN: &str = "/internal/crypto/sign-testing-jwt";

async fn a_testing_jwt_is_signed_outside_of_any_project(app: TestApp) {
    let key = &app.project.private_key;
    let payload = json!({ "id": "u7", "name": "Ada" });
    let body = json!({ "projectId": app.project.id, "privateKey": key, "payload": payload });
    let signed = ask(&app.anonymous(), Method::POST, SIGN, body.clone()).await;
    assert_eq!((signed.status, signed.header("cache-control")), (200, Some("no-store")));
    let inside = app.anonymous().legacy().post("/crypto/sign-testing-jwt", body).await;
    for jwt in [signed, inside] {
        assert_eq!(jwt.header("content-type"), Some("text/plain; charset=utf-8"));
        let verify = json!({ "userJwt": jwt.text() });
        let user = app.anonymous().legacy().post("/auth/verify-external-user", verify).await;
        assert_eq!(user.expect(200)["user"]["foreignId"], "u7");
    }
}

async fn a_testing_jwt_needs_a_project_and_a_user(app: TestApp) {
    let key = &app.project.private_key;
    let project = app.project.id;
    for body in [
        json!({ "privateKey": key, "payload": { "id": "u" } }),
        json!({ "projectId": project, "privateKey": key, "payload": {} }),
        json!([]),
        json!("x"),
    ] {
        let refused = ask(&app.anonymous(), Method::POST, SIGN, body).await;
        refused.refused(400, "crypto/missing-params");
    }
    let broken = app.anonymous().raw(Method::POST, SIGN, "application/json", "{").await;
    broken.refused(400, "crypto/missing-params");
    let unusable = json!({ "projectId": project, "privateKey": "x", "payload": { "id": "u" } });
    let refused = ask(&app.anonymous(), Method::POST, SIGN, unusable).await;
    refused.refused(400, "crypto/invalid-key");
    let large = "x".repeat(3 * 1024 * 1024);
    let large = app.anonymous().raw(Method::POST, SIGN, "application/json", large).await;
    large.refused(413, "request/body-too-large");
}
