//! Reporting content: one open report for each target, however many users report it and however often.

use std::time::Duration;

use serde_json::{Value, json};
use townhall::tenancy::Bundle;

use crate::comments::{UNKNOWN, comment, id_of};
use crate::reactions::{publish, user_of};

use crate::support::{Actor, TestApp, all_at_once, on_both_engines};

on_both_engines![
    a_target_has_one_open_report,
    a_resolved_target_is_reported_anew,
    users_cannot_report_their_own_content,
    invalid_reports_are_refused,
    version_6_names_targets_in_either_way,
    hidden_content_cannot_be_reported,
    a_key_reports_for_a_user,
    the_twenty_sixth_report_is_one_too_many,
    many_reports_of_one_user_are_one,
    many_first_reports_make_one,
    only_keys_list_reports,
    reports_are_filtered_sorted_and_paged,
    a_report_shows_its_target_whatever_became_of_it,
    who_moderates_nothing_sees_no_reports,
    a_deleted_user_takes_their_reports_along,
    without_the_bundle_there_are_no_reports,
];

fn against(kind: &str, id: &Value) -> Value {
    json!({ "targetType": kind, "targetId": id, "reason": "spam" })
}

/// Reports an entity by its path; the code of the reply.
pub(crate) async fn report(actor: &Actor<'_>, entity: &str) -> String {
    let reply = actor.post("/reports", against("entity", &json!(id_of(entity)))).await;
    let code = reply.json()["code"].as_str().unwrap().to_owned();
    let expected = if code == "report/created" { 201 } else { 200 };
    assert_eq!(reply.status, expected, "{}", reply.text());
    code
}

/// All reports, newest first.
pub(crate) async fn reports(app: &TestApp, query: &str) -> Vec<Value> {
    let page = app.service().get(&format!("/reports?{query}")).await.expect(200);
    page["data"].as_array().unwrap().clone()
}

async fn a_target_has_one_open_report(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let body = json!({
        "targetType": "entity", "targetId": id_of(&entity), "reason": "other", "details": "Why not",
    });
    let created = bob.post("/reports", body).await.expect(201);
    assert_eq!(created["code"], "report/created");
    assert!(created["message"].is_string());
    app.advance(Duration::from_secs(1));
    assert_eq!(report(&bob, &entity).await, "report/already-reported");
    assert_eq!(report(&eve, &entity).await, "report/updated");
    assert_eq!(report(&eve, &entity).await, "report/already-reported");

    let all = reports(&app, "").await;
    let [found] = &all[..] else { panic!("{all:?}") };
    assert_eq!(found["reporterCount"], 2);
    assert_eq!((&found["status"], &found["actionTaken"]), (&json!("open"), &Value::Null));
    assert_eq!((&found["spaceId"], &found["space"]), (&Value::Null, &Value::Null));
    let by: Vec<_> = found["userReports"].as_array().unwrap().iter().collect();
    assert_eq!(by.len(), 2);
    assert_eq!((&by[0]["userId"], &by[0]["reason"]), (&json!(bob.id), &json!("other")));
    assert_eq!((&by[0]["details"], &by[1]["details"]), (&json!("Why not"), &Value::Null));
    assert_eq!(by[1]["userId"], json!(eve.id));
    assert_eq!(found["target"]["user"]["id"], json!(ada.id));
    let single = app.service().get(&format!("/reports/{}", found["id"].as_str().unwrap())).await;
    assert_eq!(single.expect(200), *found);
    // The reported user is not notified.
    assert_eq!(ada.get("/app-notifications/count").await.expect(200), 0);
}

async fn a_resolved_target_is_reported_anew(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    assert_eq!(report(&bob, &entity).await, "report/created");
    let first = reports(&app, "").await.remove(0);
    let path = format!("/reports/{}", first["id"].as_str().unwrap());
    for actions in [json!(["dismiss"]), json!(["remove-content"])] {
        let open = reports(&app, "status=open").await.remove(0);
        let path = format!("/reports/{}", open["id"].as_str().unwrap());
        app.advance(Duration::from_secs(1));
        let handled = json!({ "actions": actions, "summary": "Seen" });
        app.service().patch(&path, handled).await.expect(200);
        assert_eq!(report(&bob, &entity).await, "report/created");
        app.advance(Duration::from_secs(1));
    }
    let all = reports(&app, "sortBy=old").await;
    let states: Vec<_> = all.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert_eq!(states, ["dismissed", "actioned", "open"]);
    assert_eq!(app.service().get(&path).await.expect(200)["status"], "dismissed");
}

async fn users_cannot_report_their_own_content(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&bob, &entity, "x").await;
    let own = ada.post("/reports", against("entity", &json!(id_of(&entity)))).await;
    assert!(own.refused(400, "report/self-report")["error"].as_str().unwrap().contains("entity"));
    let own = bob.post("/reports", against("comment", &said["id"])).await;
    assert!(own.refused(400, "report/self-report")["error"].as_str().unwrap().contains("comment"));
    ada.post("/reports", against("comment", &said["id"])).await.expect(201);
    assert_eq!(reports(&app, "").await.len(), 1);
}

async fn invalid_reports_are_refused(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let id = id_of(&entity);
    for wrong in [
        json!({}),
        json!({ "targetType": "entity", "targetId": id }),
        json!({ "targetType": "Entity", "targetId": id, "reason": "spam" }),
        json!({ "targetType": "user", "targetId": id, "reason": "spam" }),
        json!({ "targetType": "entity", "targetId": "x", "reason": "spam" }),
        json!({ "targetType": "entity", "targetId": id, "reason": "other2" }),
        json!({ "targetType": "entity", "targetId": id, "reason": "spam", "details": 1 }),
        json!({ "targetType": "entity", "targetId": id, "reason": "spam", "details": "x".repeat(10_001) }),
    ] {
        bob.post("/reports", wrong).await.refused(400, "report/invalid-body");
    }
    app.anonymous().post("/reports", against("entity", &json!(id))).await.expect(401);
    let blank = json!({ "targetType": "entity", "targetId": id, "reason": "spam", "details": "" });
    bob.post("/reports", blank).await.expect(201);
    assert_eq!(reports(&app, "").await[0]["userReports"][0]["details"], Value::Null);
}

async fn version_6_names_targets_in_either_way(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let older = |address: String, body: Value| {
        let bob = &bob;
        async move { bob.raw(http::Method::POST, &address, "application/json", body.to_string()).await }
    };
    for (prefix, code) in [("/v6", "report/invalid-body"), ("/api/v6", "report/invalid-type")] {
        let address = format!("{prefix}/{}/reports", app.project.id);
        for (entity_name, comment_name) in [("Entity", "Comment"), ("entity", "comment")] {
            let entity = publish(&ada).await;
            let said = comment(&ada, &entity, "x").await;
            let body = against(entity_name, &json!(id_of(&entity)));
            older(address.clone(), body).await.expect(201);
            older(address.clone(), against(comment_name, &said["id"])).await.expect(201);
        }
        let entity = json!(id_of(&publish(&ada).await));
        for wrong in ["ENTITY", "Message", "User"] {
            let refused = older(address.clone(), against(wrong, &entity)).await;
            assert_eq!(refused.outcome(), format!("400 {code}"), "{prefix} {wrong}");
        }
    }
    assert_eq!(reports(&app, "targetType=entity").await.len(), 4);
    let entity = json!(id_of(&publish(&ada).await));
    for actor in [bob.v7(), (*bob).clone()] {
        actor
            .post("/reports", against("Entity", &entity))
            .await
            .refused(400, "report/invalid-body");
    }
}

async fn hidden_content_cannot_be_reported(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let draft = ada.post("/entities", json!({ "title": "D", "isDraft": true })).await.expect(201);
    let entity = publish(&ada).await;
    let (hidden, emptied) = (comment(&ada, &entity, "x").await, comment(&ada, &entity, "y").await);
    ada.v6().delete(&format!("/comments/{}", hidden["id"].as_str().unwrap())).await.expect(204);
    ada.delete(&format!("/comments/{}", emptied["id"].as_str().unwrap())).await.expect(204);
    let stranger = app.stranger().await;
    for (actor, kind, id) in [
        (&*bob, "entity", &draft["id"]),
        (&*bob, "entity", &json!(UNKNOWN)),
        (&*bob, "comment", &hidden["id"]),
        (&*bob, "comment", &emptied["id"]),
        (&*bob, "comment", &json!(id_of(&entity))),
        (&*bob, "message", &json!(UNKNOWN)),
        (&*stranger, "entity", &json!(id_of(&entity))),
    ] {
        let refused = actor.post("/reports", against(kind, id)).await;
        let body = refused.refused(404, "report/target-not-found");
        assert_eq!(body["error"], format!("{kind} not found"));
    }
    assert_eq!(reports(&app, "").await.len(), 0);
}

async fn a_key_reports_for_a_user(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let mut body = against("entity", &json!(id_of(&entity)));
    app.service().post("/reports", body.clone()).await.refused(400, "report/missing-user-id");
    body["userId"] = json!(UNKNOWN);
    app.service().post("/reports", body.clone()).await.refused(404, "user/not-found");
    body["userId"] = json!(bob.id);
    app.service().post("/reports", body).await.expect(201);
    assert_eq!(report(&bob, &entity).await, "report/already-reported");
}

async fn the_twenty_sixth_report_is_one_too_many(app: TestApp) {
    let app = app.restart_with(|config| config.set("TOWNHALL_RATE_LIMITS", "on")).await;
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    for _ in 0..25 {
        report(&bob, &entity).await;
    }
    let refused = bob.post("/reports", against("entity", &json!(id_of(&entity)))).await;
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
}

async fn many_reports_of_one_user_are_one(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let mut codes = all_at_once((0..32).map(|_| report(&bob, &entity))).await;
    codes.sort();
    assert_eq!(codes.iter().filter(|code| *code == "report/created").count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "report/already-reported").count(), 31);
    let all = reports(&app, "").await;
    assert_eq!((all.len(), &all[0]["reporterCount"]), (1, &json!(1)));
}

async fn many_first_reports_make_one(app: TestApp) {
    let ada = app.user().await;
    let entity = publish(&ada).await;
    let mut users = Vec::new();
    for _ in 0..32 {
        users.push(app.user().await);
    }
    let codes = all_at_once(users.iter().map(|user| report(user, &entity))).await;
    assert_eq!(codes.iter().filter(|code| *code == "report/created").count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| *code == "report/updated").count(), 31, "{codes:?}");
    let all = reports(&app, "").await;
    assert_eq!((all.len(), &all[0]["reporterCount"]), (1, &json!(32)));
    assert_eq!(all[0]["userReports"].as_array().unwrap().len(), 32);
}

async fn only_keys_list_reports(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    report(&bob, &publish(&ada).await).await;
    let path = format!("/reports/{}", reports(&app, "").await[0]["id"].as_str().unwrap());
    for address in ["/reports", &path] {
        bob.get(address).await.refused(403, "auth/elevated-auth-required");
        app.anonymous().get(address).await.expect(401);
        app.master().get(address).await.expect(200);
    }
    bob.patch(&path, json!({})).await.refused(403, "auth/elevated-auth-required");
    let key = app.service();
    key.get(&format!("/reports/{UNKNOWN}")).await.refused(404, "report/not-found");
    key.get("/reports/x").await.refused(400, "report/invalid-params");
    // A key of another project finds none of it.
    let elsewhere = app.bearer(&app.other.service_key).in_project(app.other.id);
    assert_eq!(elsewhere.get("/reports").await.expect(200)["pagination"]["totalItems"], 0);
    elsewhere.get(&path).await.refused(404, "report/not-found");
    let dismiss = json!({ "actions": ["dismiss"], "summary": "x" });
    elsewhere.patch(&path, dismiss).await.refused(404, "report/not-found");
    for wrong in ["status=closed", "targetType=user", "sortBy=top", "spaceId=x", "page=0"] {
        key.get(&format!("/reports?{wrong}")).await.refused(400, "report/invalid-query");
    }
}

async fn reports_are_filtered_sorted_and_paged(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let mut ids = Vec::new();
    for n in 0..5 {
        app.advance(Duration::from_secs(1));
        let entity = publish(&ada).await;
        if n == 4 {
            let said = comment(&ada, &entity, "x").await;
            bob.post("/reports", against("comment", &said["id"])).await.expect(201);
            ids.push(said["id"].clone());
        } else {
            report(&bob, &entity).await;
            ids.push(json!(id_of(&entity)));
        }
    }
    let first = reports(&app, "sortBy=old").await.remove(0);
    let handled = json!({ "actions": ["dismiss"], "summary": "Fine" });
    let path = format!("/reports/{}", first["id"].as_str().unwrap());
    app.service().patch(&path, handled).await.expect(200);
    let targets = async |query: &str| {
        let found = reports(&app, query).await;
        let at =
            |one: &Value| ids.iter().position(|id| *id == one["targetId"]).unwrap().to_string();
        found.iter().map(at).collect::<Vec<_>>().join(" ")
    };
    for (query, expected) in [
        ("", "4 3 2 1 0"),
        ("sortBy=old", "0 1 2 3 4"),
        ("status=open", "4 3 2 1"),
        ("status=pending", "4 3 2 1"),
        ("status=dismissed", "0"),
        ("status=actioned", ""),
        ("status=on-hold", ""),
        ("targetType=comment", "4"),
        ("targetType=entity&status=open", "3 2 1"),
        ("spaceId=none", "4 3 2 1 0"),
        ("page=2&limit=2", "2 1"),
    ] {
        assert_eq!(targets(query).await, expected, "{query}");
    }
    let of_target = format!("targetId={}", ids[2].as_str().unwrap());
    assert_eq!(targets(&of_target).await, "2");
    assert_eq!(targets(&format!("spaceId={UNKNOWN}")).await, "");
    let page = app.service().get("/reports?limit=2&status=open").await.expect(200);
    let expected = json!({
        "page": 1, "pageSize": 2, "totalPages": 2, "totalItems": 4, "hasMore": true,
    });
    assert_eq!(page["pagination"], expected);
}

async fn a_report_shows_its_target_whatever_became_of_it(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    let entity = publish(&ada).await;
    let said = comment(&ada, &entity, "Bad words").await;
    bob.post("/reports", against("comment", &said["id"])).await.expect(201);
    let target = async || reports(&app, "").await[0]["target"].clone();
    assert_eq!(target().await["content"], "Bad words");
    ada.v6().delete(&format!("/comments/{}", said["id"].as_str().unwrap())).await.expect(204);
    let shown = target().await;
    assert_eq!((&shown["content"], &shown["userId"]), (&json!("Bad words"), &json!(ada.id)));
    assert_eq!(shown["deletedAt"], json!(app.now()));
    ada.delete(&entity).await.expect(204);
    app.run_jobs().await;
    assert_eq!(target().await, Value::Null);
}

async fn who_moderates_nothing_sees_no_reports(app: TestApp) {
    let (ada, bob) = (app.user().await, app.user().await);
    report(&bob, &publish(&ada).await).await;
    let page = bob.get("/reports/moderated").await.expect(200);
    assert_eq!(page["pagination"]["totalItems"], 0);
    bob.get(&format!("/reports/moderated?spaceId={UNKNOWN}"))
        .await
        .refused(403, "report/forbidden");
    bob.get("/reports/moderated?sortBy=top").await.refused(400, "report/invalid-query");
    app.service().get("/reports/moderated").await.refused(400, "report/missing-user-id");
    app.anonymous().get("/reports/moderated").await.expect(401);
}

async fn a_deleted_user_takes_their_reports_along(app: TestApp) {
    let (ada, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let (both, only) = (publish(&ada).await, publish(&ada).await);
    report(&bob, &both).await;
    report(&eve, &both).await;
    report(&eve, &only).await;
    app.service().delete(&format!("/users/{}", eve.id)).await.expect(204);
    let all = reports(&app, "").await;
    let [left] = &all[..] else { panic!("{all:?}") };
    assert_eq!((&left["targetId"], &left["reporterCount"]), (&json!(id_of(&both)), &json!(1)));
    assert_eq!(left["userReports"].as_array().unwrap().len(), 1);
}

async fn without_the_bundle_there_are_no_reports(app: TestApp) {
    let project = app.project_with(&[Bundle::Entities]).await;
    let bob = user_of(&app, &project, "bob").await;
    let refused = bob.post("/reports", against("entity", &json!(UNKNOWN))).await;
    refused.refused(403, "database/tables-not-available");
}
