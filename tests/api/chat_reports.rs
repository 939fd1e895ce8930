//! Reports about messages: who may make them, and who handles them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::chat_spaces::of_space;
use crate::notifications::UNKNOWN;
use crate::space_members::{membership, open_space};
use crate::spaces::{join, path};
use crate::support::chat::{group, send};
use crate::support::sockets::Sockets;
use crate::support::{TestApp, all_at_once, count, on_both_engines};

on_both_engines![
    a_message_is_reported_by_those_who_can_see_it,
    older_clients_report_below_the_conversation,
    many_reporters_at_once_make_one_report,
    the_project_handles_reports_of_private_messages,
    moderators_handle_reports_of_their_space,
    what_handling_a_message_must_say,
];

fn about(message: &Value) -> Value {
    json!({ "targetId": message["id"], "targetType": "message", "reason": "spam" })
}

fn old_path(conversation: &str, message: &str) -> String {
    format!("/chat/conversations/{conversation}/messages/{message}/report")
}

async fn a_message_is_reported_by_those_who_can_see_it(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "buy now").await;
    assert_eq!(bob.post("/reports", about(&message)).await.expect(201)["code"], "report/created");
    let again = bob.post("/reports", about(&message)).await.expect(200);
    assert_eq!(again["code"], "report/already-reported");
    ada.post("/reports", about(&message)).await.refused(400, "report/self-report");
    let refused = cleo.post("/reports", about(&message)).await;
    refused.refused(403, "chat/not-a-member");
    assert_eq!(refused.keys(), ["code", "error"]);
    let unknown = json!({ "targetId": UNKNOWN, "targetType": "message", "reason": "spam" });
    let unknown = bob.post("/reports", unknown).await.refused(404, "report/target-not-found");
    assert_eq!(unknown["error"], "message not found");
    let strange = app.stranger().await;
    strange.post("/reports", about(&message)).await.refused(404, "report/target-not-found");

    // Taken back: nothing to report. Removed: still there for that.
    let taken = send(&ada, &id, "x").await;
    let own = format!("/chat/conversations/{id}/messages/{}", taken["id"].as_str().unwrap());
    ada.delete(&own).await.expect(200);
    bob.post("/reports", about(&taken)).await.refused(404, "report/target-not-found");
    let removed = send(&bob, &id, "x").await;
    let own = format!("/chat/conversations/{id}/messages/{}", removed["id"].as_str().unwrap());
    ada.delete(&own).await.expect(200);
    ada.post("/reports", about(&removed)).await.expect(201);

    // Former members can report what they could read.
    app.advance(Duration::from_secs(1));
    bob.delete(&format!("/chat/conversations/{id}/leave")).await.expect(200);
    app.advance(Duration::from_secs(1));
    let later = send(&ada, &id, "later").await;
    bob.post("/reports", about(&later)).await.refused(404, "report/target-not-found");
    bob.post("/reports", about(&message)).await.expect(200);
}

async fn older_clients_report_below_the_conversation(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let other = group(&bob, &[]).await;
    let message = send(&ada, &id, "x").await;
    let target = message["id"].as_str().unwrap();
    let body = json!({ "reason": "harassment", "details": "d" });
    let old = bob.v7();
    let made = old.post(&old_path(&id, target), body.clone()).await.expect(201);
    assert_eq!(made["code"], "report/created");
    let joined = cleo.post("/reports", about(&message)).await.expect(200);
    assert_eq!(joined["code"], "report/updated", "it is the same report");
    old.post(&old_path(&other, target), body.clone()).await.refused(404, "chat/message-not-found");
    old.post(&old_path(&id, UNKNOWN), body.clone()).await.refused(404, "chat/message-not-found");
    old.post(&old_path(&id, "7"), body.clone()).await.refused(400, "chat/invalid-params");
    let nobody = app.user().await.v7().post(&old_path(&id, target), body.clone()).await;
    nobody.refused(403, "chat/not-a-member");
    let wrong = json!({ "reason": "inappropriate" });
    old.post(&old_path(&id, target), wrong).await.refused(400, "report/invalid-body");
    ada.v7().post(&old_path(&id, target), body.clone()).await.refused(400, "report/self-report");
    for newer in [
        bob.post(&old_path(&id, target), body.clone()).await,
        bob.v6().post(&old_path(&id, target), body).await,
    ] {
        assert_eq!(newer.status, 404, "{}", newer.text());
    }
}

async fn many_reporters_at_once_make_one_report(app: TestApp) {
    let ada = app.user().await;
    let mut users = Vec::new();
    for _ in 0..32 {
        users.push(app.user().await);
    }
    let id = group(&ada, &users.iter().collect::<Vec<_>>()).await;
    let message = send(&ada, &id, "x").await;
    let replies = all_at_once(users.iter().map(|user| {
        let body = about(&message);
        async move { user.post("/reports", body).await }
    }));
    let replies = replies.await;
    assert_eq!((count(&replies, 201), count(&replies, 200)), (1, 31));
    let listed = app.service().get("/reports?targetType=message").await.expect(200);
    assert_eq!(listed["data"][0]["reporterCount"], 32);
    assert_eq!(listed["pagination"]["totalItems"], 1);
}

async fn the_project_handles_reports_of_private_messages(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "rude").await;
    bob.post("/reports", about(&message)).await.expect(201);
    let key = app.service();
    let report = key.get("/reports").await.expect(200)["data"][0].take();
    assert_eq!((&report["spaceId"], &report["targetType"]), (&Value::Null, &json!("message")));
    assert_eq!(report["target"]["content"], "rude");
    assert_eq!(report["target"]["user"]["id"], json!(ada.id));
    let address = format!("/reports/{}", report["id"].as_str().unwrap());
    let ban = json!({ "actions": ["ban-user"], "summary": "s", "userId": ada.id, "reason": "r" });
    key.patch(&address, ban).await.refused(400, "report/invalid-actions");
    let mut client = Sockets::default();
    let mut bobs = client.listen(&app, "websocket", &bob).await;
    let both = json!({
        "actions": ["remove-content", "suspend-user"],
        "summary": "gone", "userId": ada.id, "reason": "rude",
    });
    key.patch(&address, both.clone()).await.expect(200);
    assert_eq!(bobs.event().await.0, "message:removed");
    key.patch(&address, both).await.refused(409, "report/already-handled");
    let handled = key.get(&address).await.expect(200);
    assert_eq!((&handled["status"], &handled["actionTaken"]), (&json!("actioned"), &json!("gone")));
    let target = &handled["target"];
    assert_eq!(
        (&target["moderationStatus"], &target["content"]),
        (&json!("removed"), &json!("rude"))
    );
    assert_eq!(
        (&target["moderatedByType"], &target["moderationReason"]),
        (&json!("client"), &json!("rude"))
    );
    let said = json!({ "content": "x" });
    let path = format!("/chat/conversations/{id}/messages");
    ada.post(&path, said).await.refused(403, "user/suspended");
    // The conversation is deleted; the report shows that.
    app.service()
        .delete(&format!("/chat/conversations/{id}?userId={}", ada.id))
        .await
        .refused(403, "user/suspended");
    bob.post("/reports", about(&message)).await.expect(201);
}

async fn moderators_handle_reports_of_their_space(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space = open_space(&ada).await;
    for user in [&bob, &cleo] {
        join(user, &space).await;
    }
    let mut id = String::new();
    for user in [&ada, &bob, &cleo] {
        id = of_space(user, &space).await["id"].as_str().unwrap().to_owned();
    }
    let message = send(&bob, &id, "rude").await;
    cleo.post("/reports", about(&message)).await.expect(201);
    let listed = ada.get("/reports/moderated?targetType=message").await.expect(200);
    let report = &listed["data"][0];
    assert_eq!((&report["spaceId"], &report["target"]["id"]), (&space["id"], &message["id"]));
    cleo.get("/reports/moderated").await.expect(200);
    let address = format!("{}/chat/reports/{}", path(&space), report["id"].as_str().unwrap());
    let order = json!({
        "actions": ["remove-message", "ban-user"],
        "messageId": message["id"], "userId": bob.id, "reason": "rude",
    });
    cleo.patch(&address, order.clone()).await.refused(403, "space/moderator-required");
    let mut client = Sockets::default();
    let mut cleos = client.listen(&app, "websocket", &cleo).await;
    let both = [&ada, &ada].map(|user| {
        let (address, order) = (address.clone(), order.clone());
        async move { user.patch(&address, order).await.status }
    });
    let mut statuses = all_at_once(both).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let heard = [cleos.event().await.0, cleos.event().await.0];
    assert_eq!(heard, ["member:left", "message:removed"]);
    assert_eq!(membership(&app, &space, &bob).await["status"], "banned");
    let said = json!({ "content": "x" });
    let inside = format!("/chat/conversations/{id}/messages");
    bob.post(&inside, said).await.refused(403, "chat/not-a-member");
    let handled = ada.get("/reports/moderated?status=actioned").await.expect(200);
    let target = &handled["data"][0]["target"];
    assert_eq!(
        (&target["moderatedById"], &target["moderatedByType"]),
        (&json!(ada.id), &json!("user"))
    );
}

async fn what_handling_a_message_must_say(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    join(&bob, &space).await;
    of_space(&ada, &space).await;
    let id = of_space(&bob, &space).await["id"].as_str().unwrap().to_owned();
    let (message, other) = (send(&bob, &id, "x").await, send(&bob, &id, "y").await);
    ada.post("/reports", about(&message)).await.expect(201);
    let report = ada.get("/reports/moderated").await.expect(200)["data"][0].take();
    let at =
        |space: &Value| format!("{}/chat/reports/{}", path(space), report["id"].as_str().unwrap());
    let address = at(&space);
    for (body, status, code) in [
        (json!({ "actions": [] }), 400, "report/invalid-body"),
        (json!({ "actions": ["remove-comment"] }), 400, "report/invalid-body"),
        (json!({ "actions": ["dismiss", "ban-user"] }), 400, "report/invalid-actions"),
        (json!({ "actions": ["remove-message"] }), 400, "report/missing-fields"),
        (json!({ "actions": ["ban-user"], "userId": bob.id }), 400, "report/missing-fields"),
        (
            json!({ "actions": ["remove-message"], "messageId": other["id"] }),
            404,
            "chat/message-not-found",
        ),
        (
            json!({ "actions": ["ban-user"], "userId": UNKNOWN, "reason": "r" }),
            404,
            "report/user-not-found",
        ),
    ] {
        ada.patch(&address, body).await.refused(status, code);
    }
    let elsewhere = open_space(&ada).await;
    let dismiss = json!({ "actions": ["dismiss", "dismiss"] });
    ada.patch(&at(&elsewhere), dismiss.clone()).await.refused(404, "report/not-found-in-space");
    // As the report of a comment it is not there.
    let wrong = format!("{}/reports/comment/{}", path(&space), report["id"].as_str().unwrap());
    let comment = json!({ "actions": ["dismiss"], "commentId": message["id"], "summary": "s" });
    ada.patch(&wrong, comment).await.refused(404, "report/not-found");
    let done = ada.patch(&address, dismiss).await.expect(200);
    assert_eq!(
        done,
        json!({ "message": "Report handled successfully.", "code": "report/handled" })
    );
    let listed = ada.get("/reports/moderated").await.expect(200);
    assert_eq!(listed["data"][0]["status"], "dismissed");
    bob.get(&format!("/chat/conversations/{id}/messages/{}", message["id"].as_str().unwrap()))
        .await
        .expect(200);
}
