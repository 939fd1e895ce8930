//! Reactions to messages: one emoji each, added and removed, counted and listed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::chat::{at, direct, group, messages, react, send};
use crate::support::{Actor, Reply, TestApp, keys, on_both_engines};

on_both_engines![
    reactions_come_and_go,
    a_user_may_react_in_several_ways,
    a_reaction_is_one_character,
    a_message_has_a_hundred_different_reactions,
    those_who_reacted_are_listed_first_come_first,
    pages_of_those_who_reacted_are_bounded,
];

const SECOND: Duration = Duration::from_secs(1);

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn users(actor: &Actor<'_>, conversation: &str, message: &Value, query: &str) -> Reply {
    actor.get(&format!("{}/reactions{query}", at(conversation, message))).await
}

async fn reactions_come_and_go(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = direct(&ada, &bob).await;
    let message = send(&ada, &id, "x").await;
    let first = react(&bob, &id, &message, "👍").await.expect(200);
    let expected = json!({ "reactionCounts": { "👍": 1 }, "userReactions": ["👍"], "delta": 1 });
    assert_eq!(first, expected);
    let second = react(&ada, &id, &message, "👍").await.expect(200);
    assert_eq!((&second["reactionCounts"], &second["delta"]), (&json!({ "👍": 2 }), &json!(1)));
    app.advance(SECOND);
    let back = react(&bob, &id, &message, "👍").await.expect(200);
    let expected = json!({ "reactionCounts": { "👍": 1 }, "userReactions": [], "delta": -1 });
    assert_eq!(back, expected);
    let shown = bob.get(&at(&id, &message)).await.expect(200);
    assert_eq!((&shown["userReactions"], &shown["updatedAt"]), (&json!([]), &message["updatedAt"]));
    let last = react(&ada, &id, &message, "👍").await.expect(200);
    assert_eq!((&last["reactionCounts"], &last["delta"]), (&json!({}), &json!(-1)));
    assert_eq!(ada.get(&at(&id, &message)).await.expect(200)["reactionCounts"], json!({}));
}

async fn a_user_may_react_in_several_ways(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "x").await;
    for emoji in ["b", "👍", "a"] {
        react(&bob, &id, &message, emoji).await.expect(200);
        app.advance(SECOND);
    }
    let both = react(&ada, &id, &message, "a").await.expect(200);
    assert_eq!(both["reactionCounts"], json!({ "a": 2, "b": 1, "👍": 1 }));
    assert_eq!(both["userReactions"], json!(["a"]));
    for (user, own) in [(&ada, json!(["a"])), (&bob, json!(["b", "👍", "a"]))] {
        let shown = user.get(&at(&id, &message)).await.expect(200);
        assert_eq!(
            (&shown["userReactions"], &shown["reactionCounts"]),
            (&own, &both["reactionCounts"])
        );
        assert_eq!(messages(user, &id, "").await["messages"][0]["userReactions"], own);
    }
}

async fn a_reaction_is_one_character(app: TestApp) {
    let ada = app.user().await;
    let id = group(&ada, &[]).await;
    let message = send(&ada, &id, "x").await;
    let path = format!("{}/reactions", at(&id, &message));
    for body in [json!({}), json!({ "emoji": null }), json!({ "emoji": 7 }), json!({ "emoji": [] })]
    {
        ada.post(&path, body).await.refused(400, "chat/invalid-emoji");
    }
    let marks = |count: usize| format!("a{}", "\u{301}".repeat(count));
    for emoji in ["", " ", "ab", "👍👍", "👍 ", &marks(32), &marks(500_000)] {
        let reacted = react(&ada, &id, &message, emoji).await;
        assert_eq!(reacted.outcome(), "400 chat/invalid-emoji", "{} bytes", emoji.len());
    }
    // Nothing to see: joiners, variation selectors and other formatting alone.
    for emoji in [
        "\u{200D}",
        "\u{200C}",
        "\u{FE0F}",
        "\u{200D}\u{FE0F}",
        "\u{200B}",
        "\u{2060}",
        "\u{AD}",
        "\u{FEFF}",
        "\u{202E}",
        "\u{E0061}\u{E007F}",
        "\u{34F}",
        "\u{3164}",
        " \u{200D}",
    ] {
        let reacted = react(&ada, &id, &message, emoji).await;
        assert_eq!(reacted.outcome(), "400 chat/invalid-emoji", "{}", emoji.escape_unicode());
    }
    for emoji in ["\u{0}", "a\u{0}"] {
        react(&ada, &id, &message, emoji).await.refused(400, "chat/invalid-body");
    }
    for emoji in ["a", "ß", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "e\u{301}", "한", "'", "%", &marks(31)]
    {
        let reacted = react(&ada, &id, &message, emoji).await.expect(200);
        assert_eq!(reacted["reactionCounts"][emoji], 1);
        let listed = users(&ada, &id, &message, &format!("?emoji={}", encoded(emoji))).await;
        assert_eq!(listed.expect(200)["data"][0]["emoji"], emoji);
    }
}

async fn a_message_has_a_hundred_different_reactions(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = group(&ada, &[&bob]).await;
    let message = send(&ada, &id, "x").await;
    let different: Vec<String> =
        (0..101).map(|number| char::from_u32(0x4e00 + number).unwrap().to_string()).collect();
    for (place, emoji) in different[..100].iter().enumerate() {
        let user = if place % 2 == 0 { &ada } else { &bob };
        react(user, &id, &message, emoji.as_str()).await.expect(200);
    }
    let last = different[100].as_str();
    react(&ada, &id, &message, last).await.refused(400, "chat/invalid-emoji");
    // Existing emojis may still be used, and removing one makes room for another.
    react(&bob, &id, &message, different[0].as_str()).await.expect(200);
    react(&ada, &id, &message, different[0].as_str()).await.expect(200);
    react(&ada, &id, &message, last).await.refused(400, "chat/invalid-emoji");
    react(&bob, &id, &message, different[0].as_str()).await.expect(200);
    let reacted = react(&ada, &id, &message, last).await.expect(200);
    assert_eq!(reacted["reactionCounts"].as_object().unwrap().len(), 100);
}

async fn those_who_reacted_are_listed_first_come_first(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&ada, &id, "x").await;
    let mut times = Vec::new();
    for user in [&cleo, &ada, &bob] {
        react(user, &id, &message, "👍").await.expect(200);
        times.push(json!(app.now()));
        app.advance(SECOND);
    }
    react(&bob, &id, &message, "a").await.expect(200);
    let thumbs = format!("?emoji={}", encoded("👍"));
    let listed = users(&ada, &id, &message, &thumbs).await.expect(200);
    let expected = json!({ "page": 1, "limit": 50, "total": 3, "hasMore": false });
    assert_eq!(listed["pagination"], expected);
    let rows = listed["data"].as_array().unwrap();
    for (place, user) in [cleo.id, ada.id, bob.id].into_iter().enumerate() {
        let row = &rows[place];
        assert_eq!(keys(row), ["createdAt", "emoji", "user"]);
        assert_eq!(keys(&row["user"]), ["avatar", "id", "name", "reputation", "username"]);
        assert_eq!((&row["user"]["id"], &row["createdAt"]), (&json!(user), &times[place]));
    }
    let points = users(&ada, &id, &message, &(thumbs + "&spaceReputationId=none")).await;
    assert_eq!(points.expect(200)["data"][0]["user"]["spaceReputation"], 0);
    let nobody = users(&ada, &id, &message, "?emoji=z").await.expect(200);
    assert_eq!((&nobody["data"], &nobody["pagination"]["total"]), (&json!([]), &json!(0)));
    for query in ["", "?emoji=", "?emoji=a&spaceReputationId=mine"] {
        users(&ada, &id, &message, query).await.refused(400, "chat/invalid-query");
    }
}

async fn pages_of_those_who_reacted_are_bounded(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&ada, &id, "x").await;
    for user in [&cleo, &ada, &bob] {
        react(user, &id, &message, "a").await.expect(200);
        app.advance(SECOND);
    }
    for (query, expected, limit, has_more) in [
        ("&limit=2", vec![cleo.id, ada.id], 2, true),
        ("&limit=2&page=2", vec![bob.id], 2, false),
        ("&limit=2&page=3", vec![], 2, false),
        ("&limit=3", vec![cleo.id, ada.id, bob.id], 3, false),
        ("&limit=1000", vec![cleo.id, ada.id, bob.id], 100, false),
        ("&limit=0&page=0", vec![cleo.id, ada.id, bob.id], 50, false),
    ] {
        let page = users(&ada, &id, &message, &format!("?emoji=a{query}")).await.expect(200);
        let found: Vec<Value> =
            page["data"].as_array().unwrap().iter().map(|row| row["user"]["id"].clone()).collect();
        assert_eq!(found, expected.iter().map(|user| json!(user)).collect::<Vec<_>>(), "{query}");
        let pagination = &page["pagination"];
        assert_eq!((&pagination["limit"], &pagination["total"]), (&json!(limit), &json!(3)));
        assert_eq!(pagination["hasMore"], has_more, "{query}");
    }
}
