//! Request Password Reset, Reset Password, and the page of the mailed link.

use std::time::Duration;

use http::Method;
use serde_json::json;

use crate::support::{Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    a_mailed_link_resets_the_password_and_ends_every_session,
    the_reply_does_not_reveal_whether_there_is_an_account,
    a_reset_request_needs_an_address,
    links_come_from_the_public_url_whatever_host_is_named,
    a_reset_token_works_once_for_an_hour_in_its_project,
    a_new_request_replaces_the_pending_one,
    a_refused_password_leaves_the_token_good,
    of_thirty_two_resets_with_one_token_one_holds,
    the_page_keeps_its_token_to_itself_and_its_form_works,
];

const NEW: &str = "battery staple";
const SAYS_NOTHING: &str =
    "If an account with that email exists, a password reset link has been sent.";

/// The token in the link of a mail.
fn token_in(mail: &str) -> String {
    let (_, rest) = mail.split_once("token=").unwrap_or_else(|| panic!("no link in {mail}"));
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

pub(crate) async fn request_token(app: &TestApp, email: &str) -> String {
    let body = json!({ "email": email });
    app.anonymous().post("/auth/request-password-reset", body).await.expect(200);
    token_in(&app.next_mail().await)
}

async fn reset(app: &TestApp, token: &str) -> Reply {
    let body = json!({ "token": token, "newPassword": NEW });
    app.anonymous().post("/auth/reset-password", body).await
}

async fn sign_in(app: &TestApp, email: &str, password: &str) -> Reply {
    app.anonymous().post("/auth/sign-in", json!({ "email": email, "password": password })).await
}

async fn a_mailed_link_resets_the_password_and_ends_every_session(app: TestApp) {
    let bystander = app.user().await;
    for version in ["v6", "v7", "v8"] {
        let user = app.user().await;
        let other = user.sign_in_again().await;
        let address = |path: &str| format!("/{version}/{}/auth/{path}", app.project.id);
        let post = async |path: &str, body: serde_json::Value| {
            let body = body.to_string();
            app.anonymous().raw(Method::POST, &address(path), "application/json", body).await
        };
        post("request-password-reset", json!({ "email": user.email })).await.expect(200);
        let mail = app.next_mail().await;
        assert!(mail.contains(&format!("To: {}", user.email)), "{mail}");
        let token = token_in(&mail);
        assert_eq!(token.len(), 64);
        let link = format!("https://community.example{}?token={token}", address("reset-password"));
        assert!(mail.contains(&link), "{mail}");

        let done = post("reset-password", json!({ "token": token, "newPassword": NEW })).await;
        let expected =
            json!({ "success": true, "message": "Password has been reset successfully." });
        assert_eq!(done.expect(200), expected);
        for session in [&user, &other] {
            let body = json!({ "refreshToken": session.refresh_token });
            let refused = app.anonymous().post("/auth/request-new-access-token", body).await;
            refused.refused(403, "auth/refresh-token-mismatch");
        }
        sign_in(&app, &user.email, User::PASSWORD).await.refused(401, "auth/wrong-password");
        sign_in(&app, &user.email, NEW).await.expect(200);
    }
    let body = json!({ "refreshToken": bystander.refresh_token });
    app.anonymous().post("/auth/request-new-access-token", body).await.expect(200);
}

async fn the_reply_does_not_reveal_whether_there_is_an_account(app: TestApp) {
    let stranger = app.stranger().await;
    let claims = json!({ "sub": "7", "userData": { "email": "ext@example.com" } });
    let body = json!({ "userJwt": app.vouch_for(claims) });
    app.anonymous().post("/auth/verify-external-user", body).await.expect(200);

    let mut replies = Vec::new();
    for email in ["nobody@example.com", "ext@example.com", stranger.email.as_str()] {
        let body = json!({ "email": email });
        replies.push(app.anonymous().post("/auth/request-password-reset", body).await);
    }
    app.run_jobs().await;
    assert_eq!(app.mails(), Vec::<String>::new());

    let user = app.user().await;
    let spelled = json!({ "email": format!(" {} ", user.email.to_uppercase()) });
    replies.push(app.anonymous().post("/auth/request-password-reset", spelled).await);
    app.next_mail().await;
    for reply in &replies {
        assert_eq!(reply.expect(200), json!({ "success": true, "message": SAYS_NOTHING }));
        let headers = |reply: &Reply| {
            let mut names: Vec<String> = reply.headers.keys().map(ToString::to_string).collect();
            names.sort();
            names
        };
        assert_eq!((&reply.body, headers(reply)), (&replies[0].body, headers(&replies[0])));
    }
}

async fn a_reset_request_needs_an_address(app: TestApp) {
    for body in
        [json!({}), json!({ "email": null }), json!({ "email": "x" }), json!({ "email": 7 })]
    {
        let reply = app.anonymous().post("/auth/request-password-reset", body).await;
        reply.refused(400, "auth/invalid-body");
    }
}

async fn links_come_from_the_public_url_whatever_host_is_named(app: TestApp) {
    let user = app.user().await;
    for (header, value) in [
        ("Host", "evil.io"),
        ("X-Forwarded-Host", "evil.io"),
        ("Forwarded", "host=evil.io;proto=http"),
        ("X-Forwarded-Proto", "evil.io"),
        ("Origin", "https://evil.io"),
    ] {
        let forged = app.anonymous().with_header(header, value);
        let body = json!({ "email": user.email });
        forged.post("/auth/request-password-reset", body).await.expect(200);
        let mail = app.next_mail().await;
        assert!(mail.contains("\r\nhttps://community.example/v8/"), "{mail}");
        assert!(!mail.contains("evil.io"), "{mail}");
    }
}

async fn a_reset_token_works_once_for_an_hour_in_its_project(app: TestApp) {
    let user = app.user().await;
    let token = request_token(&app, &user.email).await;
    let elsewhere = app.anonymous().in_project(app.other.id);
    let body = json!({ "token": token, "newPassword": NEW });
    let foreign = elsewhere.post("/auth/reset-password", body).await;
    foreign.refused(400, "auth/invalid-reset-token");
    app.advance(Duration::from_secs(3599));
    reset(&app, &token).await.expect(200);
    reset(&app, &token).await.refused(400, "auth/invalid-reset-token");

    let late = request_token(&app, &user.email).await;
    app.advance(Duration::from_secs(3600));
    for token in [late.as_str(), "", "00", &"0".repeat(64)] {
        reset(&app, token).await.refused(400, "auth/invalid-reset-token");
    }
    sign_in(&app, &user.email, NEW).await.expect(200);
}

async fn a_new_request_replaces_the_pending_one(app: TestApp) {
    let user = app.user().await;
    let first = request_token(&app, &user.email).await;
    let second = request_token(&app, &user.email).await;
    reset(&app, &first).await.refused(400, "auth/invalid-reset-token");
    reset(&app, &second).await.expect(200);
}

async fn a_refused_password_leaves_the_token_good(app: TestApp) {
    let user = app.user().await;
    let token = request_token(&app, &user.email).await;
    for body in [
        json!({ "token": token, "newPassword": "12345" }),
        json!({ "token": token, "newPassword": "x".repeat(257) }),
        json!({ "token": token, "newPassword": "x".repeat(1_000_000) }),
        json!({ "token": token }),
        json!({ "newPassword": NEW }),
        json!({ "token": 7, "newPassword": NEW }),
    ] {
        let reply = app.anonymous().post("/auth/reset-password", body).await;
        reply.refused(400, "auth/invalid-body");
    }
    reset(&app, &token).await.expect(200);
}

async fn of_thirty_two_resets_with_one_token_one_holds(app: TestApp) {
    let user = app.user().await;
    let token = request_token(&app, &user.email).await;
    let replies = all_at_once((0..32).map(|_| reset(&app, &token))).await;
    assert_eq!(count(&replies, 200), 1);
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        reply.refused(400, "auth/invalid-reset-token");
    }
}

async fn the_page_keeps_its_token_to_itself_and_its_form_works(app: TestApp) {
    let user = app.user().await;
    let token = request_token(&app, &user.email).await;
    for (asked, shown) in [
        (token.as_str(), token.as_str()),
        ("bad", "bad"),
        ("%22%3E%3Cscript%3Ealert(1)", "&quot;&gt;&lt;script&gt;alert(1)"),
        ("", ""),
    ] {
        let page = app.anonymous().get(&format!("/auth/reset-password?token={asked}")).await;
        assert_eq!(page.status, 200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        let policy = page.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        let html = page.text();
        assert!(html.contains(&format!("name=\"token\" value=\"{shown}\"")), "{html}");
        assert!(
            !html.contains("http://") && !html.contains("https://") && !html.contains("<script")
        );
    }
    app.anonymous().get("/auth/reset-password").await.expect(200);

    // What a browser sends when the form is submitted.
    let browser = app.anonymous().with_header("accept", "text/html,application/xhtml+xml");
    let address = format!("/v8/{}/auth/reset-password?token={token}", app.project.id);
    let form = format!("token={token}&newPassword=battery+staple");
    let media = "application/x-www-form-urlencoded";
    let done = browser.raw(Method::POST, &address, media, form.clone()).await;
    assert_eq!(done.status, 200, "{}", done.text());
    assert_eq!(done.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(done.header("referrer-policy"), Some("no-referrer"));
    let used = browser.raw(Method::POST, &address, media, form).await;
    assert_eq!(used.status, 400, "{}", used.text());
    assert_eq!(used.header("content-type"), Some("text/html; charset=utf-8"));
    sign_in(&app, &user.email, NEW).await.expect(200);
}
