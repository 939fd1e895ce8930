//! Compressed replies: negotiated with the client, never for small replies, stored files or secrets.

use http::Method;
use serde_json::{Value, json};

use crate::support::feed::{feed, post};
use crate::support::{Actor, Form, Part, Reply, TestApp, local_part, on_both_engines};

on_both_engines![
    each_coding_decodes_to_the_same_reply,
    the_client_chooses_by_weight,
    vary_names_every_header_that_decides,
    replies_to_writes_are_compressed_too,
    a_large_reply_is_compressed,
    small_replies_are_sent_as_they_are,
    replies_with_secrets_are_never_compressed,
    stored_files_are_sent_as_they_are,
];

const CODINGS: [&str; 3] = ["zstd", "br", "gzip"];

fn accepting<'a>(actor: &Actor<'a>, codings: &str) -> Actor<'a> {
    actor.with_header("Accept-Encoding", codings)
}

/// A feed of posts with a few sentences each.
async fn seed(app: &TestApp, count: usize) {
    let ada = app.user().await;
    for number in 0..count {
        let content = format!("Tomato {number} has ripened. ").repeat(12);
        post(app, &ada, json!({ "title": format!("Day {number}"), "content": content })).await;
    }
}

/// Announces its length, and has it.
#[track_caller]
fn assert_coding(reply: &Reply, coding: Option<&str>) {
    assert_eq!(reply.header("content-encoding"), coding);
    assert_eq!(reply.header("content-length"), Some(reply.body.len().to_string().as_str()));
}

async fn each_coding_decodes_to_the_same_reply(app: TestApp) {
    seed(&app, 20).await;
    let list = feed("limit=20&include=user");
    for actor in [app.anonymous(), app.anonymous().v7(), app.anonymous().v6()] {
        let plain = actor.get(&list).await;
        assert_eq!(plain.expect(200)["data"].as_array().unwrap().len(), 20);
        assert_coding(&plain, None);
        for coding in CODINGS {
            let reply = accepting(&actor, coding).get(&list).await;
            assert_coding(&reply, Some(coding));
            assert_eq!(*reply.decoded(), *plain.body, "{coding}");
            assert!(reply.body.len() * 4 < plain.body.len(), "{coding} {}", reply.body.len());
            for name in ["content-type", "cache-control", "x-content-type-options"] {
                assert_eq!(reply.header(name), plain.header(name), "{coding} {name}");
            }
        }
    }
}

async fn the_client_chooses_by_weight(app: TestApp) {
    seed(&app, 2).await;
    for (accepted, coding) in [
        ("gzip, deflate, br, zstd", Some("zstd")),
        ("gzip, deflate, br", Some("br")),
        ("gzip, deflate", Some("gzip")),
        ("gzip, zstd;q=0.5", Some("gzip")),
        ("zstd;q=0, *", Some("br")),
        ("*;q=0.1", Some("zstd")),
        ("identity;q=0, gzip;q=0.1", Some("gzip")),
        ("identity, gzip;q=0.5", None),
        ("zstd;q=0, br;q=0, gzip;q=0", None),
        ("identity;q=0, *;q=0", None),
        ("gzip;q=high", None),
        ("deflate", None),
        ("", None),
    ] {
        let reply = accepting(&app.anonymous(), accepted).get("/entities").await;
        reply.expect(200);
        assert_eq!(reply.header("content-encoding"), coding, "{accepted}");
    }
    let lines = accepting(&accepting(&app.anonymous(), "br;q=0.5"), "gzip");
    assert_coding(&lines.get("/entities").await, Some("gzip"));
}

async fn vary_names_every_header_that_decides(app: TestApp) {
    seed(&app, 2).await;
    let page = app.anonymous().with_header("Origin", "https://app.example.com");
    for accepted in ["zstd", "identity", ""] {
        let reply = accepting(&page, accepted).get("/entities").await;
        assert_eq!(reply.header("vary"), Some("Accept-Encoding, Origin"), "{accepted}");
        let reply = accepting(&app.anonymous(), accepted).get("/entities").await;
        assert_eq!(reply.header("vary"), Some("Accept-Encoding"), "{accepted}");
    }
    // The same for every coding, since nothing of it is compressed.
    assert_eq!(accepting(&page, "zstd").get("/projects/lean").await.header("vary"), Some("Origin"));
    let document = page.get("/openapi.json").await;
    assert_eq!(document.header("vary"), Some("Authorization, Accept-Encoding, Origin"));
    assert_eq!(document.headers.get_all("vary").iter().count(), 1);
}

async fn replies_to_writes_are_compressed_too(app: TestApp) {
    let ada = app.user().await;
    let new = json!({ "title": "Long", "content": "ripe tomatoes ".repeat(100) });
    for coding in CODINGS {
        let reply = accepting(&ada, coding).post("/entities", new.clone()).await;
        assert_eq!(reply.expect(201)["content"], new["content"]);
        assert_coding(&reply, Some(coding));
        assert_eq!(reply.header("etag"), None);
    }
}

async fn a_large_reply_is_compressed(app: TestApp) {
    let ada = app.user().await;
    for number in 0..10 {
        let content = format!("{number} ripe tomatoes ").repeat(1200);
        post(&app, &ada, json!({ "content": content })).await;
    }
    let list = feed("limit=10");
    let plain = app.anonymous().get(&list).await;
    plain.expect(200);
    assert!(plain.body.len() > 160_000, "{}", plain.body.len());
    for coding in CODINGS {
        let reply = accepting(&app.anonymous(), coding).get(&list).await;
        assert_coding(&reply, Some(coding));
        assert_eq!(*reply.decoded(), *plain.body, "{coding}");
    }
}

async fn small_replies_are_sent_as_they_are(app: TestApp) {
    let any = accepting(&app.anonymous(), "zstd, br, gzip, identity;q=0");
    for reply in [
        any.get("/projects/lean").await,
        any.get("/entities").await,
        any.get("/users/x").await,
        any.raw(Method::GET, "/livez", "", "").await,
    ] {
        assert!(!reply.body.is_empty() && reply.body.len() <= 1024, "{}", reply.text());
        assert_coding(&reply, None);
        assert_eq!(reply.header("vary"), None);
    }
}

async fn replies_with_secrets_are_never_compressed(app: TestApp) {
    let ada = app.user().await;
    let any = accepting(&ada, "zstd, br, gzip");
    let bio = "ripe tomatoes ".repeat(20);
    let profile = json!({ "bio": bio, "metadata": { "garden": "tomatoes ".repeat(200) } });
    let changed = any.patch(&format!("/users/{}", ada.id), profile).await;
    let login = json!({ "email": ada.email, "password": crate::support::User::PASSWORD });
    let signed_in = any.post("/auth/sign-in", login).await;
    assert!(signed_in.expect(200)["accessToken"].is_string());
    for reply in [changed, signed_in] {
        reply.expect(200);
        assert!(reply.body.len() > 1024, "{}", reply.text());
        assert_coding(&reply, None);
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!((reply.header("etag"), reply.header("vary")), (None, None));
    }
    // Every operation that replies with a token says that it must not be stored.
    let document = townhall::http::openapi::document(townhall::features::operations(), None);
    let schemas = &document["components"]["schemas"];
    for operation in townhall::features::operations() {
        for prefix in townhall::http::openapi::prefixes(operation, None) {
            let path = townhall::http::openapi::documented_path(&prefix, operation);
            let method = operation.method.as_str().to_lowercase();
            let responses = &document["paths"][path][method]["responses"];
            let shows_token = ["200", "201"].iter().any(|status| {
                let media = &responses[*status]["content"]["application/json"]["schema"];
                has_token(media, schemas)
            });
            assert!(!shows_token || operation.no_store, "{operation:?}");
        }
    }
}

/// Whether a reply of this schema has a token of a session.
fn has_token(schema: &Value, schemas: &Value) -> bool {
    let named = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
    let schema = named.map_or(schema, |name| &schemas[name]);
    ["accessToken", "refreshToken"].iter().any(|name| schema["properties"][*name].is_object())
}

async fn stored_files_are_sent_as_they_are(app: TestApp) {
    let text = "ripe tomatoes ".repeat(500);
    let bytes = text.as_bytes();
    let part = Part { name: "file", file: "a.txt", mime: "text/plain; charset=utf-8", bytes };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    let file = app.service().post_form("/storage", &form).await.expect(201);
    let url = local_part(file["publicPath"].as_str().unwrap());
    let any = accepting(&app.anonymous(), "zstd, br, gzip");
    let whole = any.open(url).await;
    assert_eq!((whole.status, &whole.body[..]), (200, bytes));
    let part = any.with_header("range", "bytes=0-1999").open(url).await;
    assert_eq!((part.status, &part.body[..]), (206, &bytes[..2000]));
    for reply in [whole, part] {
        assert_coding(&reply, None);
        assert_eq!(reply.header("vary"), None);
    }
}
