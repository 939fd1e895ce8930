//! Conversations and messages: who is in them, what is written, and what the others are told at once.

use http::Method;
use serde_json::{Value, json};

use crate::support::sockets::Sockets;
use crate::support::{Actor, TestApp, User, all_at_once, keys, on_both_engines};

on_both_engines![
    two_users_have_one_conversation_however_often_it_is_made,
    a_group_is_made_with_its_members,
    messages_are_sent_listed_and_counted_as_unread,
    a_message_is_changed_and_taken_back,
    reactions_come_and_go,
    a_group_keeps_an_admin,
    whoever_left_reads_what_was_written_before,
    a_block_freezes_a_direct_conversation,
    those_in_a_conversation_hear_of_everything_once,
];

async fn direct(one: &Actor<'_>, other: &User<'_>) -> String {
    let made = one.post("/chat/conversations/direct", json!({ "userId": other.id })).await;
    assert!([200, 201].contains(&made.status), "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

async fn group(admin: &Actor<'_>, others: &[&User<'_>]) -> String {
    let ids: Vec<_> = others.iter().map(|user| user.id).collect();
    let body = json!({ "type": "group", "name": "Crew", "memberIds": ids });
    let made = admin.post("/chat/conversations", body).await.expect(201);
    made["id"].as_str().unwrap().to_owned()
}

async fn send(actor: &Actor<'_>, conversation: &str, text: &str) -> Value {
    let path = format!("/chat/conversations/{conversation}/messages");
    actor.post(&path, json!({ "content": text })).await.expect(201)
}

fn at(conversation: &str, message: &Value) -> String {
    format!("/chat/conversations/{conversation}/messages/{}", message["id"].as_str().unwrap())
}

async fn unread(actor: &Actor<'_>) -> Value {
    actor.get("/chat/conversations/unread-count").await.expect(200)
}

async fn two_users_have_one_conversation_however_often_it_is_made(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let made =
        ada.post("/chat/conversations/direct", json!({ "userId": bob.id })).await.expect(201);
    assert_eq!(
        (&made["type"], &made["name"], &made["memberCount"]),
        (&json!("direct"), &Value::Null, &json!(2))
    );
    assert_eq!(made["currentMember"]["userId"], json!(ada.id));
    let again =
        bob.post("/chat/conversations/direct", json!({ "userId": ada.id })).await.expect(200);
    assert_eq!(again["id"], made["id"]);
    for body in [json!({ "userId": ada.id }), json!({ "userId": uuid::Uuid::nil() })] {
        ada.post("/chat/conversations/direct", body).await.refused(400, "chat/invalid-member");
    }
    ada.post("/chat/conversations/direct", json!({})).await.refused(400, "chat/invalid-body");
    let (cleo, dora) = (app.user().await, app.user().await);
    let both = (0..16).map(|number| {
        let (one, other) = if number % 2 == 0 { (&cleo, &dora) } else { (&dora, &cleo) };
        async move { one.post("/chat/conversations/direct", json!({ "userId": other.id })).await }
    });
    let replies = all_at_once(both).await;
    let ids: std::collections::BTreeSet<String> =
        replies.iter().map(|reply| reply.json()["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(replies.iter().filter(|reply| reply.status == 201).count(), 1);
    // Not listed before anything is written in it.
    assert_eq!(ada.get("/chat/conversations").await.expect(200)["conversations"], json!([]));
}

async fn a_group_is_made_with_its_members(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &bob, &ada]).await;
    let path = format!("/chat/conversations/{id}");
    let fetched = bob.get(&path).await.expect(200);
    assert_eq!(
        (&fetched["memberCount"], &fetched["currentMember"]["role"]),
        (&json!(2), &json!("member"))
    );
    cleo.get(&path).await.refused(404, "chat/not-found");
    let listed = ada.get(&format!("{path}/members")).await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 2);
    assert_eq!(listed["data"][0]["role"], "admin");
    cleo.get(&format!("{path}/members")).await.refused(403, "chat/not-a-member");
    let unknown = json!({ "type": "group", "memberIds": [uuid::Uuid::nil()] });
    ada.post("/chat/conversations", unknown).await.refused(400, "chat/invalid-member");
    ada.post("/chat/conversations", json!({ "type": "space" }))
        .await
        .refused(400, "chat/invalid-body");
    let renamed =
        ada.patch(&path, json!({ "name": "Band", "description": null })).await.expect(200);
    assert_eq!(renamed["name"], "Band");
    bob.patch(&path, json!({ "name": "x" })).await.refused(403, "chat/not-a-member");
    ada.patch(&path, json!({ "postingPermission": "admins" }))
        .await
        .refused(400, "chat/invalid-field");
    let preview = bob.get(&format!("{path}/preview")).await.expect(200);
    assert_eq!((&preview["unreadCount"], &preview["lastMessage"]), (&json!(0), &Value::Null));
    assert_eq!(preview["otherMembers"][0]["id"], json!(ada.id));
    bob.delete(&path).await.refused(403, "chat/not-a-member");
    ada.delete(&path).await.expect(200);
    ada.get(&path).await.refused(404, "chat/not-found");
}

async fn messages_are_sent_listed_and_counted_as_unread(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let path = format!("/chat/conversations/{id}/messages");
    let mut sent = Vec::new();
    for number in 0..5 {
        sent.push(send(&ada, &id, &format!("message {number}")).await);
    }
    let times: Vec<&str> =
        sent.iter().map(|message| message["createdAt"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    assert_eq!(unread(&bob).await, json!({ "totalUnread": 5, "unreadConversationCount": 1 }));
    assert_eq!(unread(&ada).await["totalUnread"], 0);
    let read = json!({ "messageId": sent[2]["id"] });
    bob.post(&format!("/chat/conversations/{id}/read"), read).await.expect(200);
    assert_eq!(unread(&bob).await["totalUnread"], 2);
    let earlier = json!({ "messageId": sent[0]["id"] });
    bob.post(&format!("/chat/conversations/{id}/read"), earlier).await.expect(200);
    assert_eq!(unread(&bob).await["totalUnread"], 2, "never backwards");

    let newest = bob.get(&format!("{path}?limit=2")).await.expect(200);
    assert_eq!((&newest["hasMore"], &newest["messages"][0]["id"]), (&json!(true), &sent[4]["id"]));
    assert_eq!(newest["oldestCreatedAt"], sent[3]["createdAt"]);
    let older = bob.get(&format!("{path}?before={}", times[1])).await.expect(200);
    assert_eq!(older["messages"].as_array().unwrap().len(), 1);
    let later = bob.get(&format!("{path}?after={}&sort=asc", times[1])).await.expect(200);
    assert_eq!(later["messages"][0]["id"], sent[2]["id"]);
    let both = bob.get(&format!("{path}?after={0}&before={0}", times[1])).await;
    both.refused(400, "chat/invalid-query");
    cleo.get(&path).await.refused(403, "chat/not-a-member");
    cleo.post(&path, json!({ "content": "x" })).await.refused(403, "chat/not-a-member");
    for empty in [json!({}), json!({ "content": "  \n" })] {
        ada.post(&path, empty).await.refused(400, "chat/empty-message");
    }
    ada.post(&path, json!({ "content": "x".repeat(4001) })).await.refused(400, "chat/invalid-body");

    let reply = json!({ "content": "re", "parentMessageId": sent[0]["id"], "localId": "mine" });
    let reply = ada.post(&path, reply).await.expect(201);
    assert_eq!(reply["localId"], "mine");
    let deeper = json!({ "content": "re", "parentMessageId": reply["id"] });
    ada.post(&path, deeper).await.refused(400, "chat/invalid-parent");
    let thread =
        bob.get(&format!("{path}?parentId={}", sent[0]["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(thread["messages"][0]["id"], reply["id"]);
    assert_eq!(unread(&bob).await["totalUnread"], 2, "replies do not count");
    let quoted = ada
        .post(&path, json!({ "content": "q", "quotedMessageId": sent[1]["id"] }))
        .await
        .expect(201);
    assert_eq!(quoted["quotedMessage"]["content"], "message 1");
    let first = bob.get(&at(&id, &sent[0])).await.expect(200);
    assert_eq!((&first["threadReplyCount"], &first["files"]), (&json!(1), &json!([])));
    let list = bob.get("/chat/conversations").await.expect(200);
    let preview = &list["conversations"][0];
    assert_eq!(
        (&preview["lastMessage"]["id"], &preview["unreadCount"]),
        (&quoted["id"], &json!(3))
    );
    assert!(!keys(preview).contains(&"email".to_owned()));
}

async fn a_message_is_changed_and_taken_back(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&bob, &id, "first").await;
    let path = at(&id, &message);
    let edited = bob.patch(&path, json!({ "content": "second" })).await.expect(200);
    assert_eq!(edited["content"], "second");
    assert!(edited["editedAt"].is_string());
    let same = bob.patch(&path, json!({ "content": "second" })).await.expect(200);
    assert_eq!(same["editedAt"], edited["editedAt"]);
    cleo.patch(&path, json!({ "content": "x" })).await.refused(403, "chat/forbidden");
    bob.patch(&path, json!({ "content": null })).await.refused(400, "chat/empty-message");
    cleo.delete(&path).await.refused(403, "chat/forbidden");
    let deleted = bob.delete(&path).await.expect(200);
    assert!(deleted["userDeletedAt"].is_string());
    assert_eq!(bob.delete(&path).await.expect(200)["userDeletedAt"], deleted["userDeletedAt"]);
    let shown = cleo.get(&path).await.expect(200);
    assert_eq!((&shown["content"], &shown["mentions"]), (&Value::Null, &json!([])));
    bob.patch(&path, json!({ "content": "x" })).await.refused(400, "chat/message-deleted");
    let other = send(&bob, &id, "removed").await;
    let removed = ada.delete(&at(&id, &other)).await.expect(200);
    assert!(removed.get("userDeletedAt").is_none());
    cleo.get(&at(&id, &other)).await.refused(404, "chat/message-not-found");
    bob.patch(&at(&id, &other), json!({ "content": "x" }))
        .await
        .refused(400, "chat/message-removed");
}

async fn reactions_come_and_go(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let message = send(&ada, &id, "x").await;
    let path = format!("{}/reactions", at(&id, &message));
    let first = bob.post(&path, json!({ "emoji": "👍" })).await.expect(200);
    assert_eq!(
        first,
        json!({ "reactionCounts": { "👍": 1 }, "userReactions": ["👍"], "delta": 1 })
    );
    app.advance(std::time::Duration::from_secs(1));
    let second = ada.post(&path, json!({ "emoji": "👍" })).await.expect(200);
    assert_eq!(second["reactionCounts"]["👍"], 2);
    let users = ada.get(&format!("{path}?emoji=%F0%9F%91%8D")).await.expect(200);
    assert_eq!(
        users["pagination"],
        json!({ "page": 1, "limit": 50, "total": 2, "hasMore": false })
    );
    assert_eq!(users["data"][0]["user"]["id"], json!(bob.id));
    let back = bob.post(&path, json!({ "emoji": "👍" })).await.expect(200);
    assert_eq!((&back["delta"], &back["reactionCounts"]["👍"]), (&json!(-1), &json!(1)));
    for emoji in
        [json!({}), json!({ "emoji": "" }), json!({ "emoji": "ab" }), json!({ "emoji": 7 })]
    {
        bob.post(&path, emoji).await.refused(400, "chat/invalid-emoji");
    }
    ada.get(&path).await.refused(400, "chat/invalid-query");
}

async fn a_group_keeps_an_admin(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let path = format!("/chat/conversations/{id}");
    ada.delete(&format!("{path}/leave")).await.refused(400, "chat/last-admin");
    let demoted =
        ada.patch(&format!("{path}/members/{}/role", ada.id), json!({ "role": "member" })).await;
    demoted.refused(400, "chat/last-admin");
    ada.patch(&format!("{path}/members/{}/role", bob.id), json!({ "role": "admin" }))
        .await
        .expect(200);
    let both = [&ada, &bob].map(|user| {
        let path = format!("{path}/leave");
        async move { user.delete(&path).await }
    });
    let replies = all_at_once(both).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    assert_eq!(replies.iter().filter(|reply| reply.status == 400).count(), 1);
}

async fn whoever_left_reads_what_was_written_before(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let before = send(&ada, &id, "before").await;
    app.advance(std::time::Duration::from_secs(1));
    bob.delete(&format!("/chat/conversations/{id}/leave")).await.expect(200);
    app.advance(std::time::Duration::from_secs(1));
    let after = send(&ada, &id, "after").await;
    let listed = bob.get(&format!("/chat/conversations/{id}/messages")).await.expect(200);
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
    assert_eq!(listed["messages"][0]["id"], before["id"]);
    bob.get(&at(&id, &after)).await.refused(404, "chat/message-not-found");
    let path = format!("/chat/conversations/{id}/messages");
    bob.post(&path, json!({ "content": "x" })).await.refused(403, "chat/not-a-member");
    assert_eq!(bob.get("/chat/conversations").await.expect(200)["conversations"], json!([]));
    let added =
        ada.post(&format!("/chat/conversations/{id}/members"), json!({ "userId": bob.id })).await;
    assert_eq!(added.expect(201)["isActive"], true);
    send(&bob, &id, "back").await;
}

async fn a_block_freezes_a_direct_conversation(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let message = send(&ada, &id, "x").await;
    bob.post(&format!("/users/{}/block", ada.id), json!({})).await.expect(201);
    bob.post(&format!("/users/{}/block", cleo.id), json!({})).await.expect(201);
    let path = format!("/chat/conversations/{id}/messages");
    for user in [&ada, &bob] {
        user.post(&path, json!({ "content": "x" })).await.refused(404, "chat/not-found");
        let reaction =
            user.post(&format!("{}/reactions", at(&id, &message)), json!({ "emoji": "a" })).await;
        reaction.refused(404, "chat/message-not-found");
        user.get(&path).await.expect(200);
    }
    ada.patch(&at(&id, &message), json!({ "content": "y" }))
        .await
        .refused(404, "chat/message-not-found");
    ada.delete(&at(&id, &message)).await.refused(404, "chat/message-not-found");
    assert_eq!(direct(&ada, &bob).await, id, "what is there stays");
    let new = cleo.post("/chat/conversations/direct", json!({ "userId": bob.id })).await;
    new.refused(400, "chat/invalid-member");
    bob.delete(&format!("/users/{}/block", ada.id)).await.expect(204);
    send(&ada, &id, "again").await;
}

async fn those_in_a_conversation_hear_of_everything_once(app: TestApp) {
    let mut client = Sockets::start().await;
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let mut bobs = client.connect(&app, "websocket", &bob).await;
    let mut cleos = client.connect(&app, "polling", &cleo).await;
    let id = group(&ada, &[&bob]).await;
    let (name, preview) = bobs.event().await;
    assert_eq!(
        (name.as_str(), &preview["id"], &preview["unreadCount"]),
        ("conversation:created", &json!(id), &json!(0))
    );
    let message = send(&ada, &id, "hello").await;
    let (name, heard) = bobs.event().await;
    assert_eq!(
        (name.as_str(), &heard["id"], &heard["content"]),
        ("message:created", &message["id"], &json!("hello"))
    );
    let path = format!("/chat/conversations/{id}");
    ada.post(&format!("{path}/members"), json!({ "userId": cleo.id })).await.expect(201);
    assert_eq!(bobs.event().await.0, "member:joined");
    assert_eq!(cleos.event().await.0, "member:joined");
    assert_eq!(cleos.event().await.0, "conversation:created");
    ada.delete(&format!("{path}/members/{}", cleo.id)).await.expect(200);
    let left = json!({ "conversationId": id, "userId": cleo.id });
    assert_eq!(cleos.event().await, ("member:left".to_owned(), left.clone()));
    assert_eq!(bobs.event().await, ("member:left".to_owned(), left));
    ada.patch(&at(&id, &message), json!({ "content": "hi" })).await.expect(200);
    assert_eq!(bobs.event().await.0, "message:updated");
    bob.post(&format!("{}/reactions", at(&id, &message)), json!({ "emoji": "!" }))
        .await
        .expect(200);
    assert_eq!(bobs.event().await.0, "message:reaction");
    let reply = json!({ "content": "re", "parentMessageId": message["id"] });
    ada.post(&format!("{path}/messages"), reply).await.expect(201);
    assert_eq!(bobs.event().await.0, "message:created");
    let (name, count) = bobs.event().await;
    assert_eq!((name.as_str(), &count["threadReplyCount"]), ("thread:reply_count", &json!(1)));
    ada.send(Method::DELETE, &path, None).await.expect(200);
    assert_eq!(
        bobs.event().await,
        ("conversation:deleted".to_owned(), json!({ "conversationId": id }))
    );
    // Cleo heard nothing of what came after: the next thing is a conversation of her own.
    let own = direct(&ada, &cleo).await;
    send(&ada, &own, "to you").await;
    let (name, preview) = cleos.event().await;
    assert_eq!((name.as_str(), &preview["id"]), ("conversation:created", &json!(own)));
    assert_eq!(cleos.event().await.0, "message:created");
}
