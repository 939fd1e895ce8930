//! A service or master key with an `Origin` header was sent by a web page, and so is leaked: it is refused,
//! unless the page is the server's own or the project allows it.

use http::Method;
use serde_json::json;

use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    a_key_from_a_page_is_refused,
    the_servers_own_pages_may_use_keys,
    a_project_may_allow_keys_in_pages,
    where_credentials_are_ignored_a_key_from_a_page_is_none,
    a_listed_origin_is_no_permission_for_keys,
];

const PAGE: &str = "https://app.example.com";
/// Where the test's server says it is.
const OWN: &str = "https://community.example";

fn on_page<'a>(actor: &Actor<'a>, origin: &str) -> Actor<'a> {
    actor.with_header("Origin", origin)
}

/// One operation of each kind that knows keys.
async fn calls(actor: &Actor<'_>) -> Vec<Reply> {
    let unknown = "/users/01234567-89ab-4def-8123-456789abcdef";
    vec![
        actor.get("/entities").await,
        actor.post("/entities", json!({})).await,
        actor.delete(unknown).await,
        actor.post("/auth/change-password", json!({})).await,
        actor.get("/oauth/identities").await,
    ]
}

async fn verify_service_key(app: &TestApp, actor: &Actor<'_>) -> Reply {
    let named = actor.with_header("X-Sublay-Project-ID", &app.project.id.to_string());
    named.raw(Method::GET, "/internal/service/verify", "", "").await
}

async fn a_key_from_a_page_is_refused(app: TestApp) {
    for key in [app.service(), app.master()] {
        for origin in
            [PAGE, "http://localhost:3000", "null", "", "https://community.example.evil.io"]
        {
            let page = on_page(&key, origin);
            for actor in [page.v6(), page.v7(), page.clone()] {
                for reply in calls(&actor).await {
                    reply.refused(403, "auth/key-in-browser");
                    let allowed = reply.header("access-control-allow-origin");
                    assert_eq!(allowed, Some(origin), "the page may read why");
                }
            }
            verify_service_key(&app, &page).await.refused(403, "auth/key-in-browser");
        }
        let twice = on_page(&on_page(&key, OWN), OWN);
        twice.get("/entities").await.refused(403, "auth/key-in-browser");
        let statuses: Vec<u16> = calls(&key).await.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [200, 201, 404, 400, 401], "without a page");
        verify_service_key(&app, &key).await.expect(200);
    }
    // What is no key of the project is a bad token, and a user's token belongs into pages.
    let unknown = on_page(&app.bearer("thk_service_unknown"), PAGE);
    unknown.get("/oauth/identities").await.says(403, "Forbidden");
    let user = app.user().await;
    on_page(&user, PAGE).get("/oauth/identities").await.expect(200);
    let listed = app.anonymous().get("/entities").await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 2, "nothing was written by a page");
}

async fn the_servers_own_pages_may_use_keys(app: TestApp) {
    for key in [app.service(), app.master()] {
        on_page(&key, OWN).get("/entities").await.expect(200);
        verify_service_key(&app, &on_page(&key, OWN)).await.expect(200);
        for other in [
            "http://community.example",
            "https://community.example:8443",
            "https://x.community.example",
        ] {
            on_page(&key, other).get("/entities").await.refused(403, "auth/key-in-browser");
        }
    }
}

async fn a_project_may_allow_keys_in_pages(app: TestApp) {
    app.change_settings(app.project.id, |settings| settings.keys_in_browsers = true).await;
    for key in [app.service(), app.master()] {
        let statuses: Vec<u16> =
            calls(&on_page(&key, PAGE)).await.iter().map(|reply| reply.status).collect();
        assert_eq!(statuses, [200, 201, 404, 400, 401]);
        verify_service_key(&app, &on_page(&key, PAGE)).await.expect(200);
    }
    let other = on_page(&app.bearer(&app.other.service_key).in_project(app.other.id), PAGE);
    other.get("/entities").await.refused(403, "auth/key-in-browser");
}

async fn where_credentials_are_ignored_a_key_from_a_page_is_none(app: TestApp) {
    let page = on_page(&app.service(), PAGE);
    page.get("/projects/lean").await.expect(200);
    let body = json!({
        "email": "a@example.com",
        "password": "correct horse",
        "secureMetadata": { "plan": "gold" },
    });
    let made = page.post("/auth/sign-up", body).await.expect(201);
    let path = format!("/users/{}", made["user"]["id"].as_str().unwrap());
    assert_eq!(app.service().get(&path).await.expect(200)["secureMetadata"], json!({}));
}

async fn a_listed_origin_is_no_permission_for_keys(app: TestApp) {
    app.allow_origins(&[PAGE]).await;
    on_page(&app.service(), PAGE).get("/entities").await.refused(403, "auth/key-in-browser");
    let unlisted = on_page(&app.service(), OWN).get("/entities").await;
    unlisted.refused(403, "project/origin-not-allowed");
}
