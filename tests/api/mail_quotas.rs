//! The quota of mails that anybody can trigger: an address gets three in ten minutes and ten in a day, over
//! all senders and kinds. The reply does not reveal whether one was sent.

use std::time::Duration;

use db::Engine;
use serde_json::json;
use townhall::mail_quota::store;

use crate::support::{Actor, Reply, TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    an_address_gets_three_mails_in_ten_minutes,
    an_address_gets_ten_mails_in_a_day,
    all_kinds_count_together_for_one_address_of_one_project,
    a_refused_mail_is_answered_like_one_that_is_sent,
    of_many_requests_at_once_three_send,
    an_unknown_address_is_counted_like_a_known_one,
    without_rate_limits_every_mail_is_sent,
    old_quotas_are_swept,
];

/// The same caller from one of many networks.
fn from<'a>(actor: &Actor<'a>, network: usize) -> Actor<'a> {
    let address = format!("203.0.{}.{}", network / 250, network % 250);
    actor.at_address(&address)
}

async fn request_reset(app: &TestApp, email: &str, network: usize) -> Reply {
    let body = json!({ "email": email });
    from(&app.anonymous(), network).post("/auth/request-password-reset", body).await
}

/// How many mails were sent since the last time this was asked.
async fn sent(app: &TestApp, before: &mut usize) -> usize {
    app.run_jobs().await;
    let all = app.mails().len();
    all - std::mem::replace(before, all)
}

async fn an_address_gets_three_mails_in_ten_minutes(app: TestApp) {
    let app = app.with_networks().await;
    let (user, mut seen) = (app.user().await, 0);
    let minute = Duration::from_secs(60);
    // At minutes 0, 4 and 8: three.
    for network in 0..3 {
        request_reset(&app, &user.email, network).await.expect(200);
        assert_eq!(sent(&app, &mut seen).await, 1);
        app.advance(4 * minute);
    }
    // At minute 12 the first is more than ten minutes old, the second and the third are not.
    for (network, expected) in [(10, 1), (11, 0), (12, 0)] {
        request_reset(&app, &user.email, network).await.expect(200);
        assert_eq!(sent(&app, &mut seen).await, expected, "{network}");
    }
    // The second is exactly ten minutes old at minute 14.
    app.advance(2 * minute - Duration::from_millis(1));
    request_reset(&app, &user.email, 13).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 0);
    app.advance(Duration::from_millis(1));
    request_reset(&app, &user.email, 14).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 1);
}

async fn an_address_gets_ten_mails_in_a_day(app: TestApp) {
    let app = app.with_networks().await;
    let (user, mut seen, start) = (app.user().await, 0, app.now());
    for network in 0..12 {
        request_reset(&app, &user.email, network).await.expect(200);
        let expected = usize::from(network < 10);
        assert_eq!(sent(&app, &mut seen).await, expected, "mail {network}");
        app.advance(Duration::from_secs(600));
    }
    let day = Duration::from_secs(24 * 3600);
    let passed = Duration::from_secs(12 * 600);
    assert_eq!(app.now(), start.plus(passed));
    app.advance(day - passed - Duration::from_millis(1));
    request_reset(&app, &user.email, 20).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 0);
    app.advance(Duration::from_millis(1));
    request_reset(&app, &user.email, 21).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 1, "the first is a day old");
}

async fn all_kinds_count_together_for_one_address_of_one_project(app: TestApp) {
    let app = app.with_networks().await;
    let (user, mut seen) = (app.user().await, 0);
    let by_key = json!({ "userId": user.id });
    from(&user, 1).post("/auth/send-verification-email", json!({})).await.expect(200);
    app.service().post("/auth/send-verification-email", by_key.clone()).await.expect(200);
    request_reset(&app, &format!(" {} ", user.email.to_uppercase()), 2).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 3);
    from(&user, 3).post("/auth/request-account-deletion", json!({})).await.expect(200);
    from(&user, 4).post("/auth/send-verification-email", json!({})).await.expect(200);
    app.service().post("/auth/send-verification-email", by_key).await.expect(200);
    request_reset(&app, &user.email, 5).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 0);

    // Another address, and the same one in another project.
    let other = app.user().await;
    request_reset(&app, &other.email, 6).await.expect(200);
    let elsewhere = app.anonymous().in_project(app.other.id);
    let body = json!({ "email": user.email, "password": "correct horse" });
    elsewhere.post("/auth/sign-up", body.clone()).await.expect(201);
    from(&elsewhere, 7).post("/auth/request-password-reset", body).await.expect(200);
    assert_eq!(sent(&app, &mut seen).await, 2);
}

/// What a client sees of a reply, but for what differs from one request to the next by nature.
fn visible(reply: &Reply) -> (u16, String, Vec<(String, String)>) {
    let changing = ["date", "x-request-id", "x-ratelimit-remaining"];
    let headers = reply
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let headers = headers.filter(|(name, _)| !changing.contains(&name.as_str())).collect();
    (reply.status, reply.text(), headers)
}

async fn a_refused_mail_is_answered_like_one_that_is_sent(app: TestApp) {
    let app = app.with_networks().await;
    for (path, body) in [
        ("/auth/request-password-reset", None),
        ("/auth/send-verification-email", Some(json!({}))),
        ("/auth/request-account-deletion", Some(json!({}))),
    ] {
        let user = app.user().await;
        let mut before = app.mails().len();
        let mut replies = Vec::new();
        for network in 0..5 {
            let body = body.clone().unwrap_or_else(|| json!({ "email": user.email }));
            replies.push(visible(&from(&user, network).post(path, body).await));
        }
        assert_eq!(sent(&app, &mut before).await, 3, "{path}");
        for reply in &replies {
            assert_eq!(reply, &replies[0], "{path}");
        }
        assert_eq!(replies[0].0, 200, "{path}");
    }
}

async fn of_many_requests_at_once_three_send(app: TestApp) {
    let app = app.with_networks().await;
    let (user, mut seen) = (app.user().await, 0);
    let replies = all_at_once((0..16).map(|n| request_reset(&app, &user.email, n))).await;
    assert_eq!(count(&replies, 200), 16);
    assert_eq!(sent(&app, &mut seen).await, 3);
    if app.engine() == Engine::Postgres {
        // The count is the database's: another node knows it.
        let node = app.second_node().await;
        request_reset(&node, &user.email, 50).await.expect(200);
        let (here, there) = (app.run_jobs().await, node.run_jobs().await);
        assert_eq!((here, there), (0, 0), "nothing was queued");
    }
}

async fn an_unknown_address_is_counted_like_a_known_one(app: TestApp) {
    let app = app.with_networks().await;
    for network in 0..5 {
        request_reset(&app, "nobody@example.com", network).await.expect(200);
    }
    assert_eq!(app.run_jobs().await, 3, "jobs that find nobody");
    assert_eq!(app.mails(), Vec::<String>::new());
}

async fn without_rate_limits_every_mail_is_sent(app: TestApp) {
    let (user, mut seen) = (app.user().await, 0);
    for network in 0..12 {
        request_reset(&app, &user.email, network).await.expect(200);
        assert_eq!(sent(&app, &mut seen).await, 1);
    }
}

async fn old_quotas_are_swept(app: TestApp) {
    let app = app.with_networks().await;
    for (network, email) in ["a@example.com", "b@example.com"].into_iter().enumerate() {
        request_reset(&app, email, network).await.expect(200);
        app.advance(Duration::from_secs(3600));
    }
    let rows = async || {
        let count = db::Query::<i64>::built("count", "SELECT count(*) FROM mail_quotas");
        app.app.db.read(move |c| c.one(&count, db::args![])).await.unwrap()
    };
    assert_eq!(rows().await, 2);
    app.advance(Duration::from_secs(22 * 3600 + 1));
    let now = app.now();
    app.app.db.write(move |tx| store::sweep(tx, now, 100)).await.unwrap();
    assert_eq!(rows().await, 1);
}
