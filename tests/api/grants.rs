//! Reputation grants: who gives what to whom and for what, and that points neither appear nor vanish.

use std::time::Duration;

use db::{Engine, args};
use serde_json::{Value, json};
use townhall::features::grants::store::recount;
use townhall::tenancy::Bundle;
use townhall::values::ids::{SpaceId, UserId};

use crate::blocks::block;
use crate::comments::comment;
use crate::events::notified;
use crate::feed_plans::run;
use crate::notifications::{UNKNOWN, counts_are_exact};
use crate::reactions::publish;
use crate::spaces::{create as space, id as space_id};
use crate::support::chat::{at, group, leave, of, send};
use crate::support::sockets::{Ears, Sockets};
use crate::support::{Actor, Reply, TestApp, User, all_at_once, count, keys, on_both_engines};

on_both_engines![
    points_move_from_the_sender_to_the_recipient,
    grants_are_validated,
    who_may_give_for_whom,
    points_of_a_space_are_its_own,
    nobody_gives_more_than_they_have_under_any_concurrency,
    a_grant_that_loses_against_others_every_time_is_a_conflict,
    points_neither_appear_nor_vanish_under_any_concurrency,
    a_project_gives_and_takes,
    targets_must_exist_for_the_sender,
    content_shows_what_was_given_for_it,
    recipients_are_notified,
    members_of_a_conversation_hear_of_grants,
    blocks_and_suspensions_stop_senders,
    grants_need_their_bundles,
    grants_follow_the_accounts,
    wrong_totals_are_found_and_repaired,
];

pub(crate) const GRANTS: &str = "/reputation-grants";

pub(crate) async fn mint(app: &TestApp, to: UserId, amount: i64, more: Value) -> Value {
    let mut body = json!({ "recipientId": to, "amount": amount });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    app.service().post("/reputation-grants/mint", body).await.expect(201)
}

pub(crate) async fn give(by: &Actor<'_>, to: UserId, amount: i64, more: Value) -> Reply {
    let mut body = json!({ "recipientId": to, "amount": amount });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    by.post(GRANTS, body).await
}

/// All points of a user.
async fn reputation(app: &TestApp, user: UserId) -> i64 {
    let shown = app.service().get(&format!("/users/{user}")).await.expect(200);
    shown["reputation"].as_i64().unwrap()
}

/// Points outside of all spaces, or in one.
async fn points(app: &TestApp, user: UserId, space: Option<SpaceId>) -> i64 {
    let project = app.project.id;
    let found = app
        .app
        .db
        .read(move |c| townhall::features::users::reputation::bucket_of(c, project, user, space));
    found.await.unwrap()
}

async fn points_move_from_the_sender_to_the_recipient(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let minted = mint(&app, ada.id, 10, json!({})).await;
    let expected = json!({
        "id": minted["id"], "sourceType": "app", "senderId": null, "recipientId": ada.id, "amount": 10,
        "spaceId": null, "targetType": null, "targetId": null, "note": null, "metadata": null,
        "createdAt": app.now().to_string(), "updatedAt": app.now().to_string(),
    });
    assert_eq!(minted, expected);
    let more = json!({ "note": " thanks ", "metadata": { "n": 1 }, "spaceId": null });
    let grant = give(&ada, bob.id, 4, more).await.expect(201);
    assert_eq!(keys(&grant), keys(&minted));
    assert_eq!((&grant["sourceType"], &grant["senderId"]), (&json!("user"), &json!(ada.id)));
    assert_eq!((&grant["note"], &grant["metadata"]), (&json!("thanks"), &json!({ "n": 1 })));
    assert_eq!((reputation(&app, ada.id).await, reputation(&app, bob.id).await), (6, 4));
    // Not idempotent.
    give(&ada, bob.id, 6, json!({})).await.expect(201);
    give(&ada, bob.id, 1, json!({})).await.refused(409, "reputation-grant/insufficient-reputation");
    assert_eq!((reputation(&app, ada.id).await, reputation(&app, bob.id).await), (0, 10));
    assert_eq!(app.rows("reputation_grants").await, 3);
}

async fn grants_are_validated(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 100, json!({})).await;
    let body = |change: Value| {
        let mut body = json!({ "recipientId": bob.id, "amount": 1 });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        body
    };
    let wrong = [
        json!({ "recipientId": "x" }),
        json!({ "recipientId": null }),
        json!({ "amount": 0 }),
        json!({ "amount": 1.5 }),
        json!({ "amount": "1" }),
        json!({ "amount": 2_147_483_648_i64 }),
        json!({ "note": "x".repeat(2001) }),
        json!({ "metadata": null }),
        json!({ "metadata": [] }),
        json!({ "metadata": { "x": "x".repeat(1 << 20) } }),
        json!({ "spaceId": "x" }),
        json!({ "targetType": "entity" }),
        json!({ "targetId": UNKNOWN }),
        json!({ "targetType": "space", "targetId": UNKNOWN }),
        json!({ "targetType": "entity", "targetId": "x" }),
    ];
    for change in wrong {
        for (actor, path) in [(&*ada, GRANTS), (&app.service(), "/reputation-grants/mint")] {
            let refused = actor.post(path, body(change.clone())).await;
            assert_eq!(refused.outcome(), "400 reputation-grant/invalid-body", "{path} {change}");
        }
    }
    ada.post(GRANTS, body(json!({ "amount": -1 })))
        .await
        .refused(400, "reputation-grant/invalid-body");
    give(&ada, ada.id, 1, json!({})).await.refused(400, "reputation-grant/self-grant");
    let unknown = UNKNOWN.parse().unwrap();
    give(&ada, unknown, 1, json!({})).await.refused(404, "reputation-grant/user-not-found");
    let stranger = app.stranger().await;
    give(&ada, stranger.id, 1, json!({})).await.refused(404, "reputation-grant/user-not-found");
    let space = json!({ "spaceId": UNKNOWN });
    give(&ada, bob.id, 1, space).await.refused(404, "reputation-grant/space-not-found");
    assert_eq!(reputation(&app, ada.id).await, 100);
}

async fn who_may_give_for_whom(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    give(&app.anonymous(), bob.id, 1, json!({})).await.says(401, "Unauthorized");
    let as_bob = json!({ "actingUserId": bob.id });
    give(&ada, bob.id, 1, as_bob).await.refused(403, "reputation-grant/unauthorized");
    let as_ada = json!({ "actingUserId": ada.id });
    give(&ada, bob.id, 1, as_ada.clone()).await.expect(201);
    for key in [app.service(), app.master()] {
        give(&key, bob.id, 1, json!({})).await.refused(400, "reputation-grant/missing-user-id");
        let nobody = json!({ "actingUserId": UNKNOWN });
        give(&key, bob.id, 1, nobody).await.refused(404, "reputation-grant/user-not-found");
        give(&key, bob.id, 1, as_ada.clone()).await.expect(201);
        give(&key, ada.id, 1, as_ada.clone()).await.refused(400, "reputation-grant/self-grant");
    }
    let minted = json!({ "recipientId": bob.id, "amount": 1 });
    ada.post("/reputation-grants/mint", minted).await.refused(403, "auth/elevated-auth-required");
    app.change_settings(app.project.id, |settings| settings.user_grants = false).await;
    give(&ada, bob.id, 1, json!({})).await.refused(403, "reputation-grant/user-grants-disabled");
    give(&app.service(), bob.id, 1, as_ada).await.expect(201);
    ada.v7().get(&format!("{GRANTS}?senderId={}", ada.id)).await.expect(200);
    ada.v6().get(GRANTS).await.refused(404, "route/not-found");
}

async fn points_of_a_space_are_its_own(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({})).await;
    let (id, here) = (space_id(&town), json!({ "spaceId": town["id"] }));
    mint(&app, ada.id, 10, json!({})).await;
    give(&ada, bob.id, 1, here.clone())
        .await
        .refused(409, "reputation-grant/insufficient-reputation");
    mint(&app, ada.id, 5, here.clone()).await;
    give(&ada, bob.id, 11, json!({}))
        .await
        .refused(409, "reputation-grant/insufficient-reputation");
    let grant = give(&ada, bob.id, 5, here.clone()).await.expect(201);
    assert_eq!(grant["spaceId"], town["id"]);
    assert_eq!((points(&app, ada.id, Some(id)).await, points(&app, ada.id, None).await), (0, 10));
    assert_eq!((points(&app, bob.id, Some(id)).await, points(&app, bob.id, None).await), (5, 0));
    assert_eq!(reputation(&app, bob.id).await, 5);
    // A negative bucket elsewhere does not matter.
    mint(&app, bob.id, -20, json!({})).await;
    give(&bob, ada.id, 5, here).await.expect(201);
    assert_eq!(reputation(&app, bob.id).await, -20);
}

async fn nobody_gives_more_than_they_have_under_any_concurrency(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    let (ada_ref, others) = (&ada, [bob.id, cleo.id]);
    let replies = all_at_once((0..64).map(|n| give(ada_ref, others[n % 2], 1, json!({})))).await;
    assert_eq!((count(&replies, 201), count(&replies, 409)), (10, 54));
    assert_eq!(reputation(&app, ada.id).await, 0);
    assert_eq!(reputation(&app, bob.id).await + reputation(&app, cleo.id).await, 10);
}

/// On SQLite writers queue, so nobody loses.
async fn a_grant_that_loses_against_others_every_time_is_a_conflict(app: TestApp) {
    if app.engine() == Engine::Sqlite {
        return;
    }
    let app = app.own_server().await;
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN RAISE EXCEPTION USING ERRCODE = ''40001''; END';
        CREATE TRIGGER refuse BEFORE INSERT ON reputation_grants FOR EACH ROW EXECUTE FUNCTION refuse();";
    run(&app, refuse.to_owned()).await;
    let conflict = "reputation-grant/conflict";
    give(&ada, bob.id, 1, json!({})).await.refused(409, conflict);
    let body = json!({ "recipientId": bob.id, "amount": 1 });
    app.service().post("/reputation-grants/mint", body).await.refused(409, conflict);
    assert_eq!((reputation(&app, ada.id).await, reputation(&app, bob.id).await), (10, 0));
}

async fn points_neither_appear_nor_vanish_under_any_concurrency(app: TestApp) {
    let mut users = Vec::new();
    for _ in 0..4 {
        users.push(app.user().await);
    }
    let town = space(&users[0], json!({})).await;
    let entity = publish(&users[0]).await;
    let target = json!({ "targetType": "entity", "targetId": crate::comments::id_of(&entity) });
    let before = reputation(&app, users[0].id).await;
    for user in &users {
        mint(&app, user.id, 20, json!({})).await;
        mint(&app, user.id, 20, json!({ "spaceId": town["id"] })).await;
    }
    let (users_ref, target_ref, town_ref) = (&users, &target, &town);
    let replies = all_at_once((0..64).map(|n| async move {
        let (from, to) = (&users_ref[n % 4], &users_ref[(n + 1 + n / 4 % 3) % 4]);
        let more = match n % 3 {
            0 => json!({ "spaceId": town_ref["id"] }),
            1 => target_ref.clone(),
            _ => json!({}),
        };
        give(from, to.id, 3, more).await
    }));
    let replies = replies.await;
    assert_eq!(count(&replies, 201) + count(&replies, 409), 64);
    let mut total = 0;
    for user in &users {
        let (here, outside) =
            (points(&app, user.id, Some(space_id(&town))).await, points(&app, user.id, None).await);
        assert!(here >= 0 && outside >= 0, "{here} {outside}");
        assert_eq!(reputation(&app, user.id).await, here + outside);
        total += here + outside;
    }
    assert_eq!(total, 4 * 40 + before);
    assert!(app.own(app.app.db.read(recount::drifted).await.unwrap()).is_empty());
    counts_are_exact(&app).await;
}

async fn a_project_gives_and_takes(app: TestApp) {
    let ada = app.user().await;
    mint(&app, ada.id, 2_147_483_647, json!({ "note": "a lot" })).await;
    let taken = mint(&app, ada.id, -2_147_483_648, json!({})).await;
    assert_eq!(taken["amount"], -2_147_483_648_i64);
    assert_eq!(reputation(&app, ada.id).await, -1);
    assert_eq!(notified(&ada).await, ["reputation-grant"], "what is taken is taken silently");
    // Nobody is suspended or blocked for a project.
    app.suspend(ada.id).await;
    mint(&app, ada.id, 1, json!({})).await;
    let unknown = json!({ "recipientId": UNKNOWN, "amount": 1 });
    let refused = app.service().post("/reputation-grants/mint", unknown).await;
    refused.refused(404, "reputation-grant/user-not-found");
}

async fn targets_must_exist_for_the_sender(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    mint(&app, ada.id, 100, json!({})).await;
    let target = |kind: &str, id: &Value| json!({ "targetType": kind, "targetId": id });
    for kind in ["entity", "comment", "chat-message"] {
        let unknown = target(kind, &json!(UNKNOWN));
        give(&ada, bob.id, 1, unknown).await.refused(404, "reputation-grant/target-not-found");
    }
    let draft = bob.post("/entities", json!({ "title": "d", "isDraft": true })).await.expect(201);
    let hidden = target("entity", &draft["id"]);
    give(&ada, bob.id, 1, hidden.clone()).await.refused(404, "reputation-grant/target-not-found");
    mint(&app, bob.id, 1, hidden).await;
    let id = group(&bob, &[&cleo]).await;
    let message = send(&bob, &id, "hi").await;
    let in_chat = target("chat-message", &message["id"]);
    give(&ada, bob.id, 1, in_chat.clone()).await.refused(404, "reputation-grant/target-not-found");
    let as_ada =
        json!({ "actingUserId": ada.id, "targetType": "chat-message", "targetId": message["id"] });
    give(&app.service(), bob.id, 1, as_ada).await.refused(404, "reputation-grant/target-not-found");
    // A project gives wherever it likes.
    mint(&app, cleo.id, 5, in_chat.clone()).await;
    give(&cleo, bob.id, 1, in_chat.clone()).await.expect(201);
    leave(&cleo, &id).await;
    give(&cleo, bob.id, 1, in_chat.clone()).await.refused(404, "reputation-grant/target-not-found");
    bob.delete(&at(&id, &message)).await.expect(200);
    let gone = json!({ "recipientId": bob.id, "amount": 1, "targetType": "chat-message", "targetId": message["id"] });
    let refused = app.service().post("/reputation-grants/mint", gone).await;
    refused.refused(404, "reputation-grant/target-not-found");
}

async fn content_shows_what_was_given_for_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for user in [&ada, &bob] {
        mint(&app, user.id, 100, json!({})).await;
    }
    let entity = publish(&bob).await;
    let said = comment(&bob, &entity, "x").await;
    let id = group(&ada, &[&bob]).await;
    let message = send(&bob, &id, "hi").await;
    let entity_id = crate::comments::id_of(&entity);
    let said_path = crate::comments::path(&said);
    let paths = [
        format!("{entity}?include=grants"),
        format!("{said_path}?include=grants"),
        format!("{}?include=grants", at(&id, &message)),
    ];
    for path in &paths {
        let nothing = json!({ "total": 0, "count": 0, "viewerTotal": 0 });
        assert_eq!(ada.get(path).await.expect(200)["grants"], nothing, "{path}");
    }
    for (kind, target) in [
        ("entity", json!(entity_id)),
        ("comment", said["id"].clone()),
        ("chat-message", message["id"].clone()),
    ] {
        let target = json!({ "targetType": kind, "targetId": target });
        give(&ada, bob.id, 3, target.clone()).await.expect(201);
        give(&ada, bob.id, 4, target.clone()).await.expect(201);
        mint(&app, bob.id, 5, target.clone()).await;
        // What is taken counts nowhere.
        mint(&app, bob.id, -50, target).await;
    }
    for path in &paths {
        let shown = ada.get(path).await.expect(200);
        assert_eq!(shown["grants"], json!({ "total": 12, "count": 3, "viewerTotal": 7 }), "{path}");
        let shown = bob.get(path).await.expect(200);
        assert_eq!(shown["grants"]["viewerTotal"], 0, "{path}");
        assert!(ada.get(path.split('?').next().unwrap()).await.expect(200).get("grants").is_none());
    }
    for list in [
        "/entities?include=grants".to_owned(),
        format!("/comments?entityId={entity_id}&include=grants"),
    ] {
        let list = ada.get(&list).await.expect(200);
        assert_eq!(list["data"][0]["grants"]["total"], 12);
    }
    let messages = ada.get(&of(&id, "/messages?include=grants")).await.expect(200);
    assert_eq!(messages["messages"][0]["grants"]["total"], 12);
}

async fn recipients_are_notified(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 100, json!({})).await;
    let entity = publish(&bob).await;
    let said = comment(&bob, &entity, "x").await;
    let id = group(&ada, &[&bob]).await;
    let message = send(&bob, &id, "hi").await;
    let entity_id = crate::comments::id_of(&entity);
    let about =
        |kind: &str, id: Value| json!({ "targetType": kind, "targetId": id, "note": "nice" });
    let cases = [
        (json!({}), "open-profile", vec![]),
        (about("entity", json!(entity_id)), "open-entity", vec!["entityId", "entityShortId"]),
        (about("comment", said["id"].clone()), "open-comment", vec!["commentId", "entityId"]),
        (
            about("chat-message", message["id"].clone()),
            "open-conversation",
            vec!["messageId", "conversationId"],
        ),
    ];
    for (more, action, named) in cases {
        app.advance(Duration::from_secs(1));
        let grant = give(&ada, bob.id, 2, more.clone()).await.expect(201);
        let list = bob.get("/app-notifications").await.expect(200);
        let one = &list["data"][0];
        assert_eq!((&one["type"], &one["action"]), (&json!("reputation-grant"), &json!(action)));
        let metadata = &one["metadata"];
        assert_eq!((&metadata["grantId"], &metadata["amount"]), (&grant["id"], &json!(2)));
        assert_eq!(
            (&metadata["granterId"], &metadata["sourceType"]),
            (&json!(ada.id), &json!("user"))
        );
        assert_eq!(metadata["targetId"], more["targetId"]);
        for name in named {
            assert!(metadata[name].is_string(), "{name} of {metadata}");
        }
        assert!(metadata.get("initiatorId").is_none());
    }
    app.advance(Duration::from_secs(1));
    mint(&app, bob.id, 1, json!({})).await;
    let list = bob.get("/app-notifications").await.expect(200);
    assert_eq!(list["data"][0]["action"], "do-nothing");
    // What is gone is not notified of any more.
    bob.delete(&at(&id, &message)).await.expect(200);
    bob.delete(&crate::comments::path(&said)).await;
    app.run_jobs().await;
    let list = bob.get("/app-notifications?limit=50").await.expect(200);
    let left: Vec<&str> =
        list["data"].as_array().unwrap().iter().filter_map(|one| one["action"].as_str()).collect();
    assert!(!left.contains(&"open-conversation"), "{left:?}");
    counts_are_exact(&app).await;
}

async fn members_of_a_conversation_hear_of_grants(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    let id = group(&ada, &[&bob]).await;
    let message = send(&bob, &id, "hi").await;
    let mut client = Sockets::default();
    let mut ears = Ears::new(&app);
    for user in [&bob, &cleo] {
        ears.add(user, client.connect(&app, "websocket", user).await);
    }
    // The message itself may still be on its way.
    ears.heard().await;
    let target = json!({ "targetType": "chat-message", "targetId": message["id"] });
    let grant = give(&ada, bob.id, 3, target.clone()).await.expect(201);
    mint(&app, bob.id, 2, target.clone()).await;
    mint(&app, bob.id, -2, target).await;
    let heard = ears.heard().await;
    let payloads: Vec<Value> = heard[0].iter().map(|(_, payload)| payload.clone()).collect();
    assert_eq!(
        heard[0].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["message:grant"; 2]
    );
    let expected = json!({
        "messageId": message["id"], "conversationId": id, "grant": grant,
        "summary": { "total": 3, "count": 1 },
    });
    assert_eq!(payloads[0], expected);
    assert_eq!(payloads[1]["summary"], json!({ "total": 5, "count": 2 }));
    assert!(heard[1].is_empty(), "not a member");
}

async fn blocks_and_suspensions_stop_senders(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for user in [&ada, &cleo] {
        mint(&app, user.id, 10, json!({})).await;
    }
    block(&bob, &ada).await;
    give(&ada, bob.id, 1, json!({})).await.refused(404, "reputation-grant/user-not-found");
    let as_ada = json!({ "actingUserId": ada.id });
    give(&app.service(), bob.id, 1, as_ada).await.expect(201);
    app.suspend(cleo.id).await;
    give(&cleo, ada.id, 1, json!({})).await.refused(403, "user/suspended");
    let as_cleo = json!({ "actingUserId": cleo.id });
    give(&app.service(), ada.id, 1, as_cleo.clone()).await.refused(403, "user/suspended");
    give(&app.master(), ada.id, 1, as_cleo).await.expect(201);
    // The suspended may receive.
    give(&ada, cleo.id, 1, json!({})).await.expect(201);
}

async fn grants_need_their_bundles(app: TestApp) {
    let none = app.project_with(&[Bundle::Entities]).await;
    let key = app.bearer(&none.service_key).in_project(none.id);
    key.get(GRANTS).await.refused(403, "database/tables-not-available");
    let bare = app.project_with(&[Bundle::Reputation]).await;
    let key = app.bearer(&bare.service_key).in_project(bare.id);
    let created = key.get("/users/by-foreign-id?foreignId=f&createIfNotFound=true").await;
    let user = created.json()["id"].clone();
    for more in [
        json!({ "spaceId": UNKNOWN }),
        json!({ "targetType": "entity", "targetId": UNKNOWN }),
        json!({ "targetType": "comment", "targetId": UNKNOWN }),
        json!({ "targetType": "chat-message", "targetId": UNKNOWN }),
    ] {
        let mut body = json!({ "recipientId": user, "amount": 1 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = key.post("/reputation-grants/mint", body).await;
        refused.refused(403, "database/tables-not-available");
    }
    let given = json!({ "recipientId": user, "amount": 1 });
    key.post("/reputation-grants/mint", given).await.expect(201);
}

async fn grants_follow_the_accounts(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    for user in [&ada, &bob] {
        mint(&app, user.id, 10, json!({})).await;
    }
    let entity = publish(&cleo).await;
    let target = json!({ "targetType": "entity", "targetId": crate::comments::id_of(&entity) });
    give(&ada, bob.id, 1, target.clone()).await.expect(201);
    give(&ada, cleo.id, 2, target.clone()).await.expect(201);
    give(&bob, cleo.id, 4, target).await.expect(201);
    app.service().delete(&format!("/users/{}", bob.id)).await.expect(204);
    let shown = ada.get(&format!("{entity}?include=grants")).await.expect(200);
    assert_eq!(shown["grants"], json!({ "total": 6, "count": 2, "viewerTotal": 2 }));
    let list = ada.get(&format!("{GRANTS}?recipientId={}&include=user", cleo.id)).await.expect(200);
    let senders: Vec<&Value> =
        list["data"].as_array().unwrap().iter().map(|one| &one["sender"]).collect();
    assert_eq!(senders.iter().filter(|sender| sender.is_null()).count(), 1);
    let list = ada.get(&format!("{GRANTS}?recipientId={}", bob.id)).await.expect(200);
    assert_eq!(list["pagination"]["totalItems"], 0);
    // The target is gone, the grants stay.
    app.service().delete(&entity).await.expect(204);
    app.run_jobs().await;
    let list = ada.get(&format!("{GRANTS}?recipientId={}", cleo.id)).await.expect(200);
    assert_eq!(list["pagination"]["totalItems"], 2);
    assert!(app.own(app.app.db.read(recount::drifted).await.unwrap()).is_empty());
}

async fn wrong_totals_are_found_and_repaired(app: TestApp) {
    let (ada, bob): (User<'_>, User<'_>) = (app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    let entity = publish(&bob).await;
    let target = json!({ "targetType": "entity", "targetId": crate::comments::id_of(&entity) });
    give(&ada, bob.id, 3, target).await.expect(201);
    let project = app.project.id;
    let wrong = app.app.db.write(move |tx| {
        let text = "UPDATE grant_totals SET total = 99, grants = 7 WHERE project_id = $1";
        tx.execute(&db::Command::<()>::built("test::drift", text.to_owned()), args![project])
    });
    wrong.await.unwrap_or_else(|error: db::Error| panic!("{error}"));
    let found = app.own(app.app.db.read(recount::drifted).await.unwrap());
    assert_eq!(found.len(), 1);
    for (project, target) in found {
        app.app.db.write(move |tx| recount::repair(tx, project, target)).await.unwrap();
    }
    assert!(app.own(app.app.db.read(recount::drifted).await.unwrap()).is_empty());
    let shown = ada.get(&format!("{entity}?include=grants")).await.expect(200);
    assert_eq!(shown["grants"], json!({ "total": 3, "count": 1, "viewerTotal": 3 }));
}
