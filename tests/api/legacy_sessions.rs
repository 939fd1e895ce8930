//! Sessions in the legacy dialect: a cookie that survives a reload of the page, for the page that signed in
//! and for no other.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    signing_in_sets_the_cookie,
    plain_http_has_a_weaker_cookie,
    the_operator_names_the_cookie,
    other_addresses_set_no_cookie,
    the_cookie_brings_the_session_back,
    a_refresh_neither_rotates_nor_ends,
    without_a_token_nobody_is_signed_in,
    a_page_of_another_site_cannot_use_the_cookie,
    a_page_without_an_origin_has_no_cookie,
    the_cookie_authenticates_nothing_else,
    an_unusable_cookie_gives_way_to_the_body,
    an_unusable_cookie_alone_is_refused,
    signing_out_ends_the_session_and_clears_the_cookie,
    a_page_of_another_site_cannot_sign_out,
    a_session_renewed_by_a_later_version_is_over_here,
    refusals_of_a_refresh_have_codes_of_their_own,
    a_placeholder_token_is_forbidden_and_a_missing_one_unauthorized,
];

const APP: &str = "https://app.example.com";
const EVIL: &str = "https://evil.example";
const REFRESH: &str = "/auth/request-new-access-token";

fn at<'a>(app: &'a TestApp, origin: &str) -> Actor<'a> {
    app.anonymous().legacy().with_header("Origin", origin)
}

/// Name and value of the cookie that a reply sets, and its attributes.
fn set_cookie(reply: &Reply) -> Option<(String, Vec<String>)> {
    let mut parts = reply.header("set-cookie")?.split("; ").map(ToOwned::to_owned);
    Some((parts.next().unwrap(), parts.collect()))
}

async fn sign_in(actor: &Actor<'_>, user: &User<'_>) -> Reply {
    let body = json!({ "email": user.email, "password": User::PASSWORD });
    let reply = actor.post("/auth/sign-in", body).await;
    reply.expect(200);
    reply
}

/// Signs in from this page; the cookie that the browser keeps, and the reply.
async fn session(app: &TestApp, origin: &str, user: &User<'_>) -> (String, Value) {
    let reply = sign_in(&at(app, origin), user).await;
    (set_cookie(&reply).unwrap().0, reply.json())
}

async fn refresh(actor: &Actor<'_>, cookie: &str, body: Value) -> Reply {
    actor.with_header("Cookie", cookie).post(REFRESH, body).await
}

fn nobody() -> Value {
    json!({ "user": null, "accessToken": null })
}

async fn signing_in_sets_the_cookie(app: TestApp) {
    let user = app.user().await;
    let name = format!("refresh-jwt-{}=", app.project.id);
    let page = at(&app, APP);
    let new = json!({ "email": "new@example.com", "password": "correct horse" });
    let jwt = json!({ "userJwt": app.vouch_for(json!({ "sub": "u1" })) });
    let signed_up = page.post("/auth/sign-up", new).await;
    signed_up.expect(201);
    for reply in [
        signed_up,
        sign_in(&page, &user).await,
        page.post("/auth/verify-external-user", jwt).await,
        sign_in(&app.anonymous().legacy(), &user).await,
    ] {
        let (cookie, attributes) = set_cookie(&reply).unwrap();
        assert!(cookie.starts_with(&name), "{cookie}");
        let expected = ["HttpOnly", "SameSite=None", "Secure", "Path=/", "Max-Age=2592000"];
        assert_eq!(attributes, expected);
        let body = reply.json();
        assert_eq!(body["success"], true);
        assert!(body["accessToken"].is_string() && body["refreshToken"].is_string());
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let refused = json!({ "email": user.email, "password": "wrong" });
    let refused = page.post("/auth/sign-in", refused).await;
    refused.refused(401, "auth/wrong-password");
    assert_eq!(set_cookie(&refused), None);
}

async fn plain_http_has_a_weaker_cookie(app: TestApp) {
    let app = app.restart_with(|c| c.adjust(|c| c.public_url = "http://localhost:1".into())).await;
    let user = app.user().await;
    let (_, attributes) = set_cookie(&sign_in(&at(&app, APP), &user).await).unwrap();
    assert_eq!(attributes, ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"]);
}

async fn the_operator_names_the_cookie(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_REFRESH_COOKIE", "forum")).await;
    let user = app.user().await;
    let (cookie, _) = session(&app, APP, &user).await;
    assert!(cookie.starts_with(&format!("forum-{}=", app.project.id)), "{cookie}");
    let back = refresh(&at(&app, APP), &cookie, json!({})).await.expect(200);
    assert_eq!(back["user"]["id"], user.id.to_string());
}

async fn other_addresses_set_no_cookie(app: TestApp) {
    let user = app.user().await;
    let cookie = session(&app, APP, &user).await.0;
    for actor in [app.anonymous(), app.anonymous().v7(), app.anonymous().v6()] {
        let actor = actor.with_header("Origin", APP);
        assert_eq!(set_cookie(&sign_in(&actor, &user).await), None);
        let reply = refresh(&actor, &cookie, json!({})).await;
        assert_eq!(reply.expect(200), nobody());
    }
}

async fn the_cookie_brings_the_session_back(app: TestApp) {
    let user = app.user().await;
    let (cookie, signed_in) = session(&app, APP, &user).await;
    app.advance(Duration::from_hours(1));
    let page = at(&app, APP);
    let expired = signed_in["accessToken"].as_str().unwrap();
    app.bearer(expired).legacy().get("/lists/root").await.says(403, "Forbidden");
    let reply = refresh(&page, &format!("theme=dark; {cookie}; x=y"), json!({})).await;
    let back = reply.expect(200);
    assert_eq!(crate::support::keys(&back), ["accessToken", "success", "user"]);
    assert_eq!(back["user"]["id"], user.id.to_string());
    assert_eq!(back["user"]["email"], user.email);
    assert_eq!(set_cookie(&reply), None);
    let token = back["accessToken"].as_str().unwrap();
    app.bearer(token).legacy().get("/lists/root").await.expect(200);
    // The cookie of one project is not that of another.
    let other = page.in_project(app.other.id);
    assert_eq!(refresh(&other, &cookie, json!({})).await.expect(200), nobody());
    let renamed = cookie.replace(&app.project.id.to_string(), &app.other.id.to_string());
    refresh(&other, &renamed, json!({})).await.refused(403, "auth/invalid-refresh-token");
}

async fn a_refresh_neither_rotates_nor_ends(app: TestApp) {
    let user = app.user().await;
    let (cookie, signed_in) = session(&app, APP, &user).await;
    let page = at(&app, APP);
    let body = json!({ "refreshToken": signed_in["refreshToken"] });
    for _ in 0..5 {
        app.advance(Duration::from_hours(24 * 5));
        assert_eq!(refresh(&page, &cookie, json!({})).await.expect(200)["success"], true);
        assert!(page.post(REFRESH, body.clone()).await.expect(200)["refreshToken"].is_null());
    }
    // Thirty days from the sign-in are final.
    app.advance(Duration::from_hours(24 * 5));
    refresh(&page, &cookie, json!({})).await.refused(403, "auth/refresh-token-invalid");
    page.post(REFRESH, body).await.refused(403, "auth/refresh-token-invalid");
}

async fn without_a_token_nobody_is_signed_in(app: TestApp) {
    let page = at(&app, APP);
    for body in [json!({}), json!({ "refreshToken": null }), json!({ "refreshToken": "" })] {
        assert_eq!(page.post(REFRESH, body).await.expect(200), nobody());
    }
    let reply = page.send(http::Method::POST, REFRESH, None).await;
    assert_eq!(reply.expect(200), nobody());
    let empty = format!("refresh-jwt-{}=", app.project.id);
    assert_eq!(refresh(&page, &empty, json!({})).await.expect(200), nobody());
}

async fn a_page_of_another_site_cannot_use_the_cookie(app: TestApp) {
    let user = app.user().await;
    let (cookie, _) = session(&app, APP, &user).await;
    for origin in [EVIL, "http://app.example.com", "https://app.example.com:8443", "null"] {
        let reply = refresh(&at(&app, origin), &cookie, json!({})).await;
        assert_eq!(reply.expect(200), nobody(), "{origin}");
    }
    // Nor with a second origin beside the right one, nor by a session of its own.
    let both = at(&app, APP).with_header("Origin", EVIL);
    assert_eq!(refresh(&both, &cookie, json!({})).await.expect(200), nobody());
    let (theirs, _) = session(&app, EVIL, &app.user().await).await;
    assert_eq!(refresh(&at(&app, APP), &theirs, json!({})).await.expect(200), nobody());
    let back = refresh(&at(&app, APP), &cookie, json!({})).await.expect(200);
    assert_eq!(back["user"]["id"], user.id.to_string());
    // A program that is no browser sends no origin.
    let program = refresh(&app.anonymous().legacy(), &cookie, json!({})).await.expect(200);
    assert_eq!(program["user"]["id"], user.id.to_string());
}

async fn a_page_without_an_origin_has_no_cookie(app: TestApp) {
    let user = app.user().await;
    let reply = sign_in(&at(&app, "null"), &user).await;
    assert_eq!(set_cookie(&reply), None);
    assert!(reply.json()["refreshToken"].is_string());
}

async fn the_cookie_authenticates_nothing_else(app: TestApp) {
    let user = app.user().await;
    let (cookie, _) = session(&app, APP, &user).await;
    let page = at(&app, APP).with_header("Cookie", &cookie);
    page.get("/lists/root").await.says(401, "Unauthorized");
    page.post("/auth/change-password", json!({})).await.says(401, "Unauthorized");
    let posted = page.post("/entities", json!({ "title": "x" })).await.expect(200);
    assert_eq!(posted["userId"], Value::Null);
}

async fn an_unusable_cookie_gives_way_to_the_body(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let page = at(&app, APP);
    let (cookie, of_ada) = session(&app, APP, &ada).await;
    let body = json!({ "refreshToken": bob.refresh_token });
    // The cookie comes first.
    let first = refresh(&page, &cookie, body.clone()).await.expect(200);
    assert_eq!(first["user"]["id"], ada.id.to_string());
    let out = json!({ "refreshToken": of_ada["refreshToken"] });
    page.post("/auth/sign-out", out).await.expect(204);
    let name = cookie.split('=').next().unwrap();
    for unusable in [cookie.clone(), format!("{name}=x"), format!("{name}=a.b.c.d")] {
        let reply = refresh(&page, &unusable, body.clone()).await.expect(200);
        assert_eq!(reply["user"]["id"], bob.id.to_string(), "{unusable}");
    }
}

async fn an_unusable_cookie_alone_is_refused(app: TestApp) {
    let user = app.user().await;
    let (cookie, signed_in) = session(&app, APP, &user).await;
    let page = at(&app, APP);
    let out = json!({ "refreshToken": signed_in["refreshToken"] });
    page.post("/auth/sign-out", out).await.expect(204);
    refresh(&page, &cookie, json!({})).await.refused(403, "auth/refresh-token-mismatch");
}

async fn signing_out_ends_the_session_and_clears_the_cookie(app: TestApp) {
    let user = app.user().await;
    let page = at(&app, APP);
    let (cookie, signed_in) = session(&app, APP, &user).await;
    let (other, _) = session(&app, APP, &user).await;
    let reply = page.with_header("Cookie", &cookie).post("/auth/sign-out", json!({})).await;
    reply.expect(204);
    let (cleared, attributes) = set_cookie(&reply).unwrap();
    assert_eq!(cleared, format!("refresh-jwt-{}=", app.project.id));
    let expected = ["HttpOnly", "SameSite=None", "Secure", "Path=/", "Max-Age=0"];
    assert_eq!(attributes, expected);
    let ended = json!({ "refreshToken": signed_in["refreshToken"] });
    page.post(REFRESH, ended.clone()).await.refused(403, "auth/refresh-token-mismatch");
    // Other sessions stay; without a cookie there is none to clear, and an unknown token is no error.
    refresh(&page, &other, json!({})).await.expect(200);
    let again = page.post("/auth/sign-out", ended).await;
    again.expect(204);
    assert_eq!(set_cookie(&again), None);
    // Both sessions that the page names end.
    let (third, _) = session(&app, APP, &user).await;
    let body = json!({ "refreshToken": user.refresh_token });
    page.with_header("Cookie", &third).post("/auth/sign-out", body.clone()).await.expect(204);
    refresh(&page, &third, json!({})).await.refused(403, "auth/refresh-token-mismatch");
    page.post(REFRESH, body).await.refused(403, "auth/refresh-token-mismatch");
}

async fn a_page_of_another_site_cannot_sign_out(app: TestApp) {
    let user = app.user().await;
    let (cookie, _) = session(&app, APP, &user).await;
    for origin in [EVIL, "null"] {
        let page = at(&app, origin).with_header("Cookie", &cookie);
        let reply = page.post("/auth/sign-out", json!({})).await;
        reply.expect(204);
        assert_eq!(set_cookie(&reply), None, "{origin}");
    }
    refresh(&at(&app, APP), &cookie, json!({})).await.expect(200);
}

async fn a_session_renewed_by_a_later_version_is_over_here(app: TestApp) {
    let user = app.user().await;
    let (cookie, signed_in) = session(&app, APP, &user).await;
    let body = json!({ "refreshToken": signed_in["refreshToken"] });
    app.anonymous().post(REFRESH, body.clone()).await.expect(200);
    let page = at(&app, APP);
    page.post(REFRESH, body).await.refused(403, "auth/refresh-token-mismatch");
    refresh(&page, &cookie, json!({})).await.refused(403, "auth/refresh-token-mismatch");
}

async fn refusals_of_a_refresh_have_codes_of_their_own(app: TestApp) {
    let stranger = app.stranger().await;
    let page = at(&app, APP);
    for (token, code) in [
        ("x", "auth/refresh-token-invalid"),
        (stranger.refresh_token.as_str(), "auth/invalid-refresh-token"),
    ] {
        page.post(REFRESH, json!({ "refreshToken": token })).await.refused(403, code);
    }
}

async fn a_placeholder_token_is_forbidden_and_a_missing_one_unauthorized(app: TestApp) {
    for path in ["/lists/root", "/app-notifications", "/connections", "/follows/followers"] {
        for word in ["null", "undefined", "x.y.z"] {
            app.bearer(word).legacy().get(path).await.says(403, "Forbidden");
        }
        app.anonymous().legacy().get(path).await.says(401, "Unauthorized");
    }
    // Where a user is optional, an unusable token reads as nobody.
    for word in ["null", "undefined", "x.y.z"] {
        app.bearer(word).legacy().get("/entities").await.expect(200);
    }
}
