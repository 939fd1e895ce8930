//! The published rules of a space.

use serde_json::{Value, json};

use crate::notifications::UNKNOWN;
use crate::space_members::open_space;
use crate::spaces::path;
use crate::support::{Actor, TestApp, all_at_once, keys, on_both_engines};

on_both_engines![
    rules_are_written_changed_and_deleted,
    rules_are_put_in_order,
    rules_are_validated,
];

async fn titles(actor: &Actor<'_>, rules: &str) -> String {
    let listed = actor.get(rules).await.expect(200);
    let all = listed["data"].as_array().unwrap();
    assert_eq!(listed["count"], all.len());
    all.iter().map(|one| one["title"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

async fn rules_are_written_changed_and_deleted(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    let rules = format!("{}/rules", path(&space));
    let made =
        ada.post(&rules, json!({ "title": "Be kind", "description": "d" })).await.expect(201);
    let expected = json!({
        "id": made["id"], "projectId": space["projectId"], "spaceId": space["id"],
        "title": "Be kind", "description": "d", "order": 0, "lastApprovedBy": ada.id,
        "createdAt": app.now().to_string(), "updatedAt": app.now().to_string(),
    });
    assert_eq!(made, expected);
    let one = format!("{rules}/{}", made["id"].as_str().unwrap());
    assert_eq!(app.anonymous().get(&one).await.expect(200), expected);
    app.advance(std::time::Duration::from_secs(1));
    let changed = app.service().patch(&one, json!({ "description": null })).await.expect(200);
    assert_eq!((&changed["description"], &changed["lastApprovedBy"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&changed["title"], &changed["updatedAt"]),
        (&json!("Be kind"), &json!(app.now().to_string()))
    );
    let acting = json!({ "title": "Be nice", "actingUserId": ada.id });
    let changed = app.service().patch(&one, acting).await.expect(200);
    assert_eq!(
        (&changed["title"], &changed["lastApprovedBy"]),
        (&json!("Be nice"), &json!(ada.id))
    );
    let made = ada.post(&rules, json!({ "title": "Second" })).await.expect(201);
    assert_eq!(made["order"], 1);
    let deleted = ada.delete(&one).await.expect(200);
    assert_eq!(keys(&deleted), ["deletedRule", "message"]);
    assert_eq!(deleted["deletedRule"]["title"], "Be nice");
    ada.get(&one).await.refused(404, "rule/not-found");
    ada.patch(&one, json!({ "title": "x" })).await.refused(404, "rule/not-found");
    ada.delete(&one).await.refused(404, "rule/not-found");
    let left = ada.get(&rules).await.expect(200);
    assert_eq!((&left["count"], &left["data"][0]["order"]), (&json!(1), &json!(1)));
    let written =
        all_at_once((0..8).map(|n| ada.post(&rules, json!({ "title": format!("r{n}") })))).await;
    let mut orders: Vec<i64> =
        written.iter().map(|reply| reply.expect(201)["order"].as_i64().unwrap()).collect();
    orders.sort_unstable();
    assert_eq!(orders, (2..10).collect::<Vec<_>>(), "each has a place of its own");
}

async fn rules_are_put_in_order(app: TestApp) {
    let ada = app.user().await;
    let space = open_space(&ada).await;
    let rules = format!("{}/rules", path(&space));
    let mut ids = Vec::new();
    for title in ["a", "b", "c", "d"] {
        ids.push(ada.post(&rules, json!({ "title": title })).await.expect(201)["id"].take());
    }
    let reorder = format!("{rules}/reorder");
    let ordered = ada.patch(&reorder, json!({ "ruleIds": [ids[3], ids[1]] })).await.expect(200);
    let order = |all: &Value| -> Value {
        all.as_array().unwrap().iter().map(|one| json!([one["title"], one["order"]])).collect()
    };
    assert_eq!(order(&ordered), json!([["d", 0], ["b", 1], ["a", 2], ["c", 3]]));
    assert_eq!(titles(&app.anonymous(), &rules).await, "d b a c");
    let other = open_space(&ada).await;
    let foreign =
        ada.post(&format!("{}/rules", path(&other)), json!({ "title": "x" })).await.expect(201);
    let wrong = json!({ "ruleIds": [ids[0], foreign["id"], UNKNOWN] });
    let refused = ada.patch(&reorder, wrong).await.refused(400, "rule/invalid-ids");
    assert_eq!(refused["missingIds"], json!([foreign["id"], UNKNOWN]));
    for wrong in [
        json!({}),
        json!({ "ruleIds": [] }),
        json!({ "ruleIds": "x" }),
        json!({ "ruleIds": [ids[0], ids[0]] }),
        json!({ "ruleIds": ["x"] }),
    ] {
        ada.patch(&reorder, wrong).await.refused(400, "rule/invalid-body");
    }
    assert_eq!(titles(&ada, &rules).await, "d b a c");
}

async fn rules_are_validated(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let space = open_space(&ada).await;
    let rules = format!("{}/rules", path(&space));
    for wrong in [
        json!({}),
        json!({ "title": "" }),
        json!({ "title": "x".repeat(201) }),
        json!({ "title": null }),
        json!({ "title": "t", "description": "x".repeat(2001) }),
    ] {
        ada.post(&rules, wrong).await.refused(400, "rule/invalid-body");
    }
    let made = ada.post(&rules, json!({ "title": "x".repeat(200) })).await.expect(201);
    let one = format!("{rules}/{}", made["id"].as_str().unwrap());
    for wrong in [json!({}), json!({ "title": "" }), json!({ "order": 1 })] {
        ada.patch(&one, wrong).await.refused(400, "rule/invalid-body");
    }
    for (method, body) in [("post", json!({ "title": "t" })), ("patch", json!({ "title": "t" }))] {
        let refused = match method {
            "post" => bob.post(&rules, body).await,
            _ => bob.patch(&one, body).await,
        };
        refused.refused(403, "space/admin-required");
    }
    bob.delete(&one).await.refused(403, "space/admin-required");
    assert_eq!(app.anonymous().delete(&one).await.status, 401);
    ada.get(&format!("{rules}/x")).await.refused(400, "rule/invalid-params");
    ada.get("/spaces/x/rules").await.refused(400, "rule/invalid-params");
    ada.get(&format!("/spaces/{UNKNOWN}/rules")).await.refused(404, "space/not-found");
    let other = open_space(&ada).await;
    let elsewhere = format!("{}/rules/{}", path(&other), made["id"].as_str().unwrap());
    ada.get(&elsewhere).await.refused(404, "rule/not-found");
    app.stranger().await.get(&rules).await.refused(404, "space/not-found");
}
