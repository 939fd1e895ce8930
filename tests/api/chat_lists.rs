//! The list of conversations: its fields, order and cursors, and what counts as unread.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::chat::{
    CONVERSATION, NOBODY, PREVIEW, add, at, direct, group, leave, listed, of, react, read_up_to,
    remove, reply, send, set_role, unread, words,
};
use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_direct_conversation_is_listed_while_something_is_to_be_seen_in_it,
    a_preview_shows_the_last_message,
    a_preview_names_five_others,
    conversations_with_the_newest_messages_come_first,
    a_client_goes_on_from_the_last_row,
    kinds_and_limits_are_chosen,
    invalid_queries_are_refused,
    every_condition_of_unread_messages,
    read_messages_stay_read,
];

const LAST_MESSAGE: &str =
    "content conversationId createdAt files gif id user userDeletedAt userId";
const SECOND: Duration = Duration::from_secs(1);

async fn a_direct_conversation_is_listed_while_something_is_to_be_seen_in_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let is_listed = async |expected: bool| {
        for user in [&ada, &bob] {
            assert_eq!(listed(user, "").await.len(), usize::from(expected));
            // One that is asked for by its id is shown all the same.
            user.get(&of(&id, "/preview")).await.expect(200);
        }
    };
    is_listed(false).await;
    let first = send(&ada, &id, "x").await;
    is_listed(true).await;
    let answer = reply(&bob, &id, &first, "re").await;
    ada.delete(&at(&id, &first)).await.expect(200);
    is_listed(false).await;
    bob.delete(&at(&id, &answer)).await.expect(200);
    send(&bob, &id, "back").await;
    is_listed(true).await;
}

async fn a_preview_shows_the_last_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (two, many) = (direct(&ada, &bob).await, group(&ada, &[&bob]).await);
    for (id, speaker) in [(&two, Value::Null), (&many, json!(ada.id))] {
        let preview = async || bob.get(&of(id, "/preview")).await.expect(200);
        assert_eq!(preview().await["lastMessage"], Value::Null);
        let long = "ä".repeat(99) + "👍👍";
        let first = send(&ada, id, &long).await;
        let shown = preview().await;
        let last = &shown["lastMessage"];
        assert_eq!(last["content"], "ä".repeat(99) + "👍", "its first 100 characters");
        assert_eq!((&last["id"], &last["files"]), (&first["id"], &json!([])));
        assert_eq!(last["user"]["id"], speaker);
        assert_eq!(keys(last), words(LAST_MESSAGE));
        if speaker.is_string() {
            let speaker = keys(&last["user"]);
            assert_eq!(speaker, ["avatar", "id", "name", "reputation", "username"]);
        }
        assert_eq!((&shown["unreadCount"], &shown["memberCount"]), (&json!(1), &json!(2)));
        assert_eq!(shown["lastMessageAt"], first["createdAt"]);
        // A row of the list is the same.
        let list = bob.get("/chat/conversations").await.expect(200);
        let rows = list["conversations"].as_array().unwrap();
        assert!(rows.contains(&shown), "{shown:#} {rows:#?}");
        assert_eq!(keys(&shown), words(&format!("{CONVERSATION} {PREVIEW}")));
        // A reply is not part of the stream, and what was taken back is not shown.
        reply(&ada, id, &first, "re").await;
        let second = send(&bob, id, "second").await;
        assert_eq!(preview().await["lastMessage"]["content"], "second");
        bob.delete(&at(id, &second)).await.expect(200);
        let shown = preview().await;
        assert_eq!(shown["lastMessage"]["id"], first["id"]);
        assert_eq!(shown["lastMessageAt"], second["createdAt"], "never back");
    }
    let removed = send(&bob, &many, "removed").await;
    ada.delete(&at(&many, &removed)).await.expect(200);
    let shown = bob.get(&of(&many, "/preview")).await.expect(200);
    assert_ne!(shown["lastMessage"]["id"], removed["id"]);
}

async fn a_preview_names_five_others(app: TestApp) {
    let ada = app.user().await;
    let mut others = Vec::new();
    for _ in 0..7 {
        others.push(app.user().await);
    }
    let id = group(&ada, &others.iter().collect::<Vec<_>>()).await;
    let named = async |viewer: &User<'_>| {
        let shown = viewer.get(&of(&id, "/preview")).await.expect(200);
        let members = shown["otherMembers"].as_array().unwrap().clone();
        assert_eq!(keys(&members[0]), ["avatar", "id", "name", "username"]);
        members.iter().map(|member| member["id"].clone()).collect::<Vec<_>>()
    };
    let ids: Vec<Value> = others.iter().map(|user| json!(user.id)).collect();
    assert_eq!(named(&ada).await, ids[..5]);
    let for_the_second = [vec![json!(ada.id), ids[0].clone()], ids[2..5].to_vec()].concat();
    assert_eq!(named(&others[1]).await, for_the_second);
    leave(&others[0], &id).await;
    assert_eq!(named(&ada).await, ids[1..6]);
}

async fn conversations_with_the_newest_messages_come_first(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(group(&ada, &[&bob]).await);
        app.advance(SECOND);
    }
    let order = |places: [usize; 3]| places.map(|place| ids[place].clone());
    assert_eq!(listed(&ada, "").await, order([2, 1, 0]), "without messages by their age");
    let message = send(&ada, &ids[1], "x").await;
    assert_eq!(listed(&bob, "").await, order([1, 2, 0]));
    app.advance(SECOND);
    send(&bob, &ids[0], "x").await;
    assert_eq!(listed(&ada, "").await, order([0, 1, 2]));
    app.advance(SECOND);
    // A reply does not move it, nor do a change and a reaction.
    reply(&ada, &ids[1], &message, "re").await;
    ada.patch(&at(&ids[1], &message), json!({ "content": "y" })).await.expect(200);
    react(&ada, &ids[1], &message, "a").await.expect(200);
    assert_eq!(listed(&ada, "").await, order([0, 1, 2]));
    ada.delete(&at(&ids[1], &message)).await.expect(200);
    assert_eq!(listed(&ada, "").await, order([0, 1, 2]), "nor does what is taken back");
    leave(&bob, &ids[0]).await;
    remove(&ada, &ids[2], &bob).await.expect(200);
    assert_eq!(listed(&bob, "").await, [ids[1].clone()], "only where they still are");
    add(&ada, &ids[2], &bob).await.expect(201);
    assert_eq!(listed(&bob, "").await, [ids[1].clone(), ids[2].clone()]);
}

/// Goes through the list as clients do, so many at a time.
async fn walk(actor: &Actor<'_>, limit: usize) -> Vec<String> {
    let (mut seen, mut query) = (Vec::new(), format!("?limit={limit}"));
    loop {
        let page = actor.get(&format!("/chat/conversations{query}")).await;
        assert_eq!(page.keys(), ["conversations", "hasMore"]);
        let page = page.expect(200);
        let rows = page["conversations"].as_array().unwrap();
        seen.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        if page["hasMore"] == false {
            return seen;
        }
        assert_eq!(rows.len(), limit);
        let last = rows.last().unwrap();
        query = format!("?limit={limit}&cursorCreatedAt={}", last["createdAt"].as_str().unwrap());
        if let Some(at) = last["lastMessageAt"].as_str() {
            query += &format!("&cursor={at}");
        }
    }
}

async fn a_client_goes_on_from_the_last_row(app: TestApp) {
    let ada = app.user().await;
    let (mut written, mut silent) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        written.push(group(&ada, &[]).await);
        app.advance(SECOND);
    }
    for _ in 0..4 {
        silent.push(group(&ada, &[]).await);
        app.advance(SECOND);
    }
    // Three in the same millisecond, then one, then another.
    for id in &written[..3] {
        send(&ada, id, "x").await;
    }
    for id in &written[3..] {
        app.advance(SECOND);
        send(&ada, id, "x").await;
    }
    let expected: Vec<String> = [4, 3, 2, 1, 0].map(|place| written[place].clone()).to_vec();
    let expected = [expected, silent.into_iter().rev().collect()].concat();
    for limit in 1..=9 {
        assert_eq!(walk(&ada, limit).await, expected, "{limit} at a time");
    }
    // Conversations with new messages move ahead of the cursor and are not listed again.
    let page = ada.get("/chat/conversations?limit=2").await.expect(200);
    let last = &page["conversations"][1];
    let (at, created) = (last["lastMessageAt"].as_str(), last["createdAt"].as_str());
    let query = format!("?cursor={}&cursorCreatedAt={}", at.unwrap(), created.unwrap());
    app.advance(SECOND);
    send(&ada, &written[0], "y").await;
    let rest = [expected[2..4].to_vec(), expected[5..].to_vec()].concat();
    assert_eq!(listed(&ada, &query).await, rest);
    // Only the time of creation: among those without a message.
    let query = format!("?cursorCreatedAt={}", app.now());
    assert_eq!(listed(&ada, &query).await, expected[5..]);
}

async fn kinds_and_limits_are_chosen(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let two = direct(&ada, &bob).await;
    send(&ada, &two, "x").await;
    let many = group(&ada, &[]).await;
    for (types, expected) in [
        ("direct", vec![&two]),
        ("group", vec![&many]),
        ("space", vec![]),
        ("group,direct", vec![&two, &many]),
        ("direct,group,space", vec![&two, &many]),
        ("", vec![&two, &many]),
    ] {
        let found = listed(&ada, &format!("?types={types}")).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{types}");
    }
    for _ in 0..53 {
        group(&ada, &[]).await;
    }
    for (limit, expected) in
        [("1", 1), ("50", 50), ("51", 50), ("1000", 50), ("0", 20), ("-1", 20), ("x", 20), ("", 20)]
    {
        let found = listed(&ada, &format!("?limit={limit}")).await;
        assert_eq!(found.len(), expected, "{limit}");
    }
    assert_eq!(listed(&ada, "").await.len(), 20);
}

async fn invalid_queries_are_refused(app: TestApp) {
    let ada = app.user().await;
    let now = app.now();
    for query in [
        "types=group,channel".to_owned(),
        "types=Group".to_owned(),
        format!("cursor={now}"),
        format!("cursor=now&cursorCreatedAt={now}"),
        format!("cursor={now}&cursorCreatedAt=%27%20OR%201=1"),
        "cursorCreatedAt=1785585600000".to_owned(),
    ] {
        let asked = ada.get(&format!("/chat/conversations?{query}")).await;
        assert_eq!(asked.outcome(), "400 chat/invalid-query", "{query}");
    }
}

async fn every_condition_of_unread_messages(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (one, other) = (group(&ada, &[&bob]).await, direct(&ada, &bob).await);
    assert_eq!(unread(&bob).await, (0, 0));
    let first = send(&ada, &one, "1").await;
    let second = send(&ada, &one, "2").await;
    let third = send(&ada, &one, "3").await;
    assert_eq!(unread(&bob).await, (3, 1));
    send(&bob, &one, "own").await;
    assert_eq!((unread(&bob).await, unread(&ada).await), ((3, 1), (1, 1)), "one's own are read");
    reply(&ada, &one, &first, "re").await;
    assert_eq!(unread(&bob).await, (3, 1), "a reply does not count");
    ada.delete(&at(&one, &second)).await.expect(200);
    assert_eq!(unread(&bob).await, (2, 1), "nor does what was taken back");
    let cleo = app.user().await;
    add(&ada, &one, &cleo).await.expect(201);
    let fourth = send(&cleo, &one, "4").await;
    assert_eq!((unread(&bob).await, unread(&cleo).await), ((3, 1), (0, 0)));
    ada.delete(&at(&one, &fourth)).await.expect(200);
    assert_eq!(unread(&bob).await, (2, 1), "nor what an admin removed");
    send(&ada, &other, "elsewhere").await;
    assert_eq!(unread(&bob).await, (3, 2));
    read_up_to(&bob, &one, &third).await;
    assert_eq!(unread(&bob).await, (1, 1));
    let shown = bob.get(&of(&one, "/preview")).await.expect(200);
    assert_eq!(shown["unreadCount"], 0);
    // Nothing is unread for former members, and those who return start at zero.
    app.advance(SECOND);
    send(&ada, &one, "5").await;
    assert_eq!(unread(&bob).await, (2, 2));
    leave(&bob, &one).await;
    assert_eq!(unread(&bob).await, (1, 1));
    send(&ada, &one, "6").await;
    app.advance(SECOND);
    add(&ada, &one, &bob).await.expect(201);
    assert_eq!(unread(&bob).await, (1, 1));
    app.advance(SECOND);
    send(&ada, &one, "7").await;
    assert_eq!(unread(&bob).await, (2, 2));
}

async fn read_messages_stay_read(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let mut sent = Vec::new();
    for text in ["1", "2", "3", "4"] {
        sent.push(send(&ada, &id, text).await);
    }
    let last_read = async |user: &User<'_>| {
        user.get(&of(&id, "")).await.expect(200)["currentMember"]["lastReadAt"].clone()
    };
    assert_eq!(last_read(&bob).await, Value::Null);
    read_up_to(&bob, &id, &sent[2]).await;
    assert_eq!((unread(&bob).await, last_read(&bob).await), ((1, 1), sent[2]["createdAt"].clone()));
    read_up_to(&bob, &id, &sent[0]).await;
    assert_eq!((unread(&bob).await, last_read(&bob).await), ((1, 1), sent[2]["createdAt"].clone()));
    // A mute, a role and a message of one's own leave it as it is.
    bob.post(&of(&id, "/mute"), json!({ "duration": "8h" })).await.expect(200);
    set_role(&ada, &id, &bob, "admin").await.expect(200);
    send(&bob, &id, "5").await;
    assert_eq!(last_read(&bob).await, sent[2]["createdAt"]);
    assert_eq!(last_read(&ada).await, Value::Null, "nobody else's");
    let elsewhere = send(&ada, &group(&ada, &[&bob]).await, "x").await;
    let path = of(&id, "/read");
    for message in [&elsewhere["id"], &json!(NOBODY)] {
        let read = bob.post(&path, json!({ "messageId": message })).await;
        read.refused(404, "chat/message-not-found");
    }
    for body in [json!({}), json!({ "messageId": 7 }), json!({ "messageId": null })] {
        bob.post(&path, body).await.refused(400, "chat/invalid-body");
    }
}
