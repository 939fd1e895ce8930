//! Members of a group: listed, added, removed, given a role, leaving, and what former members still see.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::chat::{
    NOBODY, add, at, direct, group, leave, messages, of, react, remove, reply, say, send, set_role,
    texts, unread, words,
};
use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    members_are_listed_in_the_order_in_which_they_came,
    a_page_of_members_is_chosen,
    a_member_is_added_once,
    only_users_are_added,
    a_member_is_removed_and_may_be_added_again,
    roles_are_given_and_taken,
    a_group_keeps_an_admin,
    former_members_read_messages_from_before_they_left,
    former_members_do_not_see_messages_of_the_same_millisecond,
    former_members_cannot_act,
    mutes_are_private,
];

const SECOND: Duration = Duration::from_secs(1);
const MEMBER: &str = "conversationId createdAt id isActive lastReadAt leftAt projectId role updatedAt \
    userId";

async fn members(actor: &Actor<'_>, conversation: &str, query: &str) -> Value {
    actor.get(&of(conversation, &format!("/members{query}"))).await.expect(200)
}

fn ids(page: &Value) -> Vec<&Value> {
    page["data"].as_array().unwrap().iter().map(|member| &member["userId"]).collect()
}

async fn count(actor: &Actor<'_>, conversation: &str) -> Value {
    actor.get(&of(conversation, "")).await.expect(200)["memberCount"].clone()
}

async fn members_are_listed_in_the_order_in_which_they_came(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (cleo, dora) = (app.user().await, app.user().await);
    let id = group(&ada, &[&cleo, &bob]).await;
    app.advance(SECOND);
    add(&ada, &id, &dora).await.expect(201);
    let page = members(&bob, &id, "").await;
    let all = [ada.id, cleo.id, bob.id, dora.id].map(|user| json!(user));
    assert_eq!(ids(&page), all.iter().collect::<Vec<_>>());
    let expected = json!({
        "page": 1, "pageSize": 50, "totalPages": 1, "totalItems": 4, "hasMore": false,
    });
    assert_eq!(page["pagination"], expected);
    let other = &page["data"][0];
    assert_eq!(keys(other), words(&format!("{MEMBER} user")));
    assert_eq!(keys(&other["user"]), words("id name username avatar metadata reputation"));
    assert_eq!((&other["role"], &other["user"]["id"]), (&json!("admin"), &json!(ada.id)));
    let two = direct(&ada, &bob).await;
    let page = members(&ada, &two, "").await;
    assert_eq!((ids(&page).len(), &page["data"][0]["role"]), (2, &Value::Null));
}

async fn a_page_of_members_is_chosen(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    set_role(&ada, &id, &cleo, "admin").await.expect(200);
    for (query, expected) in [
        ("?role=admin", vec![ada.id, cleo.id]),
        ("?role=member", vec![bob.id]),
        ("?limit=2", vec![ada.id, bob.id]),
        ("?limit=2&page=2", vec![cleo.id]),
        ("?limit=2&page=3", vec![]),
        ("?limit=0&page=x", vec![ada.id, bob.id, cleo.id]),
    ] {
        let expected: Vec<Value> = expected.into_iter().map(|user| json!(user)).collect();
        let page = members(&bob, &id, query).await;
        assert_eq!(ids(&page), expected.iter().collect::<Vec<_>>(), "{query}");
    }
    let page = members(&bob, &id, "?limit=1000&role=admin").await["pagination"].clone();
    assert_eq!((&page["pageSize"], &page["totalItems"]), (&json!(100), &json!(2)));
    let page = members(&bob, &id, "?limit=2").await["pagination"].clone();
    assert_eq!((&page["totalPages"], &page["hasMore"]), (&json!(2), &json!(true)));
    for query in ["role=owner", "spaceReputationId=mine"] {
        let refused = bob.get(&of(&id, &format!("/members?{query}"))).await;
        refused.refused(400, "chat/invalid-query");
    }
    for query in ["?spaceReputationId=none", "?spaceReputationId=context"] {
        let page = members(&bob, &id, query).await;
        assert_eq!(page["data"][0]["user"]["spaceReputation"], 0);
    }
}

async fn a_member_is_added_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[]).await;
    app.advance(SECOND);
    let added = add(&ada, &id, &bob).await.expect(201);
    assert_eq!(keys(&added), words(MEMBER));
    assert_eq!((&added["role"], &added["isActive"]), (&json!("member"), &json!(true)));
    let now = json!(app.now());
    assert_eq!((&added["createdAt"], &added["lastReadAt"]), (&now, &now));
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    app.advance(SECOND);
    let again = add(&ada, &id, &bob).await.expect(200);
    assert_eq!((&again["id"], &again["lastReadAt"]), (&added["id"], &now));
    assert_eq!(again["role"], "admin", "present members keep their role");
    assert_eq!(count(&ada, &id).await, 2);
}

async fn only_users_are_added(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let id = group(&ada, &[]).await;
    let path = of(&id, "/members");
    for unknown in [json!(NOBODY), json!(stranger.id)] {
        let refused = ada.post(&path, json!({ "userId": unknown })).await;
        refused.refused(400, "chat/invalid-member");
    }
    for body in [json!({}), json!({ "userId": "bob" }), json!({ "userId": null })] {
        ada.post(&path, body).await.refused(400, "chat/invalid-body");
    }
    assert_eq!(count(&ada, &id).await, 1);
}

async fn a_member_is_removed_and_may_be_added_again(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    let before = bob.get(&of(&id, "")).await.expect(200)["currentMember"].clone();
    app.advance(SECOND);
    let removed = remove(&ada, &id, &bob).await;
    assert_eq!(removed.keys(), ["message"]);
    removed.expect(200);
    for user in [&bob, &cleo] {
        remove(&ada, &id, user).await.refused(404, "chat/member-not-found");
        set_role(&ada, &id, user, "admin").await.refused(404, "chat/member-not-found");
    }
    let own = bob.get(&of(&id, "")).await.expect(200);
    assert_eq!(own["memberCount"], 1);
    let own = &own["currentMember"];
    assert_eq!((&own["isActive"], &own["leftAt"]), (&json!(false), &json!(app.now())));
    assert_eq!(ids(&members(&bob, &id, "").await), [&json!(ada.id)]);
    app.advance(SECOND);
    let back = add(&ada, &id, &bob).await.expect(201);
    assert_eq!((&back["id"], &back["createdAt"]), (&before["id"], &before["createdAt"]));
    assert_eq!((&back["isActive"], &back["leftAt"]), (&json!(true), &Value::Null));
    // Without the role of before, and with nothing to catch up on.
    assert_eq!((&back["role"], &back["lastReadAt"]), (&json!("member"), &json!(app.now())));
    assert_eq!(count(&bob, &id).await, 2);
    send(&bob, &id, "back").await;
}

async fn roles_are_given_and_taken(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let path = of(&id, &format!("/members/{}/role", bob.id));
    for body in [json!({}), json!({ "role": "owner" }), json!({ "role": null })] {
        ada.patch(&path, body).await.refused(400, "chat/invalid-body");
    }
    let given = set_role(&ada, &id, &bob, "admin").await.expect(200);
    assert_eq!(keys(&given), words(MEMBER));
    assert_eq!((&given["role"], &given["userId"]), (&json!("admin"), &json!(bob.id)));
    bob.patch(&of(&id, ""), json!({ "name": "Band" })).await.expect(200);
    set_role(&bob, &id, &ada, "member").await.expect(200);
    ada.patch(&of(&id, ""), json!({ "name": "x" })).await.refused(403, "chat/not-a-member");
    remove(&ada, &id, &bob).await.refused(403, "chat/not-a-member");
    add(&ada, &id, &bob).await.refused(403, "chat/not-a-member");
    set_role(&ada, &id, &ada, "admin").await.refused(403, "chat/not-a-member");
    remove(&bob, &id, &ada).await.expect(200);
}

async fn a_group_keeps_an_admin(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    ada.delete(&of(&id, "/leave")).await.refused(400, "chat/last-admin");
    set_role(&ada, &id, &ada, "member").await.refused(400, "chat/last-admin");
    remove(&ada, &id, &ada).await.refused(400, "chat/last-admin");
    set_role(&ada, &id, &ada, "admin").await.expect(200);
    // One who has left is none.
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    leave(&bob, &id).await;
    ada.delete(&of(&id, "/leave")).await.refused(400, "chat/last-admin");
    add(&ada, &id, &bob).await.expect(201);
    ada.delete(&of(&id, "/leave")).await.refused(400, "chat/last-admin");
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    leave(&ada, &id).await;
    assert_eq!(count(&bob, &id).await, 1);
    bob.delete(&of(&id, "/leave")).await.refused(400, "chat/last-admin");
    bob.delete(&of(&id, "")).await.expect(200);
}

/// A group that Bob has left, with a message from before and one from after it, in the same moment.
async fn left_behind(app: &TestApp, ada: &User<'_>, bob: &User<'_>) -> (String, [Value; 3]) {
    let id = group(ada, &[bob]).await;
    for text in ["first", "second"] {
        send(ada, &id, text).await;
    }
    let before = send(bob, &id, "before").await;
    let thread = reply(ada, &id, &before, "a reply before").await;
    leave(bob, &id).await;
    let after = say(ada, &id, json!({ "content": "after", "quotedMessageId": before["id"] })).await;
    reply(ada, &id, &before, "a reply after").await;
    app.advance(SECOND);
    send(ada, &id, "later").await;
    (id, [before, thread, after])
}

async fn former_members_read_messages_from_before_they_left(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (id, [before, thread, after]) = left_behind(&app, &ada, &bob).await;
    assert_eq!(texts(&messages(&bob, &id, "").await), ["before", "second", "first"]);
    for query in [
        format!("?after={}&sort=asc", before["createdAt"].as_str().unwrap()),
        format!("?after={}", thread["createdAt"].as_str().unwrap()),
    ] {
        assert!(texts(&messages(&bob, &id, &query).await).is_empty(), "{query}");
    }
    let newest = messages(&bob, &id, "?limit=1").await;
    assert_eq!((texts(&newest), &newest["hasMore"]), (vec!["before"], &json!(true)));
    let in_thread = format!("?parentId={}", before["id"].as_str().unwrap());
    assert_eq!(texts(&messages(&bob, &id, &in_thread).await), ["a reply before"]);
    bob.get(&at(&id, &before)).await.expect(200);
    bob.get(&at(&id, &thread)).await.expect(200);
    bob.get(&at(&id, &after)).await.refused(404, "chat/message-not-found");
    let reactions = format!("{}/reactions?emoji=a", at(&id, &after));
    bob.get(&reactions).await.refused(404, "chat/message-not-found");
    // Back in, they see all of it.
    add(&ada, &id, &bob).await.expect(201);
    assert_eq!(texts(&messages(&bob, &id, "?limit=2").await), ["later", "after"]);
    bob.get(&reactions).await.expect(200);
}

async fn former_members_do_not_see_messages_of_the_same_millisecond(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    leave(&bob, &id).await;
    let after = send(&ada, &id, "after").await;
    assert!(texts(&messages(&bob, &id, "").await).is_empty());
    bob.get(&at(&id, &after)).await.refused(404, "chat/message-not-found");
    // For a new member only later messages are unread.
    add(&ada, &id, &bob).await.expect(201);
    assert_eq!(unread(&bob).await, (0, 0));
    send(&ada, &id, "news").await;
    assert_eq!(unread(&bob).await, (1, 1));
}

async fn former_members_cannot_act(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (id, [before, _, after]) = left_behind(&app, &ada, &bob).await;
    for message in [&before, &after] {
        for body in [
            json!({ "content": "x", "quotedMessageId": message["id"] }),
            json!({ "content": "x", "parentMessageId": message["id"] }),
        ] {
            let sent = bob.post(&of(&id, "/messages"), body).await;
            sent.refused(403, "chat/not-a-member");
        }
        react(&bob, &id, message, "a").await.refused(403, "chat/not-a-member");
        let read = bob.post(&of(&id, "/read"), json!({ "messageId": message["id"] })).await;
        read.refused(403, "chat/not-a-member");
        bob.delete(&at(&id, message)).await.refused(403, "chat/not-a-member");
        let edited = bob.patch(&at(&id, message), json!({ "content": "x" })).await;
        edited.refused(403, "chat/not-a-member");
    }
    bob.get(&of(&id, "/preview")).await.refused(404, "chat/not-found");
    assert_eq!(bob.get(&of(&id, "")).await.expect(200)["currentMember"]["isActive"], false);
}

async fn mutes_are_private(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    bob.post(&of(&id, "/mute"), json!({ "duration": "forever" })).await.expect(200);
    let own = |page: &Value, user: &User<'_>| {
        let all = page["data"].as_array().unwrap().iter();
        let row = all.clone().find(|row| row["userId"] == json!(user.id)).unwrap();
        row.get("mutedForever").cloned()
    };
    let (for_ada, for_bob) = (members(&ada, &id, "").await, members(&bob, &id, "").await);
    assert_eq!((own(&for_ada, &bob), own(&for_bob, &ada)), (None, None));
    assert_eq!((own(&for_ada, &ada), own(&for_bob, &bob)), (Some(json!(false)), Some(json!(true))));
    let given = set_role(&ada, &id, &bob, "admin").await.expect(200);
    assert_eq!(keys(&given), words(MEMBER));
    assert_eq!(keys(&add(&ada, &id, &bob).await.expect(200)), words(MEMBER));
}
