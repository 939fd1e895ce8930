//! Send Verification Email and Verify Email: codes, who may use them, and wrong guesses.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    a_mailed_code_verifies_the_address_once,
    codes_have_the_format_that_was_asked_for,
    a_request_that_breaks_a_rule_is_refused,
    only_users_with_an_address_and_a_password_are_verified,
    an_earlier_code_stays_good_until_one_is_used,
    a_code_expires_after_five_minutes,
    a_code_belongs_to_its_project_and_its_user,
    a_short_code_is_void_after_five_wrong_tries_by_its_user,
    of_parallel_verifications_with_one_code_one_holds,
    parallel_wrong_guesses_of_a_user_all_count,
    an_anonymous_guess_voids_no_code,
    an_anonymous_guess_counts_against_its_network,
];

/// The line of a mail that holds only the code.
fn code_in(mail: &str) -> String {
    let mut lines = mail.lines().skip_while(|line| !line.starts_with("Your verification code"));
    lines.find(|line| !line.is_empty() && !line.contains(' ')).unwrap().to_owned()
}

async fn send(user: &User<'_>, body: Value) -> Reply {
    user.post("/auth/send-verification-email", body).await
}

async fn code_for(app: &TestApp, user: &User<'_>, format: &str) -> String {
    send(user, json!({ "tokenFormat": format })).await.expect(200);
    code_in(&app.next_mail().await)
}

async fn verify(app: &TestApp, code: &str) -> Reply {
    app.anonymous().post("/auth/verify-email", json!({ "token": code })).await
}

async fn is_verified(app: &TestApp, user: &User<'_>) -> bool {
    let seen = app.service().get(&format!("/users/{}", user.id)).await.expect(200);
    seen["isVerified"].as_bool().unwrap()
}

async fn a_mailed_code_verifies_the_address_once(app: TestApp) {
    for version in ["v6", "v7", "v8"] {
        let user = app.user().await;
        let (caller, anonymous) = match version {
            "v6" => (user.v6(), app.anonymous().v6()),
            "v7" => (user.v7(), app.anonymous().v7()),
            _ => ((*user).clone(), app.anonymous()),
        };
        let sent = caller.send(http::Method::POST, "/auth/send-verification-email", None).await;
        assert_eq!(sent.expect(200), json!({ "success": true }));
        let mail = app.next_mail().await;
        assert!(mail.contains(&format!("To: {}", user.email)), "{mail}");
        let code = code_in(&mail);
        assert!(code.len() == 64 && code.bytes().all(|b| b.is_ascii_hexdigit()), "{code}");
        assert!(!is_verified(&app, &user).await);

        let wrong_case = json!({ "token": code.to_uppercase() });
        let refused = anonymous.post("/auth/verify-email", wrong_case).await;
        refused.refused(400, "auth/invalid-or-expired-token");
        let body = json!({ "token": code });
        let verified = anonymous.post("/auth/verify-email", body.clone()).await.expect(200);
        assert_eq!(verified, json!({ "success": true }));
        assert!(is_verified(&app, &user).await);
        let again = anonymous.post("/auth/verify-email", body).await;
        again.refused(400, "auth/invalid-or-expired-token");
        // Nothing is left to prove, so nothing is sent.
        let sent = app.mails().len();
        send(&user, json!({})).await.expect(200);
        app.run_jobs().await;
        assert_eq!(app.mails().len(), sent);
    }
}

async fn codes_have_the_format_that_was_asked_for(app: TestApp) {
    let user = app.user().await;
    const DIGITS: &str = "0123456789";
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const HEX: &str = "0123456789abcdef";
    let both = format!("{LETTERS}{DIGITS}");
    for (body, length, alphabet) in [
        (json!({ "tokenFormat": "numeric" }), 6, DIGITS),
        (json!({ "mode": "code", "tokenFormat": "numeric", "tokenLength": 12 }), 12, DIGITS),
        (json!({ "tokenFormat": "alpha", "tokenLength": 8 }), 8, LETTERS),
        (json!({ "tokenFormat": "alphanumeric", "tokenLength": 7 }), 7, both.as_str()),
        (json!({ "tokenFormat": "hex", "tokenLength": 99 }), 64, HEX),
        (json!({ "tokenLength": 4 }), 64, HEX),
    ] {
        send(&user, body.clone()).await.expect(200);
        let code = code_in(&app.next_mail().await);
        assert_eq!(code.len(), length, "{body}: {code}");
        assert!(code.chars().all(|c| alphabet.contains(c)), "{body}: {code}");
    }
}

async fn a_request_that_breaks_a_rule_is_refused(app: TestApp) {
    let user = app.user().await;
    for body in [
        json!({ "mode": "carrier-pigeon" }),
        json!({ "tokenFormat": "emoji" }),
        json!({ "tokenFormat": "numeric", "tokenLength": 5 }),
        json!({ "tokenFormat": "numeric", "tokenLength": 13 }),
        json!({ "tokenFormat": "numeric", "tokenLength": "6" }),
        json!({ "tokenFormat": "numeric", "tokenLength": -6 }),
        json!({ "mode": "link", "redirectUrl": "javascript:alert(1)" }),
        json!({ "mode": "link", "redirectUrl": "/done" }),
        json!({ "mode": "link", "redirectUrl": 7 }),
    ] {
        send(&user, body).await.refused(400, "auth/invalid-body");
    }
    for body in
        [json!({}), json!({ "token": null }), json!({ "token": 123_456 }), json!({ "token": "" })]
    {
        let reply = app.anonymous().post("/auth/verify-email", body).await;
        reply.refused(400, "auth/invalid-body");
    }
    app.run_jobs().await;
    assert_eq!(app.mails(), Vec::<String>::new());
}

async fn only_users_with_an_address_and_a_password_are_verified(app: TestApp) {
    for claims in
        [json!({ "sub": "7" }), json!({ "sub": "8", "userData": { "email": "e@example.com" } })]
    {
        let body = json!({ "userJwt": app.vouch_for(claims) });
        let reply = app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
        let guest = User::from_reply(&app, app.project.id, &reply);
        send(&guest, json!({})).await.refused(400, "auth/not-password-user");
    }
    let user = app.user().await;
    let by_key = json!({ "userId": user.id, "tokenFormat": "numeric" });
    app.service().post("/auth/send-verification-email", by_key).await.expect(200);
    let code = code_in(&app.next_mail().await);
    // A key's word changes nothing about whose code it is.
    app.service().post("/auth/verify-email", json!({ "token": code })).await.expect(200);
    assert!(is_verified(&app, &user).await);
}

async fn an_earlier_code_stays_good_until_one_is_used(app: TestApp) {
    let user = app.user().await;
    let (first, second) =
        (code_for(&app, &user, "hex").await, code_for(&app, &user, "numeric").await);
    verify(&app, &first).await.expect(200);
    verify(&app, &second).await.refused(400, "auth/invalid-or-expired-token");
}

async fn a_code_expires_after_five_minutes(app: TestApp) {
    let user = app.user().await;
    let code = code_for(&app, &user, "hex").await;
    app.advance(Duration::from_secs(300));
    verify(&app, &code).await.refused(400, "auth/invalid-or-expired-token");
    let code = code_for(&app, &user, "hex").await;
    app.advance(Duration::from_secs(299));
    verify(&app, &code).await.expect(200);
}

async fn a_code_belongs_to_its_project_and_its_user(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let code = code_for(&app, &user, "numeric").await;
    let elsewhere = app.anonymous().in_project(app.other.id);
    let foreign = elsewhere.post("/auth/verify-email", json!({ "token": code })).await;
    foreign.refused(400, "auth/invalid-or-expired-token");
    let by_other = other.post("/auth/verify-email", json!({ "token": code })).await;
    by_other.refused(400, "auth/invalid-or-expired-token");
    assert!(!is_verified(&app, &user).await && !is_verified(&app, &other).await);
    user.post("/auth/verify-email", json!({ "token": code })).await.expect(200);
    assert!(is_verified(&app, &user).await && !is_verified(&app, &other).await);
}

/// Codes that are wrong: none of them is the one that was mailed.
fn wrong_codes(code: &str, count: usize) -> Vec<String> {
    (0..).map(|n| format!("{n:06}")).filter(|wrong| wrong != code).take(count).collect()
}

async fn a_short_code_is_void_after_five_wrong_tries_by_its_user(app: TestApp) {
    for (tries, status) in [(4, 200), (5, 400)] {
        let user = app.user().await;
        let code = code_for(&app, &user, "numeric").await;
        for wrong in wrong_codes(&code, tries) {
            let reply = user.post("/auth/verify-email", json!({ "token": wrong })).await;
            reply.refused(400, "auth/invalid-or-expired-token");
        }
        // Void for everybody, not only for who guessed.
        let caller = if tries == 4 { (*user).clone() } else { app.anonymous() };
        let reply = caller.post("/auth/verify-email", json!({ "token": code })).await;
        assert_eq!(reply.status, status, "after {tries} wrong tries: {}", reply.text());
    }
    // A link cannot be guessed, so no guess voids it; and a signed-in guesser hurts nobody else.
    let (user, guesser) = (app.user().await, app.user().await);
    let (long, short) =
        (code_for(&app, &user, "hex").await, code_for(&app, &user, "numeric").await);
    for wrong in wrong_codes(&short, 10) {
        guesser.post("/auth/verify-email", json!({ "token": wrong })).await.expect(400);
    }
    user.post("/auth/verify-email", json!({ "token": short })).await.expect(200);
    verify(&app, &long).await.refused(400, "auth/invalid-or-expired-token");
    let user = app.user().await;
    let long = code_for(&app, &user, "hex").await;
    for wrong in wrong_codes("", 10) {
        user.post("/auth/verify-email", json!({ "token": wrong })).await.expect(400);
    }
    verify(&app, &long).await.expect(200);
    // Old links, opened again, are no guesses.
    let user = app.user().await;
    let short = code_for(&app, &user, "numeric").await;
    for _ in 0..10 {
        user.post("/auth/verify-email", json!({ "token": long })).await.expect(400);
    }
    verify(&app, &short).await.expect(200);
}

async fn of_parallel_verifications_with_one_code_one_holds(app: TestApp) {
    let user = app.user().await;
    let code = code_for(&app, &user, "hex").await;
    let replies = all_at_once((0..16).map(|_| verify(&app, &code))).await;
    assert_eq!((count(&replies, 200), count(&replies, 400)), (1, 15));
}

async fn parallel_wrong_guesses_of_a_user_all_count(app: TestApp) {
    let user = app.user().await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(code_for(&app, &user, "numeric").await);
    }
    let guess = || user.post("/auth/verify-email", json!({ "token": "wrong!" }));
    let replies = all_at_once((0..5).map(|_| guess())).await;
    assert_eq!(count(&replies, 400), 5);
    for code in &codes {
        verify(&app, code).await.refused(400, "auth/invalid-or-expired-token");
    }
}

async fn an_anonymous_guess_voids_no_code(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let codes = [code_for(&app, &ada, "numeric").await, code_for(&app, &bob, "alpha").await];
    for wrong in wrong_codes(&codes[0], 20) {
        verify(&app, &wrong).await.refused(400, "auth/invalid-or-expired-token");
        let link = format!("/auth/verify-email-link?token={wrong}");
        assert_eq!(app.anonymous().get(&link).await.status, 400);
    }
    ada.post("/auth/verify-email", json!({ "token": codes[0] })).await.expect(200);
    verify(&app, &codes[1]).await.expect(200);
}

async fn an_anonymous_guess_counts_against_its_network(app: TestApp) {
    let app = app.with_networks().await;
    let (user, other) = (app.user().await, app.user().await);
    let code = code_for(&app, &user, "numeric").await;
    let link = code_for(&app, &other, "hex").await;
    let guesser = app.anonymous().at_address("203.0.113.7");
    let guess =
        async |token: &str| guesser.post("/auth/verify-email", json!({ "token": token })).await;
    let follow =
        async |token: &str| guesser.get(&format!("/auth/verify-email-link?token={token}")).await;
    let wrong = wrong_codes(&code, 6);
    for (number, token) in wrong[..5].iter().enumerate() {
        // Both ways to use a code count.
        let reply = if number % 2 == 0 { guess(token).await } else { follow(token).await };
        assert_eq!(reply.status, 400, "{number}: {}", reply.text());
    }
    for reply in [guess(&wrong[5]).await, guess(&code).await, follow(&code).await] {
        reply.says(429, "Too many attempts, please try again shortly");
        assert_eq!(reply.header("retry-after"), Some("300"));
        assert_eq!(reply.header("x-ratelimit-limit"), Some("5"));
    }
    // Links are no guesses; guesses of users and keys do not count against the network.
    guess(&link).await.expect(200);
    let signed_in = other.at_address("203.0.113.7");
    let reply = signed_in.post("/auth/verify-email", json!({ "token": wrong[0] })).await;
    reply.refused(400, "auth/invalid-or-expired-token");
    let by_key = app.service().at_address("203.0.113.7");
    let reply = by_key.post("/auth/verify-email", json!({ "token": wrong[0] })).await;
    reply.refused(400, "auth/invalid-or-expired-token");
    // Elsewhere the code is as good as ever; and right codes count for nothing.
    let body = json!({ "token": code });
    app.anonymous().at_address("198.51.100.1").post("/auth/verify-email", body).await.expect(200);
    app.advance(Duration::from_secs(300));
    guess(&wrong[0]).await.refused(400, "auth/invalid-or-expired-token");
    for _ in 0..3 {
        let user = app.user().await;
        let code = code_for(&app, &user, "numeric").await;
        guess(&code).await.expect(200);
    }
    for token in &wrong[1..5] {
        guess(token).await.refused(400, "auth/invalid-or-expired-token");
    }
    assert_eq!(guess(&wrong[5]).await.status, 429);
}
