//! Rate limits of the auth endpoints, wrong passwords by account and network, and replies that must not be
//! cached.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    every_auth_endpoint_has_its_limit_window_and_text,
    one_client_has_one_window_however_it_spells_the_request,
    a_valid_key_is_exempt_and_a_made_up_one_is_not,
    wrong_passwords_shut_out_their_network_and_not_the_owner,
    a_guess_at_the_password_counts_wherever_it_is_asked_for,
    right_passwords_count_for_nothing,
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

async fn sign_in(app: &TestApp, network: &str, email: &str, password: &str) -> Reply {
    let body = json!({ "email": email, "password": password });
    app.anonymous().at_address(network).post("/auth/sign-in", body).await
}

const GUESSER: &str = "203.0.113.7";
const ELSEWHERE: &str = "198.51.100.1";
const TOO_MANY_PASSWORDS: &str = "Too many wrong passwords, please try again later";

/// As many wrong passwords as one network may try at an account; 20 minutes pass.
async fn guess_a_hundred_times(app: &TestApp, email: &str) {
    for guess in 0..100 {
        if guess % 25 == 0 {
            // The limit of the network comes first.
            app.advance(Duration::from_secs(300));
        }
        let spelled =
            if guess % 2 == 0 { email.to_owned() } else { format!(" {} ", email.to_uppercase()) };
        let guessed = sign_in(app, GUESSER, &spelled, &format!("guess {guess}")).await;
        guessed.refused(401, "auth/wrong-password");
    }
    sign_in(app, GUESSER, email, User::PASSWORD)
        .await
        .says(429, "Too many sign in attempts, please wait 5 minutes");
    app.advance(Duration::from_secs(300));
}

async fn wrong_passwords_shut_out_their_network_and_not_the_owner(app: TestApp) {
    let app = app.with_networks().await;
    let (user, other) = (app.user().await, app.user().await);
    guess_a_hundred_times(&app, &user.email).await;
    let refused = sign_in(&app, GUESSER, &user.email, User::PASSWORD).await;
    // The first of them was 20 minutes ago.
    check_refusal(&refused, TOO_MANY_PASSWORDS, 100, 2400);
    sign_in(&app, ELSEWHERE, &user.email, User::PASSWORD).await.expect(200);
    sign_in(&app, GUESSER, &other.email, User::PASSWORD).await.expect(200);
    let by_key = json!({ "email": user.email, "password": User::PASSWORD });
    app.service().at_address(GUESSER).post("/auth/sign-in", by_key).await.expect(200);
    app.advance(Duration::from_secs(2400));
    sign_in(&app, GUESSER, &user.email, User::PASSWORD).await.expect(200);
}

async fn a_guess_at_the_password_counts_wherever_it_is_asked_for(app: TestApp) {
    let app = app.with_networks().await;
    let user = app.user().await;
    guess_a_hundred_times(&app, &user.email).await;
    let change = |password: &str| json!({ "password": password, "newPassword": "battery staple" });
    for password in ["wrong", User::PASSWORD] {
        let refused =
            user.at_address(GUESSER).post("/auth/change-password", change(password)).await;
        check_refusal(&refused, TOO_MANY_PASSWORDS, 100, 2400);
    }
    let wrong = user.at_address(ELSEWHERE).post("/auth/change-password", change("wrong")).await;
    wrong.refused(401, "auth/wrong-password");
    let changed = change(User::PASSWORD);
    user.at_address(ELSEWHERE).post("/auth/change-password", changed).await.expect(200);
}

async fn right_passwords_count_for_nothing(app: TestApp) {
    let app = app.with_networks().await;
    let user = app.user().await;
    for attempt in 0..110 {
        if attempt % 25 == 0 {
            app.advance(Duration::from_secs(300));
        }
        sign_in(&app, GUESSER, &user.email, User::PASSWORD).await.expect(200);
    }
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
