//! Events of a conversation: each one with its payload, to every socket of every member, once.

use http::Method;
use serde_json::{Value, json};

use crate::support::chat::{
    CONVERSATION, MESSAGE, PREVIEW, add, at, direct, group, leave, of, react, read_up_to, remove,
    reply, say, send, set_role, words,
};
use crate::support::sockets::{Ears, Event, Sockets};
use crate::support::{Form, Part, TestApp, User, keys, on_both_engines};

on_both_engines![
    all_members_and_the_sender_get_message_events,
    changes_of_messages_are_announced,
    changes_that_others_cannot_see_are_not_announced,
    joins_and_leaves_are_announced,
    a_new_conversation_is_announced,
    a_direct_conversation_is_announced_with_its_first_message,
    former_members_get_no_more_events,
    events_hold_nothing_private,
];

/// Ada and Bob in a group, Cleo not; Bob twice.
struct Scene<'a> {
    users: [User<'a>; 3],
    id: String,
    ears: Ears<'a>,
    _client: Sockets,
}

impl<'a> Scene<'a> {
    async fn new(app: &'a TestApp) -> Scene<'a> {
        let users = [app.user().await, app.user().await, app.user().await];
        let [ada, bob, cleo] = &users;
        let mut client = Sockets::default();
        let mut ears = Ears::new(app);
        for (user, transport) in
            [(ada, "websocket"), (bob, "websocket"), (bob, "polling"), (cleo, "polling")]
        {
            ears.add(user, client.connect(app, transport, user).await);
        }
        let id = group(ada, &[bob]).await;
        let mut scene = Scene { users, id, ears, _client: client };
        assert_eq!(names(&scene.heard(false).await), ["conversation:created"]);
        scene
    }

    /// What Bob has heard, by each of his sockets alike; Ada the same, if she is to, and Cleo nothing.
    async fn heard(&mut self, by_ada: bool) -> Vec<Event> {
        let [ada, bob, again, cleo]: [Vec<Event>; 4] = self.ears.heard().await.try_into().unwrap();
        assert_eq!(bob, again);
        assert_eq!(ada, if by_ada { bob.clone() } else { Vec::new() });
        assert_eq!(cleo, []);
        bob
    }

    async fn heard_by_all(&mut self) -> Vec<Event> {
        self.heard(true).await
    }
}

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn event(name: &str, payload: Value) -> Event {
    (name.to_owned(), payload)
}

async fn all_members_and_the_sender_get_message_events(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, _], id) = (scene.users.clone(), scene.id.clone());
    let first = say(&ada, &id, json!({ "content": "x", "localId": "mine" })).await;
    assert_eq!(scene.heard_by_all().await, [event("message:created", first.clone())]);
    assert_eq!(keys(&first), words(&format!("{MESSAGE} localId")));
    let part = Part { name: "files", file: "a.txt", mime: "text/plain", bytes: b"a" };
    let with_file = bob.post_form(&of(&id, "/messages"), &Form::new().file(part)).await.expect(201);
    let [(name, heard)]: [Event; 1] = scene.heard_by_all().await.try_into().unwrap();
    assert_eq!((name.as_str(), &heard["id"]), ("message:created", &with_file["id"]));
    assert_eq!(heard["files"][0]["id"], with_file["files"][0]["id"]);
    assert_eq!(heard["files"][0]["chatMessageId"], with_file["id"]);
    // A broadcast event holds no viewer's own reactions.
    react(&bob, &id, &first, "a").await.expect(200);
    let quoting = say(&bob, &id, json!({ "content": "q", "quotedMessageId": first["id"] })).await;
    let heard = scene.heard_by_all().await;
    assert_eq!(names(&heard), ["message:reaction", "message:created"]);
    let quoted = &heard[1].1["quotedMessage"];
    assert_eq!((&quoted["id"], &quoted["userReactions"]), (&first["id"], &json!([])));
    assert_eq!((&heard[1].1["id"], &heard[1].1["userReactions"]), (&quoting["id"], &json!([])));
    // A reply's event holds the reply count, too.
    for number in 1..=2 {
        let answer = reply(&bob, &id, &first, "re").await;
        let count = json!({
            "messageId": first["id"], "conversationId": id, "threadReplyCount": number,
        });
        let expected = [event("message:created", answer), event("thread:reply_count", count)];
        assert_eq!(scene.heard_by_all().await, expected);
    }
    // What is refused is not heard of.
    let body = json!({ "content": "x", "quotedMessageId": id });
    bob.post(&of(&id, "/messages"), body).await.refused(400, "chat/invalid-quote");
    assert_eq!(scene.heard_by_all().await, []);
}

async fn changes_of_messages_are_announced(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, _], id) = (scene.users.clone(), scene.id.clone());
    let message = send(&bob, &id, "x").await;
    scene.heard_by_all().await;
    let changes = json!({ "content": "y", "metadata": { "a": 1 } });
    let edited = bob.patch(&at(&id, &message), changes).await.expect(200);
    let expected = json!({
        "messageId": message["id"], "conversationId": id, "content": "y", "gif": null,
        "mentions": [], "metadata": { "a": 1 }, "editedAt": edited["editedAt"],
    });
    assert_eq!(scene.heard_by_all().await, [event("message:updated", expected)]);
    for (user, delta, counts) in [
        (&ada, 1, json!({ "👍": 1 })),
        (&bob, 1, json!({ "👍": 2 })),
        (&ada, -1, json!({ "👍": 1 })),
    ] {
        react(user, &id, &message, "👍").await.expect(200);
        let expected = json!({
            "messageId": message["id"], "conversationId": id, "emoji": "👍", "userId": user.id,
            "delta": delta, "reactionCounts": counts,
        });
        assert_eq!(scene.heard_by_all().await, [event("message:reaction", expected)]);
    }
    let deleted = bob.delete(&at(&id, &message)).await.expect(200);
    let expected = json!({
        "messageId": message["id"], "conversationId": id,
        "userDeletedAt": deleted["userDeletedAt"],
    });
    assert_eq!(scene.heard_by_all().await, [event("message:deleted", expected)]);
    ada.delete(&at(&id, &message)).await.expect(200);
    let expected = json!({ "messageId": message["id"], "conversationId": id });
    assert_eq!(scene.heard_by_all().await, [event("message:removed", expected)]);
}

async fn changes_that_others_cannot_see_are_not_announced(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, cleo], id) = (scene.users.clone(), scene.id.clone());
    let message = send(&bob, &id, "x").await;
    scene.heard_by_all().await;
    bob.patch(&at(&id, &message), json!({ "content": "x" })).await.expect(200);
    read_up_to(&ada, &id, &message).await;
    ada.post(&of(&id, "/mute"), json!({ "duration": "8h" })).await.expect(200);
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    add(&ada, &id, &bob).await.expect(200);
    direct(&ada, &cleo).await;
    for path in ["", "/preview", "/members", "/messages"] {
        bob.get(&of(&id, path)).await.expect(200);
    }
    bob.patch(&at(&id, &message), json!({ "content": "" }))
        .await
        .refused(400, "chat/empty-message");
    assert_eq!(scene.heard_by_all().await, []);
    bob.delete(&at(&id, &message)).await.expect(200);
    assert_eq!(names(&scene.heard_by_all().await), ["message:deleted"]);
    bob.delete(&at(&id, &message)).await.expect(200);
    assert_eq!(scene.heard_by_all().await, []);
}

async fn joins_and_leaves_are_announced(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, cleo], id) = (scene.users.clone(), scene.id.clone());
    send(&ada, &id, "x").await;
    scene.heard_by_all().await;
    let mut member = add(&ada, &id, &cleo).await.expect(201);
    let listed = ada.get(&of(&id, "/members")).await.expect(200);
    let row = listed["data"].as_array().unwrap().iter().find(|row| row["userId"] == json!(cleo.id));
    member["user"] = row.unwrap()["user"].clone();
    let joined = event("member:joined", json!({ "conversationId": id, "member": member }));
    let preview = cleo.get(&of(&id, "/preview")).await.expect(200);
    assert_eq!((&preview["unreadCount"], &preview["memberCount"]), (&json!(0), &json!(3)));
    let created = event("conversation:created", preview);
    let one = vec![joined.clone()];
    let expected = [one.clone(), one.clone(), one, vec![created, joined]];
    assert_eq!(scene.ears.heard().await, expected);
    for user in [&cleo, &bob] {
        if user.id == cleo.id {
            remove(&ada, &id, user).await.expect(200);
        } else {
            leave(user, &id).await;
        }
        let left = vec![event("member:left", json!({ "conversationId": id, "userId": user.id }))];
        let of_cleo = if user.id == cleo.id { left.clone() } else { Vec::new() };
        assert_eq!(scene.ears.heard().await, [left.clone(), left.clone(), left, of_cleo]);
    }
    // A returning member is announced again.
    add(&ada, &id, &bob).await.expect(201);
    let heard = scene.ears.heard().await;
    assert_eq!(names(&heard[0]), ["member:joined"]);
    assert_eq!(names(&heard[1]), ["conversation:created", "member:joined"]);
    assert_eq!(heard[1], heard[2]);
}

async fn a_new_conversation_is_announced(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let [ada, bob, cleo] = scene.users.clone();
    let id = group(&ada, &[&bob, &cleo]).await;
    let [of_ada, of_bob, again, of_cleo]: [Vec<Event>; 4] =
        scene.ears.heard().await.try_into().unwrap();
    assert_eq!((of_ada, &of_bob), (Vec::new(), &again));
    for (user, heard) in [(&bob, of_bob), (&cleo, of_cleo)] {
        // Each as they see it themselves.
        let preview = user.get(&of(&id, "/preview")).await.expect(200);
        assert_eq!(keys(&preview), words(&format!("{CONVERSATION} {PREVIEW}")));
        assert_eq!(heard, [event("conversation:created", preview)]);
    }
    let updated = ada.patch(&of(&id, ""), json!({ "name": "Band" })).await.expect(200);
    for heard in scene.ears.heard().await {
        let [(name, told)]: [Event; 1] = heard.try_into().unwrap();
        assert_eq!((name.as_str(), &told["id"]), ("conversation:updated", &json!(id)));
        assert_eq!((&told["name"], &told["updatedAt"]), (&json!("Band"), &updated["updatedAt"]));
        for key in keys(&told) {
            assert_eq!(told[&key], updated[&key], "{key}");
        }
    }
    ada.send(Method::DELETE, &of(&id, ""), None).await.expect(200);
    for heard in scene.ears.heard().await {
        assert_eq!(heard, [event("conversation:deleted", json!({ "conversationId": id }))]);
    }
}

async fn a_direct_conversation_is_announced_with_its_first_message(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let [ada, bob, _] = scene.users.clone();
    let id = direct(&ada, &bob).await;
    assert_eq!(scene.heard_by_all().await, []);
    let message = send(&ada, &id, "x").await;
    let preview = bob.get(&of(&id, "/preview")).await.expect(200);
    assert_eq!(
        (&preview["unreadCount"], &preview["lastMessage"]["id"]),
        (&json!(1), &message["id"])
    );
    assert_eq!(preview["otherMembers"][0]["id"], json!(ada.id));
    let sent = event("message:created", message.clone());
    let heard = scene.ears.heard().await;
    assert_eq!(heard[0], std::slice::from_ref(&sent));
    assert_eq!(heard[1], [event("conversation:created", preview), sent]);
    assert_eq!((&heard[1], heard[3].len()), (&heard[2], 0));
    // Once: not with the second, nor when all that was said has gone.
    let second = send(&bob, &id, "y").await;
    assert_eq!(names(&scene.heard_by_all().await), ["message:created"]);
    ada.delete(&at(&id, &message)).await.expect(200);
    bob.delete(&at(&id, &second)).await.expect(200);
    send(&ada, &id, "z").await;
    let heard = scene.heard_by_all().await;
    assert_eq!(names(&heard), ["message:deleted", "message:deleted", "message:created"]);
}

async fn former_members_get_no_more_events(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, cleo], id) = (scene.users.clone(), scene.id.clone());
    let message = send(&ada, &id, "x").await;
    for remove_bob in [true, false] {
        if remove_bob {
            remove(&ada, &id, &bob).await.expect(200);
        } else {
            leave(&bob, &id).await;
        }
        let heard = scene.ears.heard().await;
        assert_eq!(heard[1].last().unwrap().0, "member:left");
        send(&ada, &id, "y").await;
        ada.patch(&at(&id, &message), json!({ "content": remove_bob.to_string() }))
            .await
            .expect(200);
        react(&ada, &id, &message, "a").await.expect(200);
        reply(&ada, &id, &message, "re").await;
        ada.patch(&of(&id, ""), json!({ "name": remove_bob.to_string() })).await.expect(200);
        add(&ada, &id, &cleo).await.expect(201);
        remove(&ada, &id, &cleo).await.expect(200);
        let heard = scene.ears.heard().await;
        let expected = words(
            "message:created message:updated message:reaction message:created \
             thread:reply_count conversation:updated member:joined member:left",
        );
        let mut of_ada = names(&heard[0]);
        of_ada.sort_unstable();
        assert_eq!(of_ada, expected);
        assert_eq!((heard[1].len(), heard[2].len()), (0, 0));
        add(&ada, &id, &bob).await.expect(201);
        scene.ears.heard().await;
    }
    ada.delete(&of(&id, "")).await.expect(200);
    let deleted = event("conversation:deleted", json!({ "conversationId": id }));
    assert_eq!(scene.heard_by_all().await, [deleted]);
}

/// Every key in a value, however deep.
fn all_keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.keys().cloned());
            object.values().for_each(|value| all_keys(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| all_keys(value, found)),
        _ => {}
    }
}

async fn events_hold_nothing_private(app: TestApp) {
    let mut scene = Scene::new(&app).await;
    let ([ada, bob, cleo], id) = (scene.users.clone(), scene.id.clone());
    for user in [&ada, &bob, &cleo] {
        let body = json!({ "secureMetadata": { "secret": "word" } });
        app.service().patch(&format!("/users/{}", user.id), body).await.expect(200);
    }
    bob.post(&of(&id, "/mute"), json!({ "duration": "forever" })).await.expect(200);
    let message = send(&bob, &id, "x").await;
    say(&ada, &id, json!({ "content": "q", "quotedMessageId": message["id"] })).await;
    react(&bob, &id, &message, "a").await.expect(200);
    bob.patch(&at(&id, &message), json!({ "content": "y" })).await.expect(200);
    add(&ada, &id, &cleo).await.expect(201);
    remove(&ada, &id, &bob).await.expect(200);
    add(&ada, &id, &bob).await.expect(201);
    let two = direct(&bob, &cleo).await;
    send(&bob, &two, "x").await;
    let mut heard_of_a_conversation = 0;
    for (name, mut payload) in scene.ears.heard().await.into_iter().flatten() {
        // What it says of mutes is the recipient's own.
        if name == "conversation:created" {
            heard_of_a_conversation += 1;
            let object = payload.as_object_mut().unwrap();
            object.remove("mutedUntil");
            object.remove("mutedForever");
        }
        let mut found = Vec::new();
        all_keys(&payload, &mut found);
        for private in words("email secureMetadata hash salt password mutedUntil mutedForever") {
            assert!(!found.contains(&private.to_owned()), "{name} {payload:#}");
        }
        assert!(!payload.to_string().contains("secret"), "{name} {payload:#}");
    }
    assert_eq!(heard_of_a_conversation, 4);
}
