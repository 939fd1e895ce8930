//! The daily digest of a space: who sets it, when it is sent, and what it says.

use std::time::Duration;

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use townhall::features::digests::enqueue_due;
use townhall::values::ids::{ProjectId, UserId};
use townhall::values::time::Timestamp;

use crate::support::fake::{Fake, Request};
use crate::support::openid::allowing_this_machine;
use crate::support::{Actor, Reply, TestApp, User, on_both_engines};

on_both_engines![
    a_digest_is_configured_by_admins,
    a_digest_that_is_on_has_everything,
    what_is_no_setting_is_refused,
    a_digest_says_what_is_new,
    a_digest_is_sent_once_a_day_in_its_zone,
    days_of_23_and_25_hours_have_one_digest,
    nothing_new_sends_nothing,
    a_failing_receiver_is_tried_again,
    a_deleted_space_has_no_digest,
    two_nodes_send_one_digest,
];

const HOOK: &str = "/hook";
const MASK: &str = "••••••••";

async fn space(user: &User<'_>) -> String {
    let created = user
        .post("/spaces", json!({ "name": "Garden", "requireJoinApproval": false }))
        .await
        .expect(201);
    created["id"].as_str().unwrap().to_owned()
}

fn path(space: &str) -> String {
    format!("/spaces/{space}/digest-config")
}

async fn set(actor: &Actor<'_>, space: &str, body: Value) -> Reply {
    actor.v7().patch(&path(space), body).await
}

fn at_nine(hook: &Fake) -> Value {
    json!({
        "digestEnabled": true, "digestWebhookUrl": hook.url(HOOK), "digestWebhookSecret": "hush",
        "digestScheduleHour": 9, "digestTimezone": "Europe/Berlin",
    })
}

async fn start(app: TestApp) -> (TestApp, Fake) {
    let (app, hook) = (allowing_this_machine(app).await, Fake::start().await);
    hook.reply(HOOK, 200, json!({}));
    (app, hook)
}

/// Lets the clock reach a moment.
fn reach(app: &TestApp, moment: &str) {
    let to = Timestamp::parse(moment).unwrap();
    let wait = u64::try_from(to.millis() - app.now().millis()).unwrap();
    app.advance(Duration::from_millis(wait));
}

/// What the worker does once a minute.
async fn work(app: &TestApp) {
    let now = app.now();
    app.app.db.write(move |tx| enqueue_due(tx, now, 100)).await.unwrap();
    app.run_jobs().await;
}

/// How often the digest was sent by each of these moments.
async fn sent_at(app: &TestApp, hook: &Fake, moments: &[&str]) -> Vec<usize> {
    let mut sent = Vec::new();
    for moment in moments {
        reach(app, moment);
        work(app).await;
        sent.push(hook.requests(HOOK).len());
    }
    sent
}

async fn post(user: &User<'_>, space: &str) -> Value {
    user.post("/entities", json!({ "title": "Tulips", "spaceId": space })).await.expect(201)
}

async fn a_digest_is_configured_by_admins(app: TestApp) {
    let (app, hook) = start(app).await;
    let (admin, member, stranger) = (app.user().await, app.user().await, app.user().await);
    let space = space(&admin).await;
    member.post(&format!("/spaces/{space}/join"), json!({})).await.expect(201);
    let off = json!({
        "digestEnabled": false, "digestWebhookUrl": null, "digestWebhookSecret": null,
        "digestScheduleHour": null, "digestTimezone": null,
    });
    assert_eq!(admin.v7().get(&path(&space)).await.expect(200), off);
    let mut shown = at_nine(&hook);
    shown["digestWebhookSecret"] = json!(MASK);
    assert_eq!(set(&admin, &space, at_nine(&hook)).await.expect(200), shown);
    for actor in [(*admin).clone(), app.service(), app.master()] {
        assert_eq!(actor.v7().get(&path(&space)).await.expect(200), shown);
    }
    for (actor, outcome) in [
        ((*member).clone(), "403 space/admin-required"),
        ((*stranger).clone(), "403 space/admin-required"),
        (app.anonymous(), "401 auth/unauthorized"),
    ] {
        assert_eq!(actor.v7().get(&path(&space)).await.outcome(), outcome);
        assert_eq!(set(&actor, &space, json!({})).await.outcome(), outcome);
    }
    // A key may do everything, also on behalf of a user.
    let query = format!("{}?actingUserId={}", path(&space), member.id);
    app.service().v7().get(&query).await.expect(200);
    let other = app.bearer(&app.other.service_key).in_project(app.other.id);
    other.v7().get(&path(&space)).await.refused(404, "space/not-found");
    for actor in [admin.v6(), (*admin).clone()] {
        actor.get(&path(&space)).await.expect(404);
    }
    let unknown = "0198f0a1-0000-4abc-8abc-0123456789ab";
    admin.v7().get(&path(unknown)).await.refused(404, "space/not-found");
    admin.v7().get(&path("x")).await.refused(400, "space/invalid-params");
    app.suspend(admin.id).await;
    admin.v7().get(&path(&space)).await.expect(200);
    set(&admin, &space, json!({})).await.refused(403, "user/suspended");
}

async fn a_digest_that_is_on_has_everything(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    let all = at_nine(&hook);
    for field in all.as_object().unwrap().keys().filter(|key| *key != "digestEnabled") {
        let mut lacking = all.clone();
        lacking.as_object_mut().unwrap().remove(field);
        let refused = set(&admin, &space, lacking).await;
        refused.refused(400, "space/invalid-digest-config");
    }
    // Piece by piece while it is off.
    for (field, value) in all.as_object().unwrap() {
        if field != "digestEnabled" {
            let mut piece = json!({});
            piece[field] = value.clone();
            set(&admin, &space, piece).await.expect(200);
        }
    }
    let on = set(&admin, &space, json!({ "digestEnabled": true })).await.expect(200);
    assert_eq!(on["digestEnabled"], true);
    for field in ["digestWebhookUrl", "digestWebhookSecret", "digestScheduleHour"] {
        let mut cleared = json!({});
        cleared[field] = Value::Null;
        let refused = set(&admin, &space, cleared.clone()).await;
        refused.refused(400, "space/invalid-digest-config");
        cleared["digestEnabled"] = json!(false);
        assert_eq!(set(&admin, &space, cleared).await.expect(200)[field], Value::Null);
        set(&admin, &space, all.clone()).await.expect(200);
    }
}

async fn what_is_no_setting_is_refused(app: TestApp) {
    let admin = app.user().await;
    let space = space(&admin).await;
    for body in [
        json!({ "digestEnabled": null }),
        json!({ "digestEnabled": "yes" }),
        json!({ "digestScheduleHour": 24 }),
        json!({ "digestScheduleHour": -1 }),
        json!({ "digestScheduleHour": 9.5 }),
        json!({ "digestTimezone": "Berlin" }),
        json!({ "digestTimezone": "" }),
        json!({ "digestWebhookUrl": "example.com" }),
        json!({ "digestWebhookUrl": "ftp://example.com" }),
        json!({ "digestWebhookUrl": "http://127.0.0.1/hook" }),
        json!({ "digestWebhookUrl": "http://localhost/hook" }),
        json!({ "digestWebhookUrl": "https://[::1]/hook" }),
        json!({ "digestWebhookUrl": "http://10.1.2.3/hook" }),
        json!({ "digestWebhookUrl": "http://2130706433/hook" }),
        json!({ "digestWebhookUrl": "http://169.254.169.254/" }),
        json!({ "digestWebhookSecret": "" }),
    ] {
        set(&admin, &space, body).await.refused(400, "space/invalid-body");
    }
    let kept = json!({ "digestWebhookUrl": "https://hook.example/x", "unknown": 1 });
    set(&admin, &space, kept).await.expect(200);
}

fn check_signature(request: &Request, secret: &str) {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let text = format!("{}.{}", request.headers["x-timestamp"], request.body);
    let tag = hmac::sign(&key, text.as_bytes());
    let signature: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(request.headers["x-signature"], signature);
}

async fn a_digest_says_what_is_new(app: TestApp) {
    let (app, hook) = start(app).await;
    let (admin, member) = (app.user().await, app.user().await);
    let space = space(&admin).await;
    let elsewhere = self::space(&member).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    let old = post(&admin, &space).await;
    reach(&app, "2026-08-03T06:59:59.999Z");
    app.run_jobs().await;
    work(&app).await;

    let member = member.sign_in_again().await;
    member.post(&format!("/spaces/{space}/join"), json!({})).await.expect(201);
    let first = post(&member, &space).await;
    app.advance(Duration::from_millis(1));
    // Everything below is of the next window.
    let before = hook.requests(HOOK).len();
    work(&app).await;
    let request = hook.requests(HOOK).pop().unwrap();
    assert_eq!(hook.requests(HOOK).len(), before + 1);
    check_signature(&request, "hush");
    assert_eq!(request.headers["x-timestamp"], app.now().millis().to_string());
    assert_eq!(request.headers["content-type"], "application/json");
    let digest: Value = serde_json::from_str(&request.body).unwrap();
    assert!(request.body.starts_with(r#"{"type":"space.digest","projectId":""#));
    assert_eq!((&digest["projectId"], &digest["spaceId"]), (&json!(app.project.id), &json!(space)));
    let data = &digest["data"];
    assert_eq!(data["counts"], json!({ "entities": 1, "comments": 0, "members": 1 }));
    assert_eq!(data["entities"][0]["id"], first["id"]);
    assert_eq!(data["entities"][0]["user"]["id"], json!(member.id));
    assert_eq!(data["members"][0]["user"]["id"], json!(member.id));
    assert_eq!(data["members"][0]["role"], "member");

    let member = member.sign_in_again().await;
    let comment = async |entity: &Value, content: &str| {
        let body = json!({ "entityId": entity["id"], "content": content });
        member.post("/comments", body).await.expect(201)
    };
    comment(&old, "still nice").await;
    let gone = comment(&old, "regretted").await;
    member.delete(&format!("/comments/{}", gone["id"].as_str().unwrap())).await.expect(204);
    let removed = post(&member, &space).await;
    member.delete(&format!("/entities/{}", removed["id"].as_str().unwrap())).await.expect(204);
    post(&member, &elsewhere).await;
    reach(&app, "2026-08-04T07:00:00Z");
    work(&app).await;
    let digest: Value = serde_json::from_str(&hook.requests(HOOK).pop().unwrap().body).unwrap();
    assert_eq!(digest["data"]["counts"], json!({ "entities": 0, "comments": 1, "members": 0 }));
    assert_eq!(digest["data"]["entities"], json!([]));

    // A new secret signs the next one; its mask changes nothing.
    let admin = admin.sign_in_again().await;
    let body = json!({ "digestWebhookSecret": "other" });
    set(&admin, &space, body).await.expect(200);
    set(&admin, &space, json!({ "digestWebhookSecret": MASK })).await.expect(200);
    post(&admin, &space).await;
    reach(&app, "2026-08-05T07:00:00Z");
    work(&app).await;
    check_signature(&hook.requests(HOOK).pop().unwrap(), "other");
}

/// Something new in the space, whenever it is asked.
async fn keep_busy(app: &TestApp, project: ProjectId, space: &str, user: UserId) {
    let body = json!({ "title": "Tulips", "spaceId": space, "userId": user });
    app.service().in_project(project).post("/entities", body).await.expect(201);
}

async fn a_digest_is_sent_once_a_day_in_its_zone(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    keep_busy(&app, app.project.id, &space, admin.id).await;
    let moments = [
        "2026-08-02T06:59:59Z",
        "2026-08-02T07:00:00Z",
        "2026-08-02T07:59:00Z",
        "2026-08-02T09:00:00Z",
    ];
    assert_eq!(sent_at(&app, &hook, &moments).await, [0, 1, 1, 1]);
    // Another hour counts from the next time on.
    let body = json!({ "digestScheduleHour": 12, "digestTimezone": "Asia/Kolkata" });
    app.service().v7().patch(&path(&space), body).await.expect(200);
    keep_busy(&app, app.project.id, &space, admin.id).await;
    let moments = ["2026-08-03T06:29:59Z", "2026-08-03T06:30:00Z", "2026-08-03T07:00:00Z"];
    assert_eq!(sent_at(&app, &hook, &moments).await, [1, 2, 2]);
    // A server that was down for days sends one.
    keep_busy(&app, app.project.id, &space, admin.id).await;
    let moments = ["2026-08-04T06:30:00Z", "2026-08-07T20:00:00Z", "2026-08-07T21:00:00Z"];
    assert_eq!(sent_at(&app, &hook, &moments).await, [3, 3, 3], "nothing new, so none is late");
    let body = json!({ "digestEnabled": false });
    app.service().v7().patch(&path(&space), body).await.expect(200);
    keep_busy(&app, app.project.id, &space, admin.id).await;
    assert_eq!(sent_at(&app, &hook, &["2026-08-08T06:30:00Z"]).await, [3]);
}

async fn days_of_23_and_25_hours_have_one_digest(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    let mut config = at_nine(&hook);
    config["digestScheduleHour"] = json!(2);
    set(&admin, &space, config).await.expect(200);
    // Whatever is new before a digest is in it, so that each one that is due is sent.
    for (moment, expected) in [
        // The creator of the space is a new member, in a digest that is late.
        ("2026-10-24T23:59:59Z", 1),
        // In Berlin two o'clock comes twice on 25 October 2026, at 00:00 and 01:00 UTC.
        ("2026-10-25T00:00:00Z", 2),
        ("2026-10-25T01:00:00Z", 2),
        ("2026-10-26T00:00:00Z", 2),
        ("2026-10-26T01:00:00Z", 3),
        // It does not come on 28 March 2027: 01:00 UTC is three o'clock.
        ("2027-03-28T00:59:59Z", 4),
        ("2027-03-28T01:00:00Z", 5),
        ("2027-03-28T02:00:00Z", 5),
        ("2027-03-29T00:00:00Z", 6),
    ] {
        reach(&app, moment);
        work(&app).await;
        assert_eq!(hook.requests(HOOK).len(), expected, "{moment}");
        keep_busy(&app, app.project.id, &space, admin.id).await;
    }
}

async fn nothing_new_sends_nothing(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    // The creator of a new space is a new member.
    let moments = ["2026-08-02T07:00:00Z", "2026-08-03T07:00:00Z", "2026-08-04T07:00:00Z"];
    assert_eq!(sent_at(&app, &hook, &moments).await, [1, 1, 1]);
}

async fn a_failing_receiver_is_tried_again(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    hook.reply(HOOK, 500, json!({}));
    assert_eq!(sent_at(&app, &hook, &["2026-08-02T07:00:00Z"]).await, [1]);
    app.run_jobs().await;
    assert_eq!(hook.requests(HOOK).len(), 1, "not at once");
    hook.reply(HOOK, 204, json!({}));
    app.advance(Duration::from_secs(10));
    app.run_jobs().await;
    app.advance(Duration::from_secs(600));
    app.run_jobs().await;
    let requests = hook.requests(HOOK);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    check_signature(&requests[1], "hush");
}

async fn a_deleted_space_has_no_digest(app: TestApp) {
    let (app, hook) = start(app).await;
    let admin = app.user().await;
    let space = space(&admin).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    app.service().delete(&format!("/spaces/{space}")).await.expect(200);
    assert_eq!(sent_at(&app, &hook, &["2026-08-02T07:00:00Z"]).await, [0]);
    assert_eq!(app.rows("space_digests").await, 0);
}

async fn two_nodes_send_one_digest(app: TestApp) {
    let (app, hook) = start(app).await;
    if app.engine() == db::Engine::Sqlite {
        return;
    }
    let node = app.second_node().await;
    let admin = app.user().await;
    let space = space(&admin).await;
    set(&admin, &space, at_nine(&hook)).await.expect(200);
    reach(&app, "2026-08-02T07:00:00Z");
    tokio::join!(work(&app), work(&node));
    assert_eq!(hook.requests(HOOK).len(), 1);
}
