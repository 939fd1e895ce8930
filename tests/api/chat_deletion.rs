//! Deleted conversations, and what is left in chat of a deleted user.

use serde_json::{Value, json};

use crate::support::chat::{at, group, send};
use crate::support::sockets::Sockets;
use crate::support::{Form, Part, TestApp, User, all_at_once, on_both_engines};

on_both_engines![
    a_deleted_conversation_leaves_nothing,
    messages_of_a_deleted_user_stay_anonymized,
    a_group_without_its_last_admin_gets_another,
    a_conversation_without_members_is_deleted,
    a_deleted_user_is_mentioned_no_longer,
    users_are_deleted_while_others_write,
    deleted_users_get_no_new_direct_messages,
    a_deleted_picture_is_the_picture_of_nothing,
];

const TEXT: Part<'_> = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };

async fn erase(app: &TestApp, user: &User<'_>) {
    app.service().delete(&format!("/users/{}", user.id)).await.expect(204);
}

async fn a_deleted_conversation_leaves_nothing(app: TestApp) {
    let app = app.own_server().await;
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let path = format!("/chat/conversations/{id}");
    // More than one transaction removes.
    let all = (0..520).map(|number| {
        let (ada, id) = (&ada, &id);
        async move { send(ada, id, &number.to_string()).await }
    });
    let sent = all_at_once(all.take(40)).await;
    let insert = format!(
        "INSERT INTO chat_messages (project_id, id, conversation_id, user_id, content, mentions,
            metadata, has_files, thread_reply_count, reaction_counts, is_removed, created_at, updated_at)
         SELECT x.project_id, {}, x.conversation_id, x.user_id, 'x', '[]', '{{}}', FALSE, 0, '{{}}', FALSE,
            1, 1 FROM chat_messages x JOIN chat_messages y ON y.project_id = x.project_id",
        match app.engine() {
            db::Engine::Sqlite => "randomblob(16)",
            db::Engine::Postgres => "gen_random_uuid()",
        }
    );
    let db = app.app.db.clone();
    tokio::task::spawn_blocking(move || db.execute_script(&insert).unwrap()).await.unwrap();
    bob.post(&format!("{}/reactions", at(&id, &sent[0])), json!({ "emoji": "!" }))
        .await
        .expect(200);
    let form = Form::new().text("content", "with a file").file(Part { name: "files", ..TEXT });
    ada.post_form(&format!("{path}/messages"), &form).await.expect(201);
    assert_eq!(app.rows("chat_messages").await, 40 + 1600 + 1);
    ada.delete(&path).await.expect(200);
    bob.get(&path).await.refused(404, "chat/not-found");
    while app.run_jobs().await > 0 {}
    for table in
        ["conversations", "conversation_members", "chat_messages", "chat_reactions", "files"]
    {
        assert_eq!(app.rows(table).await, 0, "{table}");
    }
    assert_eq!(app.stored(), 0);
}

async fn messages_of_a_deleted_user_stay_anonymized(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&bob, &id, "remember me").await;
    let own = send(&ada, &id, "x").await;
    for (user, emoji) in [(&bob, "a"), (&bob, "b"), (&cleo, "a")] {
        user.post(&format!("{}/reactions", at(&id, &own)), json!({ "emoji": emoji }))
            .await
            .expect(200);
    }
    let direct =
        bob.post("/chat/conversations/direct", json!({ "userId": ada.id })).await.expect(201);
    let direct = direct["id"].as_str().unwrap();
    send(&bob, direct, "hi").await;
    let mut client = Sockets::default();
    let mut cleos = client.listen(&app, "websocket", &cleo).await;
    erase(&app, &bob).await;
    let told = json!({ "conversationId": id, "userId": bob.id });
    assert_eq!(cleos.event().await, ("member:left".to_owned(), told));
    let left = ada.get(&at(&id, &message)).await.expect(200);
    assert_eq!((&left["content"], &left["userId"]), (&json!("remember me"), &Value::Null));
    assert_eq!(left["user"], Value::Null);
    let reacted = ada.get(&at(&id, &own)).await.expect(200);
    assert_eq!(reacted["reactionCounts"], json!({ "a": 1 }));
    let fetched = ada.get(&format!("/chat/conversations/{id}")).await.expect(200);
    assert_eq!(fetched["memberCount"], 2);
    let listed = ada.get("/chat/conversations?types=direct").await.expect(200);
    let preview = &listed["conversations"][0];
    assert_eq!((&preview["memberCount"], &preview["otherMembers"]), (&json!(1), &json!([])));
    assert_eq!(preview["createdById"], Value::Null);
    assert_eq!(preview["unreadCount"], 1, "what nobody wrote was not read either");
    send(&ada, direct, "anybody there?").await;
}

async fn a_group_without_its_last_admin_gets_another(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let leave = format!("/chat/conversations/{id}/leave");
    bob.delete(&leave).await.expect(200);
    erase(&app, &ada).await;
    let members = cleo.get(&format!("/chat/conversations/{id}/members")).await.expect(200);
    assert_eq!(members["pagination"]["totalItems"], 1);
    assert_eq!(
        (&members["data"][0]["userId"], &members["data"][0]["role"]),
        (&json!(cleo.id), &json!("admin"))
    );
    cleo.delete(&leave).await.refused(400, "chat/last-admin");
}

async fn a_conversation_without_members_is_deleted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let made =
        ada.post("/chat/conversations/direct", json!({ "userId": bob.id })).await.expect(201);
    let direct = made["id"].as_str().unwrap();
    send(&ada, direct, "x").await;
    send(&ada, &group(&ada, &[&bob]).await, "x").await;
    erase(&app, &ada).await;
    assert_eq!(app.rows("chat_messages").await, 2);
    send(&bob, direct, "still here").await;
    erase(&app, &bob).await;
    while app.run_jobs().await > 0 {}
    for table in ["conversations", "conversation_members", "chat_messages"] {
        assert_eq!(app.rows(table).await, 0, "{table}");
    }
}

async fn a_deleted_user_is_mentioned_no_longer(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    // Bob is mentioned where he is not, before and after the words were changed.
    let id = group(&ada, &[&cleo]).await;
    let mention = |user: &User<'_>| json!({ "type": "user", "id": user.id, "username": "name" });
    let path = format!("/chat/conversations/{id}/messages");
    let both = json!({ "content": "@", "mentions": [mention(&bob), mention(&cleo)] });
    let first = ada.post(&path, both).await.expect(201);
    let second = send(&ada, &id, "x").await;
    ada.patch(&at(&id, &second), json!({ "mentions": [mention(&bob)] })).await.expect(200);
    erase(&app, &bob).await;
    let shown = cleo.get(&at(&id, &first)).await.expect(200);
    assert_eq!(shown["mentions"], json!([mention(&cleo)]));
    assert_eq!(cleo.get(&at(&id, &second)).await.expect(200)["mentions"], json!([]));
}

async fn users_are_deleted_while_others_write(app: TestApp) {
    let ada = app.user().await;
    let mut users = Vec::new();
    for _ in 0..12 {
        users.push(app.user().await);
    }
    let id = group(&ada, &users.iter().collect::<Vec<_>>()).await;
    let message = send(&ada, &id, "x").await;
    let react = format!("{}/reactions", at(&id, &message));
    let path = format!("/chat/conversations/{id}/messages");
    let all = users.iter().enumerate().flat_map(|(number, user)| {
        let (app, path, react) = (&app, &path, &react);
        [0, 1, 2].map(|what| async move {
            match what {
                0 => user.post(path, json!({ "content": number.to_string() })).await.status,
                1 => user.post(react, json!({ "emoji": "!" })).await.status,
                _ if number % 2 == 0 => {
                    app.service().delete(&format!("/users/{}", user.id)).await.status
                }
                _ => 0,
            }
        })
    });
    let statuses = all_at_once(all).await;
    assert!(
        statuses.iter().all(|status| [0, 200, 201, 204, 401, 403, 404].contains(status)),
        "{statuses:?}"
    );
    let fetched = ada.get(&format!("/chat/conversations/{id}")).await.expect(200);
    assert_eq!(fetched["memberCount"], 7);
    let reacted = ada.get(&at(&id, &message)).await.expect(200);
    assert_eq!(reacted["reactionCounts"], json!({ "!": 6 }));
    let listed = ada.get(&format!("{react}?emoji=!")).await.expect(200);
    assert_eq!(listed["pagination"]["total"], 6);
}

async fn deleted_users_get_no_new_direct_messages(app: TestApp) {
    let ada = app.user().await;
    for number in 0..8 {
        let bob = app.user().await;
        if number == 0 {
            let made = ada.post("/chat/conversations/direct", json!({ "userId": bob.id })).await;
            made.expect(201);
        }
        // Both begin while one of them goes.
        let (app, ada, bob) = (&app, &ada, &bob);
        let all = [0, 1, 2, 3].map(|what| async move {
            match what {
                0 => {
                    ada.post("/chat/conversations/direct", json!({ "userId": bob.id })).await.status
                }
                1 => {
                    bob.post("/chat/conversations/direct", json!({ "userId": ada.id })).await.status
                }
                2 => {
                    let new = json!({ "type": "group", "memberIds": [ada.id] });
                    bob.post("/chat/conversations", new).await.status
                }
                _ => app.service().delete(&format!("/users/{}", bob.id)).await.status,
            }
        });
        let statuses = all_at_once(all).await;
        let fits = |status: &u16| [200, 201, 204, 400, 401, 403].contains(status);
        assert!(statuses.iter().all(fits), "{statuses:?}");
        let gone = ada.post("/chat/conversations/direct", json!({ "userId": bob.id })).await;
        gone.refused(400, "chat/invalid-member");
    }
}

async fn a_deleted_picture_is_the_picture_of_nothing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let form = Form::new().text("pathParts", "[\"a\"]").file(TEXT);
    let file = ada.post_form("/storage", &form).await.expect(201)["fileId"].take();
    let path = format!("/chat/conversations/{id}");
    let shown = ada.patch(&path, json!({ "avatarFileId": file })).await.expect(200);
    assert_eq!(shown["avatarFile"]["id"], file);
    app.service().delete(&format!("/storage/{}", file.as_str().unwrap())).await.expect(200);
    let after = bob.get(&path).await.expect(200);
    assert_eq!(after["avatarFileId"], Value::Null);
    assert!(after.get("avatarFile").is_none());
}
