//! Reactions to comments: as for entities, with codes of their own.

use serde_json::{Value, json};

use crate::comments::{UNKNOWN, comment, path};
use crate::reactions::{TYPES, counts, publish, reputation};
use crate::support::{Actor, TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_reaction_is_added_changed_and_removed,
    every_type_moves_the_authors_reputation,
    only_the_eight_types_are_accepted,
    votes_are_reactions,
    the_oldest_version_lists_who_voted,
    reactions_are_listed_with_their_users,
    keys_react_for_users,
    counts_are_exact_when_many_switch,
    a_change_of_mind_is_a_new_reaction,
];

fn reactions(comment: &Value) -> String {
    format!("{}/reactions", path(comment))
}

async fn react(actor: &Actor<'_>, comment: &Value, kind: &str) -> Value {
    actor.post(&reactions(comment), json!({ "reactionType": kind })).await.expect(200)
}

async fn a_reaction_is_added_changed_and_removed(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let shown = react(&bob, &said, "like").await;
    assert_eq!(
        (&shown["reactionCounts"], &shown["userReaction"]),
        (&counts(&[("like", 1)]), &json!("like"))
    );
    assert_eq!(shown["user"]["id"], json!(ada.id));
    let shown = react(&bob, &said, "wow").await;
    assert_eq!(shown["reactionCounts"], counts(&[("wow", 1)]));
    assert_eq!(react(&bob, &said, "wow").await["reactionCounts"], counts(&[("wow", 1)]));
    let mine = format!("{}/me", reactions(&said));
    assert_eq!(bob.get(&mine).await.expect(200), json!({ "reactionType": "wow" }));
    assert_eq!(ada.get(&mine).await.expect(200), json!({ "reactionType": null }));
    let shown = bob.delete(&reactions(&said)).await.expect(200);
    assert_eq!((&shown["reactionCounts"], &shown["userReaction"]), (&counts(&[]), &Value::Null));
    assert_eq!(bob.delete(&reactions(&said)).await.expect(200)["reactionCounts"], counts(&[]));
    let unknown = format!("/comments/{UNKNOWN}/reactions");
    bob.post(&unknown, json!({ "reactionType": "like" })).await.refused(404, "comment/not-found");
    bob.delete(&unknown).await.refused(404, "comment/not-found");
    bob.get(&unknown).await.refused(404, "comment/not-found");
    bob.get(&format!("{unknown}/me")).await.refused(404, "comment/not-found");
    bob.get("/comments/x/reactions").await.refused(400, "comment/invalid-params");
    app.anonymous().get(&mine).await.expect(401);
}

async fn every_type_moves_the_authors_reputation(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&bob).await, "x").await;
    for (kind, points) in TYPES {
        react(&bob, &said, kind).await;
        assert_eq!(reputation(&app, &ada).await, 2 + points, "{kind}");
    }
    bob.delete(&reactions(&said)).await.expect(200);
    assert_eq!(reputation(&app, &ada).await, 2);
    react(&ada, &said, "love").await;
    assert_eq!(reputation(&app, &ada).await, 4, "one's own counts");
    ada.delete(&path(&said)).await.expect(204);
    assert_eq!(reputation(&app, &ada).await, 2, "what reactions earned stays");
}

async fn only_the_eight_types_are_accepted(app: TestApp) {
    let ada = app.user().await;
    let said = comment(&ada, &publish(&ada).await, "x").await;
    for wrong in [json!({}), json!({ "reactionType": "LIKE" }), json!({ "reactionType": 1 })] {
        ada.post(&reactions(&said), wrong).await.refused(400, "comment/invalid-body");
    }
    for wrong in ["reactionType=x", "sortDir=up", "page=0", "limit=x", "spaceReputationId=x"] {
        let asked = format!("{}?{wrong}", reactions(&said));
        ada.get(&asked).await.refused(400, "comment/invalid-query");
    }
}

async fn votes_are_reactions(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let vote =
        async |kind: &str| bob.v7().patch(&format!("{}/{kind}", path(&said)), json!({})).await;
    vote("remove-upvote").await.refused(409, "comment/not-upvoted");
    vote("remove-downvote").await.refused(409, "comment/not-downvoted");
    assert_eq!(vote("upvote").await.expect(200)["userReaction"], "upvote");
    vote("upvote").await.refused(409, "comment/already-upvoted");
    vote("remove-downvote").await.refused(409, "comment/not-downvoted");
    assert_eq!(vote("downvote").await.expect(200)["reactionCounts"], counts(&[("downvote", 1)]));
    vote("downvote").await.refused(409, "comment/already-downvoted");
    react(&bob, &said, "love").await;
    assert_eq!(vote("upvote").await.expect(200)["reactionCounts"], counts(&[("upvote", 1)]));
    assert_eq!(vote("remove-upvote").await.expect(200)["reactionCounts"], counts(&[]));
    assert_eq!(reputation(&app, &ada).await, 7);
    let unknown = format!("/comments/{UNKNOWN}/upvote");
    bob.patch(&unknown, json!({})).await.refused(404, "comment/not-found");
    app.anonymous().patch(&unknown, json!({})).await.expect(401);
}

async fn the_oldest_version_lists_who_voted(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    react(&bob, &said, "upvote").await;
    app.advance(std::time::Duration::from_secs(1));
    react(&ada, &said, "upvote").await;
    react(&eve, &said, "downvote").await;
    let shown = eve.v6().get(&path(&said)).await.expect(200);
    assert_eq!(shown["comment"]["upvotes"], json!([bob.id, ada.id]));
    assert_eq!(shown["comment"]["downvotes"], json!([eve.id]));
    let shown = eve.get(&path(&said)).await.expect(200);
    assert_eq!(
        (&shown["comment"]["upvotes"], &shown["comment"]["downvotes"]),
        (&json!([]), &json!([]))
    );
}

async fn reactions_are_listed_with_their_users(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    for (user, kind) in [(&ada, "like"), (&bob, "love"), (&eve, "like")] {
        app.advance(std::time::Duration::from_secs(1));
        react(user, &said, kind).await;
    }
    let list = async |query: &str| {
        let page = app.anonymous().get(&format!("{}?{query}", reactions(&said))).await.expect(200);
        let by = page["data"].as_array().unwrap().iter().map(|one| one["userId"].clone());
        (by.collect::<Vec<_>>(), page)
    };
    let (by, page) = list("").await;
    assert_eq!(by, [json!(eve.id), json!(bob.id), json!(ada.id)]);
    let pagination = json!({ "page": 1, "pageSize": 20, "limit": 20, "totalItems": 3, "total": 3,
        "totalPages": 1, "hasMore": false });
    assert_eq!(page["pagination"], pagination);
    let one = &page["data"][2];
    assert_eq!((&one["targetType"], &one["targetId"]), (&json!("comment"), &said["id"]));
    assert_eq!(crate::support::keys(&one["user"]).join(" "), "avatar id name reputation username");
    assert_eq!(list("sortDir=ASC&limit=1").await.0, [json!(ada.id)]);
    let (by, page) = list("reactionType=like").await;
    assert_eq!((by, &page["pagination"]["total"]), (vec![json!(eve.id), json!(ada.id)], &json!(2)));
    for asked in ["spaceReputationId=none", "spaceReputation[spaceId]=context"] {
        let (_, page) = list(asked).await;
        assert_eq!(page["data"][2]["user"]["spaceReputation"], 5 + 2 + 1 + 2 + 1, "{asked}");
    }
}

async fn keys_react_for_users(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let key = app.service();
    let body = json!({ "reactionType": "like" });
    key.post(&reactions(&said), body.clone()).await.refused(400, "comment/missing-user-id");
    let named = json!({ "reactionType": "like", "userId": bob.id });
    key.post(&reactions(&said), named.clone()).await.expect(200);
    let mine = format!("{}/me?userId={}", reactions(&said), bob.id);
    assert_eq!(key.get(&mine).await.expect(200)["reactionType"], "like");
    // The user that a token names is ignored.
    ada.post(&reactions(&said), named).await.expect(200);
    assert_eq!(
        ada.get(&format!("{}/me", reactions(&said))).await.expect(200)["reactionType"],
        "like"
    );
    key.delete(&format!("{}?userId={}", reactions(&said), bob.id)).await.expect(200);
    assert_eq!(bob.get(&mine).await.expect(200)["reactionType"], Value::Null);
    key.post(&reactions(&said), json!({ "reactionType": "like", "userId": UNKNOWN }))
        .await
        .refused(404, "user/not-found");
}

async fn counts_are_exact_when_many_switch(app: TestApp) {
    let ada = app.user().await;
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let mut users = Vec::new();
    for _ in 0..12 {
        users.push(app.user().await);
    }
    for round in 0..3 {
        all_at_once(users.iter().enumerate().map(|(n, user)| {
            let (kind, _) = TYPES[(n + round) % TYPES.len()];
            react(user, &said, kind)
        }))
        .await;
    }
    let page = app.anonymous().get(&format!("{}?limit=100", reactions(&said))).await.expect(200);
    let mut expected = counts(&[]);
    let mut points = 7;
    for one in page["data"].as_array().unwrap() {
        let kind = one["reactionType"].as_str().unwrap();
        expected[kind] = json!(expected[kind].as_i64().unwrap() + 1);
        points += TYPES.iter().find(|(name, _)| *name == kind).unwrap().1;
    }
    let shown = app.anonymous().get(&path(&said)).await.expect(200);
    assert_eq!(shown["comment"]["reactionCounts"], expected);
    assert_eq!(page["pagination"]["total"], 12);
    assert_eq!(reputation(&app, &ada).await, points);
}

async fn a_change_of_mind_is_a_new_reaction(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&ada).await, "x").await;
    react(&ada, &said, "like").await;
    app.advance(std::time::Duration::from_secs(1));
    react(&bob, &said, "like").await;
    app.advance(std::time::Duration::from_secs(1));
    react(&ada, &said, "wow").await;
    let page = app.anonymous().get(&reactions(&said)).await.expect(200);
    assert_eq!(page["data"][0]["userId"], json!(ada.id));
    assert_eq!(page["data"][0]["createdAt"], json!(app.now()));
    app.advance(std::time::Duration::from_secs(1));
    react(&ada, &said, "wow").await;
    assert_eq!(app.anonymous().get(&reactions(&said)).await.expect(200), page);
}
