//! Messages: sent, and listed page by page.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::chat::{
    MESSAGE, NOBODY, at, direct, gif, group, messages, of, say, send, texts, words,
};
use crate::support::{TestApp, keys, on_both_engines};

on_both_engines![
    a_message_shows_who_said_what,
    message_fields_are_validated,
    a_message_must_say_something,
    a_gif_is_kept_as_it_was_sent,
    grants_are_shown_when_asked_for,
    metadata_has_at_most_ten_kilobytes,
    mentions_are_kept_as_they_are,
    the_texts_of_a_message_have_bounds,
    messages_are_listed_from_both_ends,
    pages_of_messages_are_bounded,
    invalid_queries_are_refused,
    no_character_is_too_strange,
];

const USER: &str = "avatar avatarFileId bannerFileId bio birthdate createdAt foreignId id location \
    metadata name projectId reputation role username";
const SECOND: Duration = Duration::from_secs(1);

async fn a_message_shows_who_said_what(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    app.advance(SECOND);
    let sent = send(&ada, &id, "hello").await;
    assert_eq!(keys(&sent), words(MESSAGE));
    assert_eq!(keys(&sent["user"]), words(USER));
    assert_eq!((&sent["userId"], &sent["user"]["id"]), (&json!(ada.id), &json!(ada.id)));
    assert_eq!((&sent["conversationId"], &sent["content"]), (&json!(id), &json!("hello")));
    let now = json!(app.now());
    assert_eq!((&sent["createdAt"], &sent["updatedAt"]), (&now, &now));
    let empty = json!({
        "gif": null, "mentions": [], "files": [], "metadata": {}, "parentMessageId": null,
        "quotedMessageId": null, "quotedMessage": null, "threadReplyCount": 0, "reactionCounts": {}, "userReactions": [],
        "editedAt": null, "userDeletedAt": null, "moderationStatus": null, "moderatedAt": null,
        "moderatedById": null, "moderatedByType": null, "moderationReason": null,
    });
    for (key, value) in empty.as_object().unwrap() {
        assert_eq!(&sent[key], value, "{key}");
    }
    assert_eq!(bob.get(&at(&id, &sent)).await.expect(200), sent);
    let listed = messages(&bob, &id, "").await;
    assert_eq!(keys(&listed), words("hasMore messages newestCreatedAt oldestCreatedAt"));
    let mut expected = sent.clone();
    expected.as_object_mut().unwrap().remove("files");
    assert_eq!(listed["messages"], json!([expected]));
    // What the sender's own client calls it comes back, and is not kept.
    let named = say(&ada, &id, json!({ "content": "x", "localId": "mine" })).await;
    assert_eq!(named["localId"], "mine");
    assert!(ada.get(&at(&id, &named)).await.expect(200).get("localId").is_none());
    let points = messages(&bob, &id, "?spaceReputationId=context").await;
    assert_eq!(points["messages"][0]["user"]["spaceReputation"], 0);
    let path = of(&id, "/messages?spaceReputationId=none");
    let sent = bob.post(&path, json!({ "content": "x" })).await.expect(201);
    assert_eq!(sent["user"]["spaceReputation"], 0);
}

async fn message_fields_are_validated(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for (key, value) in [
        ("content", json!("x".repeat(4001))),
        ("content", json!(7)),
        ("gif", json!("g")),
        ("gif", json!({ "id": "g" })),
        ("mentions", json!({})),
        ("mentions", json!([{ "type": "team", "id": "x" }])),
        ("metadata", json!([])),
        ("parentMessageId", json!("first")),
        ("quotedMessageId", json!(1)),
        ("localId", json!(7)),
    ] {
        let mut body = json!({ "content": "x" });
        body[key] = value.clone();
        let sent = ada.post(&of(&id, "/messages"), body).await;
        assert_eq!(sent.outcome(), "400 chat/invalid-body", "{key} {value}");
    }
    assert!(texts(&messages(&ada, &id, "").await).is_empty());
    let longest = send(&ada, &id, &"👍".repeat(4000)).await;
    assert_eq!(longest["content"].as_str().unwrap().chars().count(), 4000);
}

async fn a_message_must_say_something(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for body in [
        json!({}),
        json!({ "content": null, "gif": null }),
        json!({ "content": "" }),
        json!({ "content": " \n\t\u{a0}" }),
        json!({ "metadata": { "a": 1 }, "mentions": [], "localId": "x" }),
    ] {
        ada.post(&of(&id, "/messages"), body).await.refused(400, "chat/empty-message");
    }
    let blank = say(&ada, &id, json!({ "content": "  ", "gif": gif() })).await;
    assert_eq!((&blank["content"], &blank["gif"]), (&Value::Null, &gif()));
    assert_eq!(send(&ada, &id, "  kept  ").await["content"], "  kept  ");
}

async fn grants_are_shown_when_asked_for(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let sent = send(&ada, &id, "x").await;
    let none = json!({ "total": 0, "count": 0, "viewerTotal": 0 });
    for include in ["grants", "files, Grants"] {
        let query = format!("?include={}", include.replace(' ', "%20"));
        assert_eq!(messages(&ada, &id, &query).await["messages"][0]["grants"], none, "{include}");
        let shown = ada.get(&format!("{}{query}", at(&id, &sent))).await.expect(200);
        assert_eq!(shown["grants"], none, "{include}");
    }
    assert!(messages(&ada, &id, "?include=files").await["messages"][0].get("grants").is_none());
    assert!(ada.get(&at(&id, &sent)).await.expect(200).get("grants").is_none());
}

async fn a_gif_is_kept_as_it_was_sent(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for ratio in [json!(1.5), json!(2), json!("16:9"), json!("0.75")] {
        let mut one = gif();
        one["aspectRatio"] = ratio;
        let sent = say(&ada, &id, json!({ "gif": one })).await;
        assert_eq!(sent["gif"], one);
        assert_eq!(ada.get(&at(&id, &sent)).await.expect(200)["gif"], one);
    }
    let mut silent = gif();
    silent.as_object_mut().unwrap().remove("altText");
    assert_eq!(say(&ada, &id, json!({ "gif": silent })).await["gif"], silent);
    for key in ["id", "url", "gifUrl", "gifPreviewUrl", "aspectRatio"] {
        for value in [None, Some(Value::Null), Some(json!({}))] {
            let mut one = gif();
            match value {
                None => one.as_object_mut().unwrap().remove(key),
                Some(value) => one.as_object_mut().unwrap().insert(key.to_owned(), value),
            };
            let sent = ada.post(&of(&id, "/messages"), json!({ "gif": one })).await;
            assert_eq!(sent.outcome(), "400 chat/invalid-body", "{one}");
        }
    }
}

async fn metadata_has_at_most_ten_kilobytes(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let of_size =
        |size: usize| json!({ "m": "m".repeat(size - json!({ "m": "" }).to_string().len()) });
    let most = of_size(10 * 1024);
    let sent = say(&ada, &id, json!({ "content": "x", "metadata": most })).await;
    assert_eq!(sent["metadata"], most);
    let body = json!({ "content": "x", "metadata": of_size(10 * 1024 + 1) });
    ada.post(&of(&id, "/messages"), body.clone()).await.refused(400, "chat/invalid-body");
    ada.patch(&at(&id, &sent), body).await.refused(400, "chat/invalid-body");
}

async fn mentions_are_kept_as_they_are(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let mentions = json!([
        { "type": "user", "id": bob.id, "username": "bob" },
        { "type": "user", "id": NOBODY, "username": "gone", "foreignId": "7" },
        { "type": "space", "id": NOBODY, "slug": "garden" },
    ]);
    let sent = say(&ada, &id, json!({ "content": "@bob", "mentions": mentions })).await;
    assert_eq!(sent["mentions"], mentions);
    // Chat has no notifications of its own.
    let told = bob.get("/app-notifications").await.expect(200);
    assert_eq!(told["pagination"]["totalItems"], 0);
}

async fn the_texts_of_a_message_have_bounds(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let with = |key: &str, text: String| {
        let mut gif = gif();
        gif[key] = json!(text);
        json!({ "gif": gif })
    };
    let mention = |name: String| json!({ "content": "x", "mentions": [{ "type": "user", "id": ada.id, "username": name }] });
    let local = |name: String| json!({ "content": "x", "localId": name });
    let long = |length: usize| "ä".repeat(length);
    for (fits, does_not) in [
        (with("altText", long(2048)), with("altText", long(2049))),
        (with("url", long(2048)), with("url", long(2049))),
        (mention(long(500)), mention(long(501))),
        (local(long(256)), local(long(257))),
    ] {
        say(&ada, &id, fits).await;
        let refused = ada.post(&of(&id, "/messages"), does_not).await;
        refused.refused(400, "chat/invalid-body");
    }
}

async fn messages_are_listed_from_both_ends(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let empty = messages(&bob, &id, "").await;
    let nothing = json!({
        "messages": [], "hasMore": false, "oldestCreatedAt": null, "newestCreatedAt": null,
    });
    assert_eq!(empty, nothing);
    let mut times = Vec::new();
    for text in ["0", "1", "2", "3", "4"] {
        let sent = send(&ada, &id, text).await;
        times.push(sent["createdAt"].as_str().unwrap().to_owned());
    }
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    for (query, expected, has_more) in [
        (String::new(), "43210", false),
        ("?sort=asc".to_owned(), "01234", false),
        ("?limit=2".to_owned(), "43", true),
        ("?limit=5".to_owned(), "43210", false),
        ("?limit=2&sort=asc".to_owned(), "01", true),
        (format!("?before={}&limit=2", times[3]), "21", true),
        (format!("?before={}&limit=2", times[2]), "10", false),
        (format!("?before={}", times[0]), "", false),
        (format!("?before={}&sort=asc&limit=2", times[3]), "01", true),
        (format!("?after={}&sort=asc&limit=2", times[1]), "23", true),
        (format!("?after={}&sort=asc&limit=100", times[2]), "34", false),
        (format!("?after={}&limit=2", times[0]), "43", true),
        (format!("?after={}", times[4]), "", false),
    ] {
        let page = messages(&bob, &id, &query).await;
        assert_eq!(texts(&page).concat(), expected, "{query}");
        assert_eq!(page["hasMore"], has_more, "{query}");
        let mut places: Vec<usize> = expected.bytes().map(|b| usize::from(b - b'0')).collect();
        places.sort_unstable();
        let time = |place: Option<&usize>| place.map(|place| times[*place].clone());
        assert_eq!(page["oldestCreatedAt"], json!(time(places.first())), "{query}");
        assert_eq!(page["newestCreatedAt"], json!(time(places.last())), "{query}");
    }
}

async fn pages_of_messages_are_bounded(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for number in 0..103 {
        send(&ada, &id, &number.to_string()).await;
    }
    for (limit, expected) in
        [("", 50), ("?limit=100", 100), ("?limit=101", 100), ("?limit=0", 50), ("?limit=x", 50)]
    {
        let page = messages(&ada, &id, limit).await;
        assert_eq!((texts(&page).len(), &page["hasMore"]), (expected, &json!(true)), "{limit}");
    }
}

async fn invalid_queries_are_refused(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let now = app.now();
    for query in [
        format!("before={now}&after={now}"),
        "before=%27%20OR%201=1".to_owned(),
        "after=yesterday".to_owned(),
        "sort=up".to_owned(),
        "parentId=first".to_owned(),
        "filters[hasReplies]=maybe".to_owned(),
        "spaceReputationId=mine".to_owned(),
    ] {
        let asked = ada.get(&of(&id, &format!("/messages?{query}"))).await;
        assert_eq!(asked.outcome(), "400 chat/invalid-query", "{query}");
    }
}

async fn no_character_is_too_strange(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    for text in ["a\u{0}b", "\u{202e}x", "\u{feff}", "\u{10ffff}", "'; DROP TABLE x; --", "\\u0000"]
    {
        let body = json!({ "content": text, "metadata": { text: text }, "localId": text });
        let sent = ada.post(&of(&id, "/messages"), body).await;
        if text.contains('\0') {
            assert_eq!(sent.outcome(), "400 chat/invalid-body");
        } else {
            let sent = sent.expect(201);
            assert_eq!((&sent["content"], &sent["metadata"][text]), (&json!(text), &json!(text)));
            assert_eq!(ada.get(&at(&id, &sent)).await.expect(200)["content"], text);
        }
    }
}
