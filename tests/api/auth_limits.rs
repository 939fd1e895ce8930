//! Rate limits of the auth endpoints, per client and per account, and what no cache may keep.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    every_auth_endpoint_has_its_limit_window_and_text,
    one_client_has_one_window_however_it_spells_the_request,
    a_valid_key_is_exempt_and_a_made_up_one_is_not,
    an_account_is_guarded_against_guesses_from_everywhere,
    auth_replies_stay_out_of_every_cache,
];

const SHORTLY: &str = "Too many attempts, please try again shortly";
const RESET: &str = "Too many password reset attempts, please wait 15 minutes";

async fn limited(app: TestApp) -> TestApp {
    app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await
}

fn number(reply: &Reply, header: &str) -> u64 {
    reply.header(header).unwrap_or_else(|| panic!("no {header}")).parse().unwrap()
}

#[track_caller]
fn check_refusal(reply: &Reply, text: &str, limit: u64, reset: u64) {
    reply.says(429, text);
    assert_eq!(number(reply, "x-ratelimit-limit"), limit);
    assert_eq!(number(reply, "x-ratelimit-remaining"), 0);
    assert_eq!(number(reply, "x-ratelimit-reset"), reset);
    assert_eq!(number(reply, "retry-after"), reset);
}

async fn every_auth_endpoint_has_its_limit_window_and_text(app: TestApp) {
    let app = limited(app).await;
    let endpoints = [
        ("sign-up", 5, 5, "Too many sign up attempts, please wait 5 minutes"),
        ("sign-in", 25, 5, "Too many sign in attempts, please wait 5 minutes"),
        ("sign-out", 50, 5, "Too many sign out attempts, please wait 5 minutes"),
        (
            "request-new-access-token",
            50,
            5,
            "Too many attempts to request a new access token, please wait 5 minutes",
        ),
        ("verify-external-user", 50, 5, SHORTLY),
        ("change-password", 5, 5, "Too many attempts to change password, please wait 5 minutes"),
        ("set-password", 5, 5, SHORTLY),
        ("request-password-reset", 5, 15, RESET),
        ("reset-password", 5, 15, RESET),
        ("send-verification-email", 50, 5, SHORTLY),
        ("verify-email", 50, 5, SHORTLY),
        ("request-account-deletion", 5, 5, SHORTLY),
        ("confirm-account-deletion", 5, 5, SHORTLY),
    ];
    let anonymous = app.anonymous();
    for (endpoint, limit, minutes, text) in endpoints {
        let path = format!("/auth/{endpoint}");
        let window = minutes * 60;
        // Refused requests count like any others.
        let body = json!({ "token": 7 });
        for used in 1..=limit {
            let reply = anonymous.post(&path, body.clone()).await;
            assert_ne!(reply.status, 429, "{endpoint} after {used}");
            assert_eq!(number(&reply, "x-ratelimit-limit"), limit, "{endpoint}");
            assert_eq!(number(&reply, "x-ratelimit-remaining"), limit - used, "{endpoint}");
        }
        for actor in [anonymous.clone(), anonymous.v7(), anonymous.v6()] {
            check_refusal(&actor.post(&path, body.clone()).await, text, limit, window);
        }
        let elsewhere = anonymous.in_project(app.other.id);
        assert_ne!(elsewhere.post(&path, body.clone()).await.status, 429, "{endpoint}");
        app.advance(Duration::from_secs(window - 1));
        check_refusal(&anonymous.post(&path, body.clone()).await, text, limit, 1);
        app.advance(Duration::from_secs(1));
        assert_ne!(anonymous.post(&path, body).await.status, 429, "{endpoint}");
    }
}

async fn one_client_has_one_window_however_it_spells_the_request(app: TestApp) {
    let app = limited(app).await;
    let project = app.project.id;
    let spellings = [
        format!("/v8/{project}/auth/sign-in"),
        format!("/v8/{project}/auth/sign-in/"),
        format!("//v8//{project}//auth//sign-in"),
        format!("/v7/{project}/auth/%73ign-in"),
        format!("/api/v6/{project}/auth/sign-in?x=1"),
        format!("/{project}/api/v8/auth/sign-in"),
    ];
    for request in 0..26 {
        // No proxy is trusted: these headers are anybody's to invent.
        let forged = format!("10.0.0.{request}");
        let actor = app
            .anonymous()
            .with_header("X-Forwarded-For", &forged)
            .with_header("Forwarded", &format!("for={forged}"))
            .with_header("X-Real-IP", &forged);
        let address = &spellings[request % spellings.len()];
        let reply = actor.raw(Method::POST, address, "application/json", "{}").await;
        assert_eq!(reply.status, if request < 25 { 400 } else { 429 }, "request {request}");
    }
}

async fn a_valid_key_is_exempt_and_a_made_up_one_is_not(app: TestApp) {
    let app = limited(app).await;
    for key in [app.service(), app.master()] {
        for _ in 0..7 {
            let reply = key.post("/auth/change-password", json!({})).await;
            reply.refused(400, "auth/missing-user-id");
            assert_eq!(reply.header("x-ratelimit-limit"), None);
        }
    }
    for guess in 0..6 {
        let guesser = app.bearer(&format!("thk_service_{guess}"));
        let reply = guesser.post("/auth/change-password", json!({})).await;
        assert_eq!(reply.status, if guess < 5 { 403 } else { 429 }, "guess {guess}");
    }
    app.service()
        .post("/auth/change-password", json!({}))
        .await
        .refused(400, "auth/missing-user-id");
}

async fn an_account_is_guarded_against_guesses_from_everywhere(app: TestApp) {
    let app = app
        .restart_with(|config| {
            config.set("TOWNHALL_RATE_LIMITS", "on");
            config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.0/8");
        })
        .await;
    let (user, other) = (app.user().await, app.user().await);
    let from = |address: usize| {
        let address = format!("203.0.{}.{}", address / 250, address % 250);
        app.anonymous().with_header("X-Forwarded-For", &address)
    };
    let body = |email: &str, password: &str| json!({ "email": email, "password": password });
    for guess in 0..100 {
        let spelled = if guess % 2 == 0 {
            user.email.clone()
        } else {
            format!(" {} ", user.email.to_uppercase())
        };
        let guessed = body(&spelled, &format!("guess {guess}"));
        from(guess).post("/auth/sign-in", guessed).await.refused(401, "auth/wrong-password");
    }
    let right = body(&user.email, User::PASSWORD);
    let refused = from(100).post("/auth/sign-in", right.clone()).await;
    check_refusal(&refused, "Too many sign in attempts, please try again later", 100, 3600);
    app.service().post("/auth/sign-in", right.clone()).await.expect(200);
    from(101).post("/auth/sign-in", body(&other.email, User::PASSWORD)).await.expect(200);
    app.advance(Duration::from_secs(3600));
    from(102).post("/auth/sign-in", right).await.expect(200);
}

async fn auth_replies_stay_out_of_every_cache(app: TestApp) {
    let user = app.user().await;
    let anonymous = app.anonymous();
    let signing_in = json!({ "email": user.email, "password": User::PASSWORD });
    let refreshing = json!({ "refreshToken": user.refresh_token });
    let vouching = json!({ "userJwt": app.vouch_for(json!({ "sub": "7" })) });
    let changing = json!({ "password": User::PASSWORD, "newPassword": "battery staple" });
    let new = json!({ "email": "new@example.com", "password": User::PASSWORD });
    let post = |path: &'static str, body: Value, status: u16| (Method::POST, path, body, status);
    let user: &Actor<'_> = &user;
    let cases = [
        (&anonymous, post("/auth/sign-up", new, 201)),
        (&anonymous, post("/auth/sign-up", json!({}), 400)),
        (&anonymous, post("/auth/sign-in", signing_in, 200)),
        (&anonymous, post("/auth/request-new-access-token", refreshing, 200)),
        (&anonymous, post("/auth/request-new-access-token", json!({}), 200)),
        (&anonymous, post("/auth/request-new-access-token", json!({ "refreshToken": "x" }), 403)),
        (&anonymous, post("/auth/verify-external-user", vouching, 200)),
        (user, post("/auth/change-password", changing, 200)),
        (&anonymous, post("/auth/change-password", json!({}), 401)),
        (user, post("/auth/set-password", json!({}), 400)),
        (&anonymous, post("/auth/request-password-reset", json!({ "email": "a@b.c" }), 200)),
        (&anonymous, post("/auth/reset-password", json!({}), 400)),
        (&anonymous, (Method::GET, "/auth/reset-password?token=x", Value::Null, 200)),
        (user, post("/auth/send-verification-email", json!({}), 200)),
        (&anonymous, post("/auth/verify-email", json!({}), 400)),
        (&anonymous, (Method::GET, "/auth/verify-email-link?token=x", Value::Null, 400)),
        (user, post("/auth/request-account-deletion", json!({}), 200)),
        (user, post("/auth/confirm-account-deletion", json!({}), 400)),
        (&anonymous, post("/auth/sign-out", json!({}), 204)),
        (user, (Method::GET, "/oauth/identities", Value::Null, 200)),
    ];
    for (actor, (method, path, body, status)) in cases {
        let body = Some(body).filter(|body| !body.is_null());
        let reply = actor.send(method, path, body).await;
        assert_eq!(reply.status, status, "{path}: {}", reply.text());
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(reply.header("server"), None, "{path}");
    }
}
