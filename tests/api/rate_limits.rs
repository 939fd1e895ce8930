//! Rate limits: windows, headers, who is exempt, and what shares a bucket.

use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::support::{Actor, Reply, TestApp, TestConfig, on_both_engines};

on_both_engines![
    a_limit_holds_for_its_window,
    headers_tell_how_a_client_stands,
    searches_and_questions_have_limits_of_their_own,
    each_endpoint_has_its_own_text_and_number,
    refused_requests_count_too,
    valid_keys_are_exempt,
    spellings_of_an_address_share_a_bucket,
    endpoints_and_projects_do_not_share_a_bucket,
    forwarding_headers_of_strangers_are_not_believed,
    behind_a_trusted_proxy_the_client_is_counted,
    the_operator_multiplies_or_disables_all_limits,
];

async fn limited(app: TestApp, change: impl FnOnce(&mut TestConfig)) -> TestApp {
    let change = |config: &mut TestConfig| {
        config.set("TOWNHALL_RATE_LIMITS", "on");
        change(config);
    };
    app.restart_with(change).await
}

/// A sign-in that fails for its body: quick, and counted like any other.
async fn sign_in(actor: &Actor<'_>) -> Reply {
    actor.post("/auth/sign-in", json!({})).await
}

const SIGN_IN_TEXT: &str = "Too many sign in attempts, please wait 5 minutes";

async fn use_up(actor: &Actor<'_>, count: usize) {
    for number in 0..count {
        assert_eq!(sign_in(actor).await.status, 400, "attempt {number}");
    }
}

async fn a_limit_holds_for_its_window(app: TestApp) {
    let app = limited(app, |_| {}).await;
    use_up(&app.anonymous(), 1).await;
    app.advance(Duration::from_secs(200));
    use_up(&app.anonymous(), 24).await;
    sign_in(&app.anonymous()).await.says(429, SIGN_IN_TEXT);
    app.advance(Duration::from_secs(99));
    sign_in(&app.anonymous()).await.says(429, SIGN_IN_TEXT);
    app.advance(Duration::from_secs(1));
    use_up(&app.anonymous(), 25).await;
    sign_in(&app.anonymous()).await.says(429, SIGN_IN_TEXT);
}

/// Ruling R29. Bodies that are refused count as well, and take no time.
async fn searches_and_questions_have_limits_of_their_own(app: TestApp) {
    let app = limited(app, |_| {}).await;
    let ada = app.user().await;
    for (path, most) in [
        ("/search/content", 100),
        ("/search/users", 100),
        ("/search/spaces", 100),
        ("/match/users", 100),
        ("/search/ask", 20),
    ] {
        for number in 0..most {
            assert_eq!(ada.post(path, json!({})).await.status, 400, "{path} {number}");
        }
        let refused = ada.post(path, json!({ "query": "x" })).await;
        assert_eq!(refused.status, 429, "{path}");
        assert_eq!(refused.header("x-ratelimit-limit"), Some(most.to_string().as_str()));
        assert_ne!(app.service().post(path, json!({})).await.status, 429, "keys have no limit");
    }
    app.advance(Duration::from_secs(300));
    assert_eq!(ada.post("/search/ask", json!({})).await.status, 400);
}

async fn headers_tell_how_a_client_stands(app: TestApp) {
    let app = limited(app, |_| {}).await;
    let headers = |reply: &Reply| {
        ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after"]
            .map(|name| reply.header(name).map(ToOwned::to_owned))
    };
    let some = |values: [&str; 3]| values.map(|value| Some(value.to_owned()));
    let first = headers(&sign_in(&app.anonymous()).await);
    assert_eq!(first[..3], some(["25", "24", "300"]));
    assert_eq!(first[3], None);
    app.advance(Duration::from_millis(1_500));
    assert_eq!(headers(&sign_in(&app.anonymous()).await)[..3], some(["25", "23", "299"]));
    use_up(&app.anonymous(), 23).await;
    let over = headers(&sign_in(&app.anonymous()).await);
    assert_eq!(over[..3], some(["25", "0", "299"]));
    assert_eq!(over[3].as_deref(), Some("299"));
    let lean = headers(&app.anonymous().get("/projects/lean").await);
    assert_eq!(lean[..3], some(["100", "99", "300"]));
}

async fn each_endpoint_has_its_own_text_and_number(app: TestApp) {
    let app = limited(app, |_| {}).await;
    let usual = "Too many attempts, please try again shortly";
    let table = [
        (Method::POST, "/auth/sign-up", 5, "Too many sign up attempts, please wait 5 minutes"),
        (
            Method::POST,
            "/auth/reset-password",
            5,
            "Too many password reset attempts, please wait 15 minutes",
        ),
        (Method::PATCH, "/users/x", 50, usual),
        (Method::GET, "/users/check-username?username=a", 100, usual),
        (Method::GET, "/users/x", 100, usual),
        (Method::GET, "/app-notifications", 100, usual),
        (Method::PATCH, "/app-notifications/x/mark-as-read", 100, usual),
        (Method::PATCH, "/app-notifications/mark-all-as-read", 50, usual),
    ];
    for (method, path, most, text) in table {
        for number in 0..most {
            let reply = app.anonymous().send(method.clone(), path, None).await;
            assert_ne!(reply.status, 429, "{path} after {number}");
        }
        app.anonymous().send(method, path, None).await.says(429, text);
    }
    app.advance(Duration::from_secs(5 * 60));
    let reset = app.anonymous().post("/auth/reset-password", json!({})).await;
    assert_eq!(reset.header("retry-after"), Some("600"), "its window is 15 minutes");
}

async fn refused_requests_count_too(app: TestApp) {
    let app = limited(app, |_| {}).await;
    let bad = app.bearer("bad token");
    for _ in 0..50 {
        bad.patch("/users/x", json!({})).await.says(403, "Forbidden");
    }
    assert_eq!(bad.patch("/users/x", json!({})).await.status, 429, "before the credential");
    assert_eq!(app.anonymous().patch("/users/x", json!({})).await.status, 429);
}

async fn valid_keys_are_exempt(app: TestApp) {
    let app = limited(app, |_| {}).await;
    for key in [app.service(), app.master()] {
        for _ in 0..60 {
            let reply = sign_in(&key).await;
            assert_eq!(reply.status, 400);
            assert_eq!(reply.header("x-ratelimit-limit"), None);
        }
    }
    let fake = app.bearer("thk_service_nonsense");
    use_up(&fake, 25).await;
    sign_in(&fake).await.says(429, SIGN_IN_TEXT);
    sign_in(&app.bearer(&app.other.service_key)).await.says(429, SIGN_IN_TEXT);
    assert_eq!(sign_in(&app.service()).await.status, 400);
}

async fn spellings_of_an_address_share_a_bucket(app: TestApp) {
    let app = limited(app, |_| {}).await;
    let id = app.project.id.to_string();
    let spellings = [
        format!("/v8/{id}/auth/sign-in"),
        format!("/v7/{id}/auth/sign-in"),
        format!("/v6/{id}/auth/sign-in/"),
        format!("/v8/{id}//auth//sign-in"),
        format!("/api/v8/{id}/auth/sign-in"),
        format!("/{id}/api/v8/auth/sign-in"),
        format!("/v8/{id}/auth/%73ign-in"),
        format!("/v8/{}/auth/sign-in?x=1", id.to_uppercase()),
    ];
    let send = async |address: &str| {
        app.anonymous().raw(Method::POST, address, "application/json", "{}").await
    };
    for number in 0..25 {
        assert_eq!(send(&spellings[number % spellings.len()]).await.status, 400);
    }
    for spelling in &spellings {
        send(spelling).await.says(429, SIGN_IN_TEXT);
    }
}

async fn endpoints_and_projects_do_not_share_a_bucket(app: TestApp) {
    let app = limited(app, |_| {}).await;
    use_up(&app.anonymous(), 25).await;
    sign_in(&app.anonymous()).await.says(429, SIGN_IN_TEXT);
    use_up(&app.anonymous().in_project(app.other.id), 1).await;
    let sign_out = app.anonymous().post("/auth/sign-out", json!({})).await;
    assert_eq!(sign_out.status, 204);
    let user = format!("/users/{}", app.project.id);
    app.anonymous().get(&user).await.refused(404, "user/not-found");
    let standing = app.anonymous().get("/users/x").await;
    assert_eq!(standing.header("x-ratelimit-remaining"), Some("98"), "one pattern, any id");
}

async fn forwarding_headers_of_strangers_are_not_believed(app: TestApp) {
    let app = limited(app, |_| {}).await;
    for number in 0..25 {
        let forged = app
            .anonymous()
            .with_header("X-Forwarded-For", &format!("1.1.1.{number}"))
            .with_header("Forwarded", &format!("for=1.1.2.{number}"))
            .with_header("X-Real-IP", &format!("1.1.3.{number}"));
        use_up(&forged, 1).await;
    }
    let forged = app.anonymous().with_header("X-Forwarded-For", "9.9.9.9");
    sign_in(&forged).await.says(429, SIGN_IN_TEXT);
}

async fn behind_a_trusted_proxy_the_client_is_counted(app: TestApp) {
    let app = limited(app, |config| config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.0/8")).await;
    let forwarded = |chain: &str| app.anonymous().with_header("X-Forwarded-For", chain);
    // What the client itself claims stands further left and changes every time.
    for number in 0..13 {
        use_up(&forwarded(&format!("1.1.1.{number}, 7.7.7.7")), 1).await;
    }
    for number in 0..12 {
        let twice = forwarded(&format!("2.2.2.{number}")).with_header("X-Forwarded-For", "7.7.7.7");
        use_up(&twice, 1).await;
    }
    sign_in(&forwarded("7.7.7.7")).await.says(429, SIGN_IN_TEXT);
    let standard = app.anonymous().with_header("Forwarded", "for=7.7.7.7;proto=https");
    sign_in(&standard).await.says(429, SIGN_IN_TEXT);
    use_up(&forwarded("7.7.7.8"), 1).await;
    // One customer owns a whole /64.
    for number in 0..25 {
        use_up(&forwarded(&format!("2001:db8:1:2::{number:x}")), 1).await;
    }
    sign_in(&forwarded("2001:db8:1:2:ffff::1")).await.says(429, SIGN_IN_TEXT);
    use_up(&forwarded("2001:db8:1:3::1"), 1).await;
}

async fn the_operator_multiplies_or_disables_all_limits(app: TestApp) {
    use_up(&app.anonymous(), 30).await;
    assert_eq!(sign_in(&app.anonymous()).await.header("x-ratelimit-limit"), None);
    let app = limited(app, |config| config.set("TOWNHALL_RATE_LIMITS", "0.1")).await;
    use_up(&app.anonymous(), 3).await;
    sign_in(&app.anonymous()).await.says(429, SIGN_IN_TEXT);
}
