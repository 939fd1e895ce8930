//! Create Entity: valid fields, the stored entity, and its author.

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::entities::{UNKNOWN, counts_are_exact, create, feed_size, path, reputation, suspend};
use crate::support::{TestApp, User, all_at_once, count, on_both_engines};

on_both_engines![
    everything_sent_is_kept_and_shown,
    an_empty_entity_has_these_values,
    blank_and_foreign_values_become_nothing,
    invalid_fields_are_refused,
    values_of_the_server_cannot_be_sent,
    users_create_for_themselves_anonymously_and_keys_for_anybody,
    a_project_may_refuse_anonymous_posts,
    a_key_backfills_times,
    refusals_come_in_this_order,
    a_foreign_id_is_taken_once,
    the_author_earns_five_points,
];

async fn everything_sent_is_kept_and_shown(app: TestApp) {
    let ada = app.user().await;
    let metadata = json!({ "z": 1.50, "a": [null, { "deep": "ä" }], "": true });
    let mentions = json!([
        { "type": "user", "id": UNKNOWN, "username": "bob", "foreignId": "7" },
        { "type": "space", "id": "s", "slug": "town" },
    ]);
    let new = json!({
        "foreignId": " https://example.com/a?b ", "sourceId": "news", "title": "Ü".repeat(300),
        "content": "x".repeat(100_000), "keywords": ["b", "A", "b"], "nsfw": true,
        "attachments": [{ "url": "u", "n": { "x": [1] } }], "mentions": mentions,
        "location": { "latitude": -90, "longitude": 180 }, "metadata": metadata, "isDraft": false,
    });
    let made = create(&ada, new.clone()).await;
    let fetched = app.anonymous().get(&path(&made)).await.expect(200);
    for shown in [&made, &fetched] {
        for key in [
            "foreignId",
            "sourceId",
            "title",
            "content",
            "keywords",
            "attachments",
            "mentions",
            "metadata",
            "nsfw",
            "isDraft",
        ] {
            assert_eq!(shown[key], new[key], "{key}");
        }
        let place = json!({ "type": "Point", "coordinates": [180.0, -90.0] });
        assert_eq!(shown["location"], place);
        assert_eq!((&shown["userId"], &shown["nsfwEffective"]), (&json!(ada.id), &json!(true)));
    }
    assert_eq!(made["user"]["id"], json!(ada.id));
    assert_eq!(made["userReaction"], Value::Null);
}

async fn an_empty_entity_has_these_values(app: TestApp) {
    let made = create(&app.anonymous(), json!({})).await;
    let id = made["id"].as_str().unwrap();
    assert_eq!((id.len(), &id[14..15]), (36, "4"), "clients look for a version 4");
    assert_eq!(made["shortId"].as_str().unwrap().len(), 22);
    let expected = json!({
        "id": made["id"], "shortId": made["shortId"], "projectId": app.project.id,
        "foreignId": null, "sourceId": null, "spaceId": null, "userId": null, "user": null,
        "title": null, "content": null, "mentions": [], "attachments": [], "keywords": [],
        "upvotes": [], "downvotes": [], "reactionCounts": { "upvote": 0, "downvote": 0, "like": 0,
            "love": 0, "wow": 0, "sad": 0, "angry": 0, "funny": 0 },
        "repliesCount": 0, "views": 1, "score": 1.4, "scoreUpdatedAt": app.now(), "location": null,
        "metadata": {}, "nsfw": false, "nsfwEffective": false, "topComment": null, "isDraft": false,
        "moderationStatus": null, "moderatedAt": null, "moderatedById": null,
        "moderatedByType": null, "moderationReason": null, "createdAt": app.now(),
        "updatedAt": app.now(), "deletedAt": null,
    });
    assert_eq!(made, expected);
    let v6 = app.anonymous().v6().post("/entities", json!({})).await.expect(200);
    assert_eq!((&v6["sharesCount"], &v6["user"]), (&json!(0), &Value::Null));
}

async fn blank_and_foreign_values_become_nothing(app: TestApp) {
    let new = json!({
        "foreignId": "", "sourceId": " ", "title": " \n\t", "content": "", "keywords": ["", " ", "x"],
        "attachments": [1, "a", null, [], { "a": 1 }], "metadata": null, "location": null,
        "mentions": null, "nsfw": null, "isDraft": null, "userId": null, "spaceId": null,
        "unknown": "key",
    });
    let made = create(&app.anonymous(), new).await;
    for key in ["foreignId", "sourceId", "title", "content", "location", "userId", "spaceId"] {
        assert_eq!(made[key], Value::Null, "{key}");
    }
    assert_eq!((&made["keywords"], &made["attachments"]), (&json!(["x"]), &json!([{ "a": 1 }])));
    assert_eq!((&made["mentions"], &made["metadata"]), (&json!([]), &json!({})));
    let old = json!({ "mentions": [{ "id": "7", "username": "bob" }],
        "location": { "type": "Point", "coordinates": [13.4, 52.5] } });
    let made = create(&app.anonymous(), old.clone()).await;
    assert_eq!(made["mentions"], json!([{ "type": "user", "id": "7", "username": "bob" }]));
    assert_eq!(made["location"], old["location"]);
}

async fn invalid_fields_are_refused(app: TestApp) {
    let ada = app.user().await;
    let mentions = |count: usize| vec![json!({ "id": UNKNOWN, "username": "bob" }); count];
    let metadata = |bytes: usize| json!({ "k": "x".repeat(bytes - 8) });
    create(&ada, json!({ "mentions": mentions(100), "metadata": metadata(1_048_576) })).await;
    for wrong in [
        json!({ "title": "x".repeat(301) }),
        json!({ "title": 7 }),
        json!({ "content": "x".repeat(100_001) }),
        json!({ "content": "a\u{0}b" }),
        json!({ "keywords": "a" }),
        json!({ "keywords": [1] }),
        json!({ "attachments": {} }),
        json!({ "mentions": mentions(101) }),
        json!({ "mentions": [{ "type": "user", "id": "7" }] }),
        json!({ "mentions": [{ "type": "space", "id": "7" }] }),
        json!({ "mentions": [{ "type": "thing", "id": "7" }] }),
        json!({ "mentions": ["bob"] }),
        json!({ "location": { "latitude": 90.01, "longitude": 0 } }),
        json!({ "location": { "latitude": 0, "longitude": -180.01 } }),
        json!({ "location": { "latitude": "52", "longitude": 0 } }),
        json!({ "location": { "latitude": 52 } }),
        json!({ "location": [52, 13] }),
        json!({ "metadata": [] }),
        json!({ "metadata": metadata(1_048_577) }),
        json!({ "nsfw": "true" }),
        json!({ "isDraft": 1 }),
        json!({ "foreignId": 7 }),
        json!({ "foreignId": "x".repeat(501) }),
    ] {
        let reply = ada.post("/entities", wrong.clone()).await;
        assert_eq!(reply.outcome(), "400 entity/invalid-body", "{:.200}", wrong.to_string());
    }
    assert_eq!(feed_size(&app, "").await, 1);
}

async fn values_of_the_server_cannot_be_sent(app: TestApp) {
    let ada = app.user().await;
    let forged = json!({
        "views": 1e9, "score": 99, "reactionCounts": { "like": 9 }, "moderationStatus": "approved",
        "id": UNKNOWN, "repliesCount": 5, "deletedAt": app.now(), "upvotes": [ada.id],
        "projectId": app.other.id, "shortId": "x",
    });
    let made = create(&ada, forged).await;
    assert_eq!((&made["views"], &made["score"]), (&json!(1), &json!(1.4)));
    assert_eq!((&made["reactionCounts"]["like"], &made["repliesCount"]), (&json!(0), &json!(0)));
    assert_eq!((&made["moderationStatus"], &made["deletedAt"]), (&Value::Null, &Value::Null));
    assert_eq!((&made["upvotes"], &made["projectId"]), (&json!([]), &json!(app.project.id)));
    assert_ne!(made["id"], UNKNOWN);
}

async fn users_create_for_themselves_anonymously_and_keys_for_anybody(app: TestApp) {
    let (ada, banned) = (app.user().await, app.user().await);
    suspend(&app, banned.id).await;
    let by = async |new: Value| create(&ada, new).await["userId"].clone();
    assert_eq!(by(json!({ "userId": ada.id })).await, json!(ada.id));
    let shouted = ada.id.to_string().to_uppercase();
    assert_eq!(by(json!({ "userId": shouted })).await, json!(ada.id));
    assert_eq!(by(json!({ "excludeUserId": true })).await, Value::Null);
    assert_eq!(by(json!({ "excludeUserId": true, "requireUser": true })).await, Value::Null);
    assert_eq!(by(json!({ "requireUser": true })).await, json!(ada.id));
    let required = json!({ "requireUser": true });
    for nobody in [app.anonymous(), app.service(), app.bearer("null")] {
        let refused = nobody.post("/entities", required.clone()).await;
        refused.refused(401, "entity/user-required");
    }
    for key in [app.service(), app.master()] {
        let made = create(&key, json!({ "userId": ada.id, "requireUser": true })).await;
        assert_eq!((&made["userId"], &made["user"]["id"]), (&json!(ada.id), &json!(ada.id)));
        assert_eq!(made.get("userReaction"), Some(&Value::Null), "the key acts as Ada");
        let made = create(&key, json!({ "userId": ada.id, "excludeUserId": true })).await;
        assert_eq!(made["userId"], Value::Null);
        for unknown in [UNKNOWN, "x", ""] {
            let refused = key.post("/entities", json!({ "userId": unknown })).await;
            refused.refused(404, "entity/user-not-found");
        }
    }
    let for_banned = json!({ "userId": banned.id });
    app.service().post("/entities", for_banned.clone()).await.refused(403, "user/suspended");
    create(&app.master(), for_banned).await;
}

async fn a_project_may_refuse_anonymous_posts(app: TestApp) {
    let find_or_create =
        |n: &str| format!("/entities/by-foreign-id?foreignId={n}&createIfNotFound=true");
    create(&app.anonymous(), json!({ "foreignId": "before" })).await;
    app.change_settings(app.project.id, |settings| settings.anonymous_posts = false).await;
    let ada = app.user().await;
    for nobody in [app.anonymous(), app.anonymous().v6(), app.anonymous().v7(), app.service()] {
        nobody.post("/entities", json!({})).await.refused(401, "entity/user-required");
        let waived = json!({ "requireUser": false });
        nobody.post("/entities", waived).await.refused(401, "entity/user-required");
    }
    for nobody in [app.anonymous(), app.anonymous().v6(), app.anonymous().v7(), app.bearer("null")]
    {
        let refused = nobody.get(&find_or_create("new")).await;
        refused.refused(401, "entity/user-required");
        nobody.get(&find_or_create("before")).await.expect(200);
    }
    assert_eq!(create(&ada, json!({})).await["userId"], json!(ada.id));
    let hidden = create(&ada, json!({ "excludeUserId": true })).await;
    assert_eq!(hidden["userId"], Value::Null, "as with requireUser");
    create(&app.service(), json!({ "userId": ada.id })).await;
    ada.get(&find_or_create("by-ada")).await.expect(200);
    app.service().get(&find_or_create("by-key")).await.expect(200);
    let elsewhere = app.anonymous().in_project(app.other.id);
    elsewhere.post("/entities", json!({})).await.expect(201);
}

async fn a_key_backfills_times(app: TestApp) {
    let key = app.service();
    let made = create(&key, json!({ "createdAt": "2001-02-03T04:05:06.789Z" })).await;
    assert_eq!(made["createdAt"], "2001-02-03T04:05:06.789Z");
    assert_eq!(made["updatedAt"], made["createdAt"]);
    assert_eq!(made["scoreUpdatedAt"], json!(app.now()));
    let both =
        json!({ "createdAt": "2001-02-03T00:00:00Z", "updatedAt": "2002-02-03T00:00:00+01:00" });
    let made = create(&key, both).await;
    assert_eq!(made["updatedAt"], "2002-02-02T23:00:00.000Z");
    let same = json!({ "createdAt": "2001-02-03T00:00:00Z", "updatedAt": "2001-02-03T00:00:00Z" });
    create(&key, same).await;
    for (wrong, text) in [
        (
            json!({ "updatedAt": "2020-01-01T00:00:00Z" }),
            "Cannot set updatedAt without also setting createdAt.",
        ),
        (
            json!({ "createdAt": "2020-01-01T00:00:00Z", "updatedAt": "2019-12-31T23:59:59.999Z" }),
            "updatedAt must be the same or after createdAt.",
        ),
        (json!({ "createdAt": "yesterday" }), "createdAt must be an ISO 8601 date."),
        (
            json!({ "createdAt": "2020-01-01T00:00:00Z", "updatedAt": "" }),
            "updatedAt must be an ISO 8601 date.",
        ),
    ] {
        let refused = key.post("/entities", wrong).await.refused(400, "entity/invalid-timestamp");
        assert_eq!(refused["error"], text);
    }
}

async fn refusals_come_in_this_order(app: TestApp) {
    let ada = app.user().await;
    create(&ada, json!({ "foreignId": "taken" })).await;
    let mut all = json!({ "title": 7, "userId": UNKNOWN, "requireUser": true, "spaceId": "x",
        "foreignId": "taken", "createdAt": "x" });
    for (actor, steps) in [
        (
            app.anonymous(),
            vec![
                ("400 entity/invalid-body", "title"),
                ("403 entity/unauthorized", "userId"),
                ("403 entity/unauthorized", "createdAt"),
                ("401 entity/user-required", "requireUser"),
                ("404 entity/space-not-found", "spaceId"),
                ("409 entity/duplicate-foreign-id", "foreignId"),
            ],
        ),
        (
            app.service(),
            vec![
                ("400 entity/invalid-timestamp", "createdAt"),
                ("404 entity/space-not-found", "spaceId"),
                ("404 entity/user-not-found", "userId"),
                ("409 entity/duplicate-foreign-id", "foreignId"),
            ],
        ),
    ] {
        for (outcome, culprit) in steps {
            assert_eq!(actor.post("/entities", all.clone()).await.outcome(), outcome, "{culprit}");
            all.as_object_mut().unwrap().remove(culprit);
        }
        actor.post("/entities", all.clone()).await.expect(201);
        all = json!({ "userId": UNKNOWN, "spaceId": "x", "foreignId": "taken", "createdAt": "x" });
    }
}

async fn a_foreign_id_is_taken_once(app: TestApp) {
    let ada = app.user().await;
    let same = || json!({ "foreignId": "same", "keywords": ["k"] });
    let replies = all_at_once((0..16).map(|_| ada.post("/entities", same()))).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (1, 15));
    let taken = ada.post("/entities", same()).await.refused(409, "entity/duplicate-foreign-id");
    assert_eq!(taken["field"], "foreignId");
    for other in ["SAME", "same ", "s"] {
        create(&ada, json!({ "foreignId": other })).await;
    }
    assert_eq!(feed_size(&app, "keywordsFilters[includes]=k").await, 1);
    assert_eq!(reputation(&app, ada.id).await, 4 * 5, "for what was refused there is nothing");
    counts_are_exact(&app).await;
}

async fn the_author_earns_five_points(app: TestApp) {
    let ada = app.user().await;
    for (new, points) in [
        (json!({}), 5),
        (json!({ "isDraft": true }), 5),
        (json!({ "excludeUserId": true }), 5),
        (json!({ "title": "Hello" }), 10),
    ] {
        let shown = create(&ada, new).await["user"]["reputation"].clone();
        assert!(shown.is_null() || shown == points);
        assert_eq!(reputation(&app, ada.id).await, points);
    }
    create(&app.service(), json!({ "userId": ada.id })).await;
    assert_eq!(reputation(&app, ada.id).await, 15);
    let plain = app.project_with(&[Bundle::Entities]).await;
    let sign_up = json!({ "email": "eve@example.com", "password": User::PASSWORD });
    let made =
        app.anonymous().in_project(plain.id).post("/auth/sign-up", sign_up).await.expect(201);
    let eve = User::from_reply(&app, plain.id, &made);
    assert_eq!(
        create(&eve, json!({})).await["user"]["reputation"],
        0,
        "nothing counts points there"
    );
}
