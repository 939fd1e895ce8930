//! Update User: only the fields that are sent change, for every field and both credentials.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::auth::store::suspensions::{self, NewSuspension};
use townhall::values::ids::{SuspensionId, new_id};

use crate::support::{TestApp, User, keys, on_both_engines};

on_both_engines![
    every_field_can_be_set_left_alone_and_cleared,
    metadata_is_replaced_whole_and_never_cleared,
    a_user_does_not_write_their_own_secure_metadata,
    an_update_returns_the_user_with_a_new_update_time,
    wrong_values_change_nothing,
    a_body_that_is_no_object_is_refused,
    read_only_fields_are_ignored,
    the_oldest_version_wraps_its_fields,
    an_empty_update_changes_nothing,
    a_taken_username_is_refused,
    parallel_updates_of_different_fields_lose_nothing,
    a_key_updates_any_user_of_its_project,
    a_suspended_user_may_still_update_their_profile,
];

fn path(user: &User<'_>) -> String {
    format!("/users/{}", user.id)
}

async fn every_field_can_be_set_left_alone_and_cleared(app: TestApp) {
    let user = app.user().await;
    let point = json!({ "type": "Point", "coordinates": [13.5, -90.0] });
    // field, what is sent, what is shown
    let table = [
        ("name", json!(" Ada "), json!("Ada")),
        ("username", json!(" Ada.L!"), json!("ada.l")),
        ("avatar", json!("https://img.example/a.png"), json!("https://img.example/a.png")),
        ("bio", json!(" Notes "), json!("Notes")),
        ("birthdate", json!("1815-12-10T01:00:00+01:00"), json!("1815-12-10T00:00:00.000Z")),
        ("location", json!({ "latitude": -90, "longitude": 13.5 }), point),
    ];
    for (field, sent, shown) in &table {
        let mut update = json!({});
        update[field] = sent.clone();
        let updated = user.patch(&path(&user), update).await.expect(200);
        assert_eq!(updated[field], *shown, "{field} set");
    }
    let unrelated = user.patch(&path(&user), json!({ "unknown": 1 })).await.expect(200);
    let fetched = app.anonymous().get(&path(&user)).await.expect(200);
    for (field, _, shown) in &table {
        assert_eq!(unrelated[field], *shown, "{field} left alone");
        assert_eq!(fetched[field], *shown, "{field} stored");
    }
    for (field, _, _) in &table {
        let mut update = json!({});
        update[field] = Value::Null;
        let updated = user.patch(&path(&user), update).await.expect(200);
        assert_eq!(updated[field], Value::Null, "{field} cleared");
    }
    let bio = user.patch(&path(&user), json!({ "bio": "  " })).await.expect(200);
    assert_eq!(bio["bio"], Value::Null, "an empty bio is none");
}

async fn metadata_is_replaced_whole_and_never_cleared(app: TestApp) {
    let user = app.user().await;
    for (sent, shown) in [
        (json!({ "a": 1, "b": { "c": [null, true, "ü\u{1F600}"] } }), None),
        (json!({ "d": 2 }), None),
        (Value::Null, Some(json!({ "d": 2 }))),
        (json!({}), None),
    ] {
        let update = json!({ "metadata": sent, "secureMetadata": sent });
        app.service().patch(&path(&user), update).await.expect(200);
        let seen = app.service().get(&path(&user)).await.expect(200);
        let shown = shown.unwrap_or(sent);
        assert_eq!((&seen["metadata"], &seen["secureMetadata"]), (&shown, &shown));
    }
    let largest = json!({ "metadata": { "a": "x".repeat(512 * 1024 - 8) } });
    user.patch(&path(&user), largest.clone()).await.expect(200);
    let seen = app.anonymous().get(&path(&user)).await.expect(200);
    assert_eq!(seen["metadata"], largest["metadata"]);
}

async fn a_user_does_not_write_their_own_secure_metadata(app: TestApp) {
    let user = app.user().await;
    let by_key = json!({ "secureMetadata": { "plan": "free" } });
    app.service().patch(&path(&user), by_key).await.expect(200);
    app.advance(Duration::from_secs(60));
    for value in [json!({ "plan": "gold" }), json!({}), json!(7), json!("x".repeat(600_000))] {
        let update = json!({ "secureMetadata": value });
        let unchanged = user.patch(&path(&user), update.clone()).await.expect(200);
        assert_eq!(unchanged["updatedAt"], "2026-08-01T12:00:00.000Z");
        let wrapped = json!({ "update": update });
        user.v6().patch(&path(&user), wrapped).await.expect(200);
        let seen = app.master().get(&path(&user)).await.expect(200);
        assert_eq!(seen["secureMetadata"], json!({ "plan": "free" }));
    }
}

async fn an_update_returns_the_user_with_a_new_update_time(app: TestApp) {
    let user = app.user().await;
    app.advance(Duration::from_secs(60));
    let update = json!({ "name": "Ada", "secureMetadata": { "plan": "gold" } });
    let reply = user.patch(&path(&user), update.clone()).await;
    let shown = reply.expect(200);
    let mut expected = vec![
        "authMethods",
        "avatar",
        "avatarFile",
        "avatarFileId",
        "bannerFile",
        "bannerFileId",
        "bio",
        "birthdate",
        "createdAt",
        "email",
        "foreignId",
        "id",
        "isActive",
        "isVerified",
        "lastActive",
        "location",
        "metadata",
        "name",
        "projectId",
        "reputation",
        "role",
        "suspensions",
        "updatedAt",
        "username",
    ];
    assert_eq!(reply.keys(), expected);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert_eq!(shown["createdAt"], "2026-08-01T12:00:00.000Z");
    assert_eq!(shown["lastActive"], "2026-08-01T12:00:00.000Z");
    assert_eq!(shown["updatedAt"], "2026-08-01T12:01:00.000Z");
    assert_eq!(shown["authMethods"], json!(["password"]));

    let by_key = app.service().patch(&path(&user), update).await.expect(200);
    expected.push("secureMetadata");
    expected.sort_unstable();
    assert_eq!(keys(&by_key), expected);
    assert_eq!(by_key["secureMetadata"], json!({ "plan": "gold" }));
}

async fn wrong_values_change_nothing(app: TestApp) {
    let user = app.user().await;
    let before = app.service().get(&path(&user)).await.expect(200);
    app.advance(Duration::from_secs(60));
    let too_much = json!({ "a": "x".repeat(512 * 1024) });
    let wrong = [
        ("name", json!("x".repeat(256))),
        ("name", json!(5)),
        ("username", json!("!!!")),
        ("username", json!("x".repeat(256))),
        ("username", json!(["ada"])),
        ("bio", json!("x".repeat(301))),
        ("avatar", json!({})),
        ("birthdate", json!("soon")),
        ("birthdate", json!(1_785_585_600_000_i64)),
        ("birthdate", json!("2026-02-30")),
        ("location", json!({ "latitude": 90.5, "longitude": 0 })),
        ("location", json!({ "latitude": 0, "longitude": -181 })),
        ("location", json!({ "latitude": 0 })),
        ("location", json!([1, 2])),
        ("location", json!("1,2")),
        ("metadata", json!([])),
        ("metadata", json!("{}")),
        ("metadata", too_much.clone()),
    ];
    for (field, value) in wrong {
        let mut update = json!({ "name": "changed" });
        update[field] = value.clone();
        let reply = user.patch(&path(&user), update).await;
        let body = reply.refused(400, "user/invalid-body");
        let text = body["error"].as_str().unwrap();
        assert!(text.contains(field), "`{text}` does not name {field} for {value}");
        assert!(!text.contains("struct"), "`{text}` speaks of the program's own types");
    }
    let by_key = app.service().patch(&path(&user), json!({ "secureMetadata": too_much })).await;
    let text = by_key.refused(400, "user/invalid-body")["error"].to_string();
    assert!(text.contains("secureMetadata"), "{text}");
    assert_eq!(app.service().get(&path(&user)).await.expect(200), before);
}

async fn a_body_that_is_no_object_is_refused(app: TestApp) {
    let user = app.user().await;
    for body in [json!(["Mallory"]), json!([]), json!("name"), json!(5), json!(null), json!(true)] {
        let reply = user.patch(&path(&user), body.clone()).await;
        let text = reply.refused(400, "user/invalid-body")["error"].to_string();
        assert!(!text.contains("struct"), "{text}");
        let v6 = user.v6().patch(&path(&user), json!({ "update": body })).await;
        v6.refused(400, "user/missing-data");
    }
    assert_eq!(user.get(&path(&user)).await.expect(200)["name"], Value::Null);
}

async fn read_only_fields_are_ignored(app: TestApp) {
    let user = app.user().await;
    let before = app.service().get(&path(&user)).await.expect(200);
    let update = json!({
        "id": app.project.id,
        "projectId": app.other.id,
        "role": "admin",
        "isVerified": true,
        "isActive": false,
        "reputation": 999,
        "email": "x@y.example",
        "foreignId": "z",
        "password": "hunter22",
        "passwordHash": "x",
        "createdAt": "2001-01-01",
        "updatedAt": "2001-01-01",
        "lastActive": "2001-01-01",
        "avatarFileId": app.project.id,
        "bannerFileId": app.project.id,
        "suspensions": [],
        "authMethods": [],
    });
    for actor in [&*user, &app.service(), &app.master()] {
        actor.patch(&path(&user), update.clone()).await.expect(200);
        actor.v6().patch(&path(&user), json!({ "update": update })).await.expect(200);
        assert_eq!(app.service().get(&path(&user)).await.expect(200), before);
    }
}

async fn the_oldest_version_wraps_its_fields(app: TestApp) {
    let user = app.user().await;
    let wrapped = json!({ "update": { "name": "Ada", "bio": null }, "name": "outside" });
    let updated = user.v6().patch(&path(&user), wrapped.clone()).await.expect(200);
    assert_eq!(updated["name"], "Ada");
    for nothing in
        [json!({}), json!({ "update": {} }), json!({ "update": null }), json!({ "name": "x" })]
    {
        user.v6().patch(&path(&user), nothing).await.refused(400, "user/missing-data");
    }
    let wrong = user.v6().patch(&path(&user), json!({ "update": { "name": 5 } })).await;
    wrong.refused(400, "user/invalid-body");
    let flat = user.v7().patch(&path(&user), wrapped).await.expect(200);
    assert_eq!(flat["name"], "outside", "later versions know no wrapper");
}

async fn an_empty_update_changes_nothing(app: TestApp) {
    let user = app.user().await;
    let before = app.service().get(&path(&user)).await.expect(200);
    app.advance(Duration::from_secs(60));
    for actor in [(*user).clone(), user.v7()] {
        actor.patch(&path(&user), json!({})).await.expect(200);
        actor.patch(&path(&user), json!({ "role": "admin" })).await.expect(200);
        actor.send(http::Method::PATCH, &path(&user), None).await.expect(200);
    }
    assert_eq!(app.service().get(&path(&user)).await.expect(200), before);
}

async fn a_taken_username_is_refused(app: TestApp) {
    let (first, second, stranger) = (app.user().await, app.user().await, app.stranger().await);
    let refused = second.patch(&path(&second), json!({ "username": " USER0 ", "name": "x" })).await;
    assert_eq!(refused.refused(409, "DUPLICATE_USERNAME")["field"], "username");
    assert_eq!(second.get(&path(&second)).await.expect(200)["name"], Value::Null);
    second.patch(&path(&second), json!({ "username": "user1" })).await.expect(200);
    stranger.patch(&path(&stranger), json!({ "username": "user0" })).await.expect(200);
    for user in [&first, &second] {
        user.patch(&path(user), json!({ "username": null })).await.expect(200);
    }
}

async fn parallel_updates_of_different_fields_lose_nothing(app: TestApp) {
    let user = app.user().await;
    for round in 0..8 {
        let value = format!("round{round}");
        let update = |field: &str| {
            let actor = if field == "bio" { app.service() } else { (*user).clone() };
            let (path, body) = (path(&user), json!({ field: value }));
            async move { actor.patch(&path, body).await.expect(200) }
        };
        tokio::join!(update("name"), update("username"), update("bio"), update("avatar"));
        let seen = app.anonymous().get(&path(&user)).await.expect(200);
        for field in ["name", "username", "bio", "avatar"] {
            assert_eq!(seen[field], value, "{field} in round {round}");
        }
    }
}

async fn a_key_updates_any_user_of_its_project(app: TestApp) {
    let user = app.user().await;
    for key in [app.service(), app.master()] {
        let upper = format!("/users/{}", user.id.to_string().to_uppercase());
        let updated = key.patch(&upper, json!({ "name": "Ada" })).await.expect(200);
        assert_eq!(updated["id"], user.id.to_string());
        let unknown = format!("/users/{}", app.project.id);
        key.patch(&unknown, json!({})).await.refused(404, "user/not-found");
        key.patch("/users/me", json!({})).await.refused(400, "user/invalid-params");
        key.v6().patch("/users/me", json!({})).await.refused(400, "user/invalid-user-id");
    }
}

async fn a_suspended_user_may_still_update_their_profile(app: TestApp) {
    let user = app.user().await;
    let now = app.now();
    let new = NewSuspension {
        id: SuspensionId(new_id(now, &app.app.random)),
        user: user.id,
        reason: Some("spam".to_owned()),
        end_date: None,
        created_by: "test",
    };
    let project = app.project.id;
    app.app.db.write(move |tx| suspensions::insert(tx, project, &new, now)).await.unwrap();
    let updated = user.patch(&path(&user), json!({ "name": "Ada" })).await.expect(200);
    let suspension =
        json!({ "reason": "spam", "startDate": "2026-08-01T12:00:00.000Z", "endDate": null });
    assert_eq!(updated["suspensions"], json!([suspension]));
}
