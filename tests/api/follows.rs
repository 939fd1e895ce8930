//! Follows: following, unfollowing, notifications, and the feed of followed users.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;
use townhall::values::ids::UserId;

use crate::notifications::{UNKNOWN, in_every_version};
use crate::reaction_notices::told;
use crate::reactions::user_of;
use crate::support::feed::{feed, listed, page, post, titles};
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![
    a_user_follows_and_unfollows,
    a_follow_is_deleted_by_its_id_by_the_follower_alone,
    what_cannot_be_followed,
    who_may_follow_and_as_whom,
    a_suspended_user_neither_follows_nor_unfollows,
    the_followed_is_told_once,
    without_notifications_a_follow_is_silent,
    the_feed_of_the_followed,
    the_feed_of_many_followed_is_counted_and_paged,
    follows_have_limits_of_their_own,
];

pub(crate) fn path(user: UserId) -> String {
    format!("/users/{user}/follow")
}

pub(crate) async fn follow(actor: &Actor<'_>, user: UserId) -> Value {
    actor.post(&path(user), json!({})).await.expect(201)
}

/// How many follow the user, and how many they follow, as everybody sees it.
pub(crate) async fn counts(app: &TestApp, user: UserId) -> (i64, i64) {
    let count = async |end: &str| {
        let counted = app.anonymous().get(&format!("/users/{user}/{end}")).await.expect(200);
        counted["count"].as_i64().unwrap()
    };
    (count("followers-count").await, count("following-count").await)
}

async fn a_user_follows_and_unfollows(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for (ada, bob_back) in in_every_version(&ada).iter().zip(in_every_version(&bob)) {
        let nothing = ada.get(&path(bob.id)).await.expect(200);
        assert_eq!(nothing, json!({ "isFollowing": false }));
        let made = follow(ada, bob.id).await;
        assert_eq!(keys(&made), ["createdAt", "followedId", "followerId", "id"]);
        assert_eq!(made["followedId"], json!(bob.id));
        assert_eq!(made["createdAt"], app.now().to_string());
        ada.post(&path(bob.id), json!({})).await.refused(409, "follow/already-exists");
        let status = ada.get(&path(bob.id)).await.expect(200);
        let expected = json!({
            "isFollowing": true, "followId": made["id"], "followedAt": made["createdAt"],
        });
        assert_eq!(status, expected);
        let follower: UserId = made["followerId"].as_str().unwrap().parse().unwrap();
        let back = bob_back.get(&path(follower)).await.expect(200);
        assert_eq!(back, json!({ "isFollowing": false }), "following is one-way");
        assert_eq!((counts(&app, follower).await, counts(&app, bob.id).await), ((0, 1), (1, 0)));
        let gone = ada.delete(&path(bob.id)).await;
        assert_eq!((gone.status, gone.text().as_str()), (204, ""));
        ada.delete(&path(bob.id)).await.refused(404, "follow/not-found");
        assert_eq!((counts(&app, follower).await, counts(&app, bob.id).await), ((0, 0), (0, 0)));
    }
}

async fn a_follow_is_deleted_by_its_id_by_the_follower_alone(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let stranger = app.stranger().await;
    let made = follow(&ada, bob.id).await;
    let by_id = format!("/follows/{}", made["id"].as_str().unwrap());
    for other in [&bob, &cleo] {
        other.delete(&by_id).await.refused(403, "follow/forbidden");
    }
    stranger.delete(&by_id).await.refused(404, "follow/not-found");
    let key = app.service();
    key.delete(&by_id).await.refused(400, "follow/missing-user-id");
    let named = format!("{by_id}?userId={}", bob.id);
    key.delete(&named).await.refused(403, "follow/forbidden");
    ada.delete("/follows/one").await.refused(400, "follow/invalid-follow-id");
    ada.delete(&format!("/follows/{UNKNOWN}")).await.refused(404, "follow/not-found");
    assert_eq!(ada.delete(&by_id).await.status, 204);
    ada.delete(&by_id).await.refused(404, "follow/not-found");
    assert_eq!((counts(&app, ada.id).await, counts(&app, bob.id).await), ((0, 0), (0, 0)));
    let again = follow(&ada, bob.id).await;
    let named = format!("/follows/{}?userId={}", again["id"].as_str().unwrap(), ada.id);
    assert_eq!(key.delete(&named).await.status, 204);
}

async fn what_cannot_be_followed(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    ada.post(&path(ada.id), json!({})).await.refused(400, "follow/self-follow");
    assert_eq!(ada.get(&path(ada.id)).await.expect(200), json!({ "isFollowing": false }));
    ada.delete(&path(ada.id)).await.refused(404, "follow/not-found");
    let wrong = "/users/me/follow";
    ada.post(wrong, json!({})).await.refused(400, "follow/invalid-user-id");
    ada.get(wrong).await.refused(400, "follow/invalid-user-id");
    ada.delete(wrong).await.refused(400, "follow/invalid-user-id");
    for nobody in [UNKNOWN.parse().unwrap(), stranger.id] {
        ada.post(&path(nobody), json!({})).await.refused(404, "follow/user-not-found");
        assert_eq!(ada.get(&path(nobody)).await.expect(200), json!({ "isFollowing": false }));
        ada.delete(&path(nobody)).await.refused(404, "follow/not-found");
    }
    assert_eq!(counts(&app, ada.id).await, (0, 0));
}

async fn who_may_follow_and_as_whom(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let stranger = app.stranger().await;
    let own = [
        "/follows/followers",
        "/follows/following",
        "/follows/followers-count",
        "/follows/following-count",
    ];
    for (version, actor) in in_every_version(&app.anonymous()).iter().enumerate() {
        let expected = if version == 1 { "401 auth/unauthorized" } else { "401 Unauthorized" };
        assert_eq!(actor.post(&path(bob.id), json!({})).await.outcome(), expected);
        assert_eq!(actor.get(&path(bob.id)).await.outcome(), expected);
        assert_eq!(actor.delete(&path(bob.id)).await.outcome(), expected);
        assert_eq!(actor.delete(&format!("/follows/{UNKNOWN}")).await.outcome(), expected);
        for list in own {
            assert_eq!(actor.get(list).await.outcome(), expected, "{list}");
        }
    }
    for key in [app.service(), app.master()] {
        key.post(&path(bob.id), json!({})).await.refused(400, "follow/missing-user-id");
        key.get(&path(bob.id)).await.refused(400, "follow/missing-user-id");
        for nobody in [UNKNOWN.to_owned(), stranger.id.to_string(), "me".to_owned()] {
            let acting = json!({ "actingUserId": nobody });
            key.post(&path(bob.id), acting).await.refused(404, "follow/user-not-found");
        }
        for list in own {
            key.get(list).await.refused(400, "follow/missing-user-id");
            key.get(&format!("{list}?userId={}", ada.id)).await.expect(200);
            let nobody = key.get(&format!("{list}?userId={UNKNOWN}")).await;
            nobody.refused(404, "follow/user-not-found");
        }
        let acting = json!({ "actingUserId": ada.id });
        let made = key.post(&path(bob.id), acting).await.expect(201);
        assert_eq!(made["followerId"], json!(ada.id));
        let named = format!("{}?actingUserId={}", path(bob.id), ada.id);
        assert_eq!(key.get(&named).await.expect(200)["isFollowing"], true);
        assert_eq!(key.delete(&named).await.status, 204);
    }
    // The user that a token names is ignored.
    let made = ada.post(&path(bob.id), json!({ "actingUserId": cleo.id })).await.expect(201);
    assert_eq!(made["followerId"], json!(ada.id));
    let counted = cleo.get(&format!("/follows/following-count?userId={}", ada.id)).await;
    assert_eq!(counted.expect(200), json!({ "count": 0 }));

    let without = app.project_with(&[Bundle::Moderation]).await;
    let user = user_of(&app, &without, "ada").await;
    for refused in [
        user.post(&path(user.id), json!({})).await,
        user.get("/follows/followers").await,
        user.get(&format!("/users/{}/followers", user.id)).await,
    ] {
        refused.refused(403, "database/tables-not-available");
    }
    // Blocks need not be known for follows to be.
    let lone = app.project_with(&[Bundle::Follows]).await;
    let (one, other) = (user_of(&app, &lone, "one").await, user_of(&app, &lone, "other").await);
    follow(&one, other.id).await;
    let counted = other.get("/follows/followers-count").await.expect(200);
    assert_eq!(counted, json!({ "count": 1 }));
    assert_eq!(other.get("/follows/followers").await.expect(200)["pagination"]["totalItems"], 1);
}

async fn a_suspended_user_neither_follows_nor_unfollows(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let made = follow(&ada, bob.id).await;
    app.suspend(ada.id).await;
    let by_id = format!("/follows/{}", made["id"].as_str().unwrap());
    ada.post(&path(cleo.id), json!({})).await.refused(403, "user/suspended");
    ada.delete(&path(bob.id)).await.refused(403, "user/suspended");
    ada.delete(&by_id).await.refused(403, "user/suspended");
    let acting = json!({ "actingUserId": ada.id });
    app.service().post(&path(cleo.id), acting.clone()).await.refused(403, "user/suspended");
    app.master().post(&path(cleo.id), acting).await.expect(201);
    ada.get("/follows/following").await.expect(200);
    assert_eq!(counts(&app, ada.id).await, (0, 2));
    follow(&cleo, ada.id).await;
}

async fn the_followed_is_told_once(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    follow(&ada, bob.id).await;
    ada.post(&path(bob.id), json!({})).await.refused(409, "follow/already-exists");
    let told_bob = told(&bob, "new-follow").await;
    assert_eq!(told_bob.len(), 1);
    assert_eq!(
        (&told_bob[0]["action"], &told_bob[0]["userId"]),
        (&json!("open-profile"), &json!(bob.id))
    );
    let metadata = &told_bob[0]["metadata"];
    let names = [
        "initiatorAvatar",
        "initiatorForeignId",
        "initiatorId",
        "initiatorName",
        "initiatorUsername",
    ];
    assert_eq!(keys(metadata), names);
    assert_eq!(
        (&metadata["initiatorId"], &metadata["initiatorName"]),
        (&json!(ada.id), &Value::Null)
    );
    assert!(told(&ada, "new-follow").await.is_empty());
    ada.delete(&path(bob.id)).await;
    assert_eq!(told(&bob, "new-follow").await.len(), 1, "unfollowing notifies nobody");
}

async fn without_notifications_a_follow_is_silent(app: TestApp) {
    let project = app.project_with(&[Bundle::Follows]).await;
    let (one, other) = (user_of(&app, &project, "one").await, user_of(&app, &project, "two").await);
    let seen = app.statements.during(follow(&one, other.id)).await;
    assert!(seen.iter().all(|(name, _)| !name.contains("notifications")), "{seen:?}");
}

async fn the_feed_of_the_followed(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for (user, name) in [(&ada, "a"), (&bob, "b"), (&cleo, "c")] {
        let tags =
            json!({ "title": format!("{name}1"), "keywords": ["k"], "metadata": { "n": 1 } });
        post(&app, user, tags).await;
        post(&app, user, json!({ "title": format!("{name}2"), "nsfw": true })).await;
        post(&app, user, json!({ "title": "draft", "isDraft": true })).await;
    }
    post(&app, &app.anonymous(), json!({ "title": "n" })).await;
    let followed = "followedOnly=true";
    assert_eq!(listed(&ada, followed).await, "");
    follow(&ada, bob.id).await;
    assert_eq!(listed(&ada, followed).await, "b2 b1");
    follow(&ada, cleo.id).await;
    for (query, expected) in [
        ("", "c2 c1 b2 b1"),
        ("sortDir=asc", "b1 b2 c1 c2"),
        ("sortBy=hot", "c2 c1 b2 b1"),
        ("sortBy=top", "c2 c1 b2 b1"),
        ("sortBy=metadata.n", "c1 b1 c2 b2"),
        ("keywordsFilters[includes]=k", "c1 b1"),
        ("metadataFilters[includes][n]=1", "c1 b1"),
        ("titleFilters[includes]=2", "c2 b2"),
        ("nsfwFilter=exclude", "c1 b1"),
        ("timeFrame=hour", "c2 c1 b2 b1"),
    ] {
        let query = format!("{followed}&{query}");
        assert_eq!(listed(&ada, &query).await, expected, "{query}");
    }
    let of_bob = format!("{followed}&userId={}", bob.id);
    assert_eq!(listed(&ada, &of_bob).await, "b2 b1");
    let own = format!("{followed}&userId={}", ada.id);
    assert_eq!(listed(&ada, &own).await, "", "nobody follows themselves");
    // A key names who looks.
    let named = format!("{followed}&userId={}", ada.id);
    assert_eq!(listed(&app.service(), &named).await, "c2 c1 b2 b1");
    app.anonymous().get(&feed(followed)).await.refused(401, "entity/user-required");
    ada.delete(&path(bob.id)).await;
    assert_eq!(listed(&ada, followed).await, "c2 c1");
    let seen = listed(&ada.v6(), followed).await;
    assert_eq!(seen, "c2 c1");
}

async fn the_feed_of_many_followed_is_counted_and_paged(app: TestApp) {
    let app = app.own_server().await;
    let (ada, bob) = (app.user().await, app.user().await);
    crate::support::feed::seed_many(&app, 2300).await;
    let (project, author) = (app.project.id, bob.id);
    let given = app.app.db.write(move |tx| {
        let give = db::Command::<()>::built(
            "test::give",
            "UPDATE entities SET user_id = $2 WHERE project_id = $1 AND latitude < 2.1",
        );
        tx.execute(&give, db::args![project, author]).map_err(townhall::error::Error::from)
    });
    assert_eq!(given.await.unwrap(), 2100);
    follow(&ada, bob.id).await;
    let first = page(&ada, "followedOnly=true&limit=3").await;
    assert_eq!(titles(&first), "n2099 n2098 n2097");
    assert_eq!(first["pagination"]["totalItems"], 2100);
    let last = page(&ada, "followedOnly=true&limit=100&page=21").await;
    assert!(titles(&last).ends_with("n1 n0"));
    let tenth = page(&ada, "followedOnly=true&limit=2&keywordsFilters[includes]=tenth").await;
    assert_eq!(
        (titles(&tenth).as_str(), &tenth["pagination"]["totalItems"]),
        ("n2090 n2080", &json!(210))
    );
}

async fn follows_have_limits_of_their_own(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    app.advance(Duration::from_secs(1));
    let (ada, bob) = (app.user().await, app.user().await);
    let limit = |reply: crate::support::Reply| {
        reply.header("x-ratelimit-limit").unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(limit(ada.post(&path(bob.id), json!({})).await), 75);
    assert_eq!(limit(ada.get(&path(bob.id)).await), 75);
    assert_eq!(limit(ada.delete(&path(bob.id)).await), 75);
    assert_eq!(limit(ada.delete(&format!("/follows/{UNKNOWN}")).await), 75);
    assert_eq!(limit(ada.get("/follows/followers").await), 100);
    assert_eq!(limit(ada.get(&format!("/users/{}/following-count", bob.id)).await), 100);
    assert_eq!(limit(ada.post(&crate::blocks::path(bob.id), json!({})).await), 50);
    assert_eq!(limit(ada.get("/blocks").await), 100);
}
