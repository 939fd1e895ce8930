//! Cross-origin requests: a project's list decides which pages may call, preflights get a reply, and only the
//! legacy dialect allows credentials (`legacy_cors.rs`).

use http::Method;
use serde_json::json;

use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    without_a_list_every_origin_may_call,
    with_a_list_only_its_origins_may_call,
    the_reset_page_works_whatever_the_list_says,
    an_origin_must_match_exactly,
    a_wildcard_stands_for_one_label_or_more,
    a_preflight_is_answered_everywhere,
    a_preflight_of_an_unlisted_origin_is_refused,
    a_page_may_read_refusals_too,
    no_grant_for_private_networks_or_credentials,
];

const APP: &str = "https://app.example.com";

fn cors_headers(reply: &Reply) -> Vec<String> {
    let names = reply.headers.keys().map(ToString::to_string);
    names.filter(|name| name.starts_with("access-control-")).collect()
}

async fn without_a_list_every_origin_may_call(app: TestApp) {
    for origin in [APP, "http://localhost:3000", "null", "capacitor://localhost"] {
        let reply = app.anonymous().with_header("Origin", origin).get("/projects/lean").await;
        reply.expect(200);
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
    let plain = app.anonymous().get("/projects/lean").await;
    assert_eq!(cors_headers(&plain), [""; 0]);
}

/// A browser posts the form of a page without a referrer from the origin `null`.
async fn the_reset_page_works_whatever_the_list_says(app: TestApp) {
    let user = app.user().await;
    let body = json!({ "email": user.email });
    app.anonymous().post("/auth/request-password-reset", body).await.expect(200);
    let mail = app.next_mail().await;
    let (_, link) = mail.split_once("token=").unwrap();
    let token: String = link.chars().take_while(char::is_ascii_hexdigit).collect();
    app.allow_origins(&[APP]).await;
    let page = app.anonymous().with_header("Origin", "null");
    let json = json!({ "token": token, "newPassword": "battery staple" });
    let refused = page.post("/auth/reset-password", json).await;
    refused.refused(403, "project/origin-not-allowed");
    let address = format!("/v8/{}/auth/reset-password", app.project.id);
    let form = format!("token={token}&newPassword=battery+staple");
    let media = "application/x-www-form-urlencoded";
    let done = page.raw(http::Method::POST, &address, media, form).await;
    done.expect(200);
    assert_eq!(cors_headers(&done), [""; 0]);
}

async fn with_a_list_only_its_origins_may_call(app: TestApp) {
    let user = app.user().await;
    app.allow_origins(&[APP, "http://localhost:3000"]).await;
    for origin in [APP, "http://localhost:3000"] {
        let reply = user.with_header("Origin", origin).get("/oauth/identities").await;
        reply.expect(200);
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    }
    for actor in [&app.anonymous(), &*user, &app.service(), &app.master()] {
        let reply = actor.with_header("Origin", "https://evil.io").get("/projects/lean").await;
        reply.refused(403, "project/origin-not-allowed");
        assert_eq!(cors_headers(&reply), [""; 0]);
        actor.get("/projects/lean").await.expect(200);
    }
    let elsewhere = app.anonymous().in_project(app.other.id);
    elsewhere.with_header("Origin", "https://evil.io").get("/projects/lean").await.expect(200);
}

async fn an_origin_must_match_exactly(app: TestApp) {
    app.allow_origins(&[APP]).await;
    for origin in [
        "null",
        "",
        "https://app.example.com.evil.io",
        "https://evil.io/https://app.example.com",
        "https://sub.app.example.com",
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://app.example.com/",
        "https://app.example.com@evil.io",
        "https://app.example.com, https://app.example.com",
    ] {
        let reply = app.anonymous().with_header("Origin", origin).get("/projects/lean").await;
        reply.refused(403, "project/origin-not-allowed");
        assert_eq!(cors_headers(&reply), [""; 0], "{origin}");
    }
    let twice = app.anonymous().with_header("Origin", APP).with_header("Origin", APP);
    twice.get("/projects/lean").await.refused(403, "project/origin-not-allowed");
}

async fn a_wildcard_stands_for_one_label_or_more(app: TestApp) {
    app.allow_origins(&["https://*.example.com", "http://*.example.org:3000"]).await;
    let get = async |origin: &str| {
        app.anonymous().with_header("Origin", origin).get("/projects/lean").await
    };
    for origin in [
        "https://a.example.com",
        "https://a.b.example.com",
        "https://xn--a-2_1.example.com",
        "http://a.example.org:3000",
    ] {
        let reply = get(origin).await;
        reply.expect(200);
        assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    }
    for origin in [
        "https://example.com",
        "https://.example.com",
        "https://a..example.com",
        "https://.a.example.com",
        "https://evilexample.com",
        "https://a.example.com.evil.io",
        "https://evil.io/.example.com",
        "https://evil.io?.example.com",
        "https://evil.io#.example.com",
        "https://evil.io\\.example.com",
        "https://evil.io:1.example.com",
        "https://ada@a.example.com",
        "https://a.example.com:8443",
        "https://A.example.com",
        "https://*.example.com",
        "http://a.example.com",
        "a.example.com",
        "http://a.example.org",
        "http://a.example.org:30000",
        "null",
    ] {
        let reply = get(origin).await;
        assert_eq!(reply.outcome(), "403 project/origin-not-allowed", "{origin}");
        assert_eq!(cors_headers(&reply), [""; 0], "{origin}");
    }
    let page = app.anonymous().with_header("Origin", "https://a.b.example.com");
    assert_eq!(page.send(Method::OPTIONS, "/users/x", None).await.status, 204);
}

async fn a_preflight_is_answered_everywhere(app: TestApp) {
    let id = app.project.id;
    let page = app
        .anonymous()
        .with_header("Origin", APP)
        .with_header("Access-Control-Request-Method", "PATCH")
        .with_header("Access-Control-Request-Headers", "authorization,content-type");
    for address in [
        format!("/v8/{id}/users/me"),
        format!("/v6/{id}/nowhere"),
        format!("/v8/{}/users", uuid::Uuid::nil()),
        "/anything".to_owned(),
    ] {
        let reply = page.raw(Method::OPTIONS, &address, "", "").await;
        assert_eq!((reply.status, reply.body.len()), (204, 0), "{address}");
        assert_eq!(reply.header("access-control-allow-origin"), Some(APP));
        let methods = "GET,POST,PATCH,PUT,DELETE,OPTIONS";
        assert_eq!(reply.header("access-control-allow-methods"), Some(methods));
        let headers = "authorization,content-type";
        assert_eq!(reply.header("access-control-allow-headers"), Some(headers));
        assert_eq!(reply.header("access-control-max-age"), Some("600"));
        assert_eq!(reply.header("vary"), Some("Origin"));
    }
}

async fn a_preflight_of_an_unlisted_origin_is_refused(app: TestApp) {
    app.allow_origins(&[APP]).await;
    let listed = app.anonymous().with_header("Origin", APP);
    assert_eq!(listed.send(Method::OPTIONS, "/users/x", None).await.status, 204);
    let reply = app.anonymous().with_header("Origin", "https://evil.io");
    let reply = reply.send(Method::OPTIONS, "/users/x", None).await;
    reply.refused(403, "project/origin-not-allowed");
    assert_eq!(cors_headers(&reply), [""; 0]);
}

async fn a_page_may_read_refusals_too(app: TestApp) {
    let page = app.anonymous().with_header("Origin", APP);
    for reply in [
        page.get("/nowhere").await,
        page.get("/users/x").await,
        page.get("/oauth/identities").await,
        page.in_project("x").get("/projects/lean").await,
    ] {
        assert!(reply.status >= 400);
        assert_eq!(reply.header("access-control-allow-origin"), Some(APP));
        let exposed = reply.header("access-control-expose-headers").unwrap();
        for name in ["X-Request-Id", "Retry-After", "X-RateLimit-Remaining"] {
            assert!(exposed.contains(name), "{exposed}");
        }
    }
}

async fn no_grant_for_private_networks_or_credentials(app: TestApp) {
    let page = app
        .anonymous()
        .with_header("Origin", APP)
        .with_header("Access-Control-Request-Method", "GET")
        .with_header("Access-Control-Request-Private-Network", "true");
    for reply in
        [page.send(Method::OPTIONS, "/projects/lean", None).await, page.get("/projects/lean").await]
    {
        assert_eq!(reply.header("access-control-allow-private-network"), None);
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        assert_ne!(reply.header("access-control-allow-origin"), Some("*"));
    }
}
