//! Replies and quotes: their targets, how they are shown, and what is left when the target is deleted.

use serde_json::{Value, json};

use crate::support::chat::{
    MESSAGE, NOBODY, at, direct, group, messages, of, react, reply, say, send, texts, words,
};
use crate::support::{Actor, Form, Part, TestApp, keys, on_both_engines};

on_both_engines![
    replies_are_listed_in_their_thread,
    the_number_of_replies_never_goes_back,
    messages_are_filtered_by_whether_they_have_replies,
    only_messages_of_the_main_stream_take_replies,
    a_quote_shows_the_quoted_message,
    removed_messages_cannot_be_quoted,
    a_quoted_message_loses_nothing_of_its_own,
];

fn thread(message: &Value) -> String {
    format!("?parentId={}", message["id"].as_str().unwrap())
}

async fn quote(actor: &Actor<'_>, conversation: &str, message: &Value, text: &str) -> Value {
    let body = json!({ "content": text, "quotedMessageId": message["id"] });
    say(actor, conversation, body).await
}

async fn replies_are_listed_in_their_thread(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let (first, second) = (send(&ada, &id, "first").await, send(&ada, &id, "second").await);
    let mut times = Vec::new();
    for text in ["a", "b", "c"] {
        let sent = reply(&bob, &id, &first, text).await;
        assert_eq!(sent["parentMessageId"], first["id"]);
        times.push(sent["createdAt"].as_str().unwrap().to_owned());
    }
    assert_eq!(texts(&messages(&ada, &id, "").await), ["second", "first"]);
    let path = thread(&first);
    for (query, expected, has_more) in [
        (path.clone(), "abc", false),
        (format!("{path}&sort=desc"), "cba", false),
        (format!("{path}&limit=2"), "ab", true),
        (format!("{path}&limit=2&sort=desc"), "cb", true),
        (format!("{path}&after={}", times[0]), "bc", false),
        (format!("{path}&before={}", times[2]), "ab", false),
        (thread(&second), "", false),
        (format!("?parentId={NOBODY}"), "", false),
    ] {
        let page = messages(&ada, &id, &query).await;
        assert_eq!(texts(&page).concat(), expected, "{query}");
        assert_eq!(page["hasMore"], has_more, "{query}");
        assert!(page.get("notice").is_none());
    }
    // A thread of another conversation is not shown by way of this one.
    let other = group(&ada, &[&bob]).await;
    assert!(texts(&messages(&ada, &other, &path).await).is_empty());
    assert_eq!(ada.get(&of(&id, "")).await.expect(200)["lastMessageAt"], second["createdAt"]);
}

async fn the_number_of_replies_never_goes_back(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let first = send(&ada, &id, "first").await;
    let (one, two) = (reply(&bob, &id, &first, "a").await, reply(&bob, &id, &first, "b").await);
    let count = async || ada.get(&at(&id, &first)).await.expect(200)["threadReplyCount"].clone();
    assert_eq!(count().await, 2);
    bob.delete(&at(&id, &one)).await.expect(200);
    ada.delete(&at(&id, &two)).await.expect(200);
    assert_eq!(count().await, 2);
    assert_eq!(texts(&messages(&ada, &id, &thread(&first)).await), ["(none)"]);
    ada.delete(&at(&id, &first)).await.expect(200);
    // What was taken back may still be answered.
    reply(&bob, &id, &first, "c").await;
    assert_eq!(count().await, 3);
}

async fn messages_are_filtered_by_whether_they_have_replies(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let mut sent = Vec::new();
    for text in ["0", "1", "2", "3"] {
        sent.push(send(&ada, &id, text).await);
    }
    for place in [1, 3] {
        reply(&ada, &id, &sent[place], "re").await;
    }
    for (query, expected) in [
        ("?filters[hasReplies]=true", "31"),
        ("?filters[hasReplies]=false", "20"),
        ("?filters[hasReplies]=true&sort=asc&limit=1", "1"),
        ("?filters%5BhasReplies%5D=true", "31"),
    ] {
        let page = messages(&ada, &id, query).await;
        assert_eq!(texts(&page).concat(), expected, "{query}");
        assert!(page.get("notice").is_none(), "{query}");
    }
    let both = messages(&ada, &id, &(thread(&sent[1]) + "&filters[hasReplies]=true")).await;
    assert!(texts(&both).is_empty() && both["notice"].is_string(), "{both}");
    let neither = messages(&ada, &id, &(thread(&sent[1]) + "&filters[hasReplies]=false")).await;
    assert_eq!((texts(&neither), neither.get("notice")), (vec!["re"], None));
}

async fn only_messages_of_the_main_stream_take_replies(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (id, other) = (group(&ada, &[&bob]).await, direct(&ada, &bob).await);
    let (first, elsewhere) = (send(&bob, &id, "x").await, send(&ada, &other, "y").await);
    let (answer, gone) = (reply(&ada, &id, &first, "re").await, send(&bob, &id, "z").await);
    ada.delete(&at(&id, &gone)).await.expect(200);
    for parent in [&answer["id"], &elsewhere["id"], &gone["id"], &json!(NOBODY)] {
        let body = json!({ "content": "x", "parentMessageId": parent });
        let sent = ada.post(&of(&id, "/messages"), body).await;
        sent.refused(400, "chat/invalid-parent");
    }
    let shown = ada.get(&at(&id, &answer)).await.expect(200);
    assert_eq!(shown["threadReplyCount"], 0);
}

async fn a_quote_shows_the_quoted_message(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let first = send(&ada, &id, "first").await;
    let second = quote(&bob, &id, &first, "second").await;
    assert_eq!(keys(&second), words(MESSAGE));
    assert_eq!(
        (&second["quotedMessageId"], &second["parentMessageId"]),
        (&first["id"], &Value::Null)
    );
    let quoted = &second["quotedMessage"];
    assert_eq!((&quoted["id"], &quoted["content"]), (&first["id"], &json!("first")));
    assert_eq!(quoted["user"]["id"], json!(ada.id));
    // One level deep, in the stream and out of it.
    let third = quote(&ada, &id, &second, "third").await;
    assert_eq!(third["quotedMessage"]["content"], "second");
    assert!(third["quotedMessage"].get("quotedMessage").is_none_or(Value::is_null));
    assert_eq!(texts(&messages(&bob, &id, "").await), ["third", "second", "first"]);
    let answer = reply(&bob, &id, &first, "re").await;
    assert_eq!(quote(&ada, &id, &answer, "x").await["quotedMessage"]["content"], "re");
    let both = json!({
        "content": "both", "parentMessageId": first["id"], "quotedMessageId": answer["id"],
    });
    let both = say(&ada, &id, both).await;
    assert_eq!(
        (&both["parentMessageId"], &both["quotedMessage"]["id"]),
        (&first["id"], &answer["id"])
    );
    // A quote shows what its message is now.
    ada.patch(&at(&id, &first), json!({ "content": "changed" })).await.expect(200);
    let shown = async || ada.get(&at(&id, &second)).await.expect(200)["quotedMessage"].clone();
    assert_eq!(shown().await["content"], "changed");
    ada.delete(&at(&id, &first)).await.expect(200);
    let taken_back = shown().await;
    assert_eq!(taken_back["content"], Value::Null);
    assert!(taken_back["userDeletedAt"].is_string());
}

async fn removed_messages_cannot_be_quoted(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (id, other) = (group(&ada, &[&bob]).await, group(&ada, &[&bob]).await);
    let first = send(&bob, &id, "first").await;
    let second = quote(&ada, &id, &first, "second").await;
    let elsewhere = send(&ada, &other, "x").await;
    ada.delete(&at(&id, &first)).await.expect(200);
    for message in [&first["id"], &elsewhere["id"], &json!(NOBODY)] {
        let body = json!({ "content": "x", "quotedMessageId": message });
        let sent = ada.post(&of(&id, "/messages"), body).await;
        sent.refused(400, "chat/invalid-quote");
    }
    let shown = bob.get(&at(&id, &second)).await.expect(200);
    assert_eq!((&shown["quotedMessage"], &shown["quotedMessageId"]), (&Value::Null, &first["id"]));
    let listed = messages(&bob, &id, "").await;
    assert_eq!(listed["messages"][0]["quotedMessage"], Value::Null);
    assert!(!listed.to_string().contains("first"), "{listed}");
}

async fn a_quoted_message_loses_nothing_of_its_own(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let part = Part { name: "files", file: "a.txt", mime: "text/plain", bytes: b"a" };
    let form = Form::new().text("content", "first").file(part);
    let first = ada.post_form(&of(&id, "/messages"), &form).await.expect(201);
    react(&bob, &id, &first, "a").await.expect(200);
    quote(&ada, &id, &first, "second").await;
    quote(&ada, &id, &first, "third").await;
    for sort in ["asc", "desc"] {
        let listed = messages(&bob, &id, &format!("?include=files&sort={sort}")).await;
        for message in listed["messages"].as_array().unwrap() {
            let shown =
                if message["id"] == first["id"] { message } else { &message["quotedMessage"] };
            assert_eq!(shown["files"][0]["id"], first["files"][0]["id"], "{sort} {message:#}");
            assert_eq!(shown["userReactions"], json!(["a"]), "{sort} {message:#}");
        }
    }
}
