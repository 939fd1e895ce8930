//! Direct and group conversations: create, show, update, mute, freeze and delete.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::avatars::picture;
use crate::support::chat::{
    CONVERSATION, NOBODY, add, at, block, direct, group, leave, listed, messages, of, react,
    read_up_to, send, set_role, texts, unread, words,
};
use crate::support::{Actor, Form, Part, TestApp, User, keys, on_both_engines};

on_both_engines![
    two_users_have_one_conversation_however_often_it_is_made,
    a_group_is_made_with_its_members,
    group_fields_are_validated,
    only_given_fields_of_a_group_change,
    an_avatar_is_a_file_of_the_user_who_sets_it,
    a_picture_of_a_user_is_none_of_a_group,
    a_deleted_group_is_not_found,
    a_mute_lasts_as_long_as_it_was_asked_for,
    a_block_freezes_a_direct_conversation,
    a_block_means_nothing_in_a_group,
];

async fn two_users_have_one_conversation_however_often_it_is_made(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let path = "/chat/conversations/direct";
    let made = ada.post(path, json!({ "userId": bob.id })).await.expect(201);
    assert_eq!(keys(&made), words(&format!("{CONVERSATION} currentMember")));
    for key in ["name", "description", "spaceId", "avatarFileId", "lastMessageAt"] {
        assert_eq!(made[key], Value::Null, "{key}");
    }
    assert_eq!((&made["type"], &made["memberCount"]), (&json!("direct"), &json!(2)));
    assert_eq!((&made["createdById"], &made["metadata"]), (&json!(ada.id), &json!({})));
    assert_eq!(made["postingPermission"], Value::Null);
    let own = &made["currentMember"];
    assert_eq!((&own["userId"], &own["role"]), (&json!(ada.id), &Value::Null));
    assert_eq!((&own["mutedUntil"], &own["mutedForever"]), (&Value::Null, &json!(false)));
    assert_eq!((&own["isActive"], &own["leftAt"]), (&json!(true), &Value::Null));
    app.advance(Duration::from_secs(1));
    let again = bob.post(path, json!({ "userId": ada.id })).await.expect(200);
    assert_eq!((&again["id"], &again["updatedAt"]), (&made["id"], &made["updatedAt"]));
    assert_eq!(again["currentMember"]["userId"], json!(bob.id));
    for body in [json!({ "userId": ada.id }), json!({ "userId": NOBODY })] {
        ada.post(path, body).await.refused(400, "chat/invalid-member");
    }
    for body in [json!({}), json!({ "userId": "bob" }), json!({ "userId": 7 }), json!([])] {
        ada.post(path, body).await.refused(400, "chat/invalid-body");
    }
}

async fn a_group_is_made_with_its_members(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let body = json!({
        "type": "group", "name": "Crew", "description": "Ours", "metadata": { "colour": "red" },
        "memberIds": [bob.id, ada.id, bob.id],
    });
    let made = ada.post("/chat/conversations", body).await.expect(201);
    let shown = format!("{CONVERSATION} currentMember lastMessage unreadCount");
    assert_eq!(keys(&made), words(&shown));
    assert_eq!((&made["unreadCount"], &made["lastMessage"]), (&json!(0), &Value::Null));
    assert_eq!((&made["name"], &made["description"]), (&json!("Crew"), &json!("Ours")));
    assert_eq!((&made["metadata"]["colour"], &made["memberCount"]), (&json!("red"), &json!(2)));
    assert_eq!(made["currentMember"]["role"], "admin");
    assert_eq!((&made["postingPermission"], &made["spaceId"]), (&Value::Null, &Value::Null));
    let id = made["id"].as_str().unwrap();
    let fetched = bob.get(&of(id, "")).await.expect(200);
    let own = &fetched["currentMember"];
    assert_eq!((&own["role"], &own["userId"]), (&json!("member"), &json!(bob.id)));
    assert_eq!(own["lastReadAt"], Value::Null);
    let plain = ada.post("/chat/conversations", json!({ "type": "group" })).await.expect(201);
    assert_eq!((&plain["name"], &plain["memberCount"]), (&Value::Null, &json!(1)));
    // Groups are listed from the beginning, unlike conversations of two.
    direct(&ada, &bob).await;
    assert_eq!(listed(&bob, "").await, [id]);
}

async fn group_fields_are_validated(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let path = "/chat/conversations";
    for (key, value) in [
        ("type", json!("space")),
        ("type", json!("direct")),
        ("type", Value::Null),
        ("name", json!("n".repeat(201))),
        ("name", json!(7)),
        ("description", json!("d".repeat(1001))),
        ("memberIds", json!(["bob"])),
        ("memberIds", json!(bob.id)),
        ("metadata", json!([1])),
        ("metadata", json!({ "m": "m".repeat(1024 * 1024) })),
    ] {
        let mut body = json!({ "type": "group", "memberIds": [bob.id] });
        body[key] = value;
        ada.post(path, body).await.refused(400, "chat/invalid-body");
    }
    ada.post(path, json!({})).await.refused(400, "chat/invalid-body");
    let unknown = json!({ "type": "group", "memberIds": [bob.id, NOBODY] });
    ada.post(path, unknown).await.refused(400, "chat/invalid-member");
    assert!(listed(&ada, "").await.is_empty() && listed(&bob, "").await.is_empty());
    // As long as can be, by characters.
    let most = json!({
        "type": "group", "name": "ü".repeat(200), "description": "👍".repeat(1000),
        "metadata": { "m": "m".repeat(1000 * 1000) },
    });
    ada.post(path, most).await.expect(201);
}

async fn only_given_fields_of_a_group_change(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let path = of(&id, "");
    app.advance(Duration::from_secs(1));
    let changed = ada.patch(&path, json!({ "description": "Ours" })).await.expect(200);
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Crew"), &json!("Ours")));
    assert_eq!(changed["updatedAt"], json!(app.now()));
    let changed = ada.patch(&path, json!({ "name": "Band" })).await.expect(200);
    assert_eq!((&changed["name"], &changed["description"]), (&json!("Band"), &json!("Ours")));
    let changed = ada.patch(&path, json!({ "name": null, "description": null })).await.expect(200);
    assert_eq!((&changed["name"], &changed["description"]), (&Value::Null, &Value::Null));
    for body in [
        json!({ "name": "n".repeat(201) }),
        json!({ "name": 7 }),
        json!({ "description": "d".repeat(1001) }),
        json!({ "avatarFileId": "mine" }),
        json!({ "postingPermission": "nobody" }),
    ] {
        ada.patch(&path, body).await.refused(400, "chat/invalid-body");
    }
    let posting = json!({ "name": "x", "postingPermission": "admins" });
    ada.patch(&path, posting).await.refused(400, "chat/invalid-field");
    // What is no field of it changes nothing.
    let other = json!({ "type": "direct", "metadata": { "a": 1 }, "memberCount": 9 });
    let kept = ada.patch(&path, other).await.expect(200);
    assert_eq!((&kept["type"], &kept["metadata"]), (&json!("group"), &json!({})));
    let shown = ada.get(&path).await.expect(200);
    assert_eq!((&shown["name"], &shown["memberCount"]), (&Value::Null, &json!(1)));
}

async fn file_of(actor: &Actor<'_>) -> Value {
    let part = Part { name: "file", file: "face.txt", mime: "text/plain", bytes: b"a face" };
    let form = Form::new().file(part).json("pathParts", json!(["faces"]));
    actor.post_form("/storage", &form).await.expect(201)["fileId"].clone()
}

async fn is_there(actor: &Actor<'_>, file: &Value) -> bool {
    actor.get(&format!("/storage/{}", file.as_str().unwrap())).await.status == 200
}

async fn an_avatar_is_a_file_of_the_user_who_sets_it(app: TestApp) {
    let (ada, bob, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let id = group(&ada, &[&bob]).await;
    let path = of(&id, "");
    let (of_bob, foreign) = (file_of(&bob).await, file_of(&stranger).await);
    for file in [&of_bob, &foreign, &json!(NOBODY)] {
        let body = json!({ "avatarFileId": file });
        ada.patch(&path, body).await.refused(400, "chat/invalid-field");
    }
    let cleared = ada.patch(&path, json!({ "avatarFileId": null })).await.expect(200);
    assert_eq!(cleared["avatarFileId"], Value::Null);
    assert!(is_there(&bob, &of_bob).await && is_there(&stranger, &foreign).await);
    // Neither one that came with a message.
    let part = Part { name: "files", file: "a.txt", mime: "text/plain", bytes: b"a" };
    let sent = ada.post_form(&of(&id, "/messages"), &Form::new().file(part)).await.expect(201);
    let body = json!({ "avatarFileId": sent["files"][0]["id"] });
    ada.patch(&path, body).await.refused(400, "chat/invalid-field");

    let (first, second) = (file_of(&ada).await, file_of(&ada).await);
    let with = ada.patch(&path, json!({ "avatarFileId": first })).await.expect(200);
    assert_eq!((&with["avatarFileId"], &with["avatarFile"]["id"]), (&first, &first));
    assert_eq!(bob.get(&path).await.expect(200)["avatarFile"]["id"], first);
    ada.patch(&path, json!({ "avatarFileId": first, "name": "Same" })).await.expect(200);
    assert!(is_there(&ada, &first).await, "it is still shown");
    ada.patch(&path, json!({ "avatarFileId": second })).await.expect(200);
    assert!(!is_there(&ada, &first).await && is_there(&ada, &second).await);
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    let without = bob.patch(&path, json!({ "avatarFileId": null })).await.expect(200);
    assert!(without.get("avatarFile").is_none());
    assert!(!is_there(&ada, &second).await && is_there(&bob, &of_bob).await);
}

async fn a_picture_of_a_user_is_none_of_a_group(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let profile = format!("/users/{}", ada.id);
    let form = picture(picture(Form::new(), "avatarFile"), "bannerFile");
    let with = ada.send_form(Method::PATCH, &profile, &form).await.expect(200);
    // Otherwise a later change of the group would remove it from the profile.
    for file in [&with["avatarFileId"], &with["bannerFileId"]] {
        let body = json!({ "avatarFileId": file });
        ada.patch(&of(&id, ""), body).await.refused(400, "chat/invalid-field");
        assert!(is_there(&ada, file).await);
    }
}

async fn a_deleted_group_is_not_found(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    send(&ada, &id, "x").await;
    assert!(ada.delete(&of(&id, "")).await.expect(200)["message"].is_string());
    for user in [&ada, &bob] {
        user.get(&of(&id, "")).await.refused(404, "chat/not-found");
        user.get(&of(&id, "/messages")).await.refused(403, "chat/not-a-member");
        assert_eq!((listed(user, "").await.len(), unread(user).await), (0, (0, 0)));
    }
    ada.delete(&of(&id, "")).await.refused(404, "chat/not-found");
}

async fn a_mute_lasts_as_long_as_it_was_asked_for(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let (path, key) = (of(&id, "/mute"), app.service());
    let state = async |of_whom: &User<'_>| {
        let shown = key.get(&of(&id, &format!("/preview?userId={}", of_whom.id))).await.expect(200);
        (shown["mutedUntil"].clone(), shown["mutedForever"].clone())
    };
    for (duration, hours) in [("8h", 8), ("24h", 24), ("1w", 7 * 24)] {
        let body = json!({ "duration": duration, "userId": bob.id });
        let until = app.now().plus(Duration::from_hours(hours));
        let muted = key.post(&path, body).await;
        assert_eq!(muted.keys(), ["currentMember"]);
        let own = &muted.expect(200)["currentMember"];
        assert_eq!((&own["userId"], &own["mutedUntil"]), (&json!(bob.id), &json!(until)));
        assert_eq!(own["mutedForever"], false);
        app.advance(Duration::from_hours(hours) - Duration::from_millis(1));
        assert_eq!(state(&bob).await, (json!(until), json!(false)));
        app.advance(Duration::from_millis(1));
        assert_eq!(state(&bob).await, (Value::Null, json!(false)), "over by itself");
        let own = key.get(&of(&id, &format!("?userId={}", bob.id))).await.expect(200);
        assert_eq!(own["currentMember"]["mutedUntil"], Value::Null);
    }
    for (duration, forever) in [(json!("forever"), true), (Value::Null, false)] {
        let body = json!({ "duration": duration, "userId": bob.id });
        let own = key.post(&path, body).await.expect(200)["currentMember"].clone();
        assert_eq!((&own["mutedUntil"], &own["mutedForever"]), (&Value::Null, &json!(forever)));
        assert_eq!(state(&bob).await, (Value::Null, json!(forever)));
        assert_eq!(state(&ada).await, (Value::Null, json!(false)), "nobody else's");
    }
    let bob = bob.sign_in_again().await;
    for body in [json!({}), json!({ "duration": "1h" }), json!({ "duration": 8 })] {
        bob.post(&path, body).await.refused(400, "chat/invalid-body");
    }
    // Who has muted a conversation still counts what is new in it.
    bob.post(&path, json!({ "duration": "forever" })).await.expect(200);
    let ada = ada.sign_in_again().await;
    send(&ada, &id, "x").await;
    assert_eq!(unread(&bob).await, (1, 1));
}

async fn a_block_freezes_a_direct_conversation(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let message = send(&ada, &id, "x").await;
    block(&bob, &ada).await;
    block(&bob, &cleo).await;
    for user in [&ada, &bob] {
        let sent = user.post(&of(&id, "/messages"), json!({ "content": "x" })).await;
        // As if there were none.
        assert_eq!(sent.refused(404, "chat/not-found")["error"], "Conversation not found");
        let empty = user.post(&of(&id, "/messages"), json!({})).await;
        empty.refused(404, "chat/not-found");
        react(user, &id, &message, "a").await.refused(404, "chat/message-not-found");
        user.get(&of(&id, "")).await.expect(200);
        assert_eq!(texts(&messages(user, &id, "").await), ["x"]);
        assert_eq!(listed(user, "").await, [id.as_str()]);
        user.get(&format!("{}/reactions?emoji=a", at(&id, &message))).await.expect(200);
        user.post(&of(&id, "/mute"), json!({ "duration": "8h" })).await.expect(200);
        read_up_to(user, &id, &message).await;
    }
    assert_eq!(unread(&bob).await, (0, 0));
    let path = at(&id, &message);
    ada.patch(&path, json!({ "content": "y" })).await.refused(404, "chat/message-not-found");
    ada.delete(&path).await.refused(404, "chat/message-not-found");
    assert_eq!(direct(&ada, &bob).await, id, "what is there stays");
    for (one, other) in [(&cleo, &bob), (&bob, &cleo)] {
        let new = one.post("/chat/conversations/direct", json!({ "userId": other.id })).await;
        let unknown = one.post("/chat/conversations/direct", json!({ "userId": NOBODY })).await;
        new.refused(400, "chat/invalid-member");
        assert_eq!(new.text(), unknown.text());
    }
    // It is frozen until both have lifted their blocks.
    block(&ada, &bob).await;
    bob.delete(&format!("/users/{}/block", ada.id)).await.expect(204);
    let sent = bob.post(&of(&id, "/messages"), json!({ "content": "x" })).await;
    sent.refused(404, "chat/not-found");
    ada.delete(&format!("/users/{}/block", bob.id)).await.expect(204);
    send(&bob, &id, "again").await;
    ada.patch(&path, json!({ "content": "y" })).await.expect(200);
}

async fn a_block_means_nothing_in_a_group(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    block(&bob, &ada).await;
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "x").await;
    react(&bob, &id, &message, "a").await.expect(200);
    send(&bob, &id, "y").await;
    assert_eq!(texts(&messages(&bob, &id, "").await), ["y", "x"]);
    leave(&bob, &id).await;
    add(&ada, &id, &bob).await.expect(201);
}
