//! Reports, metadata of pages and uploads in the legacy dialect.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::http::query::percent_encode;

use crate::comments::id_of;
use crate::legacy_entities::has;
use crate::reactions::publish;
use crate::support::site::{Site, html};
use crate::support::{Actor, Form, Part, Reply, TestApp, on_both_engines};

on_both_engines![
    any_text_is_a_reason_to_report,
    metadata_of_a_page_needs_no_user,
    the_operator_closes_metadata_of_pages,
    the_address_of_an_upload_lasts,
];

async fn any_text_is_a_reason_to_report(app: TestApp) {
    let (author, reader, other) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let report = |reason: &str, details: Value| {
        let target = id_of(&entity);
        json!({ "targetId": target, "targetType": "Entity", "reason": reason, "details": details })
    };
    let made = reader.legacy().post("/reports", report("It is rude", json!("twice"))).await;
    assert_eq!(made.expect(201)["code"], "report/created");
    let joined = other.legacy().post("/reports", report("spam", Value::Null)).await;
    assert_eq!(joined.expect(200)["code"], "report/updated");
    let again = other.legacy().post("/reports", report("Other words", Value::Null)).await;
    assert_eq!(again.expect(200)["code"], "report/already-reported");
    let reports = crate::reports::reports(&app, "").await;
    let mut said: Vec<String> = reports[0]["userReports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["reason"], one["details"]]).to_string())
        .collect();
    said.sort_unstable();
    assert_eq!(said, [r#"["other","It is rude\ntwice"]"#, r#"["spam",null]"#]);
    let common = reader.v6().post("/reports", report("It is rude", Value::Null)).await;
    common.refused(400, "report/invalid-body");
}

async fn ask(actor: &Actor<'_>, url: &str) -> Reply {
    actor.get(&format!("/utils/get-metadata?url={}", percent_encode(url))).await
}

async fn metadata_of_a_page_needs_no_user(app: TestApp) {
    let allow = |config: &mut crate::support::TestConfig| {
        config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
    };
    let app = app.restart_with(allow).await;
    let site = Site::open(&[("/", html("<title>Title</title>"))]).await;
    let url = site.url("/");
    for actor in [app.anonymous(), app.bearer("null"), app.bearer("x.y.z"), app.service()] {
        let found = ask(&actor.legacy(), &url).await.expect(200);
        assert_eq!(found["title"], "Title");
    }
    ask(&app.anonymous().v6(), &url).await.says(401, "Unauthorized");
    // The guards hold as everywhere.
    for private in ["http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/"] {
        let refused = ask(&app.anonymous().legacy(), private).await;
        refused.refused(422, "utils/metadata-extraction-failed");
    }
}

async fn the_operator_closes_metadata_of_pages(app: TestApp) {
    let closed = |config: &mut crate::support::TestConfig| {
        config.set("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
        config.set("TOWNHALL_ANONYMOUS_LINK_PREVIEWS", "off");
    };
    let app = app.restart_with(closed).await;
    let site = Site::open(&[("/", html("<title>Title</title>"))]).await;
    let url = site.url("/");
    ask(&app.anonymous().legacy(), &url).await.says(401, "Unauthorized");
    ask(&app.bearer("null").legacy(), &url).await.says(403, "Forbidden");
    ask(&app.user().await.legacy(), &url).await.expect(200);
}

async fn the_address_of_an_upload_lasts(app: TestApp) {
    let user = app.user().await;
    let file = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form = Form::new().file(file).json("pathParts", json!(["a"]));
    let stored = user.legacy().post_form("/storage", &form).await.expect(201);
    has(&stored, "fileId relativePath publicPath");
    let address = stored["publicPath"].as_str().unwrap();
    assert!(!address.contains("expires"), "{address}");
    let common = user.v6().post_form("/storage", &form).await.expect(201);
    app.advance(Duration::from_hours(24 * 3650));
    let opened = app.anonymous().open(address).await;
    assert_eq!((opened.status, opened.text().as_str()), (200, "hello"));
    let expired = app.anonymous().open(common["publicPath"].as_str().unwrap()).await;
    expired.refused(403, "storage/invalid-signature");
    let (id, other) = (stored["fileId"].as_str().unwrap(), common["fileId"].as_str().unwrap());
    let forged = app.anonymous().open(&address.replace(id, other)).await;
    forged.refused(403, "storage/invalid-signature");
    // It ends with the file.
    app.service().delete(&format!("/storage/{id}")).await.expect(200);
    app.anonymous().open(address).await.refused(404, "storage/file-not-found");
}
