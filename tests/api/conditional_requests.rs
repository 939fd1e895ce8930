//! `ETag` and `If-None-Match` on fetches and lists: a client that has a reply gets 304, and never after
//! anything in the reply has changed.

use db::Engine;
use http::Method;
use serde_json::{Value, json};

use crate::entities::{create, path};
use crate::entity_views::{flush, stored};
use crate::support::{Actor, Reply, TestApp, on_both_engines, wire};

on_both_engines![
    an_unchanged_reply_is_not_sent_again,
    not_modified_has_no_body_and_keeps_its_headers,
    each_coding_has_a_tag_of_its_own,
    the_tag_of_an_entity_changes_with_all_that_it_shows,
    the_tag_of_a_list_changes_with_all_that_it_shows,
    viewers_with_different_replies_have_different_tags,
    a_view_is_counted_whatever_the_client_has,
    other_replies_have_no_tag,
];

fn tag(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("etag").unwrap().to_owned()
}

async fn holding(actor: &Actor<'_>, tag: &str, path: &str) -> Reply {
    actor.with_header("If-None-Match", tag).get(path).await
}

/// The reply's tag, which must not be `before`: what a client has that holds it is out of date.
async fn changed(actor: &Actor<'_>, path: &str, before: &str) -> String {
    let after = tag(&holding(actor, before, path).await);
    assert_ne!(after, before);
    assert_eq!(holding(actor, &after, path).await.status, 304);
    after
}

async fn an_unchanged_reply_is_not_sent_again(app: TestApp) {
    let ada = app.user().await;
    let entity = create(&ada, json!({ "title": "Tomatoes" })).await;
    let comment = json!({ "entityId": entity["id"], "content": "Ripe." });
    ada.post("/comments", comment).await.expect(201);
    let comments = format!("/comments?entityId={}", entity["id"].as_str().unwrap());
    let user = format!("/users/{}", ada.id);
    for path in ["/entities", &comments, &user, "/projects/lean"] {
        for actor in [ada.v6(), ada.v7(), (*ada).clone()] {
            let first = actor.get(path).await;
            let tag = tag(&first);
            assert!(tag.starts_with('"') && tag.len() == 34, "{tag}");
            assert_eq!(first.header("cache-control"), Some("private, no-cache"), "{path}");
            for held in [&tag, &format!("W/{tag}"), &format!("\"old\", {tag}"), "*"] {
                assert_eq!(holding(&actor, held, path).await.status, 304, "{path} {held}");
            }
            for held in ["\"old\"", "", "\"a,*\"", tag.trim_matches('"')] {
                let reply = holding(&actor, held, path).await;
                assert_eq!((reply.status, &reply.body), (200, &first.body), "{path} {held}");
            }
        }
    }
}

async fn not_modified_has_no_body_and_keeps_its_headers(app: TestApp) {
    create(&app.service(), json!({ "content": "ripe tomatoes ".repeat(100) })).await;
    let page = app.anonymous().with_header("Origin", "https://app.example.com");
    let first = page.get("/entities").await;
    let tag = tag(&first);
    let again = holding(&page, &tag, "/entities").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    for name in ["content-type", "content-length", "content-encoding"] {
        assert_eq!(again.header(name), None, "{name}");
    }
    for name in [
        "etag",
        "cache-control",
        "vary",
        "access-control-allow-origin",
        "access-control-expose-headers",
        "x-content-type-options",
    ] {
        assert!(again.header(name).is_some(), "{name}");
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    assert!(again.header("x-request-id").is_some() && again.header("date").is_some());

    // As bytes: the connection is usable after it.
    let address = app.anonymous().address("/entities");
    let plain = app.anonymous().get("/entities").await;
    let held = plain.header("etag").unwrap();
    let mut stream = wire::connect(&app);
    for _ in 0..2 {
        wire::send(&mut stream, &wire::get(&address, &format!("If-None-Match: {held}\r\n")));
        let head = wire::one_head(&mut stream);
        assert_eq!(wire::status(&head), "304");
        assert!(!head.contains("transfer-encoding"), "{head}");
    }
}

async fn each_coding_has_a_tag_of_its_own(app: TestApp) {
    create(&app.service(), json!({ "content": "ripe tomatoes ".repeat(100) })).await;
    let codings = ["identity", "gzip", "br", "zstd"];
    let actors = codings.map(|coding| app.anonymous().with_header("Accept-Encoding", coding));
    let mut tags = Vec::new();
    for actor in &actors {
        tags.push(tag(&actor.get("/entities").await));
    }
    for (tag, coding) in tags.iter().zip(codings) {
        let ending = if coding == "identity" { "\"".to_owned() } else { format!("-{coding}\"") };
        assert!(tag.ends_with(&ending), "{tag}");
        for (actor, accepted) in actors.iter().zip(codings) {
            let status = holding(actor, tag, "/entities").await.status;
            assert_eq!(status, if accepted == coding { 304 } else { 200 }, "{tag} {accepted}");
        }
    }
}

/// Fetched under v6, where a fetch is not a view.
async fn the_tag_of_an_entity_changes_with_all_that_it_shows(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = create(&ada, json!({ "title": "Tomatoes" })).await;
    let (path, viewer) = (path(&entity), ada.v6());
    let shown = format!("{path}?include=user");
    let mut tag = tag(&viewer.get(&shown).await);
    ada.patch(&path, json!({ "title": "Ripe tomatoes" })).await.expect(200);
    tag = changed(&viewer, &shown, &tag).await;
    let reactions = format!("{path}/reactions");
    for actor in [&grace, &ada] {
        actor.post(&reactions, json!({ "reactionType": "love" })).await.expect(200);
        tag = changed(&viewer, &shown, &tag).await;
    }
    ada.delete(&reactions).await.expect(200);
    tag = changed(&viewer, &shown, &tag).await;
    let comment = json!({ "entityId": entity["id"], "content": "Ripe." });
    grace.post("/comments", comment).await.expect(201);
    tag = changed(&viewer, &shown, &tag).await;
    let profile = json!({ "update": { "name": "Ada Lovelace" } });
    viewer.patch(&format!("/users/{}", ada.id), profile).await.expect(200);
    tag = changed(&viewer, &shown, &tag).await;
    grace.get(&path).await.expect(200);
    flush(&app).await;
    tag = changed(&viewer, &shown, &tag).await;
    ada.delete(&path).await.expect(204);
    let gone = holding(&viewer, &tag, &shown).await;
    assert_eq!((gone.status, gone.header("etag")), (404, None));
}

async fn the_tag_of_a_list_changes_with_all_that_it_shows(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = create(&ada, json!({ "title": "Tomatoes" })).await;
    for viewer in [(*grace).clone(), grace.v7(), grace.v6()] {
        let mut tag = tag(&viewer.get("/entities").await);
        let second = create(&ada, json!({ "title": "Beans" })).await;
        tag = changed(&viewer, "/entities", &tag).await;
        let reactions = format!("{}/reactions", path(&entity));
        grace.post(&reactions, json!({ "reactionType": "like" })).await.expect(200);
        tag = changed(&viewer, "/entities", &tag).await;
        grace.delete(&reactions).await.expect(200);
        tag = changed(&viewer, "/entities", &tag).await;
        ada.delete(&path(&second)).await.expect(204);
        changed(&viewer, "/entities", &tag).await;
    }
}

async fn viewers_with_different_replies_have_different_tags(app: TestApp) {
    let (ada, grace) = (app.user().await, app.user().await);
    let entity = create(&ada, json!({ "title": "Tomatoes" })).await;
    let reactions = format!("{}/reactions", path(&entity));
    grace.post(&reactions, json!({ "reactionType": "like" })).await.expect(200);
    let hers = tag(&grace.get("/entities").await);
    for other in [(*ada).clone(), app.anonymous(), app.service()] {
        let reply = holding(&other, &hers, "/entities").await;
        assert_eq!(reply.expect(200)["data"][0]["userReaction"], Value::Null);
    }
    assert_eq!(holding(&grace, &hers, "/entities").await.status, 304);
    // The project's other users get the same reply, but those of another project do not.
    let stranger = app.stranger().await;
    assert_eq!(holding(&stranger, &hers, "/entities").await.status, 200);
}

async fn a_view_is_counted_whatever_the_client_has(app: TestApp) {
    app.stay_on_one_node();
    let entity = create(&app.service(), json!({})).await;
    let first = app.anonymous().get(&path(&entity)).await;
    assert_eq!(first.expect(200)["views"], 2);
    // Each fetch of v7 and v8 shows one more view, so the reply is a new one.
    let second = holding(&app.anonymous(), &tag(&first), &path(&entity)).await;
    assert_eq!(second.expect(200)["views"], 3);
    assert_eq!(holding(&app.anonymous(), "*", &path(&entity)).await.status, 304);
    flush(&app).await;
    assert_eq!(stored(&app).await["views"], 4);
}

async fn other_replies_have_no_tag(app: TestApp) {
    let ada = app.user().await;
    let any = ada.with_header("If-None-Match", "*");
    for reply in [
        any.post("/entities", json!({ "title": "Tomatoes" })).await,
        any.get("/entities/x").await,
        any.get("/nowhere").await,
        any.get("/connections").await,
        any.raw(Method::GET, "/readyz", "", "").await,
        any.raw(Method::GET, "/livez", "", "").await,
    ] {
        assert_ne!(reply.status, 304);
        assert_eq!(reply.header("etag"), None, "{} {}", reply.status, reply.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_agree_on_tags() {
    let one = TestApp::start(Engine::Postgres, "nodes_agree_on_tags").await;
    let other = one.second_node().await;
    create(&one.service(), json!({ "title": "Tomatoes" })).await;
    let tag = tag(&one.anonymous().get("/entities").await);
    assert_eq!(holding(&other.anonymous(), &tag, "/entities").await.status, 304);
}
