//! Cross-origin requests in the legacy dialect: every reply lets the page that asked send cookies.

use http::Method;
use serde_json::json;

use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    every_reply_allows_credentials,
    a_preflight_names_the_methods_and_headers,
    a_page_that_is_not_listed_gets_no_grant,
    other_addresses_allow_no_credentials,
    a_limited_reply_can_be_read,
];

const APP: &str = "https://app.example.com";

fn allows(reply: &Reply, what: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), Some(APP), "{what}");
    assert_eq!(reply.header("access-control-allow-credentials"), Some("true"), "{what}");
    assert!(reply.header("vary").is_some_and(|vary| vary.contains("Origin")), "{what}");
}

async fn every_reply_allows_credentials(app: TestApp) {
    let user = app.user().await;
    let (id, unknown) = (app.project.id, uuid::Uuid::nil());
    for (status, address) in [
        (200, format!("/api/v6/{id}/entities")),
        (200, format!("/api/v5/{id}/entities")),
        (200, "/api/v6/connections".to_owned()),
        (200, format!("/api/v6/{id}/spaces")),
        (200, format!("/internal/projects/{id}/lean")),
        (400, format!("/api/v6/{id}/entities?limit=x")),
        (400, "/api/v6/x/entities".to_owned()),
        (404, format!("/api/v6/{id}/nowhere")),
        (404, format!("/api/v6/{id}/%zz")),
        (404, format!("/api/v6/{unknown}/entities")),
        (404, format!("/api/v6/{id}/entities/{unknown}")),
        (403, format!("/internal/files/{id}/x/{unknown}/y?signature=1")),
        (404, "/internal/nowhere".to_owned()),
    ] {
        let page = user.with_header("Origin", APP);
        let reply = page.raw(Method::GET, &address, "", "").await;
        assert_eq!(reply.status, status, "{address}: {}", reply.text());
        allows(&reply, &address);
    }
    for bearer in ["null", "x.y.z"] {
        let page = app.bearer(bearer).legacy().with_header("Origin", APP);
        let reply = page.get("/lists/root").await;
        reply.says(403, "Forbidden");
        allows(&reply, bearer);
    }
    let anonymous = app.anonymous().legacy().with_header("Origin", APP).get("/lists/root").await;
    anonymous.says(401, "Unauthorized");
    allows(&anonymous, "anonymous");
    let plain = user.legacy().get("/entities").await;
    assert_eq!(plain.header("access-control-allow-credentials"), None);
}

async fn a_preflight_names_the_methods_and_headers(app: TestApp) {
    let id = app.project.id;
    let page = app.anonymous().with_header("Origin", APP);
    for address in [
        format!("/api/v6/{id}/entities"),
        format!("/api/v5/{id}/nowhere"),
        "/api/v6/connections/count".to_owned(),
        format!("/internal/projects/{id}/lean"),
        "/internal/crypto/sign-testing-jwt".to_owned(),
    ] {
        let reply = page.raw(Method::OPTIONS, &address, "", "").await;
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{address}");
        allows(&reply, &address);
        let methods = "GET,POST,PATCH,DELETE,OPTIONS";
        assert_eq!(reply.header("access-control-allow-methods"), Some(methods), "{address}");
        let headers = "Authorization, Content-Type";
        assert_eq!(reply.header("access-control-allow-headers"), Some(headers), "{address}");
        assert_eq!(reply.header("access-control-max-age"), Some("600"), "{address}");
    }
    let asks = page.with_header("Access-Control-Request-Headers", "x-custom");
    let reply = asks.legacy().send(Method::OPTIONS, "/entities", None).await;
    let headers = "Authorization, Content-Type, x-custom";
    assert_eq!(reply.header("access-control-allow-headers"), Some(headers));
}

async fn a_page_that_is_not_listed_gets_no_grant(app: TestApp) {
    app.allow_origins(&[APP]).await;
    for method in [Method::OPTIONS, Method::GET] {
        let page = app.anonymous().legacy().with_header("Origin", "https://evil.example");
        let reply = page.send(method.clone(), "/entities", None).await;
        reply.refused(403, "project/origin-not-allowed");
        let mut names = reply.headers.keys().map(ToString::to_string);
        assert!(!names.any(|name| name.starts_with("access-control-")), "{method}");
    }
    let listed = app.anonymous().legacy().with_header("Origin", APP).get("/entities").await;
    allows(&listed, "listed");
}

async fn other_addresses_allow_no_credentials(app: TestApp) {
    let id = app.project.id;
    let page = app.anonymous().with_header("Origin", APP);
    for address in [
        format!("/v6/{id}/entities"),
        format!("/{id}/api/v6/entities"),
        format!("/api/v7/{id}/entities"),
        format!("/v8/{id}/entities"),
        "/livez".to_owned(),
    ] {
        for method in [Method::GET, Method::OPTIONS] {
            let reply = page.raw(method, &address, "", "").await;
            assert_eq!(reply.header("access-control-allow-origin"), Some(APP), "{address}");
            assert_eq!(reply.header("access-control-allow-credentials"), None, "{address}");
        }
    }
}

async fn a_limited_reply_can_be_read(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let page = app.anonymous().legacy().with_header("Origin", APP);
    let mut last = page.post("/auth/sign-up", json!({})).await;
    for _ in 0..5 {
        last = page.post("/auth/sign-up", json!({})).await;
    }
    assert_eq!(last.status, 429);
    allows(&last, "limited");
    // Preflights are not counted.
    let preflight = page.send(Method::OPTIONS, "/auth/sign-up", None).await;
    assert_eq!(preflight.status, 204);
}
