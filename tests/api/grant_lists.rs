//! Lists of grants, for everybody and for the project's own backend.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::feed_plans::{run, scans, sorts};
use crate::grants::{GRANTS, give, mint};
use crate::notifications::UNKNOWN;
use crate::reactions::publish;
use crate::relation_plans::{Seen, explained};
use crate::spaces::create as space;
use crate::support::chat::{group, leave, send};
use crate::support::{Actor, Reply, TestApp, on_both_engines};

on_both_engines![
    grants_are_listed_newest_first,
    exactly_one_filter_is_needed,
    grants_for_messages_are_for_their_readers,
    users_are_shown_with_their_points,
    the_project_sees_the_whole_history,
    the_history_is_for_keys_alone,
    lists_of_grants_are_found_by_an_index,
];

fn amounts(list: &Value) -> Vec<i64> {
    list["data"].as_array().unwrap().iter().map(|one| one["amount"].as_i64().unwrap()).collect()
}

async fn grants_are_listed_newest_first(app: TestApp) {
    let (ada, bob, cleo) = (app.user().await, app.user().await, app.user().await);
    mint(&app, ada.id, 100, json!({})).await;
    let entity = publish(&bob).await;
    let id = crate::comments::id_of(&entity);
    let target = json!({ "targetType": "entity", "targetId": id });
    for (n, to) in [(1, &bob), (2, &bob), (3, &cleo)] {
        app.advance(Duration::from_secs(1));
        give(&ada, to.id, n, target.clone()).await.expect(201);
    }
    app.advance(Duration::from_secs(1));
    mint(&app, bob.id, -1, json!({})).await;
    let received = cleo.get(&format!("{GRANTS}?recipientId={}", bob.id)).await.expect(200);
    assert_eq!(amounts(&received), [2, 1], "what was taken is not shown");
    assert!(received.get("summary").is_none());
    let sent = cleo.get(&format!("{GRANTS}?senderId={}&limit=2", ada.id)).await.expect(200);
    assert_eq!(amounts(&sent), [3, 2]);
    let expected = json!({
        "page": 1, "pageSize": 2, "totalPages": 2, "totalItems": 3, "hasMore": true,
    });
    assert_eq!(sent["pagination"], expected);
    let about = format!("{GRANTS}?targetType=entity&targetId={id}");
    let given = ada.get(&about).await.expect(200);
    assert_eq!(amounts(&given), [3, 2, 1]);
    assert_eq!(given["summary"], json!({ "total": 6, "count": 3, "viewerTotal": 6 }));
    let by_key = app.service().get(&about).await.expect(200);
    assert_eq!(by_key["summary"]["viewerTotal"], 0);
    let nothing = ada.get(&format!("{GRANTS}?targetType=comment&targetId={id}")).await.expect(200);
    assert_eq!(nothing["summary"], json!({ "total": 0, "count": 0, "viewerTotal": 0 }));
    let stranger = app.stranger().await;
    let there = stranger.get(&about).await.expect(200);
    assert_eq!((amounts(&there).len(), &there["summary"]["total"]), (0, &json!(0)));
}

async fn exactly_one_filter_is_needed(app: TestApp) {
    let ada = app.user().await;
    app.anonymous().get(GRANTS).await.says(401, "Unauthorized");
    let id = ada.id;
    for (query, code) in [
        (String::new(), "missing-filter"),
        (format!("recipientId={id}&senderId={id}"), "invalid-filter"),
        (format!("recipientId={id}&targetType=entity&targetId={id}"), "invalid-filter"),
        ("targetType=entity".to_owned(), "invalid-filter"),
        (format!("targetId={id}"), "invalid-filter"),
        (format!("recipientId={id}&targetId={id}"), "invalid-filter"),
        ("recipientId=x".to_owned(), "invalid-query"),
        (format!("targetType=space&targetId={id}"), "invalid-query"),
        ("targetType=entity&targetId=x".to_owned(), "invalid-query"),
        (format!("recipientId={id}&page=0"), "invalid-query"),
        (format!("recipientId={id}&limit=0"), "invalid-query"),
        (format!("recipientId={id}&limit=101"), "invalid-query"),
        (format!("recipientId={id}&spaceReputationId=x"), "invalid-query"),
    ] {
        let reply = ada.get(&format!("{GRANTS}?{query}")).await;
        assert_eq!(reply.outcome(), format!("400 reputation-grant/{code}"), "{query}");
    }
    ada.get(&format!("{GRANTS}?recipientId={id}&limit=100")).await.expect(200);
}

async fn grants_for_messages_are_for_their_readers(app: TestApp) {
    let (ada, bob, cleo, dan) =
        (app.user().await, app.user().await, app.user().await, app.user().await);
    mint(&app, ada.id, 100, json!({})).await;
    let id = group(&ada, &[&bob, &cleo]).await;
    let message = send(&bob, &id, "hi").await;
    let target = json!({ "targetType": "chat-message", "targetId": message["id"] });
    give(&ada, bob.id, 5, target).await.expect(201);
    give(&ada, bob.id, 1, json!({})).await.expect(201);
    leave(&cleo, &id).await;
    let about =
        format!("{GRANTS}?targetType=chat-message&targetId={}", message["id"].as_str().unwrap());
    let received = format!("{GRANTS}?recipientId={}", bob.id);
    let sent = format!("{GRANTS}?senderId={}", ada.id);
    let key = app.service();
    let sees = async |actor: &Actor<'_>| {
        let mut seen = Vec::new();
        for (address, least) in [(&about, 0), (&received, 1), (&sent, 1)] {
            let list = actor.get(address).await.expect(200);
            let found = amounts(&list);
            assert_eq!(list["pagination"]["totalItems"], found.len());
            seen.push(found.len() - least);
            if address == &about {
                let total = if found.is_empty() { 0 } else { 5 };
                assert_eq!(list["summary"]["total"], total);
            }
        }
        seen
    };
    // Who has left was there.
    for actor in [&*ada, &*bob, &*cleo, &key] {
        assert_eq!(sees(actor).await, [1, 1, 1]);
    }
    assert_eq!(sees(&dan).await, [0, 0, 0]);
    let removed = ada.delete(&crate::support::chat::at(&id, &message)).await;
    assert!(removed.status < 300, "{}", removed.text());
    assert_eq!(sees(&bob).await, [0, 0, 0]);
    assert_eq!(sees(&key).await, [1, 1, 1]);
}

async fn users_are_shown_with_their_points(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let town = space(&ada, json!({})).await;
    mint(&app, ada.id, 10, json!({ "spaceId": town["id"] })).await;
    give(&ada, bob.id, 4, json!({ "spaceId": town["id"] })).await.expect(201);
    let plain = format!("{GRANTS}?senderId={}", ada.id);
    let list = ada.get(&plain).await.expect(200);
    assert!(list["data"][0].get("sender").is_none());
    let list =
        ada.get(&format!("{plain}&include=user&spaceReputationId=context")).await.expect(200);
    let one = &list["data"][0];
    assert_eq!((&one["sender"]["id"], &one["recipient"]["id"]), (&json!(ada.id), &json!(bob.id)));
    assert_eq!(
        (&one["sender"]["spaceReputation"], &one["recipient"]["spaceReputation"]),
        (&json!(6), &json!(4))
    );
}

/// The history of a user, with this key for the project that is named.
async fn history(actor: &Actor<'_>, user: &str, query: &str) -> Reply {
    let address = format!("/dashboard/users/{user}/reputation-grants{query}");
    actor.raw(Method::GET, &address, "", "").await
}

async fn the_project_sees_the_whole_history(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    app.advance(Duration::from_secs(1));
    give(&ada, bob.id, 4, json!({ "note": "n" })).await.expect(201);
    app.advance(Duration::from_secs(1));
    mint(&app, ada.id, -2, json!({})).await;
    let key = app.service().with_header("x-sublay-project-id", &app.project.id.to_string());
    let user = ada.id.to_string();
    for (query, expected) in [
        ("", vec![-2, 4, 10]),
        ("?direction=all", vec![-2, 4, 10]),
        ("?direction=received", vec![-2, 10]),
        ("?direction=sent", vec![4]),
        ("?limit=1&page=2", vec![4]),
    ] {
        let found = history(&key, &user, query).await.expect(200);
        let amounts: Vec<i64> = found["grants"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["amount"].as_i64().unwrap())
            .collect();
        assert_eq!(amounts, expected, "{query}");
        assert_eq!(
            found["totalCount"],
            if query.contains("direction=r") {
                2
            } else if query.contains("sent") {
                1
            } else {
                3
            }
        );
    }
    let found = history(&key, &user, "?direction=sent").await.expect(200);
    let one = &found["grants"][0];
    let person = |of: &Value| crate::support::keys(of).join(" ");
    assert_eq!(person(&one["sender"]), "avatar id name username");
    assert_eq!((&one["sender"]["id"], &one["recipient"]["id"]), (&json!(ada.id), &json!(bob.id)));
    let nobody = history(&key, UNKNOWN, "").await.expect(200);
    assert_eq!(nobody["totalCount"], 0);
    let master = app.master().with_header("x-sublay-internal", "true");
    let named = format!("?projectId={}", app.project.id);
    history(&master, &user, &named).await.expect(200);
    for wrong in ["?page=0", "?limit=101", "?direction=up"] {
        history(&key, &user, wrong).await.refused(400, "user/invalid-query");
    }
    history(&key, "x", "").await.refused(400, "user/invalid-params");
}

fn header<'a>(actor: &Actor<'a>, project: String) -> Actor<'a> {
    actor.with_header("X-Sublay-Project-ID", &project)
}

async fn the_history_is_for_keys_alone(app: TestApp) {
    let ada = app.user().await;
    let user = ada.id.to_string();
    let own = app.project.id.to_string();
    history(&header(&app.anonymous(), own.clone()), &user, "")
        .await
        .refused(401, "auth/unauthorized");
    history(&header(&ada, own.clone()), &user, "")
        .await
        .refused(403, "auth/elevated-auth-required");
    history(&header(&app.bearer("x"), own.clone()), &user, "")
        .await
        .refused(403, "auth/invalid-service-key");
    let other = header(&app.service(), app.other.id.to_string());
    history(&other, &user, "").await.refused(403, "auth/invalid-service-key");
    history(&app.service(), &user, "").await.refused(400, "project/invalid-project-id");
    let unknown = header(&app.service(), UNKNOWN.to_owned());
    history(&unknown, &user, "").await.refused(404, "project/not-found");
    let bare = app.project_with(&[Bundle::Entities]).await;
    let key = header(&app.bearer(&bare.service_key), bare.id.to_string());
    history(&key, &user, "").await.refused(403, "database/tables-not-available");
    // Guessing is limited, keys are not.
    let app = app.with_networks().await;
    let guess = header(&app.bearer("x"), app.project.id.to_string()).at_address("192.0.2.7");
    for _ in 0..25 {
        assert_eq!(history(&guess, UNKNOWN, "").await.status, 403);
    }
    assert_eq!(history(&guess, UNKNOWN, "").await.status, 429);
    let key = header(&app.service(), app.project.id.to_string()).at_address("192.0.2.7");
    history(&key, UNKNOWN, "").await.expect(200);
}

async fn lists_of_grants_are_found_by_an_index(app: TestApp) {
    let app = app.server_with_many_rows().await;
    let (ada, bob) = (app.user().await, app.user().await);
    mint(&app, ada.id, 10, json!({})).await;
    give(&ada, bob.id, 4, json!({})).await.expect(201);
    run(&app, "{analyze}".to_owned()).await;
    let mut statements = Seen::new();
    let own = app.project.id.to_string();
    let key = app.service().with_header("x-sublay-project-id", &own);
    for filter in ["recipientId", "senderId", "targetType=entity&targetId"] {
        let address = format!("{GRANTS}?{filter}={}", ada.id);
        for actor in [&*ada, &key] {
            let seen = app.statements.during(actor.get(&address)).await;
            statements.extend(seen.into_iter().map(|seen| (seen, address.clone())));
        }
    }
    for direction in ["all", "received", "sent"] {
        let query = format!("?direction={direction}");
        let seen = app.statements.during(history(&key, UNKNOWN, &query)).await;
        statements.extend(seen.into_iter().map(|seen| (seen, query.clone())));
    }
    statements.retain(|(name, _), _| {
        name.starts_with("grants::list::") || name.starts_with("grants::history")
    });
    assert!(statements.len() >= 12, "{statements:#?}");
    let engine = app.engine();
    for (name, text, address, mut plan) in explained(&app, statements).await {
        // The few rows of the two sides.
        plan.retain(|line| !["SCAN recipient_id", "SCAN sender_id"].contains(&line.trim()));
        assert!(!scans(&plan), "{address}: {name} {text}\n{}", plan.join("\n"));
        if name == "grants::list::page" {
            assert!(!sorts(engine, &plan), "{address}: {text}\n{}", plan.join("\n"));
        }
    }
}
