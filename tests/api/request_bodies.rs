//! Reading requests: JSON and its limits, compressed and oversized bodies, repeated and unknown keys. Nothing
//! here depends on the endpoint but the code of the error.

use http::Method;
use serde_json::{Value, json};

use crate::support::{Reply, TestApp, User, on_both_engines};

on_both_engines![
    a_body_that_is_not_json_is_refused,
    a_body_of_the_wrong_kind_is_refused,
    nesting_is_bounded,
    text_never_holds_nul,
    a_body_of_two_mebibytes_is_the_largest,
    compressed_bodies_are_not_read,
    a_body_without_a_type_is_json,
    unknown_keys_are_ignored,
    the_first_of_repeated_query_keys_counts,
    many_query_keys_do_no_harm,
];

async fn patch(
    app: &TestApp,
    user: &User<'_>,
    media: &str,
    body: impl Into<bytes::Bytes>,
) -> Reply {
    let address = format!("/v8/{}/users/{}", app.project.id, user.id);
    user.raw(Method::PATCH, &address, media, body).await
}

async fn a_body_that_is_not_json_is_refused(app: TestApp) {
    let user = app.user().await;
    let texts: [&[u8]; 9] = [
        b"{",
        b"name=Ada",
        b"{\"name\":\"a\"} trailing",
        b"{'name':'a'}",
        b"{\"name\":\"\xff\"}",
        b"{\"name\":\"\\ud800\"}",
        b"{\"metadata\":{\"n\":1e999}}",
        b"\xef\xbb\xbf{}",
        b" ",
    ];
    for text in texts {
        let reply = patch(&app, &user, "application/json", text).await;
        let body = reply.refused(400, "user/invalid-body");
        assert_eq!(body["error"], "The body is not valid JSON", "{}", text.escape_ascii());
    }
    let sign_in = app.anonymous();
    let address = format!("/v8/{}/auth/sign-in", app.project.id);
    let reply = sign_in.raw(Method::POST, &address, "application/json", "{").await;
    reply.refused(400, "auth/invalid-credentials");
}

async fn a_body_of_the_wrong_kind_is_refused(app: TestApp) {
    let user = app.user().await;
    // The fields of a sign-in in their order: an array must not pass for an object.
    let positional = json!([user.email, User::PASSWORD]);
    let reply = app.anonymous().post("/auth/sign-in", positional).await;
    let text = reply.refused(400, "auth/invalid-credentials")["error"].to_string();
    assert!(!text.contains("struct"), "{text}");
    for wrong in [json!(1), json!("x"), json!(null), json!(false), json!([])] {
        let reply = app.anonymous().post("/auth/sign-up", wrong.clone()).await;
        let text = reply.refused(400, "auth/invalid-body")["error"].to_string();
        assert!(!text.contains("struct"), "{wrong}: {text}");
    }
}

async fn nesting_is_bounded(app: TestApp) {
    let user = app.user().await;
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"metadata":{{"a":{open}{close}}}}}"#)
    };
    patch(&app, &user, "application/json", nested(62)).await.expect(200);
    let seen = app.anonymous().get(&format!("/users/{}", user.id)).await;
    assert_eq!(seen.status, 200);
    for levels in [63, 1_000, 100_000] {
        let reply = patch(&app, &user, "application/json", nested(levels)).await;
        reply.refused(400, "user/invalid-body");
    }
    let only_open = patch(&app, &user, "application/json", "[".repeat(1_000_000)).await;
    only_open.refused(400, "user/invalid-body");
}

async fn text_never_holds_nul(app: TestApp) {
    let user = app.user().await;
    for body in [
        r#"{"name":"a\u0000b"}"#,
        r#"{"metadata":{"a\u0000":1}}"#,
        r#"{"metadata":{"a":["\u0000"]}}"#,
        "{\"name\":\"a\0b\"}",
    ] {
        let reply = patch(&app, &user, "application/json", body).await;
        reply.refused(400, "user/invalid-body");
    }
    let escaped = patch(&app, &user, "application/json", r#"{"name":"a\\u0000b"}"#).await;
    assert_eq!(escaped.expect(200)["name"], "a\\u0000b");
    let control = patch(&app, &user, "application/json", r#"{"name":"a\u0001\u001b[31mb"}"#).await;
    assert_eq!(control.expect(200)["name"], "a\u{1}\u{1b}[31mb");
}

async fn a_body_of_two_mebibytes_is_the_largest(app: TestApp) {
    let user = app.user().await;
    let body = |length: usize| format!(r#"{{"name":"Ada"}}{}"#, " ".repeat(length - 14));
    let limit = 2 * 1024 * 1024;
    patch(&app, &user, "application/json", body(limit)).await.expect(200);
    let refused = patch(&app, &user, "application/json", body(limit + 1)).await;
    refused.refused(413, "request/body-too-large");
}

async fn compressed_bodies_are_not_read(app: TestApp) {
    let user = app.user().await;
    let address = format!("/v8/{}/users/{}", app.project.id, user.id);
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, identity"] {
        let actor = user.with_header("Content-Encoding", encoding);
        let reply = actor.raw(Method::PATCH, &address, "application/json", "{}").await;
        reply.refused(415, "request/unsupported-encoding");
    }
    let plain = user.with_header("Content-Encoding", "identity");
    plain.raw(Method::PATCH, &address, "application/json", "{}").await.expect(200);
}

async fn a_body_without_a_type_is_json(app: TestApp) {
    let user = app.user().await;
    for media in ["", "text/plain", "application/json; charset=utf-8", "application/octet-stream"] {
        let reply = patch(&app, &user, media, r#"{"name":"Ada"}"#).await;
        assert_eq!(reply.expect(200)["name"], "Ada", "{media}");
    }
}

async fn unknown_keys_are_ignored(app: TestApp) {
    let user = app.user().await;
    let body = json!({ "name": "Ada", "__proto__": { "role": "admin" }, "nested": { "a": [1] } });
    assert_eq!(
        patch(&app, &user, "application/json", body.to_string()).await.expect(200)["name"],
        "Ada"
    );
    let path = format!("/users/{}?unknown=1&role[$ne]=x&include=nothing,&=&&a", user.id);
    app.anonymous().get(&path).await.expect(200);
}

async fn the_first_of_repeated_query_keys_counts(app: TestApp) {
    app.user().await;
    let first = "/users/by-username?username=user0&username=nobody";
    app.anonymous().get(first).await.expect(200);
    let last = "/users/by-username?username=nobody&username=user0";
    app.anonymous().get(last).await.refused(404, "user/not-found");
    let encoded = "/users/by-username?user%6eame=user0&username=nobody";
    app.anonymous().get(encoded).await.expect(200);
}

async fn many_query_keys_do_no_harm(app: TestApp) {
    let user = app.user().await;
    let names = vec!["x"; 2_000].join(",");
    let path = format!("/users/{}?include={names}", user.id);
    app.anonymous().get(&path).await.expect(200);
    let keys = (0..1_000).map(|n| format!("k{n}=1")).collect::<Vec<_>>().join("&");
    let path = format!("/users/{}?{keys}", user.id);
    let shown: Value = app.anonymous().get(&path).await.expect(200);
    assert_eq!(shown["id"], user.id.to_string());
    let too_long = format!("/users/{}?include={}", user.id, "x,".repeat(5_000));
    app.anonymous().get(&too_long).await.refused(414, "request/uri-too-long");
}
