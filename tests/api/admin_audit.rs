//! The audit log: what keys and operators change is in it, and what is in it stays as it is.

use std::time::Duration;

use db::{Command, args};
use serde_json::json;
use townhall::audit::store::{Filter, list};
use townhall::audit::{Entry, INSTALLATION, seal, verify_all};
use townhall::auth::operators::Role;
use townhall::values::ids::ProjectId;

use crate::support::visitor::Visitor;
use crate::support::{TestApp, on_both_engines};

on_both_engines![
    a_write_by_a_key_is_logged_without_its_texts,
    reads_and_refused_writes_are_not_logged,
    users_are_not_logged,
    what_an_operator_does_is_logged_with_before_and_after,
    a_changed_or_missing_entry_is_found,
    a_seal_waits_for_slow_transactions,
    the_log_is_shown_filtered_and_as_csv,
    a_key_is_limited_to_areas_and_to_a_date,
];

async fn entries(app: &TestApp, project: ProjectId) -> Vec<Entry> {
    let filter = Filter::default();
    app.app.db.read(move |c| list(c, project, &filter, 1000)).await.unwrap()
}

async fn a_write_by_a_key_is_logged_without_its_texts(app: TestApp) {
    let user = app.user().await;
    let body =
        json!({ "userId": user.id, "title": "A secret thought", "content": "Not for the log" });
    let entity = app.service().post("/entities", body).await.expect(201);
    let logged = entries(&app, app.project.id).await;
    let [entry] = &logged[..] else { panic!("{logged:?}") };
    assert_eq!(
        (&*entry.actor_kind, &*entry.actor_name, &*entry.action),
        ("key", "service key", "Create Entity")
    );
    assert_eq!(entry.client.as_deref(), Some("127.0.0.1"));
    let fields = entry.new_state.as_deref().unwrap();
    assert_eq!(fields, r#"{"fields":["content","title","userId"]}"#);
    app.advance(Duration::from_secs(1));
    app.master().delete(&format!("/entities/{}", entity["id"].as_str().unwrap())).await.expect(204);
    let logged = entries(&app, app.project.id).await;
    assert_eq!((&*logged[0].action, &*logged[0].actor_name), ("Delete Entity", "master key"));
    assert!(logged[0].target.contains(entity["id"].as_str().unwrap()));
}

async fn reads_and_refused_writes_are_not_logged(app: TestApp) {
    app.service().get("/entities").await.expect(200);
    app.service().post("/entities", json!({ "title": 5 })).await.expect(400);
    app.service().delete("/entities/00000000-0000-4000-8000-000000000001").await.expect(404);
    assert!(entries(&app, app.project.id).await.is_empty());
}

async fn users_are_not_logged(app: TestApp) {
    let user = app.user().await;
    user.post("/entities", json!({ "title": "Mine" })).await.expect(201);
    assert!(entries(&app, app.project.id).await.is_empty());
}

async fn what_an_operator_does_is_logged_with_before_and_after(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let path = format!("/admin/p/{}/settings", app.project.id);
    let origins = [("do", "origins"), ("origins", "https://app.example")];
    assert_eq!(admin.submit(&path, &origins).await.status, 303);
    let user = app.user().await;
    let page = format!("/admin/p/{}/users/{}", app.project.id, user.id);
    let suspend = [("do", "suspend"), ("term", "7"), ("reason", "Spam")];
    assert_eq!(admin.submit(&page, &suspend).await.status, 303);
    user.post("/entities", json!({ "title": "More" })).await.expect(403);

    let logged = entries(&app, app.project.id).await;
    let [suspended, changed] = &logged[..] else { panic!("{logged:?}") };
    assert_eq!((&*changed.action, &*changed.actor_name), ("Change Origins", &*admin.email));
    assert_eq!(changed.old_state.as_deref(), Some("[]"));
    assert_eq!(changed.new_state.as_deref(), Some(r#"["https://app.example"]"#));
    assert_eq!((&*suspended.action, &*suspended.target), ("Suspend User", &*user.id.to_string()));
    // Signing in is of the installation, not of a project.
    let own = entries(&app, INSTALLATION).await;
    assert!(
        own.iter()
            .any(|entry| entry.action == "Accept Invitation" && entry.actor_name == admin.email)
    );
}

/// Everything that has settled is sealed.
async fn seal_all(app: &TestApp) {
    let now = app.now();
    app.app.db.write(move |tx| seal(tx, now, 10_000)).await.unwrap();
}

async fn problems(app: &TestApp) -> Vec<String> {
    let found = app.app.db.read(verify_all).await.unwrap();
    found.into_iter().map(|(_, finding)| finding.text).collect()
}

async fn a_changed_or_missing_entry_is_found(app: TestApp) {
    let app = app.own_server().await;
    for n in 0..3 {
        for _ in 0..4 {
            app.service().post("/entities", json!({ "title": format!("{n}") })).await.expect(201);
        }
        app.advance(Duration::from_secs(61));
        seal_all(&app).await;
    }
    assert!(problems(&app).await.is_empty());
    let logged = entries(&app, app.project.id).await;
    assert_eq!(logged.len(), 12);
    let (project, id) = (app.project.id, logged[5].id);
    let change = |sql: &'static str| {
        let command = Command::<()>::built("test::change", sql.to_owned());
        app.app.db.write(move |tx| tx.execute(&command, args![project, id]).map(drop))
    };
    change("UPDATE audit_log SET actor_name = 'somebody else' WHERE project_id = $1 AND id = $2")
        .await
        .unwrap();
    // Later seals build on the hash of the one that no longer fits, so they still hold.
    assert_eq!(problems(&app).await, ["an entry was changed"]);
    change("UPDATE audit_log SET actor_name = 'service key' WHERE project_id = $1 AND id = $2")
        .await
        .unwrap();
    assert!(problems(&app).await.is_empty());
    change("DELETE FROM audit_log WHERE project_id = $1 AND id = $2").await.unwrap();
    assert_eq!(problems(&app).await, ["1 entries are missing"]);
    change("DELETE FROM audit_log WHERE project_id = $1 OR id = $2").await.unwrap();
    assert_eq!(problems(&app).await, ["4 entries are missing"; 3]);
}

async fn a_seal_waits_for_slow_transactions(app: TestApp) {
    let app = app.own_server().await;
    app.service().post("/entities", json!({ "title": "One" })).await.expect(201);
    app.advance(Duration::from_secs(59));
    seal_all(&app).await;
    assert_eq!(app.rows("audit_seals").await, 0);
    app.advance(Duration::from_secs(2));
    tokio::join!(seal_all(&app), seal_all(&app));
    assert_eq!(app.rows("audit_seals").await, 1);
    assert!(problems(&app).await.is_empty());
}

async fn the_log_is_shown_filtered_and_as_csv(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    app.service().post("/entities", json!({ "title": "One" })).await.expect(201);
    app.advance(Duration::from_secs(1));
    app.master().post("/entities", json!({ "title": "Two" })).await.expect(201);
    let path = format!("/admin/p/{}/audit", app.project.id);
    let page = admin.get(&path).await.text();
    assert_eq!(page.matches("<td>Create Entity</td>").count(), 2, "{page}");
    let page = admin.get(&format!("{path}?actor=service+key")).await.text();
    assert_eq!(page.matches("<td>Create Entity</td>").count(), 1);
    let csv = admin.get(&format!("{path}?format=csv")).await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let text = csv.text();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().nth(1).unwrap().contains("\"master key\""), "{text}");
}

async fn a_key_is_limited_to_areas_and_to_a_date(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let path = format!("/admin/p/{}/keys", app.project.id);
    let wrong = [("do", "create"), ("kind", "service"), ("scopes", "entities:delete")];
    assert_eq!(admin.submit(&path, &wrong).await.status, 400);
    let fields = [
        ("do", "create"),
        ("kind", "service"),
        ("label", "feed"),
        ("scopes", "entities:write users:read"),
        ("days", "30"),
    ];
    let page = admin.submit(&path, &fields).await.text();
    let (_, rest) = page.split_once("readonly value=\"").unwrap();
    let key = app.bearer(rest.split('"').next().unwrap());

    key.get("/users/suggestions?query=a").await.expect(200);
    key.get("/entities").await.expect(200);
    let user = app.user().await;
    let entity = key.post("/entities", json!({ "title": "Mine" })).await.expect(201);
    let id = entity["id"].as_str().unwrap();
    key.patch(&format!("/users/{}", user.id), json!({ "name": "x" }))
        .await
        .refused(403, "auth/key-scope");
    key.get(&format!("/comments?entityId={id}")).await.refused(403, "auth/key-scope");
    key.get("/reports").await.refused(403, "auth/key-scope");
    let page = admin.get(&path).await.text();
    assert!(page.contains("entities:write users:read") && page.contains("feed"), "{page}");

    app.advance(Duration::from_secs(30 * 86_400));
    key.post("/entities", json!({ "title": "Late" })).await.expect(403);
    key.get("/reports").await.expect(403);
}
