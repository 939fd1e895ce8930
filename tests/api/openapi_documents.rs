//! The OpenAPI documents as served: built once for each change of the catalogue, shared by all callers with
//! the same permissions, compressed and revalidated.

use db::Engine;
use http::Method;
use serde_json::{Value, json};
use townhall::http::address::{OAUTH_CALLBACK, OAUTH_START};
use townhall::http::openapi;
use townhall::http::version::Version;

use crate::support::{Actor, Reply, TestApp, all_at_once, on_both_engines};
use crate::tables::{column, create};

on_both_engines![
    many_requests_at_once_build_a_document_once,
    every_change_of_a_table_is_in_the_next_document,
    a_client_that_has_the_document_is_not_sent_it_again,
    a_document_is_compressed_for_clients_that_ask_for_it,
    one_version_is_described_alone,
    documents_are_rate_limited,
    operations_share_their_error_replies,
];

const SERVER: &str = "/openapi.json";

async fn get(actor: &Actor<'_>, address: &str) -> Reply {
    actor.raw(Method::GET, address, "", "").await
}

/// The addresses of both documents, the project's with a table in it.
async fn both(app: &TestApp) -> [String; 2] {
    create(&app.service(), "games", &[("title", "text")], json!({})).await;
    [SERVER.to_owned(), app.anonymous().address("/openapi.json")]
}

fn times_listed(seen: &[(&'static str, String)]) -> usize {
    seen.iter().filter(|(name, _)| name.ends_with("tables::store::catalogue::LIST")).count()
}

async fn many_requests_at_once_build_a_document_once(app: TestApp) {
    app.stay_on_one_node();
    create(&app.service(), "games", &[("title", "text")], json!({})).await;
    let user = app.user().await;
    for actor in [app.anonymous(), (*user).clone(), app.master()] {
        let requests = (0..40).map(|_| {
            let actor = actor.clone();
            async move { actor.get("/openapi.json").await }
        });
        let mut replies = Vec::new();
        let seen = app.statements.during(async { replies = all_at_once(requests).await }).await;
        assert_eq!(times_listed(&seen), 1);
        assert!(replies[0].expect(200)["paths"]["/v8/{projectId}/db/games"].is_object());
        assert!(replies.iter().all(|reply| (reply.status, &reply.body) == (200, &replies[0].body)));
    }
    let again = app.statements.during(app.anonymous().get("/openapi.json")).await;
    assert_eq!(times_listed(&again), 0);
}

async fn every_change_of_a_table_is_in_the_next_document(app: TestApp) {
    let key = app.service();
    let fetch = async |shown: &str, is_shown: bool| {
        for actor in [app.anonymous(), key.clone()] {
            let reply = actor.get("/openapi.json").await;
            assert_eq!(reply.text().contains(shown), is_shown, "{shown}");
        }
        app.anonymous().get("/openapi.json").await.header("etag").unwrap().to_owned()
    };
    let mut tags = vec![fetch("custom_games_Row", false).await];
    create(&key, "games", &[("title", "text")], json!({})).await;
    tags.push(fetch("custom_games_Row", true).await);
    key.post("/db/tables/games/columns", column("publisher", "text")).await.expect(201);
    tags.push(fetch("publisher", true).await);
    key.delete("/db/tables/games/columns/title").await.expect(200);
    tags.push(fetch("publisher", true).await);
    create(&key, "shops", &[("place", "text")], json!({})).await;
    tags.push(fetch("custom_shops_Row", true).await);
    let distinct: std::collections::BTreeSet<&String> = tags.iter().collect();
    assert_eq!(distinct.len(), tags.len(), "{tags:?}");
    // What was refused changes nothing, and the same tables make the same document.
    key.delete("/db/tables/nothing").await.refused(404, "database/table-not-found");
    assert_eq!(fetch("custom_shops_Row", true).await, tags[4]);
    key.delete("/db/tables/shops").await.expect(200);
    assert_eq!(fetch("custom_shops_Row", false).await, tags[3]);
    key.delete("/db/tables/games").await.expect(200);
    assert_eq!(fetch("custom_games_Row", false).await, tags[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_sees_a_changed_table_at_once() {
    let one = TestApp::start(Engine::Postgres, "another_node_sees_a_changed_table_at_once").await;
    let other = one.second_node().await;
    let key = one.service();
    create(&key, "games", &[("title", "text")], json!({})).await;
    for app in [&one, &other] {
        assert!(app.anonymous().get("/openapi.json").await.text().contains("custom_games_Row"));
    }
    key.post("/db/tables/games/columns", column("publisher", "text")).await.expect(201);
    assert!(other.anonymous().get("/openapi.json").await.text().contains("publisher"));
    key.delete("/db/tables/games").await.expect(200);
    assert!(!other.anonymous().get("/openapi.json").await.text().contains("custom_games_Row"));
}

async fn a_client_that_has_the_document_is_not_sent_it_again(app: TestApp) {
    for address in both(&app).await {
        let reply = get(&app.anonymous(), &address).await;
        reply.expect(200);
        let tag = reply.header("etag").unwrap().to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag} is strong");
        let held = [tag.clone(), format!("W/{tag}"), format!("\"old\", {tag}"), "*".to_owned()];
        for held in held {
            let actor = app.anonymous().with_header("If-None-Match", &held);
            let reply = get(&actor, &address).await;
            assert_eq!((reply.status, reply.body.len()), (304, 0), "{held}");
            assert_eq!(reply.header("etag"), Some(tag.as_str()));
            assert!(reply.header("vary").is_some() && reply.header("cache-control").is_some());
        }
        for other in ["\"old\"", "", tag.trim_matches('"')] {
            let actor = app.anonymous().with_header("If-None-Match", other);
            get(&actor, &address).await.expect(200);
        }
    }
}

async fn a_document_is_compressed_for_clients_that_ask_for_it(app: TestApp) {
    for address in both(&app).await {
        let plain = get(&app.anonymous(), &address).await;
        assert_eq!(plain.header("content-encoding"), None);
        for (accepted, is_compressed) in [
            ("gzip", true),
            ("GZIP", true),
            ("x-gzip", true),
            ("deflate, gzip;q=0.5, br", true),
            ("*", true),
            ("gzip;q=0.5, identity;q=0.5", true),
            ("identity;q=0, *;q=0.1", true),
            ("identity", false),
            ("br, deflate", false),
            ("gzip;q=0", false),
            ("gzip; q=0.000, *", false),
            ("gzip;q=0.2, identity;q=0.9", false),
            ("gzip;q=much", false),
            ("", false),
        ] {
            let actor = app.anonymous().with_header("Accept-Encoding", accepted);
            let reply = get(&actor, &address).await;
            let encoding = reply.header("content-encoding");
            assert_eq!(encoding, is_compressed.then_some("gzip"), "{accepted}");
            assert!(reply.header("vary").unwrap().contains("Accept-Encoding"));
            assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
            if !is_compressed {
                assert_eq!(reply.body, plain.body);
                continue;
            }
            assert_eq!(*reply.decoded(), *plain.body);
            assert!(reply.body.len() * 8 < plain.body.len(), "{}", reply.body.len());
            let tag = reply.header("etag").unwrap();
            assert_ne!(Some(tag), plain.header("etag"), "other bytes have another tag");
            let held = actor.with_header("If-None-Match", tag);
            assert_eq!(get(&held, &address).await.status, 304);
        }
    }
}

async fn one_version_is_described_alone(app: TestApp) {
    for version in Version::ALL {
        let name = version.segment();
        let document = get(&app.anonymous(), &format!("{SERVER}?version={name}")).await.expect(200);
        assert_eq!(document, openapi::document(townhall::features::operations(), Some(version)));
        let paths = document["paths"].as_object().unwrap();
        // One address for all versions, because providers of OAuth know it.
        let foreign = |path: &&String| {
            ![OAUTH_CALLBACK, OAUTH_START].contains(&path.as_str())
                && Version::ALL
                    .iter()
                    .any(|one| *one != version && path.starts_with(&format!("/{}/", one.segment())))
        };
        assert_eq!(paths.keys().find(foreign), None);
        assert!(paths.contains_key(&format!("/{name}/{{projectId}}/users/{{userId}}")));
    }
    let all = get(&app.anonymous(), SERVER).await.expect(200);
    assert_eq!(all, openapi::document(townhall::features::operations(), None));
    for wrong in ["v9", "V8", "8", ""] {
        let reply = get(&app.anonymous(), &format!("{SERVER}?version={wrong}")).await;
        reply.refused(400, "server/invalid-query");
    }
}

async fn documents_are_rate_limited(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "0.02")).await;
    for address in [SERVER.to_owned(), app.anonymous().address("/openapi.json")] {
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(get(&app.anonymous(), &address).await.status);
        }
        assert_eq!(statuses, [200, 200, 429], "{address}");
    }
}

async fn operations_share_their_error_replies(app: TestApp) {
    let reply = get(&app.anonymous(), SERVER).await;
    let document = reply.expect(200);
    let operations = document["paths"].as_object().unwrap().values();
    let operations: Vec<&Value> =
        operations.flat_map(|methods| methods.as_object().unwrap().values()).collect();
    for operation in &operations {
        let replies = operation["responses"].as_object().unwrap().iter();
        for (status, reply) in replies.filter(|(status, _)| status.as_str() >= "400") {
            let shared = reply["$ref"].as_str().and_then(|name| document.pointer(&name[1..]));
            let shared = shared.unwrap_or_else(|| panic!("{status} of {operation:#}"));
            assert!(shared["description"].is_string() && shared["content"].is_object());
        }
    }
    // Descriptions and examples included.
    assert!(reply.body.len() < 2_600 * operations.len(), "{}", reply.body.len());
}

#[test]
fn every_operation_is_described_under_every_version() {
    let document = openapi::document(townhall::features::operations(), None);
    for operation in townhall::features::operations() {
        for prefix in openapi::prefixes(operation, None) {
            let method = operation.method.as_str().to_lowercase();
            let path = openapi::documented_path(&prefix, operation);
            let described = &document["paths"][path][method];
            assert!(described["operationId"].is_string(), "{operation:?}");
        }
    }
}

#[test]
fn a_body_that_several_inputs_read_is_described_whole() {
    let document = openapi::document(townhall::features::operations(), Some(Version::V8));
    let create = &document["paths"]["/v8/{projectId}/entities"]["post"];
    let body = &create["requestBody"]["content"]["application/json"]["schema"];
    let parts = body["allOf"].as_array().unwrap().iter();
    let names: Vec<&str> = parts.filter_map(|part| part["$ref"].as_str()).collect();
    let schemas = "#/components/schemas";
    assert_eq!(names, [format!("{schemas}/NewEntity"), format!("{schemas}/EntityFileOptions")]);
}
