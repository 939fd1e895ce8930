//! Handling reports with a key: dismiss, remove the content, suspend its author.

use serde_json::{Value, json};

use crate::comments::{UNKNOWN, comment, id_of, path, read, reply};
use crate::reactions::{publish, reputation};
use crate::reports::{report, reports};

use crate::support::{TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_dismissed_report_changes_nothing_else,
    a_removed_entity_is_out_of_the_feeds,
    a_removed_comment_is_a_placeholder,
    an_author_can_be_suspended,
    contradictory_actions_are_refused,
    the_second_of_two_concurrent_handlers_gets_an_error,
];

/// The path of the only open report.
async fn open(app: &TestApp) -> String {
    let all = reports(app, "status=open").await;
    let [one] = &all[..] else { panic!("{all:?}") };
    format!("/reports/{}", one["id"].as_str().unwrap())
}

async fn a_dismissed_report_changes_nothing_else(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let before = app.anonymous().get(&entity).await.expect(200);
    report(&bob, &entity).await;
    let path = open(&app).await;
    let handled = json!({ "actions": ["dismiss", "dismiss"], "summary": "All is well" });
    let handled = app.service().patch(&path, handled).await.expect(200);
    assert_eq!(handled["code"], "report/handled");
    assert!(handled["message"].is_string());
    let shown = app.service().get(&path).await.expect(200);
    assert_eq!(
        (&shown["status"], &shown["actionTaken"]),
        (&json!("dismissed"), &json!("All is well"))
    );
    let mut after = app.anonymous().get(&entity).await.expect(200);
    after["views"] = before["views"].clone();
    assert_eq!(after, before);
}

async fn a_removed_entity_is_out_of_the_feeds(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (entity, other) = (publish(&ada).await, publish(&ada).await);
    report(&bob, &entity).await;
    let removed = json!({ "actions": ["remove-content"], "summary": "Spam" });
    app.master().patch(&open(&app).await, removed).await.expect(200);
    let feed = bob.get("/entities").await.expect(200);
    assert_eq!(feed["pagination"]["totalItems"], 1);
    assert_eq!(feed["data"][0]["id"], json!(id_of(&other)));
    let shown = app.service().get(&entity).await.expect(200);
    assert_eq!(
        (&shown["moderationStatus"], &shown["moderationReason"]),
        (&json!("removed"), &json!("Spam"))
    );
    assert_eq!(
        (&shown["moderatedByType"], &shown["moderatedById"]),
        (&json!("client"), &Value::Null)
    );
    assert_eq!(shown["moderatedAt"], json!(app.now()));
    assert_eq!(reputation(&app, &ada).await, 10, "moderation costs no points");
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
    // Nobody comments on it any more.
    let new = json!({ "entityId": id_of(&entity), "content": "x" });
    bob.post("/comments", new).await.refused(404, "comment/entity-not-found");
    // It can be reported again; removing it again changes no count.
    report(&bob, &entity).await;
    let removed = json!({ "actions": ["remove-content"], "summary": "Spam", "reason": "Again" });
    app.service().patch(&open(&app).await, removed).await.expect(200);
    assert_eq!(app.service().get(&entity).await.expect(200)["moderationReason"], "Again");
    assert_eq!(bob.get("/entities").await.expect(200)["pagination"]["totalItems"], 1);
    ada.delete(&entity).await.expect(204);
    assert_eq!(bob.get("/entities").await.expect(200)["pagination"]["totalItems"], 1);
}

async fn a_removed_comment_is_a_placeholder(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "Bad").await;
    let answer = reply(&bob, &said, "Answer").await;
    let body = json!({ "targetType": "comment", "targetId": said["id"], "reason": "hateSpeech" });
    bob.post("/reports", body).await.expect(201);
    let removed = json!({ "actions": ["remove-content"], "summary": "Rude" });
    app.service().patch(&open(&app).await, removed).await.expect(200);
    for actor in [&*bob, &app.anonymous()] {
        let shown = actor.get(&format!("{}?include=user", path(&said))).await.expect(200);
        for key in ["userId", "user", "content", "gif", "mentions", "attachments"] {
            assert_eq!(shown["comment"][key], Value::Null, "{key}");
        }
        assert_eq!(shown["comment"]["moderationStatus"], "removed");
        let shown = actor.get(&format!("{}?include=parent", path(&answer))).await.expect(200);
        assert_eq!(shown["comment"]["parentComment"]["content"], Value::Null);
    }
    for actor in [&*ada, &app.service()] {
        assert_eq!(read(actor, &said).await["content"], "Bad");
    }
    // In others' lists of the author it is left out, in the entity's a placeholder stays.
    let of_ada = format!("/comments?userId={}", ada.id);
    assert_eq!(bob.get(&of_ada).await.expect(200)["pagination"]["totalItems"], 0);
    assert_eq!(ada.get(&of_ada).await.expect(200)["data"][0]["content"], "Bad");
    let all = bob.get(&format!("/comments?entityId={}", id_of(&entity))).await.expect(200);
    assert_eq!(all["pagination"]["totalItems"], 2);
    let react = json!({ "reactionType": "like" });
    bob.post(&format!("{}/reactions", path(&said)), react).await.refused(404, "comment/not-found");
    bob.get(&format!("{}/reactions", path(&said))).await.expect(200);
    let new = json!({ "entityId": id_of(&entity), "parentId": said["id"], "content": "x" });
    bob.post("/comments", new).await.refused(404, "comment/parent-not-found");
}

async fn an_author_can_be_suspended(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    report(&bob, &publish(&ada).await).await;
    let suspend = json!({
        "actions": ["suspend-user"], "summary": "Out", "userId": ada.id, "reason": "Spam",
        "endDate": app.now().plus(std::time::Duration::from_secs(60)),
    });
    app.service().patch(&open(&app).await, suspend).await.expect(200);
    let refused = ada.post("/entities", json!({ "title": "x" })).await;
    assert_eq!(refused.refused(403, "user/suspended")["reason"], "Spam");
    app.advance(std::time::Duration::from_secs(61));
    ada.post("/entities", json!({ "title": "x" })).await.expect(201);
}

async fn contradictory_actions_are_refused(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    report(&bob, &entity).await;
    let (path, key) = (open(&app).await, app.service());
    for (wrong, code) in [
        (json!({ "summary": "x" }), "report/invalid-body"),
        (json!({ "actions": [], "summary": "x" }), "report/invalid-body"),
        (json!({ "actions": ["explode"], "summary": "x" }), "report/invalid-body"),
        (json!({ "actions": ["remove-entity"], "summary": "x" }), "report/invalid-body"),
        (
            json!({ "actions": ["dismiss", "remove-content"], "summary": "x" }),
            "report/invalid-actions",
        ),
        (json!({ "actions": ["dismiss"] }), "report/missing-fields"),
        (json!({ "actions": ["dismiss"], "summary": " " }), "report/missing-fields"),
        (
            json!({ "actions": ["suspend-user"], "summary": "x", "userId": ada.id }),
            "report/missing-fields",
        ),
        (
            json!({ "actions": ["suspend-user"], "summary": "x", "reason": "x" }),
            "report/missing-fields",
        ),
        (
            json!({ "actions": ["ban-user"], "summary": "x", "reason": "x", "userId": ada.id }),
            "report/invalid-actions",
        ),
    ] {
        key.patch(&path, wrong).await.refused(400, code);
    }
    let nobody =
        json!({ "actions": ["suspend-user"], "summary": "x", "reason": "x", "userId": UNKNOWN });
    key.patch(&path, nobody).await.refused(404, "report/user-not-found");
    let fine = json!({ "actions": ["remove-content"], "summary": "x" });
    key.patch(&format!("/reports/{UNKNOWN}"), fine.clone()).await.refused(404, "report/not-found");
    ada.delete(&entity).await.expect(204);
    key.patch(&path, fine).await.refused(404, "report/entity-not-found");
    assert_eq!(key.get(&path).await.expect(200)["status"], "open", "a refusal changes nothing");
}

async fn the_second_of_two_concurrent_handlers_gets_an_error(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    report(&bob, &publish(&ada).await).await;
    let (path, key) = (open(&app).await, app.service());
    let handle = async |action: &'static str| {
        key.patch(&path, json!({ "actions": [action], "summary": "x" })).await.status
    };
    let actions = ["dismiss", "remove-content"].into_iter().cycle().take(8);
    let mut statuses = all_at_once(actions.map(handle)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
}
