//! Connections between users: the request, accepting and declining, removing, and who may do what.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;
use townhall::values::ids::UserId;

use crate::notifications::{UNKNOWN, in_every_version};
use crate::reaction_notices::{told, total};
use crate::reactions::user_of;
use crate::support::{Actor, TestApp, keys, on_both_engines};

on_both_engines![
    a_request_is_accepted_and_the_connection_removed,
    the_status_is_told_from_each_side,
    every_state_knows_what_may_follow,
    by_user_it_is_withdrawn_declined_or_removed,
    a_message_is_trimmed_and_bounded,
    what_cannot_be_asked_for,
    others_connections_are_not_theirs_to_change,
    who_may_connect_and_as_whom,
    a_suspended_user_changes_no_connection,
    both_hear_of_what_the_other_did,
    removals_are_limited,
    connections_go_with_either_user_and_counts_stay_exact,
];

pub(crate) fn path(user: UserId) -> String {
    format!("/users/{user}/connection")
}

/// Asks; the id of the connection.
pub(crate) async fn ask(actor: &Actor<'_>, user: UserId) -> String {
    let asked = actor.post(&path(user), json!({})).await.expect(201);
    asked["id"].as_str().unwrap().to_owned()
}

pub(crate) async fn accept(actor: &Actor<'_>, id: &str) -> Value {
    actor.patch(&format!("/connections/{id}/accept"), json!({})).await.expect(200)
}

async fn status(actor: &Actor<'_>, user: UserId) -> String {
    let status = actor.get(&path(user)).await.expect(200);
    let kind = status["type"].as_str().map(|kind| format!("-{kind}")).unwrap_or_default();
    format!("{}{kind}", status["status"].as_str().unwrap())
}

async fn a_request_is_accepted_and_the_connection_removed(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for (ada, bob_too) in in_every_version(&ada).iter().zip(in_every_version(&bob)) {
        let asked = ada.post(&path(bob.id), json!({ "message": "hi" })).await.expect(201);
        assert_eq!(keys(&asked), ["createdAt", "id", "status"]);
        assert_eq!((&asked["status"], &asked["createdAt"]), (&json!("pending"), &json!(app.now())));
        app.advance(Duration::from_secs(1));
        let id = asked["id"].as_str().unwrap();
        let accepted = accept(&bob_too, id).await;
        assert_eq!(accepted, json!({ "id": id, "status": "accepted", "respondedAt": app.now() }));
        let removed = bob_too.delete(&format!("/connections/{id}")).await.expect(200);
        assert_eq!(removed, json!({ "message": "Connection removed successfully." }));
        ada.delete(&format!("/connections/{id}")).await.refused(404, "connection/not-found");
    }
}

async fn the_status_is_told_from_each_side(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), json!({ "status": "none" }));
    let asked_at = app.now();
    let id = ask(&ada, bob.id).await;
    let pending = |kind: &str| json!({ "status": "pending", "type": kind, "connectionId": id, "createdAt": asked_at });
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), pending("sent"));
    assert_eq!(bob.get(&path(ada.id)).await.expect(200), pending("received"));
    app.advance(Duration::from_secs(60));
    accept(&bob, &id).await;
    let connected = json!({
        "status": "connected", "connectionId": id, "connectedAt": app.now(),
        "requestedAt": asked_at,
    });
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), connected);
    assert_eq!(bob.get(&path(ada.id)).await.expect(200), connected);
    ada.delete(&path(bob.id)).await.expect(200);
    let id = ask(&ada, bob.id).await;
    bob.patch(&format!("/connections/{id}/decline"), json!({})).await.expect(200);
    let declined = |kind: &str| json!({ "status": "declined", "type": kind, "connectionId": id, "respondedAt": app.now() });
    assert_eq!(ada.get(&path(bob.id)).await.expect(200), declined("sent"));
    assert_eq!(bob.get(&path(ada.id)).await.expect(200), declined("received"));
    ada.get(&path(ada.id)).await.refused(400, "connection/self-check");
    ada.get("/users/me/connection").await.refused(400, "connection/invalid-user-id");
    let unknown = ada.get(&format!("/users/{UNKNOWN}/connection")).await.expect(200);
    assert_eq!(unknown, json!({ "status": "none" }));
}

/// For each state of a pair where the first user sent the request: each action of either user, its reply, and
/// the status that the first user sees afterwards.
async fn every_state_knows_what_may_follow(app: TestApp) {
    let pending = "409 connection/request-pending";
    let missing = "404 connection/not-found";
    let denied = "403 connection/unauthorized";
    #[rustfmt::skip]
    let table = [
        ("pending",  "request", 0, pending, "pending-sent"),
        ("pending",  "request", 1, pending, "pending-sent"),
        ("pending",  "accept",  0, denied,  "pending-sent"),
        ("pending",  "accept",  1, "200",   "connected"),
        ("pending",  "decline", 0, denied,  "pending-sent"),
        ("pending",  "decline", 1, "200",   "declined-sent"),
        ("pending",  "remove",  0, "200",   "none"),
        ("pending",  "remove",  1, denied,  "pending-sent"),
        ("accepted", "request", 0, "409 connection/already-connected", "connected"),
        ("accepted", "request", 1, "409 connection/already-connected", "connected"),
        ("accepted", "accept",  1, missing, "connected"),
        ("accepted", "decline", 1, missing, "connected"),
        ("accepted", "remove",  0, "200",   "none"),
        ("accepted", "remove",  1, "200",   "none"),
        ("declined", "request", 0, "409 connection/request-declined", "declined-sent"),
        ("declined", "request", 1, "201",   "pending-received"),
        ("declined", "accept",  1, missing, "declined-sent"),
        ("declined", "decline", 1, missing, "declined-sent"),
        ("declined", "remove",  0, missing, "declined-sent"),
        ("declined", "remove",  1, missing, "declined-sent"),
    ];
    for (state, verb, who, outcome, after) in table {
        let pair = [app.user().await, app.user().await];
        let id = ask(&pair[0], pair[1].id).await;
        match state {
            "accepted" => drop(accept(&pair[1], &id).await),
            "declined" => {
                let declined =
                    pair[1].patch(&format!("/connections/{id}/decline"), json!({})).await;
                declined.expect(200);
            }
            _ => {}
        }
        let (actor, other) = (&pair[who], &pair[1 - who]);
        let reply = match verb {
            "request" => actor.post(&path(other.id), json!({})).await,
            "remove" => actor.delete(&format!("/connections/{id}")).await,
            verb => actor.patch(&format!("/connections/{id}/{verb}"), json!({})).await,
        };
        let case = format!("{verb} by {who} when {state}");
        assert_eq!(reply.outcome(), outcome, "{case}");
        assert_eq!(status(&pair[0], pair[1].id).await, after, "{case}");
        if (state, verb) == ("pending", "remove") && who == 0 {
            let message = json!({ "message": "Connection request withdrawn successfully." });
            assert_eq!(reply.json(), message);
        }
        if reply.status == 201 {
            assert_ne!(reply.json()["id"], json!(id), "a connection of its own");
        }
    }
    crate::relation_races::counts_agree(&app).await;
}

async fn by_user_it_is_withdrawn_declined_or_removed(app: TestApp) {
    let (ada, bob, stranger) = (app.user().await, app.user().await, app.stranger().await);
    ask(&ada, bob.id).await;
    let withdrawn = ada.delete(&path(bob.id)).await.expect(200);
    let message = "Connection request withdrawn successfully.";
    assert_eq!(withdrawn, json!({ "message": message, "action": "withdraw" }));
    let id = ask(&ada, bob.id).await;
    accept(&bob, &id).await;
    let removed = bob.delete(&path(ada.id)).await.expect(200);
    let message = "Connection removed successfully.";
    assert_eq!(removed, json!({ "message": message, "action": "disconnect" }));
    let id = ask(&ada, bob.id).await;
    let declined = bob.delete(&path(ada.id)).await.expect(200);
    assert_eq!(declined, json!({ "id": id, "status": "declined", "respondedAt": app.now() }));
    for (actor, other) in [(&ada, bob.id), (&bob, ada.id), (&ada, stranger.id)] {
        actor.delete(&path(other)).await.refused(404, "connection/not-found");
    }
    ada.delete(&path(ada.id)).await.refused(400, "connection/self-disconnect");
    ada.delete("/users/me/connection").await.refused(400, "connection/invalid-user-id");
    crate::relation_races::counts_agree(&app).await;
}

async fn a_message_is_trimmed_and_bounded(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    for (sent, shown) in [
        (json!("  hello\n"), json!({ "content": "hello" })),
        (json!("   "), Value::Null),
        (Value::Null, Value::Null),
        (json!("é".repeat(1000)), json!({ "content": "é".repeat(1000) })),
    ] {
        ada.post(&path(bob.id), json!({ "message": sent })).await.expect(201);
        for (actor, list) in [(&ada, "sent"), (&bob, "received")] {
            let page = actor.get(&format!("/connections/pending/{list}")).await.expect(200);
            assert_eq!(page["data"][0]["message"], shown, "{list}");
        }
        ada.delete(&path(bob.id)).await.expect(200);
    }
    for wrong in [json!("é".repeat(1001)), json!(1), json!({ "content": "x" })] {
        let refused = ada.post(&path(bob.id), json!({ "message": wrong })).await;
        refused.refused(400, "connection/invalid-body");
    }
    assert_eq!(status(&ada, bob.id).await, "none");
}

async fn what_cannot_be_asked_for(app: TestApp) {
    let (ada, stranger) = (app.user().await, app.stranger().await);
    ada.post(&path(ada.id), json!({})).await.refused(400, "connection/self-request");
    let wrong = ada.post("/users/me/connection", json!({})).await;
    wrong.refused(400, "connection/invalid-receiver-id");
    for nobody in [UNKNOWN.parse().unwrap(), stranger.id] {
        let refused = ada.post(&path(nobody), json!({})).await;
        refused.refused(404, "connection/user-not-found");
    }
    for end in ["/accept", "/decline"] {
        let nonsense = ada.patch(&format!("/connections/one{end}"), json!({})).await;
        nonsense.refused(400, "connection/invalid-connection-id");
        let unknown = ada.patch(&format!("/connections/{UNKNOWN}{end}"), json!({})).await;
        unknown.refused(404, "connection/not-found");
    }
    ada.delete("/connections/one").await.refused(400, "connection/invalid-connection-id");
    let unknown = ada.delete(&format!("/connections/{UNKNOWN}")).await;
    unknown.refused(404, "connection/not-found");
}

async fn others_connections_are_not_theirs_to_change(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let stranger = app.stranger().await;
    let id = ask(&ada, bob.id).await;
    let by_id = format!("/connections/{id}");
    for end in ["/accept", "/decline"] {
        let third = cleo.patch(&format!("{by_id}{end}"), json!({})).await;
        third.refused(403, "connection/unauthorized");
        let foreign = stranger.patch(&format!("{by_id}{end}"), json!({})).await;
        foreign.refused(404, "connection/not-found");
        let named = json!({ "userId": bob.id });
        let named = cleo.patch(&format!("{by_id}{end}"), named).await;
        named.refused(403, "connection/unauthorized");
    }
    cleo.delete(&by_id).await.refused(403, "connection/unauthorized");
    stranger.delete(&by_id).await.refused(404, "connection/not-found");
    accept(&bob, &id).await;
    cleo.delete(&by_id).await.refused(403, "connection/unauthorized");
    assert_eq!(status(&ada, bob.id).await, "connected");
}

async fn who_may_connect_and_as_whom(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let own = [
        "/connections",
        "/connections/count",
        "/connections/pending/sent",
        "/connections/pending/received",
    ];
    for (version, actor) in in_every_version(&app.anonymous()).iter().enumerate() {
        let expected = if version == 1 { "401 auth/unauthorized" } else { "401 Unauthorized" };
        assert_eq!(actor.post(&path(bob.id), json!({})).await.outcome(), expected);
        assert_eq!(actor.get(&path(bob.id)).await.outcome(), expected);
        assert_eq!(actor.delete(&path(bob.id)).await.outcome(), expected);
        assert_eq!(actor.delete(&format!("/connections/{UNKNOWN}")).await.outcome(), expected);
        for list in own {
            assert_eq!(actor.get(list).await.outcome(), expected, "{list}");
        }
    }
    for key in [app.service(), app.master()] {
        key.post(&path(bob.id), json!({})).await.refused(400, "connection/missing-user-id");
        key.delete(&path(bob.id)).await.refused(400, "connection/missing-user-id");
        for list in own {
            key.get(list).await.refused(400, "connection/missing-user-id");
            key.get(&format!("{list}?userId={}", ada.id)).await.expect(200);
            let nobody = key.get(&format!("{list}?userId={UNKNOWN}")).await;
            nobody.refused(404, "connection/user-not-found");
        }
        let unknown = key.post(&path(bob.id), json!({ "actingUserId": UNKNOWN })).await;
        unknown.refused(404, "connection/user-not-found");
        let asked = key.post(&path(bob.id), json!({ "actingUserId": ada.id })).await.expect(201);
        let by_id = format!("/connections/{}", asked["id"].as_str().unwrap());
        let accept = format!("{by_id}/accept");
        key.patch(&accept, json!({})).await.refused(400, "connection/missing-user-id");
        let wrong = key.patch(&accept, json!({ "userId": ada.id })).await;
        wrong.refused(403, "connection/unauthorized");
        key.patch(&accept, json!({ "userId": bob.id })).await.expect(200);
        let named = format!("{}?actingUserId={}", path(bob.id), ada.id);
        assert_eq!(key.get(&named).await.expect(200)["status"], "connected");
        let third = key.delete(&format!("{by_id}?userId={}", cleo.id)).await;
        third.refused(403, "connection/unauthorized");
        key.delete(&format!("{by_id}?userId={}", bob.id)).await.expect(200);
    }
    // The user that a token names is ignored.
    ask(&ada, bob.id).await;
    let seen = cleo.get(&format!("/connections/pending/received?userId={}", bob.id)).await;
    assert_eq!(seen.expect(200)["data"], json!([]));
    let unclear = cleo.get(&format!("{}?actingUserId={}", path(bob.id), ada.id)).await;
    assert_eq!(unclear.expect(200), json!({ "status": "none" }));

    let without = app.project_with(&[Bundle::Moderation]).await;
    let user = user_of(&app, &without, "ada").await;
    let missing = user.post(&path(user.id), json!({})).await;
    let body = missing.refused(403, "database/tables-not-available");
    assert_eq!(body["missingTables"], json!(["Connections"]));
    // The lists of one's own need both bundles, everything else the one.
    let lone = app.project_with(&[Bundle::Connections]).await;
    let (one, other) = (user_of(&app, &lone, "one").await, user_of(&app, &lone, "two").await);
    for list in own {
        one.get(list).await.refused(403, "database/tables-not-available");
        user.get(list).await.refused(403, "database/tables-not-available");
    }
    let id = ask(&one, other.id).await;
    accept(&other, &id).await;
    let of_user = format!("/users/{}/connections", one.id);
    assert_eq!(other.get(&of_user).await.expect(200)["pagination"]["totalItems"], 1);
}

async fn a_suspended_user_changes_no_connection(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let id = ask(&bob, ada.id).await;
    app.suspend(ada.id).await;
    for refused in [
        ada.post(&path(cleo.id), json!({})).await,
        ada.patch(&format!("/connections/{id}/accept"), json!({})).await,
        ada.patch(&format!("/connections/{id}/decline"), json!({})).await,
        ada.delete(&format!("/connections/{id}")).await,
        ada.delete(&path(bob.id)).await,
        app.service().post(&path(cleo.id), json!({ "actingUserId": ada.id })).await,
    ] {
        refused.refused(403, "user/suspended");
    }
    ada.get("/connections/pending/received").await.expect(200);
    app.master().post(&path(cleo.id), json!({ "actingUserId": ada.id })).await.expect(201);
}

async fn both_hear_of_what_the_other_did(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let id = ask(&ada, bob.id).await;
    let names = [
        "connectionId",
        "initiatorAvatar",
        "initiatorForeignId",
        "initiatorId",
        "initiatorName",
        "initiatorUsername",
    ];
    let asked = told(&bob, "connection-request").await;
    assert_eq!((asked.len(), &asked[0]["action"]), (1, &json!("open-profile")));
    let metadata = &asked[0]["metadata"];
    assert_eq!(keys(metadata), names);
    assert_eq!((&metadata["connectionId"], &metadata["initiatorId"]), (&json!(id), &json!(ada.id)));
    accept(&bob, &id).await;
    let accepted = told(&ada, "connection-accepted").await;
    assert_eq!((accepted.len(), &accepted[0]["action"]), (1, &json!("open-profile")));
    let metadata = &accepted[0]["metadata"];
    assert_eq!(keys(metadata), names);
    assert_eq!((&metadata["connectionId"], &metadata["initiatorId"]), (&json!(id), &json!(bob.id)));
    // Nothing else is notified.
    ada.delete(&path(bob.id)).await.expect(200);
    ask(&ada, bob.id).await;
    ada.delete(&path(bob.id)).await.expect(200);
    let id = ask(&ada, bob.id).await;
    bob.patch(&format!("/connections/{id}/decline"), json!({})).await.expect(200);
    // Asking again says nothing new while the first request is unread.
    assert_eq!((total(&ada).await, total(&bob).await), (json!(1), json!(1)));
}

async fn removals_are_limited(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let limit = |reply: crate::support::Reply| {
        reply.header("x-ratelimit-limit").unwrap().parse::<u32>().unwrap()
    };
    let by_id = format!("/connections/{UNKNOWN}");
    for _ in 0..50 {
        ada.delete(&by_id).await.refused(404, "connection/not-found");
    }
    let over = ada.delete(&by_id).await;
    assert_eq!(over.status, 429, "{}", over.text());
    app.advance(Duration::from_secs(300));
    ada.delete(&by_id).await.refused(404, "connection/not-found");
    assert_eq!(limit(ada.delete(&path(bob.id)).await), 50);
    assert_eq!(limit(ada.post(&path(bob.id), json!({})).await), 50);
    assert_eq!(limit(ada.get(&path(bob.id)).await), 100);
    assert_eq!(limit(ada.patch(&format!("{by_id}/accept"), json!({})).await), 50);
    assert_eq!(limit(ada.get("/connections").await), 100);
}

async fn connections_go_with_either_user_and_counts_stay_exact(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    let (dan, eve) = (app.user().await, app.user().await);
    let id = ask(&ada, bob.id).await;
    accept(&bob, &id).await;
    ask(&ada, cleo.id).await;
    ask(&dan, ada.id).await;
    let declined = ask(&eve, ada.id).await;
    ada.patch(&format!("/connections/{declined}/decline"), json!({})).await.expect(200);
    app.service().delete(&format!("/users/{}", ada.id)).await.expect(204);
    for (user, list) in [
        (&bob, "/connections"),
        (&cleo, "/connections/pending/received"),
        (&dan, "/connections/pending/sent"),
    ] {
        let page = user.get(list).await.expect(200);
        assert_eq!(
            (&page["data"], &page["pagination"]["totalItems"]),
            (&json!([]), &json!(0)),
            "{list}"
        );
    }
    crate::relation_races::counts_agree(&app).await;
}
