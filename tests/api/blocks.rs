//! Blocks: creating, lifting and listing them, and the relations they end.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;
use townhall::values::ids::UserId;

use crate::notifications::{UNKNOWN, in_every_version};
use crate::support::{Actor, TestApp, User, keys, on_both_engines};

on_both_engines![
    a_block_is_made_once_and_lifted_by_its_blocker_alone,
    blocked_users_are_listed_newest_first_in_pages,
    invalid_blocks_are_refused,
    who_may_block_as_which_user,
    a_suspended_user_may_block_and_unblock,
    a_block_ends_follows_and_connections,
    both_may_block_and_both_blocks_count,
    the_profile_is_hidden_from_the_blocked_alone,
    neither_is_suggested_to_the_other,
    blocks_go_with_either_user,
];

pub(crate) fn path(user: UserId) -> String {
    format!("/users/{user}/block")
}

pub(crate) async fn block(actor: &User<'_>, other: &User<'_>) -> Value {
    actor.post(&path(other.id), json!({})).await.expect(201)
}

async fn blocked(actor: &Actor<'_>) -> Vec<String> {
    let list = actor.get("/blocks?limit=100").await.expect(200);
    let data = list["data"].as_array().unwrap();
    assert_eq!(list["pagination"]["totalItems"], data.len());
    data.iter().map(|one| one["blockedUser"]["id"].as_str().unwrap().to_owned()).collect()
}

async fn a_block_is_made_once_and_lifted_by_its_blocker_alone(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let status = ada.get(&path(bob.id)).await;
    assert_eq!(status.expect(200), json!({ "blocked": false }));

    let made = block(&ada, &bob).await;
    assert_eq!(keys(&made), ["blockedId", "blockerId", "createdAt", "id"]);
    assert_eq!((&made["blockerId"], &made["blockedId"]), (&json!(ada.id), &json!(bob.id)));
    assert_eq!(made["createdAt"], app.now().to_string());

    app.advance(Duration::from_secs(1));
    let again = ada.v7().post(&path(bob.id), json!({})).await.expect(200);
    assert_eq!(again, made, "the record that was there");
    let status = ada.get(&path(bob.id)).await.expect(200);
    let expected =
        json!({ "blocked": true, "blockId": made["id"], "createdAt": made["createdAt"] });
    assert_eq!(status, expected);
    assert_eq!(bob.get(&path(ada.id)).await.expect(200), json!({ "blocked": false }));

    assert_eq!(bob.delete(&path(ada.id)).await.status, 204);
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), expected, "not theirs to lift");
    for _ in 0..2 {
        assert_eq!(ada.delete(&path(bob.id)).await.status, 204);
    }
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), json!({ "blocked": false }));
    let other = block(&ada, &bob).await;
    assert_ne!(other["id"], made["id"]);
}

async fn blocked_users_are_listed_newest_first_in_pages(app: TestApp) {
    let ada = app.user().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let other = app.user().await;
        app.advance(Duration::from_secs(1));
        block(&ada, &other).await;
        ids.insert(0, other.id.to_string());
    }
    assert_eq!(blocked(&ada).await, ids);
    let page = ada.get("/blocks?page=2&limit=2").await.expect(200);
    assert_eq!(page["data"][0]["blockedUser"]["id"], ids[2]);
    assert_eq!(keys(&page["data"][0]), ["blockedUser", "createdAt", "id"]);
    let expected = json!({
        "page": 2, "pageSize": 2, "totalPages": 2, "totalItems": 3, "hasMore": false,
    });
    assert_eq!(page["pagination"], expected);
    for (query, size) in [("page=0&limit=x", 20), ("limit=-1", 20), ("limit=500", 100)] {
        let page = ada.get(&format!("/blocks?{query}")).await.expect(200);
        assert_eq!(page["pagination"]["pageSize"], size, "{query}");
        assert_eq!(
            (&page["pagination"]["page"], page["data"].as_array().unwrap().len()),
            (&json!(1), 3)
        );
    }
    let beyond = ada.get("/blocks?page=9").await.expect(200);
    assert_eq!((&beyond["data"], &beyond["pagination"]["totalItems"]), (&json!([]), &json!(3)));
    let other = app.user().await;
    assert!(blocked(&other).await.is_empty());
}

async fn invalid_blocks_are_refused(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    let own = path(ada.id);
    ada.post(&own, json!({})).await.refused(400, "block/self-block");
    ada.get(&own).await.refused(400, "block/self-check");
    assert_eq!(ada.delete(&own).await.status, 204);
    for wrong in ["/users/me/block", "/users/1/block"] {
        ada.post(wrong, json!({})).await.refused(400, "block/invalid-user-id");
        ada.get(wrong).await.refused(400, "block/invalid-user-id");
        ada.delete(wrong).await.refused(400, "block/invalid-user-id");
    }
    for nobody in [UNKNOWN.parse().unwrap(), stranger.id] {
        ada.post(&path(nobody), json!({})).await.refused(404, "block/user-not-found");
        assert_eq!(ada.get(&path(nobody)).await.expect(200), json!({ "blocked": false }));
        assert_eq!(ada.delete(&path(nobody)).await.status, 204);
    }
    assert!(blocked(&ada).await.is_empty());
}

async fn who_may_block_as_which_user(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let stranger = app.stranger().await;
    let target = path(bob.id);
    for (version, actor) in in_every_version(&app.anonymous()).iter().enumerate() {
        let expected = if version == 1 { "401 auth/unauthorized" } else { "401 Unauthorized" };
        assert_eq!(actor.post(&target, json!({})).await.outcome(), expected);
        assert_eq!(actor.get(&target).await.outcome(), expected);
        assert_eq!(actor.delete(&target).await.outcome(), expected);
        assert_eq!(actor.get("/blocks").await.outcome(), expected);
    }
    let elsewhere = app.bearer(&stranger.access_token);
    assert_eq!(elsewhere.post(&target, json!({})).await.outcome(), "403 Forbidden");

    for key in [app.service(), app.master()] {
        key.post(&target, json!({})).await.refused(400, "block/missing-user-id");
        key.get(&target).await.refused(400, "block/missing-user-id");
        key.delete(&target).await.refused(400, "block/missing-user-id");
        key.get("/blocks").await.refused(400, "block/missing-user-id");
        for nobody in [UNKNOWN.to_owned(), stranger.id.to_string(), "me".to_owned()] {
            let body = json!({ "actingUserId": nobody });
            key.post(&target, body).await.refused(404, "block/user-not-found");
            let own = format!("/blocks?userId={nobody}");
            key.get(&own).await.refused(404, "block/user-not-found");
        }
        let made = key.post(&target, json!({ "actingUserId": ada.id })).await.expect(201);
        assert_eq!(made["blockerId"], json!(ada.id));
        let status = key.get(&format!("{target}?actingUserId={}", ada.id)).await.expect(200);
        assert_eq!(status["blocked"], true);
        let listed = key.get(&format!("/blocks?userId={}", ada.id)).await.expect(200);
        assert_eq!(listed["pagination"]["totalItems"], 1);
        let lifted = key.delete(&format!("{target}?actingUserId={}", ada.id)).await;
        assert_eq!(lifted.status, 204);
    }
    // The user that a token names is ignored.
    let made = ada.post(&target, json!({ "actingUserId": cleo.id })).await.expect(201);
    assert_eq!(made["blockerId"], json!(ada.id));
    let listed = cleo.get(&format!("/blocks?userId={}", ada.id)).await.expect(200);
    assert_eq!(listed["data"], json!([]));

    let without = app.project_with(&[Bundle::Follows]).await;
    let key = app.bearer(&without.service_key).in_project(without.id);
    key.post(&target, json!({})).await.refused(403, "database/tables-not-available");
    key.get("/blocks").await.refused(403, "database/tables-not-available");
}

async fn a_suspended_user_may_block_and_unblock(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    app.suspend(ada.id).await;
    block(&ada, &bob).await;
    assert_eq!(blocked(&ada).await, [bob.id.to_string()]);
    assert_eq!(ada.delete(&path(bob.id)).await.status, 204);
    let acting = json!({ "actingUserId": ada.id });
    app.service().post(&path(bob.id), acting).await.expect(201);
}

async fn a_block_ends_follows_and_connections(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let follow = |user: UserId| format!("/users/{user}/follow");
    let connection = |user: UserId| format!("/users/{user}/connection");
    for (one, other) in [(&ada, &bob), (&bob, &ada)] {
        one.post(&follow(other.id), json!({})).await.expect(201);
        other.post(&follow(one.id), json!({})).await.expect(201);
        let asked = one.post(&connection(other.id), json!({})).await.expect(201);
        let accept = format!("/connections/{}/accept", asked["id"].as_str().unwrap());
        other.patch(&accept, json!({})).await.expect(200);

        block(one, other).await;
        for user in [one, other] {
            for count in
                ["/follows/followers-count", "/follows/following-count", "/connections/count"]
            {
                assert_eq!(user.get(count).await.expect(200), json!({ "count": 0 }), "{count}");
            }
        }
        for (actor, target) in [(one, other), (other, one)] {
            let status = actor.get(&follow(target.id)).await.expect(200);
            assert_eq!(status, json!({ "isFollowing": false }));
            let status = actor.get(&connection(target.id)).await.expect(200);
            assert_eq!(status, json!({ "status": "none" }));
            // As if nobody was there, to the letter.
            let nobody: UserId = UNKNOWN.parse().unwrap();
            for action in [follow, connection] {
                let refused = actor.post(&action(target.id), json!({})).await;
                let unknown = actor.post(&action(nobody), json!({})).await;
                assert_eq!((refused.status, refused.body), (unknown.status, unknown.body));
            }
        }
        one.delete(&path(other.id)).await;
        assert_eq!(one.get(&follow(other.id)).await.expect(200), json!({ "isFollowing": false }));
    }
    // A request that waits goes too, and one that was declined.
    let asked = ada.post(&connection(bob.id), json!({})).await.expect(201);
    block(&bob, &ada).await;
    let id = asked["id"].as_str().unwrap();
    let accept = bob.patch(&format!("/connections/{id}/accept"), json!({})).await;
    accept.refused(404, "connection/not-found");
    bob.delete(&path(ada.id)).await;
    ada.post(&connection(bob.id), json!({})).await.expect(201);
    bob.delete(&connection(ada.id)).await.expect(200);
    block(&ada, &bob).await;
    ada.delete(&path(bob.id)).await;
    ada.post(&connection(bob.id), json!({})).await.expect(201);
}

async fn both_may_block_and_both_blocks_count(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    block(&ada, &bob).await;
    block(&bob, &ada).await;
    let follow = format!("/users/{}/follow", bob.id);
    ada.post(&follow, json!({})).await.refused(404, "follow/user-not-found");
    ada.delete(&path(bob.id)).await;
    ada.post(&follow, json!({})).await.refused(404, "follow/user-not-found");
    bob.delete(&path(ada.id)).await;
    ada.post(&follow, json!({})).await.expect(201);
}

async fn the_profile_is_hidden_from_the_blocked_alone(app: TestApp) {
    let (bob, cleo) = (app.user().await, app.user().await);
    let make = "/users/by-foreign-id?foreignId=ada-1&createIfNotFound=true&username=ada";
    let ada = app.service().get(make).await.expect(201);
    let ada = ada["id"].as_str().unwrap();
    let routes = [
        (format!("/users/{ada}"), format!("/users/{UNKNOWN}")),
        ("/users/by-username?username=ada".to_owned(), "/users/by-username?username=x".to_owned()),
        (
            "/users/by-foreign-id?foreignId=ada-1".to_owned(),
            "/users/by-foreign-id?foreignId=nobody".to_owned(),
        ),
    ];
    let acting = json!({ "actingUserId": ada });
    app.service().post(&path(bob.id), acting).await.expect(201);
    for (door, nobody) in &routes {
        for actor in in_every_version(&bob) {
            let (hidden, unknown) = (actor.get(door).await, actor.get(nobody).await);
            hidden.refused(404, "user/not-found");
            assert_eq!(hidden.body, unknown.body, "{door}");
        }
        for other in [app.anonymous(), app.service(), (*cleo).clone()] {
            other.get(door).await.expect(200);
        }
    }
    bob.post(&format!("/users/{ada}/block"), json!({})).await.expect(201);
    cleo.post(&path(bob.id), json!({})).await.expect(201);
    cleo.get(&format!("/users/{}", bob.id)).await.expect(200);
    app.service().delete(&format!("{}?actingUserId={ada}", path(bob.id))).await.expect(204);
    bob.get(&routes[0].0).await.expect(200);
}

async fn neither_is_suggested_to_the_other(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let named = async |actor: &Actor<'_>, query: &str| {
        let found = actor.get(&format!("/users/suggestions?query={query}")).await.expect(200);
        let mut ids: Vec<String> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|u| u["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    let sorted = |one: &User<'_>, other: &User<'_>| {
        let mut ids = [one.id.to_string(), other.id.to_string()];
        ids.sort();
        ids
    };
    block(&ada, &bob).await;
    // By how it begins, and by what is in it.
    for query in ["user", "ser"] {
        assert_eq!(named(&ada, query).await, sorted(&ada, &cleo), "{query}");
        assert_eq!(named(&bob, query).await, sorted(&bob, &cleo), "{query}");
        for all in [app.anonymous(), app.service(), (*cleo).clone()] {
            assert_eq!(named(&all, query).await.len(), 3, "{query}");
        }
    }
}

async fn blocks_go_with_either_user(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    block(&ada, &bob).await;
    block(&cleo, &ada).await;
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    assert!(blocked(&ada).await.is_empty());
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    assert!(blocked(&cleo).await.is_empty());
}
