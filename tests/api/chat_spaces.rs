//! The conversation of a space: who joins, who may write, who may delete it, and when members are removed.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::notifications::UNKNOWN;
use crate::space_members::{membership, of, open_space};
use crate::spaces::{create, join, path};
use crate::support::sockets::{Ears, Sockets};
use crate::support::{Actor, TestApp, User, all_at_once, keys, on_both_engines};

on_both_engines![
    members_come_in_when_they_ask_for_it,
    a_stranger_is_refused,
    all_who_ask_at_once_get_the_same_one,
    a_key_asks_for_somebody_or_for_nobody,
    a_pending_member_may_read_and_not_write,
    a_pending_member_of_a_closed_space_reads_nothing,
    who_waits_goes_out_when_the_space_closes,
    the_team_says_who_may_write,
    the_team_changes_it_and_admins_delete_it,
    leaving_the_space_leaves_its_conversation,
    nobody_comes_in_while_being_banned,
    it_goes_with_its_space,
    moderators_of_the_space_remove_messages,
];

pub(crate) async fn of_space(actor: &Actor<'_>, space: &Value) -> Value {
    actor.get(&format!("{}/conversation", path(space))).await.expect(200)
}

fn at(conversation: &Value, end: &str) -> String {
    format!("/chat/conversations/{}{end}", conversation["id"].as_str().unwrap())
}

async fn send(actor: &Actor<'_>, conversation: &Value, text: &str) -> Value {
    let path = at(conversation, "/messages");
    actor.post(&path, json!({ "content": text })).await.expect(201)
}

/// A space with its creator, a moderator and a member, and its conversation, in which they all are.
struct Room<'a> {
    ada: User<'a>,
    mod_: User<'a>,
    bob: User<'a>,
    space: Value,
    conversation: Value,
}

impl<'a> Room<'a> {
    async fn new(app: &'a TestApp) -> Room<'a> {
        let (ada, mod_, bob) = (app.user().await, app.user().await, app.user().await);
        let space = open_space(&ada).await;
        let joined = join(&mod_, &space).await;
        ada.patch(&of(&space, &joined, "/role"), json!({ "role": "moderator" })).await.expect(200);
        join(&bob, &space).await;
        let mut conversation = Value::Null;
        for user in [&ada, &mod_, &bob] {
            conversation = of_space(user, &space).await;
        }
        Room { ada, mod_, bob, space, conversation }
    }
}

async fn members_come_in_when_they_ask_for_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let made = of_space(&ada, &space).await;
    assert_eq!((&made["type"], &made["spaceId"]), (&json!("space"), &space["id"]));
    assert_eq!((&made["createdById"], &made["name"]), (&Value::Null, &space["name"]));
    assert_eq!((&made["postingPermission"], &made["memberCount"]), (&json!("members"), &json!(1)));
    let own = &made["currentMember"];
    assert_eq!((&own["role"], &own["isActive"]), (&Value::Null, &json!(true)));
    assert_eq!(own["lastReadAt"], json!(app.now()));
    join(&bob, &space).await;
    assert!(bob.get("/chat/conversations").await.expect(200)["conversations"][0].is_null());
    // A member of the space knows it before coming in.
    let known = bob.get(&at(&made, "")).await.expect(200);
    assert_eq!((&known["currentMember"], &known["memberCount"]), (&Value::Null, &json!(1)));
    bob.get(&at(&made, "/preview")).await.refused(404, "chat/not-found");
    bob.get(&at(&made, "/messages")).await.refused(403, "chat/not-a-member");
    let again = bob.v7().get(&format!("/chat{}/conversation", path(&space))).await.expect(200);
    assert_eq!((&again["id"], &again["memberCount"]), (&made["id"], &json!(2)));
    assert_eq!(of_space(&bob, &space).await, again, "nothing changes any more");
    let listed = bob.get("/chat/conversations?types=space").await.expect(200);
    assert_eq!(listed["conversations"][0]["id"], made["id"]);
    assert_eq!(listed["conversations"][0]["otherMembers"], json!([]));
    send(&ada, &made, "hello").await;
    let preview = bob.get(&at(&made, "/preview")).await.expect(200);
    assert_eq!(
        (&preview["unreadCount"], &preview["lastMessage"]["user"]["id"]),
        (&json!(1), &json!(ada.id))
    );
}

async fn a_stranger_is_refused(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let space = create(&ada, json!({})).await;
    let address = format!("{}/conversation", path(&space));
    let made = of_space(&ada, &space).await;
    bob.get(&address).await.refused(403, "chat/not-a-member");
    bob.get(&at(&made, "")).await.refused(404, "chat/not-found");
    let asked = join(&bob, &space).await;
    ada.patch(&of(&space, &asked, "/decline"), json!({})).await.expect(200);
    bob.get(&address).await.refused(403, "chat/not-a-member");
    let asked = join(&cleo, &space).await;
    ada.patch(&of(&space, &asked, "/ban"), json!({})).await.expect(200);
    cleo.get(&address).await.refused(403, "chat/banned");
    cleo.get(&at(&made, "")).await.refused(404, "chat/not-found");
    ada.get(&format!("/spaces/{UNKNOWN}/conversation")).await.refused(404, "space/not-found");
    ada.get("/spaces/7/conversation").await.refused(400, "chat/invalid-params");
    app.stranger().await.get(&address).await.refused(404, "space/not-found");
    app.anonymous().get(&address).await.expect(401);
    ada.v6().get(&address).await.expect(404);
    for bundles in [[Bundle::Chat], [Bundle::Spaces]] {
        let project = app.project_with(&bundles).await;
        let key = app.bearer(&project.service_key).in_project(project.id);
        let refused = key.get(&format!("/spaces/{UNKNOWN}/conversation")).await;
        refused.refused(403, "database/tables-not-available");
    }
}

async fn all_who_ask_at_once_get_the_same_one(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    let mut users = Vec::new();
    for _ in 0..32 {
        let user = app.user().await;
        join(&user, &space).await;
        users.push(user);
    }
    let all = users.iter().flat_map(|user| [user, user]);
    let replies = all_at_once(all.map(|user| of_space(user, &space))).await;
    let ids: std::collections::BTreeSet<String> =
        replies.iter().map(|reply| reply["id"].to_string()).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(of_space(&ada, &space).await["memberCount"], 33);
}

async fn a_key_asks_for_somebody_or_for_nobody(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let address = format!("{}/conversation", path(&space));
    let made = app.service().get(&address).await.expect(200);
    assert_eq!((&made["currentMember"], &made["memberCount"]), (&Value::Null, &json!(0)));
    let own = app.service().get(&format!("{address}?userId={}", ada.id)).await.expect(200);
    assert_eq!(own["currentMember"]["userId"], json!(ada.id));
    let other = app.service().get(&format!("{address}?userId={}", bob.id)).await;
    other.refused(403, "chat/not-a-member");
    let unknown = app.service().get(&format!("{address}?userId={UNKNOWN}")).await;
    unknown.refused(403, "chat/not-a-member");
    bob.get(&format!("{address}?userId={}", ada.id)).await.refused(403, "chat/unauthorized");
}

async fn a_pending_member_may_read_and_not_write(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "requireJoinApproval": true })).await;
    let made = of_space(&ada, &space).await;
    let asked = join(&bob, &space).await;
    of_space(&bob, &space).await;
    send(&ada, &made, "read this").await;
    let listed = bob.get(&at(&made, "/messages")).await.expect(200);
    assert_eq!(listed["messages"][0]["content"], "read this");
    let said = json!({ "content": "x" });
    bob.post(&at(&made, "/messages"), said.clone()).await.refused(403, "chat/forbidden");
    ada.patch(&of(&space, &asked, "/approve"), json!({})).await.expect(200);
    bob.post(&at(&made, "/messages"), said).await.expect(201);
}

/// Every way to what is said: none of them is open.
async fn nothing_is_read(user: &User<'_>, conversation: &Value, message: &Value) {
    let one = at(conversation, &format!("/messages/{}", message["id"].as_str().unwrap()));
    let thread = format!("/messages?parentId={}", message["id"].as_str().unwrap());
    for path in [
        at(conversation, "/messages"),
        at(conversation, &thread),
        one.clone(),
        format!("{one}/reactions?emoji=a"),
    ] {
        user.get(&path).await.refused(403, "chat/not-a-member");
    }
    let said = json!({ "content": "x" });
    user.post(&at(conversation, "/messages"), said.clone()).await.refused(403, "chat/not-a-member");
    user.patch(&one, said).await.refused(403, "chat/not-a-member");
    user.delete(&one).await.refused(403, "chat/not-a-member");
    let reaction = json!({ "emoji": "a" });
    user.post(&format!("{one}/reactions"), reaction).await.refused(403, "chat/not-a-member");
    let read = json!({ "messageId": message["id"] });
    user.post(&at(conversation, "/read"), read).await.refused(403, "chat/not-a-member");
    let report = json!({ "targetType": "message", "targetId": message["id"], "reason": "spam" });
    user.post("/reports", report).await.refused(403, "chat/not-a-member");
    assert_eq!(user.get("/chat/conversations").await.expect(200)["conversations"], json!([]));
    let unread = user.get("/chat/conversations/unread-count").await.expect(200);
    assert_eq!(unread, json!({ "totalUnread": 0, "unreadConversationCount": 0 }));
    user.get(&at(conversation, "/preview")).await.refused(404, "chat/not-found");
}

async fn a_pending_member_of_a_closed_space_reads_nothing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let closed = json!({ "requireJoinApproval": true, "readingPermission": "members" });
    let space = create(&ada, closed).await;
    let asked = join(&bob, &space).await;
    let (mut client, mut ears) = (Sockets::default(), Ears::new(&app));
    for user in [&ada, &bob] {
        ears.add(user, client.connect(&app, "websocket", user).await);
    }
    // Who waits may be the first to ask for it.
    let made = of_space(&bob, &space).await;
    assert_eq!((&made["currentMember"], &made["memberCount"]), (&Value::Null, &json!(0)));
    of_space(&ada, &space).await;
    let said = send(&ada, &made, "secret").await;
    assert_eq!(of_space(&bob, &space).await["currentMember"], Value::Null);
    assert_eq!(bob.get(&at(&made, "")).await.expect(200)["memberCount"], 1);
    nothing_is_read(&bob, &made, &said).await;
    let heard = ears.heard().await;
    assert!(heard[0].iter().any(|(name, _)| name == "message:created"), "{heard:?}");
    assert_eq!(heard[1], [], "who waits hears nothing");
    ada.patch(&of(&space, &asked, "/approve"), json!({})).await.expect(200);
    assert_eq!(of_space(&bob, &space).await["memberCount"], 2);
    let listed = bob.get(&at(&made, "/messages")).await.expect(200);
    assert_eq!(listed["messages"][0]["content"], "secret");
    send(&bob, &made, "hello").await;
    let names: Vec<String> =
        ears.heard().await.remove(1).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["member:joined", "message:created"]);
}

async fn who_waits_goes_out_when_the_space_closes(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = create(&ada, json!({ "requireJoinApproval": true })).await;
    let made = of_space(&ada, &space).await;
    join(&bob, &space).await;
    assert_eq!(of_space(&bob, &space).await["currentMember"]["isActive"], true);
    let said = send(&ada, &made, "for all").await;
    bob.get(&at(&made, "/messages")).await.expect(200);
    let (mut client, mut ears) = (Sockets::default(), Ears::new(&app));
    ears.add(&bob, client.connect(&app, "websocket", &bob).await);
    // What was said before may still be on its way.
    ears.heard().await;
    for (reading, count) in [("members", 1), ("anyone", 2)] {
        let change = json!({ "readingPermission": reading });
        ada.patch(&path(&space), change).await.expect(200);
        if reading == "members" {
            nothing_is_read(&bob, &made, &said).await;
            send(&ada, &made, "for members").await;
            let left = json!({ "conversationId": made["id"], "userId": bob.id });
            assert_eq!(ears.heard().await, [[("member:left".to_owned(), left)]]);
        }
        of_space(&bob, &space).await;
        let shown = ada.get(&at(&made, "")).await.expect(200);
        assert_eq!(shown["memberCount"], count, "{reading}");
    }
    let listed = bob.get(&at(&made, "/messages?sort=asc")).await.expect(200);
    assert_eq!(listed["messages"][0]["id"], said["id"]);
}

async fn the_team_says_who_may_write(app: TestApp) {
    let Room { ada, mod_, bob, conversation, .. } = Room::new(&app).await;
    let closed = json!({ "postingPermission": "admins" });
    let path = at(&conversation, "");
    bob.patch(&path, closed.clone()).await.refused(403, "chat/not-a-member");
    let changed = mod_.patch(&path, closed).await.expect(200);
    assert_eq!(changed["postingPermission"], "admins");
    let said = json!({ "content": "x" });
    bob.post(&at(&conversation, "/messages"), said.clone()).await.refused(403, "chat/forbidden");
    for user in [&ada, &mod_] {
        user.post(&at(&conversation, "/messages"), said.clone()).await.expect(201);
    }
    ada.patch(&path, json!({ "postingPermission": "nobody" }))
        .await
        .refused(400, "chat/invalid-body");
    ada.patch(&path, json!({ "postingPermission": "members" })).await.expect(200);
    bob.post(&at(&conversation, "/messages"), said).await.expect(201);
    // Nobody is added, removed or given a role here.
    for (method, end, body) in [
        (http::Method::POST, "/members".to_owned(), json!({ "userId": bob.id })),
        (http::Method::DELETE, format!("/members/{}", bob.id), Value::Null),
        (http::Method::PATCH, format!("/members/{}/role", bob.id), json!({ "role": "admin" })),
    ] {
        let body = Some(body).filter(|body| !body.is_null());
        let refused = ada.send(method, &at(&conversation, &end), body).await;
        refused.refused(400, "chat/invalid-type");
    }
}

async fn the_team_changes_it_and_admins_delete_it(app: TestApp) {
    let Room { ada, mod_, bob, space, conversation } = Room::new(&app).await;
    let path = at(&conversation, "");
    let renamed =
        mod_.patch(&path, json!({ "name": "Lounge", "description": "d" })).await.expect(200);
    assert_eq!((&renamed["name"], &renamed["description"]), (&json!("Lounge"), &json!("d")));
    let message = send(&bob, &conversation, "x").await;
    for user in [&bob, &mod_] {
        user.delete(&path).await.refused(403, "chat/not-a-member");
    }
    let outside = app.user().await;
    outside.delete(&path).await.refused(404, "chat/not-found");
    let mut client = Sockets::default();
    let mut bobs = client.listen(&app, "websocket", &bob).await;
    ada.delete(&path).await.expect(200);
    let told = json!({ "conversationId": conversation["id"] });
    assert_eq!(bobs.event().await, ("conversation:deleted".to_owned(), told));
    for user in [&ada, &bob] {
        user.get(&path).await.refused(404, "chat/not-found");
        let listed = user.get("/chat/conversations").await.expect(200);
        assert_eq!(listed["conversations"], json!([]));
        let unread = user.get("/chat/conversations/unread-count").await.expect(200);
        assert_eq!(unread["totalUnread"], 0);
    }
    let gone = at(&conversation, &format!("/messages/{}", message["id"].as_str().unwrap()));
    bob.get(&gone).await.refused(403, "chat/not-a-member");
    let new = of_space(&bob, &space).await;
    assert_ne!(new["id"], conversation["id"]);
    app.run_jobs().await;
    assert_eq!(bob.get(&at(&new, "/messages")).await.expect(200)["messages"], json!([]));
}

async fn leaving_the_space_leaves_its_conversation(app: TestApp) {
    let Room { ada, mod_, bob, space, conversation } = Room::new(&app).await;
    send(&ada, &conversation, "before").await;
    let mut client = Sockets::default();
    let mut modses = client.listen(&app, "websocket", &mod_).await;
    let mut bobs = client.listen(&app, "polling", &bob).await;
    app.advance(Duration::from_secs(1));
    bob.delete(&format!("{}/leave", path(&space))).await.expect(200);
    let banned = membership(&app, &space, &mod_).await;
    ada.patch(&of(&space, &banned, "/ban"), json!({})).await.expect(200);
    let left = |user: &User<'_>| {
        let told = json!({ "conversationId": conversation["id"], "userId": user.id });
        ("member:left".to_owned(), told)
    };
    assert_eq!(bobs.event().await, left(&bob));
    assert_eq!(modses.event().await, left(&bob));
    assert_eq!(modses.event().await, left(&mod_));
    app.advance(Duration::from_secs(1));
    send(&ada, &conversation, "after").await;
    for user in [&bob, &mod_] {
        let listed = user.get(&at(&conversation, "/messages")).await.expect(200);
        assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
        let said = json!({ "content": "x" });
        user.post(&at(&conversation, "/messages"), said).await.refused(403, "chat/not-a-member");
        user.get(&at(&conversation, "")).await.refused(404, "chat/not-found");
    }
    assert_eq!(of_space(&ada, &space).await["memberCount"], 1);
    // Back in the space, and back in its conversation; the next thing that is heard is that.
    join(&bob, &space).await;
    let back = of_space(&bob, &space).await;
    assert_eq!(back["currentMember"]["leftAt"], Value::Null);
    let (name, joined) = bobs.event().await;
    assert_eq!((name.as_str(), &joined["member"]["userId"]), ("member:joined", &json!(bob.id)));
    let shown = keys(&joined["member"]);
    assert!(!shown.contains(&"mutedForever".to_owned()), "{shown:?}");
}

async fn nobody_comes_in_while_being_banned(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    let made = of_space(&ada, &space).await;
    for _ in 0..8 {
        let user = app.user().await;
        let joined = join(&user, &space).await;
        let ban = of(&space, &joined, "/ban");
        let address = format!("{}/conversation", path(&space));
        let (user, ada) = (&user, &ada);
        let both = [true, false].map(|comes| {
            let (ban, address) = (ban.clone(), address.clone());
            async move {
                match comes {
                    true => user.get(&address).await.status,
                    false => ada.patch(&ban, json!({})).await.status,
                }
            }
        });
        let statuses = all_at_once(both).await;
        assert_eq!(statuses[1], 200);
        assert!([200, 403].contains(&statuses[0]), "{statuses:?}");
        let said = json!({ "content": "x" });
        user.post(&at(&made, "/messages"), said).await.refused(403, "chat/not-a-member");
    }
    assert_eq!(of_space(&ada, &space).await["memberCount"], 1);
}

async fn it_goes_with_its_space(app: TestApp) {
    let Room { ada, bob, space, conversation, .. } = Room::new(&app).await;
    let child = json!({ "parentSpaceId": space["id"], "requireJoinApproval": false });
    let child = create(&ada, child).await;
    let below = of_space(&ada, &child).await;
    for number in 0..3 {
        send(&ada, &conversation, &number.to_string()).await;
    }
    let mut client = Sockets::default();
    let mut adas = client.listen(&app, "websocket", &ada).await;
    ada.delete(&path(&space)).await.expect(200);
    let mut told = Vec::new();
    for _ in 0..2 {
        let (name, payload) = adas.event().await;
        assert_eq!(name, "conversation:deleted");
        told.push(payload["conversationId"].clone());
    }
    for gone in [&conversation, &below] {
        assert!(told.contains(&gone["id"]), "{told:?}");
        ada.get(&at(gone, "")).await.refused(404, "chat/not-found");
    }
    bob.get(&at(&conversation, "/messages")).await.refused(403, "chat/not-a-member");
    app.run_jobs().await;
    assert_eq!(app.rows("chat_messages").await, 0);
    ada.get(&path(&space)).await.refused(404, "space/not-found");
}

async fn moderators_of_the_space_remove_messages(app: TestApp) {
    let Room { ada, mod_, bob, space, conversation } = Room::new(&app).await;
    let message = send(&ada, &conversation, "rude").await;
    let own = at(&conversation, &format!("/messages/{}", message["id"].as_str().unwrap()));
    // Within the conversation only authors delete.
    mod_.delete(&own).await.refused(403, "chat/forbidden");
    let moderation =
        |space: &Value, id: &str| format!("{}/chat/messages/{id}/moderation", path(space));
    let address = moderation(&space, message["id"].as_str().unwrap());
    let removed = json!({ "moderationStatus": "removed", "moderationReason": "rude" });
    bob.patch(&address, removed.clone()).await.refused(403, "space/moderator-required");
    for wrong in [json!({}), json!({ "moderationStatus": "approved" })] {
        mod_.patch(&address, wrong).await.refused(400, "moderation/invalid-body");
    }
    let unknown = moderation(&space, UNKNOWN);
    mod_.patch(&unknown, removed.clone()).await.refused(404, "chat/message-not-found");
    let elsewhere = open_space(&mod_).await;
    let elsewhere = moderation(&elsewhere, message["id"].as_str().unwrap());
    mod_.patch(&elsewhere, removed.clone()).await.refused(404, "moderation/message-not-in-space");
    let mut client = Sockets::default();
    let mut bobs = client.listen(&app, "websocket", &bob).await;
    let done = mod_.patch(&address, removed.clone()).await.expect(200);
    assert_eq!(done["moderationStatus"], "removed");
    let told = json!({ "messageId": message["id"], "conversationId": conversation["id"] });
    assert_eq!(bobs.event().await, ("message:removed".to_owned(), told));
    bob.get(&own).await.refused(404, "chat/message-not-found");
    ada.patch(&own, json!({ "content": "y" })).await.refused(400, "chat/message-removed");
    // Repeating it changes nothing and announces nothing.
    app.service().patch(&address, removed).await.expect(200);
    let next = send(&ada, &conversation, "kind").await;
    assert_eq!(bobs.event().await.1["id"], next["id"]);
    let listed = bob.get(&at(&conversation, "/messages")).await.expect(200);
    assert_eq!(listed["messages"].as_array().unwrap().len(), 1);
}
