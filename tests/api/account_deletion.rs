//! Request Account Deletion, Confirm Account Deletion.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Actor, Reply, TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    a_mailed_code_deletes_the_account_and_all_that_is_its_own,
    a_code_is_good_for_ten_minutes_and_a_new_one_replaces_it,
    a_code_is_void_after_five_wrong_tries,
    wrong_tries_count_from_whichever_network,
    one_users_code_is_nothing_to_another,
    a_confirmation_needs_a_code,
    who_may_not_delete_an_account,
    an_account_without_an_address_cannot_ask,
    of_parallel_confirmations_one_deletes,
];

/// The line of a mail that is six digits.
fn code_in(mail: &str) -> String {
    let is_code = |line: &&str| line.len() == 6 && line.bytes().all(|b| b.is_ascii_digit());
    mail.lines().find(is_code).unwrap_or_else(|| panic!("no code in {mail}")).to_owned()
}

async fn code_for(app: &TestApp, user: &User<'_>) -> String {
    user.post("/auth/request-account-deletion", json!({})).await.expect(200);
    code_in(&app.next_mail().await)
}

async fn confirm(actor: &Actor<'_>, code: &str) -> Reply {
    actor.post("/auth/confirm-account-deletion", json!({ "code": code })).await
}

fn wrong_codes(code: &str, count: usize) -> Vec<String> {
    (0..).map(|n| format!("{n:06}")).filter(|wrong| wrong != code).take(count).collect()
}

async fn a_mailed_code_deletes_the_account_and_all_that_is_its_own(app: TestApp) {
    let bystander = app.user().await;
    for version in ["v6", "v7", "v8"] {
        let user = app.user().await;
        let other = user.sign_in_again().await;
        let caller = match version {
            "v6" => user.v6(),
            "v7" => user.v7(),
            _ => (*user).clone(),
        };
        let post = http::Method::POST;
        let asked = caller.send(post, "/auth/request-account-deletion", None).await.expect(200);
        assert_eq!(asked, json!({ "success": true }));
        let mail = app.next_mail().await;
        assert!(mail.contains(&format!("To: {}", user.email)), "{mail}");
        user.get("/oauth/identities").await.expect(200);

        let gone = confirm(&caller, &code_in(&mail)).await;
        gone.expect(204);
        assert!(gone.body.is_empty());
        for session in [&user, &other] {
            session.get("/oauth/identities").await.refused(403, "auth/no-user-found");
            let body = json!({ "refreshToken": session.refresh_token });
            let refused = app.anonymous().post("/auth/request-new-access-token", body).await;
            refused.refused(403, "auth/refresh-token-mismatch");
        }
        let sign_in = json!({ "email": user.email, "password": User::PASSWORD });
        let refused = app.anonymous().post("/auth/sign-in", sign_in.clone()).await;
        refused.refused(403, "auth/no-user-found");
        let fetched = app.service().get(&format!("/users/{}", user.id)).await;
        fetched.refused(404, "user/not-found");
        confirm(&caller, &code_in(&mail)).await.refused(404, "user/not-found");
        // The address and the name are free again.
        app.anonymous().post("/auth/sign-up", sign_in).await.expect(201);
    }
    bystander.get("/oauth/identities").await.expect(200);
}

async fn a_code_is_good_for_ten_minutes_and_a_new_one_replaces_it(app: TestApp) {
    let user = app.user().await;
    let expired = code_for(&app, &user).await;
    app.advance(Duration::from_secs(600));
    confirm(&user, &expired).await.refused(400, "auth/invalid-or-expired-code");
    let replaced = code_for(&app, &user).await;
    let code = code_for(&app, &user).await;
    confirm(&user, &replaced).await.refused(400, "auth/invalid-or-expired-code");
    app.advance(Duration::from_secs(599));
    confirm(&user, &code).await.expect(204);
}

async fn a_code_is_void_after_five_wrong_tries(app: TestApp) {
    for (tries, status) in [(4, 204), (5, 400)] {
        let user = app.user().await;
        let code = code_for(&app, &user).await;
        for wrong in wrong_codes(&code, tries) {
            confirm(&user, &wrong).await.refused(400, "auth/invalid-or-expired-code");
        }
        let reply = confirm(&user, &code).await;
        assert_eq!(reply.status, status, "after {tries} wrong tries: {}", reply.text());
    }
    // Tries at once are tries all the same.
    let user = app.user().await;
    let code = code_for(&app, &user).await;
    let wrong = wrong_codes(&code, 5);
    let replies = all_at_once(wrong.iter().map(|wrong| confirm(&user, wrong))).await;
    assert_eq!(count(&replies, 400), 5);
    confirm(&user, &code).await.refused(400, "auth/invalid-or-expired-code");
    user.get("/oauth/identities").await.expect(200);
}

async fn wrong_tries_count_from_whichever_network(app: TestApp) {
    let app = app.with_networks().await;
    let user = app.user().await;
    let code = code_for(&app, &user).await;
    for (network, wrong) in wrong_codes(&code, 5).iter().enumerate() {
        let actor = user.at_address(&format!("203.0.113.{network}"));
        confirm(&actor, wrong).await.refused(400, "auth/invalid-or-expired-code");
    }
    let elsewhere = user.at_address("198.51.100.1");
    confirm(&elsewhere, &code).await.refused(400, "auth/invalid-or-expired-code");
    // One network has five tries, against whichever code.
    for (number, wrong) in wrong_codes(&code, 6).iter().enumerate() {
        let reply = confirm(&user.at_address("192.0.2.1"), wrong).await;
        assert_eq!(reply.status, if number < 5 { 400 } else { 429 }, "{}", reply.text());
    }
    user.get("/oauth/identities").await.expect(200);
}

async fn one_users_code_is_nothing_to_another(app: TestApp) {
    let (user, other) = (app.user().await, app.user().await);
    let code = code_for(&app, &user).await;
    confirm(&other, &code).await.refused(400, "auth/invalid-or-expired-code");
    for wrong in wrong_codes(&code, 5) {
        confirm(&other, &wrong).await.refused(400, "auth/invalid-or-expired-code");
    }
    confirm(&user, &code).await.expect(204);
    other.get("/oauth/identities").await.expect(200);
}

async fn a_confirmation_needs_a_code(app: TestApp) {
    let user = app.user().await;
    confirm(&user, "123456").await.refused(400, "auth/invalid-or-expired-code");
    for body in [json!({}), json!({ "code": null }), json!({ "code": 123_456 })] {
        let reply = user.post("/auth/confirm-account-deletion", body).await;
        reply.refused(400, "auth/invalid-body");
    }
}

async fn who_may_not_delete_an_account(app: TestApp) {
    let (user, stranger) = (app.user().await, app.stranger().await);
    let code = code_for(&app, &user).await;
    for path in ["/auth/request-account-deletion", "/auth/confirm-account-deletion"] {
        let body: Value = json!({ "code": code, "userId": user.id });
        app.anonymous().post(path, body.clone()).await.says(401, "Unauthorized");
        let foreign = app.bearer(&stranger.access_token).post(path, body.clone()).await;
        foreign.says(403, "Forbidden");
        for key in [app.service(), app.master()] {
            key.post(path, body.clone()).await.refused(400, "auth/missing-user-id");
        }
    }
    let at_home = app.bearer(&stranger.access_token).in_project(app.other.id);
    confirm(&at_home, &code).await.refused(400, "auth/invalid-or-expired-code");
    confirm(&user, &code).await.expect(204);
    let late = user.post("/auth/request-account-deletion", json!({})).await;
    late.refused(403, "auth/no-user-found");
}

async fn an_account_without_an_address_cannot_ask(app: TestApp) {
    let body = json!({ "userJwt": app.vouch_for(json!({ "sub": "7" })) });
    let reply = app.anonymous().post("/auth/verify-external-user", body).await.expect(200);
    let guest = User::from_reply(&app, app.project.id, &reply);
    let refused = guest.post("/auth/request-account-deletion", json!({})).await;
    refused.refused(400, "auth/no-email-on-file");
}

async fn of_parallel_confirmations_one_deletes(app: TestApp) {
    let user = app.user().await;
    let code = code_for(&app, &user).await;
    let replies = all_at_once((0..8).map(|_| confirm(&user, &code))).await;
    assert_eq!(count(&replies, 204), 1);
    for reply in replies.iter().filter(|reply| reply.status != 204) {
        // Late, but before or after the account itself was gone.
        let code = reply.json()["code"].clone();
        let late = [json!("auth/invalid-or-expired-code"), json!("user/not-found")];
        assert!(late.contains(&code), "{}", reply.text());
    }
}
