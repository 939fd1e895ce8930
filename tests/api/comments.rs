//! Comments: create, read, update and count.

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::reactions::{publish, reputation, user_of};
use crate::support::{Actor, TestApp, all_at_once, keys, on_both_engines};

on_both_engines![
    a_comment_answers_an_entity,
    a_comment_shows_every_key,
    a_reply_answers_a_comment,
    a_comment_may_quote_another,
    a_gif_or_attachments_are_content_enough,
    a_gif_is_kept_as_it_was_sent,
    version_8_shows_a_comment_bare_too,
    what_is_wrong_with_a_new_comment_is_said,
    a_key_comments_for_a_user_and_sets_times,
    what_may_not_be_seen_cannot_be_commented_on,
    a_comment_is_found_by_its_foreign_id,
    a_comment_is_shown_with_what_it_answers,
    unknown_includes_are_refused,
    an_author_changes_text_and_metadata,
    an_update_says_what_is_wrong,
    updates_of_text_and_metadata_do_not_undo_each_other,
    own_comments_stay_within_reach,
    a_suspended_user_says_nothing,
    authors_earn_two_points,
    sixty_four_comments_at_once_are_all_counted,
    the_comment_on_top_has_most_upvotes,
    without_the_bundle_there_are_no_comments,
];

/// The id of nothing.
pub(crate) const UNKNOWN: uuid::Uuid = uuid::Uuid::from_u128(0x4000_8000_0000_0000_0001);

/// The id of the entity of a path.
pub(crate) fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// Comments on an entity; the new comment.
pub(crate) async fn comment(actor: &Actor<'_>, entity: &str, content: &str) -> Value {
    let new = json!({ "entityId": id_of(entity), "content": content });
    actor.post("/comments", new).await.expect(201)
}

pub(crate) async fn reply(actor: &Actor<'_>, parent: &Value, content: &str) -> Value {
    let new =
        json!({ "entityId": parent["entityId"], "parentId": parent["id"], "content": content });
    actor.post("/comments", new).await.expect(201)
}

pub(crate) fn path(comment: &Value) -> String {
    format!("/comments/{}", comment["id"].as_str().unwrap())
}

/// The comment as everybody reads it.
pub(crate) async fn read(actor: &Actor<'_>, comment: &Value) -> Value {
    let mut found = actor.get(&path(comment)).await.expect(200);
    found["comment"].take()
}

async fn replies_of(app: &TestApp, entity: &str) -> Value {
    app.anonymous().get(entity).await.expect(200)["repliesCount"].take()
}

async fn a_comment_answers_an_entity(app: TestApp) {
    let (author, reader) = (app.user().await, app.user().await);
    let entity = publish(&author).await;
    let created = comment(&reader, &entity, " Well said ").await;
    assert_eq!(created["content"], " Well said ");
    assert_eq!(
        (&created["userId"], &created["user"]["id"]),
        (&json!(reader.id), &json!(reader.id))
    );
    assert_eq!(created["userReaction"], Value::Null);
    assert_eq!(replies_of(&app, &entity).await, 1);

    let mut expected = created.clone();
    for key in ["user", "userReaction"] {
        expected.as_object_mut().unwrap().remove(key);
    }
    for actor in [app.anonymous(), app.service()] {
        assert_eq!(read(&actor, &created).await, expected);
    }
    let with_user =
        app.anonymous().get(&format!("{}?include=user", path(&created))).await.expect(200);
    assert_eq!(with_user["comment"]["user"], created["user"]);
    for secret in ["email", "isVerified", "isActive", "lastActive", "secureMetadata"] {
        assert!(created["user"].get(secret).is_none(), "{secret}");
    }
}

async fn a_comment_shows_every_key(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let new = json!({
        "entityId": id_of(&entity), "content": "All", "foreignId": "mine",
        "mentions": [{ "id": author.id, "username": "ada" }], "attachments": [{ "a": 1 }],
        "metadata": { "k": [1.5, null] }, "upvotes": ["x"], "reactionCounts": { "like": 7 },
        "createdAt": "2001-01-01T00:00:00Z", "moderationStatus": "approved",
        "gif": {
            "id": "1", "url": "u", "gifUrl": "g", "gifPreviewUrl": "p", "altText": "a",
            "aspectRatio": "1.5", "more": 1
        },
    });
    let created = author.post("/comments", new).await.expect(201);
    let shown = app.anonymous().get(&path(&created)).await.expect(200);
    assert_eq!(
        keys(&shown["comment"]).join(" "),
        "attachments content createdAt deletedAt downvotes entityId foreignId gif id mentions \
         metadata moderatedAt moderatedById moderatedByType moderationReason moderationStatus \
         parentDeletedAt parentId projectId reactionCounts referencedCommentId repliesCount \
         spaceId updatedAt upvotes userDeletedAt userId"
    );
    let comment = &shown["comment"];
    assert_eq!(comment["foreignId"], "mine");
    assert_eq!(
        comment["mentions"],
        json!([{ "type": "user", "id": author.id, "username": "ada" }])
    );
    assert_eq!(comment["attachments"], json!([{ "a": 1 }]));
    assert_eq!(comment["metadata"], json!({ "k": [1.5, null] }));
    assert_eq!(comment["gif"]["aspectRatio"], "1.5");
    assert_eq!(keys(&comment["gif"]).len(), 6);
    assert_eq!(
        (&comment["createdAt"], &comment["updatedAt"]),
        (&json!(app.now()), &json!(app.now()))
    );
    assert_eq!(comment["reactionCounts"]["like"], 0);
    assert_eq!(comment["moderationStatus"], Value::Null);
}

async fn a_reply_answers_a_comment(app: TestApp) {
    let (author, ada, bob) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&author).await;
    let first = comment(&ada, &entity, "First").await;
    let second = reply(&bob, &first, "Second").await;
    let third = reply(&ada, &second, "Third").await;
    assert_eq!(second["parentId"], first["id"]);
    assert_eq!(third["parentId"], second["id"]);
    assert_eq!(read(&ada, &first).await["repliesCount"], 1);
    assert_eq!(read(&ada, &second).await["repliesCount"], 1);
    assert_eq!(read(&ada, &third).await["repliesCount"], 0);
    assert_eq!(replies_of(&app, &entity).await, 3);

    let other = publish(&author).await;
    let new = json!({ "entityId": id_of(&other), "parentId": first["id"], "content": "x" });
    ada.post("/comments", new).await.refused(400, "comment/invalid-parent");
    let new = json!({ "entityId": id_of(&other), "parentId": UNKNOWN, "content": "x" });
    ada.post("/comments", new).await.refused(404, "comment/parent-not-found");
    assert_eq!(replies_of(&app, &other).await, 0);
}

async fn a_comment_may_quote_another(app: TestApp) {
    let ada = app.user().await;
    let (entity, other) = (publish(&ada).await, publish(&ada).await);
    let quoted = comment(&ada, &other, "Quoted").await;
    let quote = |id: &Value| json!({ "entityId": id_of(&entity), "content": "x", "referencedCommentId": id });
    let created = ada.post("/comments", quote(&quoted["id"])).await.expect(201);
    assert_eq!(created["referencedCommentId"], quoted["id"]);
    ada.delete(&path(&quoted)).await.expect(204);
    for gone in [quoted["id"].clone(), json!(UNKNOWN)] {
        ada.post("/comments", quote(&gone))
            .await
            .refused(404, "comment/referenced-comment-not-found");
    }
}

async fn a_gif_is_kept_as_it_was_sent(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let gif = json!({ "id": "1", "url": "u", "gifUrl": "g", "gifPreviewUrl": "p" });
    for more in [
        json!({ "aspectRatio": 1.5 }),
        json!({ "aspectRatio": 2, "altText": "a cat" }),
        json!({ "aspectRatio": "16:9" }),
    ] {
        let mut one = gif.clone();
        one.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let new = json!({ "entityId": id_of(&entity), "gif": one });
        let created = author.post("/comments", new).await.expect(201);
        assert_eq!(created["gif"], one);
        assert_eq!(read(&app.anonymous(), &created).await["gif"], one);
    }
    for wrong in [json!({}), json!({ "aspectRatio": null }), json!({ "aspectRatio": [1] })] {
        let mut one = gif.clone();
        one.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let new = json!({ "entityId": id_of(&entity), "gif": one });
        author.post("/comments", new).await.refused(400, "comment/invalid-body");
    }
}

async fn version_8_shows_a_comment_bare_too(app: TestApp) {
    let author = app.user().await;
    let entity = publish(&author).await;
    let first = comment(&author, &entity, "first").await;
    let new = json!({
        "entityId": id_of(&entity), "parentId": first["id"], "content": "x", "foreignId": "f",
        "metadata": { "k": 1.50 },
    });
    let said = author.post("/comments", new).await.expect(201);
    for address in [
        format!("{}?include=user,parent,entity", path(&said)),
        "/comments/by-foreign-id?foreignId=f".to_owned(),
    ] {
        for actor in [&*author, &app.anonymous()] {
            let mut found = actor.get(&address).await.expect(200);
            let under_key = found.as_object_mut().unwrap().remove("comment").unwrap();
            assert_eq!(found, under_key, "{address}");
            assert_eq!(under_key["content"], "x");
            assert_eq!(keys(&actor.v7().get(&address).await.expect(200)), ["comment"]);
            let older = keys(&actor.v6().get(&address).await.expect(200));
            assert_eq!(older, ["comment", "parentComment"]);
        }
    }
}

async fn a_gif_or_attachments_are_content_enough(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let gif = json!({
        "id": "1", "url": "u", "gifUrl": "g", "gifPreviewUrl": "p", "altText": "", "aspectRatio": "1"
    });
    for (more, is_enough) in [
        (json!({ "gif": gif }), true),
        (json!({ "attachments": [{}] }), true),
        (json!({ "attachments": [] }), false),
        (json!({ "content": "  " }), false),
        (json!({ "content": null, "gif": null, "attachments": null }), false),
        (json!({}), false),
    ] {
        let mut new = more.clone();
        new["entityId"] = json!(id_of(&entity));
        let answer = ada.post("/comments", new).await;
        if is_enough {
            answer.expect(201);
        } else {
            answer.refused(400, "comment/missing-content");
        }
    }
    assert_eq!(replies_of(&app, &entity).await, 2);
}

async fn what_is_wrong_with_a_new_comment_is_said(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let id = id_of(&entity);
    ada.post("/comments", json!({ "content": "x" }))
        .await
        .refused(400, "comment/missing-entity-id");
    ada.post("/comments", json!({ "content": "x", "entityId": null }))
        .await
        .refused(400, "comment/missing-entity-id");
    for wrong in [
        json!({ "entityId": "x", "content": "x" }),
        json!({ "entityId": id, "content": 1 }),
        json!({ "entityId": id, "content": "x".repeat(100_001) }),
        json!({ "entityId": id, "content": "x", "parentId": "x" }),
        json!({ "entityId": id, "content": "x", "gif": { "id": "1" } }),
        json!({ "entityId": id, "content": "x", "mentions": "ada" }),
        json!({ "entityId": id, "content": "x", "mentions": vec![json!({ "id": "1", "username": "a" }); 101] }),
        json!({ "entityId": id, "content": "x", "metadata": [] }),
        json!({ "entityId": id, "content": "x", "metadata": { "a": "x".repeat(1024 * 1024) } }),
    ] {
        ada.post("/comments", wrong).await.refused(400, "comment/invalid-body");
    }
    comment(&ada, &entity, &"ü".repeat(100_000)).await;
    app.anonymous().post("/comments", json!({ "entityId": id, "content": "x" })).await.expect(401);
    assert_eq!(replies_of(&app, &entity).await, 1);
}

async fn a_key_comments_for_a_user_and_sets_times(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let new = |more: Value| {
        let mut new = json!({ "entityId": id_of(&entity), "content": "x", "userId": ada.id });
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        new
    };
    let times =
        json!({ "createdAt": "2020-01-02T03:04:05.678Z", "updatedAt": "2021-01-01T00:00:00Z" });
    let created = app.service().post("/comments", new(times)).await.expect(201);
    assert_eq!(created["userId"], json!(ada.id));
    assert_eq!(created["createdAt"], "2020-01-02T03:04:05.678Z");
    assert_eq!(created["updatedAt"], "2021-01-01T00:00:00.000Z");
    let key = app.service();
    for wrong in [
        json!({ "updatedAt": "2021-01-01T00:00:00Z" }),
        json!({ "createdAt": "2021-01-02T00:00:00Z", "updatedAt": "2021-01-01T00:00:00Z" }),
        json!({ "createdAt": "yesterday" }),
    ] {
        key.post("/comments", new(wrong)).await.refused(400, "comment/invalid-timestamp");
    }
    key.post("/comments", new(json!({ "userId": null })))
        .await
        .refused(400, "comment/missing-user-id");
    key.post("/comments", new(json!({ "userId": UNKNOWN }))).await.refused(404, "user/not-found");
    // A user's token acts for its user, whomever it names.
    let bob = app.user().await;
    let created = bob.post("/comments", new(json!({}))).await.expect(201);
    assert_eq!((&created["userId"], &created["createdAt"]), (&json!(bob.id), &json!(app.now())));
}

async fn what_may_not_be_seen_cannot_be_commented_on(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let draft = ada.post("/entities", json!({ "title": "D", "isDraft": true })).await.expect(201);
    let on = |id: &Value| json!({ "entityId": id, "content": "x" });
    bob.post("/comments", on(&draft["id"])).await.refused(404, "comment/entity-not-found");
    let own = ada.post("/comments", on(&draft["id"])).await.expect(201);
    for actor in [&*bob, &app.anonymous()] {
        actor.get(&path(&own)).await.refused(404, "comment/not-found");
        actor.get(&format!("{}/reactions", path(&own))).await.refused(404, "comment/not-found");
    }
    let react = json!({ "reactionType": "like" });
    bob.post(&format!("{}/reactions", path(&own)), react).await.refused(404, "comment/not-found");
    read(&ada, &own).await;

    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "x").await;
    ada.delete(&entity).await.expect(204);
    bob.post("/comments", on(&json!(id_of(&entity))))
        .await
        .refused(404, "comment/entity-not-found");
    bob.get(&path(&said)).await.refused(404, "comment/not-found");
    bob.patch(&path(&said), json!({ "content": "y" })).await.refused(404, "comment/not-found");
    bob.delete(&path(&said)).await.refused(404, "comment/not-found");

    let stranger = app.stranger().await;
    let (entity, said) = (publish(&ada).await, own);
    stranger
        .post("/comments", on(&json!(id_of(&entity))))
        .await
        .refused(404, "comment/entity-not-found");
    stranger.get(&path(&said)).await.refused(404, "comment/not-found");
}

async fn a_comment_is_found_by_its_foreign_id(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let new = json!({ "entityId": id_of(&entity), "content": "x", "foreignId": "a/b c" });
    let first = ada.post("/comments", new.clone()).await.expect(201);
    app.advance(std::time::Duration::from_secs(1));
    let second = ada.post("/comments", new).await.expect(201);
    let by = "/comments/by-foreign-id?foreignId=a%2Fb%20c";
    assert_eq!(ada.get(by).await.expect(200)["comment"]["id"], first["id"]);
    ada.delete(&path(&first)).await.expect(204);
    assert_eq!(ada.get(by).await.expect(200)["comment"]["id"], second["id"], "the oldest live one");
    ada.v6().delete(&path(&second)).await.expect(204);
    assert_eq!(
        ada.get(by).await.expect(200)["comment"]["id"],
        first["id"],
        "a placeholder is left"
    );
    ada.v6().get(by).await.refused(404, "comment/not-found");
    ada.get("/comments/by-foreign-id?foreignId=none").await.refused(404, "comment/not-found");
    for wrong in ["/comments/by-foreign-id", "/comments/by-foreign-id?foreignId="] {
        ada.get(wrong).await.refused(400, "comment/invalid-query");
    }
}

async fn a_comment_is_shown_with_what_it_answers(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let first = comment(&ada, &entity, "First").await;
    let second = reply(&bob, &first, "Second").await;
    let asked = format!("{}?include=parent,user,entity,space,grants", path(&second));
    let shown = bob.get(&asked).await.expect(200)["comment"].take();
    assert_eq!(shown["parentComment"]["content"], "First");
    assert_eq!(shown["parentComment"]["user"]["id"], json!(ada.id));
    assert_eq!(shown["entity"]["id"], json!(id_of(&entity)));
    assert_eq!(shown["entity"]["space"], Value::Null);
    assert_eq!(shown["grants"], json!({ "total": 0, "count": 0, "viewerTotal": 0 }));
    let top = ada.get(&format!("{}?include=parent", path(&first))).await.expect(200);
    assert_eq!(top["comment"]["parentComment"], Value::Null);
    assert!(top["comment"].get("entity").is_none());

    // v6 has it beside the comment.
    let shown = bob.v6().get(&format!("{}?withParent=1", path(&second))).await.expect(200);
    assert_eq!(shown["parentComment"]["content"], "First");
    assert_eq!(shown["comment"]["user"]["id"], json!(bob.id));
    let shown = bob.v6().get(&path(&second)).await.expect(200);
    assert_eq!(shown["parentComment"], Value::Null);

    ada.delete(&path(&first)).await.expect(204);
    let shown = bob.get(&format!("{}?include=parent,user", path(&second))).await.expect(200);
    let parent = &shown["comment"]["parentComment"];
    for key in ["userId", "user", "content", "gif", "mentions", "attachments"] {
        assert_eq!(parent[key], Value::Null, "{key}");
    }
}

async fn unknown_includes_are_refused(app: TestApp) {
    let ada = app.user().await;
    let said = comment(&ada, &publish(&ada).await, "x").await;
    for query in ["include=bogus", "include=user,files", "spaceReputationId=general"] {
        let wrong = format!("{}?{query}", path(&said));
        ada.get(&wrong).await.refused(400, "comment/invalid-query");
        ada.get(&format!("/comments?{query}")).await.refused(400, "comment/invalid-query");
    }
    ada.get("/comments/x").await.refused(400, "comment/invalid-params");
}

async fn an_author_changes_text_and_metadata(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&bob).await, "Old").await;
    app.advance(std::time::Duration::from_secs(5));
    let changed =
        ada.patch(&path(&said), json!({ "content": "New", "gif": 1, "mentions": 2 })).await;
    let changed = changed.expect(200);
    assert_eq!(changed["content"], "New");
    assert_eq!(changed["updatedAt"], json!(app.now()));
    assert_eq!(changed["createdAt"], said["createdAt"]);
    assert_eq!(changed["user"]["id"], json!(ada.id));
    let changed =
        app.service().patch(&path(&said), json!({ "metadata": { "b": 1 } })).await.expect(200);
    assert_eq!((&changed["content"], &changed["metadata"]), (&json!("New"), &json!({ "b": 1 })));
    let changed = ada.v6().patch(&path(&said), json!({ "metadata": {} })).await.expect(200);
    assert_eq!(changed["metadata"], json!({}));
    assert_eq!(read(&bob, &said).await["content"], "New");
}

async fn an_update_says_what_is_wrong(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let said = comment(&ada, &publish(&bob).await, "Old").await;
    for wrong in [
        json!({}),
        json!({ "mentions": [] }),
        json!({ "content": " " }),
        json!({ "content": 1 }),
        json!({ "content": "x".repeat(100_001) }),
        json!({ "metadata": "x" }),
    ] {
        ada.patch(&path(&said), wrong).await.refused(400, "comment/invalid-body");
    }
    let new = json!({ "content": "x" });
    bob.patch(&path(&said), new.clone()).await.refused(403, "comment/forbidden");
    app.anonymous().patch(&path(&said), new.clone()).await.expect(401);
    let unknown = format!("/comments/{}", UNKNOWN);
    ada.patch(&unknown, new.clone()).await.refused(404, "comment/not-found");
    ada.patch("/comments/x", new.clone()).await.refused(400, "comment/invalid-params");
    assert_eq!(read(&bob, &said).await["content"], "Old");
    ada.delete(&path(&said)).await.expect(204);
    ada.patch(&path(&said), new).await.refused(404, "comment/not-found");
}

async fn updates_of_text_and_metadata_do_not_undo_each_other(app: TestApp) {
    let ada = app.user().await;
    let said = comment(&ada, &publish(&ada).await, "Old").await;
    let address = path(&said);
    for n in 0..6 {
        let changes = [json!({ "content": format!("{n}") }), json!({ "metadata": { "n": n } })];
        all_at_once(changes.into_iter().map(|change| ada.patch(&address, change))).await;
        let shown = read(&ada, &said).await;
        assert_eq!(shown["content"], n.to_string());
        assert_eq!(shown["metadata"], json!({ "n": n }));
    }
}

async fn own_comments_stay_within_reach(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let (said, other) = (comment(&bob, &entity, "x").await, comment(&bob, &entity, "y").await);
    let report = json!({ "targetType": "entity", "targetId": id_of(&entity), "reason": "spam" });
    bob.post("/reports", report).await.expect(201);
    let reports = app.service().get("/reports").await.expect(200);
    let handle = format!("/reports/{}", reports["data"][0]["id"].as_str().unwrap());
    let removed = json!({ "actions": ["remove-content"], "summary": "x" });
    app.service().patch(&handle, removed).await.expect(200);
    // Removed with its entity from every list, but not out of its author's hands.
    let listed = bob.get(&format!("/comments?entityId={}", id_of(&entity))).await.expect(200);
    assert_eq!(listed["pagination"]["totalItems"], 0);
    bob.patch(&path(&said), json!({ "content": "z" })).await.expect(200);
    bob.delete(&path(&said)).await.expect(204);
    // Nor does a block by the author of the entity take it away.
    ada.post(&format!("/users/{}/block", bob.id), json!({})).await.expect(201);
    bob.delete(&path(&other)).await.expect(204);
}

async fn a_suspended_user_says_nothing(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "x").await;
    app.suspend(bob.id).await;
    let new = json!({ "entityId": id_of(&entity), "content": "x" });
    bob.post("/comments", new).await.refused(403, "user/suspended");
    bob.patch(&path(&said), json!({ "content": "y" })).await.refused(403, "user/suspended");
    bob.delete(&path(&said)).await.refused(403, "user/suspended");
    let react = json!({ "reactionType": "like" });
    bob.post(&format!("{}/reactions", path(&said)), react).await.refused(403, "user/suspended");
    let report = json!({ "targetType": "entity", "targetId": id_of(&entity), "reason": "spam" });
    bob.post("/reports", report).await.refused(403, "user/suspended");
    bob.get(&path(&said)).await.expect(200);
}

async fn authors_earn_two_points(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let first = comment(&bob, &entity, "x").await;
    reply(&bob, &first, "y").await;
    assert_eq!(reputation(&app, &bob).await, 4);
    bob.delete(&path(&first)).await.expect(204);
    assert_eq!(reputation(&app, &bob).await, 2);
    ada.delete(&entity).await.expect(204);
    assert_eq!(reputation(&app, &bob).await, 2, "what was earned on a deleted entity stays");
}

async fn sixty_four_comments_at_once_are_all_counted(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let root = comment(&ada, &entity, "root").await;
    let mut users = Vec::new();
    for _ in 0..8 {
        users.push(app.user().await);
    }
    all_at_once((0..64).map(|n| {
        let (user, entity, root) = (&users[n % 8], &entity, &root);
        async move {
            match n % 2 {
                0 => comment(user, entity, "x").await,
                _ => reply(user, root, "x").await,
            }
        }
    }))
    .await;
    assert_eq!(replies_of(&app, &entity).await, 65);
    assert_eq!(read(&ada, &root).await["repliesCount"], 32);
    for (query, total) in [("", 65), ("&parentId=none", 33)] {
        let listed = format!("/comments?entityId={}{query}", id_of(&entity));
        assert_eq!(ada.get(&listed).await.expect(200)["pagination"]["totalItems"], total);
    }
    for user in &users {
        assert_eq!(reputation(&app, user).await, 16);
    }
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 64);
}

async fn the_comment_on_top_has_most_upvotes(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let top =
        async |actor: &Actor<'_>| actor.get(&format!("{entity}/top-comment")).await.expect(200);
    let shown = async || {
        let single = app.anonymous().get(&format!("{entity}?include=topComment")).await.expect(200);
        let list = app.anonymous().get("/entities?include=topComment").await.expect(200);
        assert_eq!(list["data"][0]["topComment"], single["topComment"]);
        single["topComment"].clone()
    };
    assert_eq!(top(&ada).await, Value::Null);
    assert_eq!(shown().await, Value::Null);
    let first = comment(&bob, &entity, "First").await;
    app.advance(std::time::Duration::from_secs(1));
    let second = reply(&bob, &first, "Second").await;
    assert_eq!(top(&ada).await["id"], first["id"], "without votes the oldest");
    let up = json!({ "reactionType": "upvote" });
    ada.post(&format!("{}/reactions", path(&second)), up).await.expect(200);
    let best = top(&app.anonymous()).await;
    assert_eq!((&best["id"], &best["user"]["id"]), (&second["id"], &json!(bob.id)));
    let expected = json!({
        "id": second["id"], "user": best["user"], "upvotesCount": 1, "content": "Second",
        "createdAt": second["createdAt"],
    });
    assert_eq!(shown().await, expected);
    bob.delete(&path(&first)).await.expect(204);
    assert_eq!(top(&ada).await, Value::Null, "neither what is deleted nor what is below it");
    assert_eq!(shown().await, Value::Null);
    let unknown = format!("/entities/{}/top-comment", UNKNOWN);
    assert_eq!(ada.get(&unknown).await.expect(200), Value::Null);
}

async fn without_the_bundle_there_are_no_comments(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities, Bundle::Reactions]).await;
    let ada = user_of(&app, &project, "ada").await;
    let entity = publish(&ada).await;
    let said = format!("/comments/{}", UNKNOWN);
    for (method, address) in [
        (Method::POST, "/comments".to_owned()),
        (Method::GET, "/comments".to_owned()),
        (Method::GET, said.clone()),
        (Method::PATCH, said.clone()),
        (Method::DELETE, said.clone()),
        (Method::POST, format!("{said}/reactions")),
    ] {
        let refused = ada.send(method, &address, None).await;
        refused.refused(403, "database/tables-not-available");
    }
    assert_eq!(ada.get(&format!("{entity}/top-comment")).await.expect(200), Value::Null);

    let project = app.project_with(&[Bundle::Entities, Bundle::Comments]).await;
    let ada = user_of(&app, &project, "ada").await;
    let said = comment(&ada, &publish(&ada).await, "x").await;
    let react = json!({ "reactionType": "like" });
    let refused = ada.post(&format!("{}/reactions", path(&said)), react).await;
    refused.refused(403, "database/tables-not-available");
}
