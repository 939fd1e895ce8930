//! Blocks in the legacy dialect, which has no operation for them: what was blocked through version 7 or 8 is
//! hidden here too.

use serde_json::json;

use crate::blocks::block;
use crate::comments::{comment, id_of, path};
use crate::follows::follow;
use crate::legacy_entities::id;
use crate::notifications::UNKNOWN;
use crate::reactions::publish;
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines![
    no_list_shows_one_to_the_other,
    content_of_the_other_is_not_found,
    neither_follows_or_connects_with_the_other,
];

async fn no_list_shows_one_to_the_other(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&cleo).await;
    let said = comment(&cleo, &entity, "c").await;
    for user in [&ada, &bob] {
        let legacy = user.legacy();
        legacy.post("/entities", json!({ "title": "t" })).await.expect(200);
        comment(user, &entity, "x").await;
        legacy.patch(&format!("{entity}/upvote"), json!({})).await.expect(200);
        legacy.patch(&format!("{}/upvote", path(&said)), json!({})).await.expect(200);
        follow(user, cleo.id).await;
        follow(&cleo, user.id).await;
        let ask = format!("/users/{}/connection", cleo.id);
        let asked = legacy.post(&ask, json!({})).await.expect(201);
        let accept = format!("/connections/{}/accept", id(&asked));
        cleo.legacy().patch(&accept, json!({})).await.expect(200);
    }
    block(&ada, &bob).await;
    let (of_cleo, about) = (format!("/users/{}", cleo.id), format!("entityId={}", id_of(&entity)));
    for address in [
        "/entities".to_owned(),
        "/entities?sortBy=new&limit=50".to_owned(),
        entity.clone(),
        format!("{entity}/top-comment"),
        format!("/comments?{about}"),
        format!("/comments?{about}&includeEntity=true&sortBy=top"),
        path(&said),
        "/users/suggestions?query=user".to_owned(),
        format!("{of_cleo}/followers"),
        format!("{of_cleo}/following"),
        format!("{of_cleo}/connections"),
    ] {
        for (viewer, other) in [(&ada, &bob), (&bob, &ada)] {
            let reply = viewer.legacy().get(&address).await;
            reply.expect(200);
            assert!(!reply.text().contains(&other.id.to_string()), "{address}: {}", reply.text());
        }
        // Both are there for everybody else.
        let reply = app.anonymous().legacy().get(&address).await;
        let is_there = [&ada, &bob].map(|user| reply.text().contains(&user.id.to_string()));
        let is_top = address.ends_with("/top-comment");
        assert_eq!(is_there, [true, true].map(|both| both || is_top), "{address}");
    }
    for list in ["followers", "following", "connections"] {
        for (actor, count) in [(ada.legacy(), 1), (app.anonymous().legacy(), 2)] {
            let counted = actor.get(&format!("{of_cleo}/{list}-count")).await.expect(200);
            assert_eq!(counted, json!({ "count": count }), "{list}");
            let page = actor.get(&format!("{of_cleo}/{list}")).await.expect(200);
            assert_eq!(page["pagination"]["totalCount"], count, "{list}");
        }
    }
}

/// The same to the letter.
#[track_caller]
fn same(hidden: &Reply, unknown: &Reply) {
    assert_eq!((hidden.status, &hidden.body), (unknown.status, &unknown.body));
    assert!(hidden.status >= 400, "{}", hidden.text());
}

async fn content_of_the_other_is_not_found(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let (of_ada, of_bob) = (publish(&ada).await, publish(&bob).await);
    let said_by_ada = path(&comment(&ada, &of_ada, "x").await);
    let said_by_bob = path(&comment(&bob, &of_bob, "x").await);
    block(&ada, &bob).await;
    for (viewer, entity, said) in [(&ada, &of_bob, &said_by_bob), (&bob, &of_ada, &said_by_ada)] {
        let viewer = viewer.legacy();
        for (hidden, unknown) in
            [(entity, format!("/entities/{UNKNOWN}")), (said, format!("/comments/{UNKNOWN}"))]
        {
            same(&viewer.get(hidden).await, &viewer.get(&unknown).await);
            same(&viewer.delete(hidden).await, &viewer.delete(&unknown).await);
            for vote in ["upvote", "remove-upvote", "downvote", "remove-downvote"] {
                let voted = viewer.patch(&format!("{hidden}/{vote}"), json!({})).await;
                same(&voted, &viewer.patch(&format!("{unknown}/{vote}"), json!({})).await);
            }
        }
        let reply = |entity: &str| json!({ "entityId": entity, "content": "x" });
        let commented = viewer.post("/comments", reply(id_of(entity))).await;
        same(&commented, &viewer.post("/comments", reply(UNKNOWN)).await);
        // Whoever was harassed may report it after the block.
        let report = json!({ "targetId": id_of(entity), "targetType": "Entity", "reason": "spam" });
        viewer.post("/reports", report).await.expect(201);
        let root = viewer.get("/lists/root").await.expect(200);
        let add = format!("/lists/{}/add-entity", id(&root));
        let saved = viewer.patch(&add, json!({ "entityId": id_of(entity) })).await;
        same(&saved, &viewer.patch(&add, json!({ "entityId": UNKNOWN })).await);
        app.anonymous().legacy().get(entity).await.expect(200);
    }
}

async fn neither_follows_or_connects_with_the_other(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    follow(&bob, ada.id).await;
    block(&ada, &bob).await;
    for (one, other) in [(&ada, &bob), (&bob, &ada)] {
        let one = one.legacy();
        let of_other = format!("/users/{}", other.id);
        let of_nobody = format!("/users/{UNKNOWN}");
        for what in ["follow", "connection"] {
            let refused = one.post(&format!("{of_other}/{what}"), json!({})).await;
            same(&refused, &one.post(&format!("{of_nobody}/{what}"), json!({})).await);
        }
        let status = one.get(&format!("{of_other}/follow")).await.expect(200);
        assert_eq!(status["isFollowing"], false);
        let status = one.get(&format!("{of_other}/connection")).await.expect(200);
        assert_eq!(status["status"], "none");
        for list in ["followers", "following"] {
            let own = one.get(&format!("/follows/{list}-count")).await.expect(200);
            assert_eq!(own, json!({ "count": 0 }));
        }
    }
}
