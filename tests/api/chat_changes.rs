//! Changes of messages: edited and deleted by their authors, removed by an admin.

use std::time::Duration;

use db::{Query, args};
use serde_json::{Value, json};
use townhall::values::ids::ChatMessageId;

use crate::support::chat::{
    MESSAGE, NOBODY, add, at, direct, gif, group, messages, of, react, reply, say, send, texts,
    words,
};
use crate::support::{TestApp, keys, on_both_engines};

on_both_engines![
    an_author_changes_a_message,
    an_update_without_changes_is_no_change,
    only_the_author_changes_a_message,
    an_author_takes_a_message_back,
    an_admin_removes_messages_of_others,
];

const SECOND: Duration = Duration::from_secs(1);

async fn an_author_changes_a_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let body = json!({ "content": "first", "gif": gif(), "metadata": { "a": 1 } });
    let sent = say(&bob, &id, body).await;
    let path = at(&id, &sent);
    react(&bob, &id, &sent, "a").await.expect(200);
    app.advance(SECOND);
    let mentions = json!([{ "type": "user", "id": ada.id, "username": "ada" }]);
    let changes = json!({ "content": "second", "mentions": mentions, "metadata": { "b": 2 } });
    let edited = bob.patch(&path, changes).await.expect(200);
    assert_eq!(keys(&edited), words(MESSAGE));
    assert_eq!((&edited["content"], &edited["metadata"]), (&json!("second"), &json!({ "b": 2 })));
    assert_eq!((&edited["mentions"], &edited["gif"]), (&mentions, &gif()));
    assert_eq!((&edited["editedAt"], &edited["updatedAt"]), (&json!(app.now()), &json!(app.now())));
    assert_eq!(edited["createdAt"], sent["createdAt"]);
    assert_eq!(
        (&edited["reactionCounts"]["a"], &edited["userReactions"]),
        (&json!(1), &json!(["a"]))
    );
    let cleared = bob.patch(&path, json!({ "content": null, "metadata": null })).await.expect(200);
    assert_eq!((&cleared["content"], &cleared["metadata"]), (&Value::Null, &json!({})));
    assert_eq!(cleared["mentions"], mentions);
    for empty in [json!({ "gif": null }), json!({ "gif": null, "content": " " })] {
        bob.patch(&path, empty).await.refused(400, "chat/empty-message");
    }
    let other = bob.patch(&path, json!({ "content": "third", "gif": null })).await.expect(200);
    assert_eq!((&other["content"], &other["gif"]), (&json!("third"), &Value::Null));
    for body in [
        json!({ "content": "x".repeat(4001) }),
        json!({ "gif": { "id": "g" } }),
        json!({ "mentions": "all" }),
        json!({ "metadata": 7 }),
    ] {
        bob.patch(&path, body).await.refused(400, "chat/invalid-body");
    }
    // What is no part of the change stays.
    let body = json!({ "content": "4", "parentMessageId": NOBODY, "threadReplyCount": 9 });
    let kept = bob.patch(&path, body).await.expect(200);
    assert_eq!((&kept["parentMessageId"], &kept["threadReplyCount"]), (&Value::Null, &json!(0)));
}

async fn an_update_without_changes_is_no_change(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let mentions = json!([{ "type": "user", "id": ada.id, "username": "ada" }]);
    let body = json!({
        "content": "x", "gif": gif(), "mentions": mentions, "metadata": { "b": 1.5, "a": [true] },
    });
    let sent = say(&ada, &id, body.clone()).await;
    app.advance(SECOND);
    for same in [json!({}), json!({ "content": "x" }), body] {
        assert_eq!(ada.patch(&at(&id, &sent), same).await.expect(200), sent);
    }
}

async fn only_the_author_changes_a_message(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let (id, other) = (group(&ada, &[&bob, &cleo]).await, group(&ada, &[&bob]).await);
    let sent = send(&bob, &id, "x").await;
    let change = json!({ "content": "y" });
    for user in [&ada, &cleo] {
        user.patch(&at(&id, &sent), change.clone()).await.refused(403, "chat/forbidden");
    }
    cleo.delete(&at(&id, &sent)).await.refused(403, "chat/forbidden");
    // Not by way of another conversation.
    let path = at(&other, &sent);
    bob.patch(&path, change.clone()).await.refused(404, "chat/message-not-found");
    bob.get(&path).await.refused(404, "chat/message-not-found");
    ada.delete(&path).await.refused(404, "chat/message-not-found");
    react(&bob, &other, &sent, "a").await.refused(404, "chat/message-not-found");
    bob.get(&format!("{path}/reactions?emoji=a")).await.refused(404, "chat/message-not-found");
    let missing = of(&id, &format!("/messages/{NOBODY}"));
    bob.patch(&missing, change).await.refused(404, "chat/message-not-found");
    bob.delete(&missing).await.refused(404, "chat/message-not-found");
    assert_eq!(bob.get(&at(&id, &sent)).await.expect(200), sent);
}

async fn an_author_takes_a_message_back(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let body = json!({
        "content": "x", "gif": gif(), "metadata": { "a": 1 },
        "mentions": [{ "type": "user", "id": ada.id, "username": "ada" }],
    });
    let sent = say(&bob, &id, body).await;
    react(&ada, &id, &sent, "a").await.expect(200);
    let answer = reply(&ada, &id, &sent, "re").await;
    app.advance(SECOND);
    let path = at(&id, &sent);
    let deleted = bob.delete(&path).await;
    assert_eq!(deleted.keys(), ["message", "userDeletedAt"]);
    let at_once = deleted.expect(200)["userDeletedAt"].clone();
    assert_eq!(at_once, json!(app.now()));
    app.advance(SECOND);
    assert_eq!(bob.delete(&path).await.expect(200)["userDeletedAt"], at_once, "the first time");
    let shown = ada.get(&path).await.expect(200);
    for key in ["content", "gif", "moderationStatus"] {
        assert_eq!(shown[key], Value::Null, "{key}");
    }
    assert_eq!((&shown["mentions"], &shown["metadata"]), (&json!([]), &json!({})));
    // Its place stays, with what others did there.
    assert_eq!((&shown["userDeletedAt"], &shown["userId"]), (&at_once, &json!(bob.id)));
    assert_eq!((&shown["threadReplyCount"], &shown["reactionCounts"]["a"]), (&json!(1), &json!(1)));
    assert_eq!(texts(&messages(&ada, &id, "").await), ["(none)"]);
    let thread = format!("?parentId={}", sent["id"].as_str().unwrap());
    assert_eq!(messages(&ada, &id, &thread).await["messages"][0]["id"], answer["id"]);
    bob.patch(&path, json!({ "content": "y" })).await.refused(400, "chat/message-deleted");
    react(&ada, &id, &sent, "a").await.refused(400, "chat/message-deleted");
    ada.patch(&path, json!({ "content": "y" })).await.refused(403, "chat/forbidden");
    // An admin takes back their own as everybody does.
    let own = send(&ada, &id, "mine").await;
    assert!(ada.delete(&at(&id, &own)).await.expect(200)["userDeletedAt"].is_string());
    assert_eq!(ada.get(&at(&id, &own)).await.expect(200)["moderationStatus"], Value::Null);
}

async fn an_admin_removes_messages_of_others(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    add(&ada, &id, &cleo).await.expect(201);
    let (sent, deleted) = (send(&bob, &id, "x").await, send(&bob, &id, "y").await);
    let answer = reply(&cleo, &id, &sent, "re").await;
    bob.delete(&at(&id, &deleted)).await.expect(200);
    for message in [&sent, &deleted] {
        let removed = ada.delete(&at(&id, message)).await;
        assert_eq!(removed.keys(), ["message"]);
        removed.expect(200);
        let path = at(&id, message);
        for user in [&ada, &bob, &cleo] {
            user.get(&path).await.refused(404, "chat/message-not-found");
            user.delete(&path).await.refused(404, "chat/message-not-found");
            react(user, &id, message, "a").await.refused(404, "chat/message-not-found");
            let users = user.get(&format!("{path}/reactions?emoji=a")).await;
            users.refused(404, "chat/message-not-found");
        }
        bob.patch(&path, json!({ "content": "z" })).await.refused(400, "chat/message-removed");
        let other = cleo.patch(&path, json!({ "content": "z" })).await;
        other.refused(404, "chat/message-not-found");
        let read = bob.post(&of(&id, "/read"), json!({ "messageId": message["id"] })).await;
        read.refused(404, "chat/message-not-found");
    }
    assert!(texts(&messages(&cleo, &id, "").await).is_empty());
    cleo.get(&at(&id, &answer)).await.expect(200);
    // What it said is kept for those who look into it.
    let (project, of_sent) = (app.project.id, sent["id"].as_str().unwrap());
    let of_sent: ChatMessageId = of_sent.parse().unwrap();
    let text = "SELECT content, moderation_status, moderated_by_type FROM chat_messages
        WHERE project_id = $1 AND id = $2 AND moderated_by_id = $3";
    let (query, by) = (Query::<(String, String, String)>::built("kept", text), ada.id);
    let kept = app.app.db.read(move |c| c.one(&query, args![project, of_sent, by])).await.unwrap();
    assert_eq!(kept, ("x".to_owned(), "removed".to_owned(), "user".to_owned()));
    // Nobody is above the other in a conversation of two.
    let two = direct(&ada, &bob).await;
    let sent = send(&bob, &two, "x").await;
    ada.delete(&at(&two, &sent)).await.refused(403, "chat/forbidden");
}
