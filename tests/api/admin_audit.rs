//! The audit log: what keys and operators change is in it, and what is in it stays as it is.

use std::time::Duration;

use db::{Command, args};
use serde_json::json;
use townhall::audit::store::{Filter, list};
use townhall::audit::{Entry, INSTALLATION, seal, verify_all};
use townhall::auth::operators::Role;
use townhall::jobs;
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
    old_entries_are_dropped_and_the_rest_is_proved,
    what_is_missing_after_a_cut_is_found,
    a_log_that_was_changed_is_not_cut,
    the_log_is_kept_for_ever_by_default,
    operators_check_the_log,
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

const DAY: Duration = Duration::from_secs(86_400);

/// A server that keeps the log for ten days; it has written three entries a day for that many days, all sealed.
async fn logged_for_days(app: TestApp, days: u32) -> TestApp {
    let app = app.restart_with(|config| config.set("TOWNHALL_AUDIT_KEEP", "10d")).await;
    for day in 0..days {
        for _ in 0..3 {
            app.service().post("/entities", json!({ "title": format!("{day}") })).await.expect(201);
            app.advance(Duration::from_secs(61));
            seal_all(&app).await;
        }
        app.advance(DAY - Duration::from_secs(183));
    }
    app
}

async fn cut(app: &TestApp) {
    jobs::drop_old(&app.app).await.unwrap();
}

/// Runs a statement whose first parameter is the project.
async fn tamper(app: &TestApp, sql: &str) {
    let (project, command) = (app.project.id, Command::<()>::built("test::tamper", sql.to_owned()));
    let changed = app.app.db.write(move |tx| tx.execute(&command, args![project]));
    assert!(changed.await.unwrap_or_else(|error: db::Error| panic!("{error}")) > 0, "{sql}");
}

async fn old_entries_are_dropped_and_the_rest_is_proved(app: TestApp) {
    let app = logged_for_days(app, 15).await;
    cut(&app).await;
    let oldest = |entries: &[Entry]| entries.last().unwrap().at;
    let logged = entries(&app, app.project.id).await;
    let (kept, cuts): (Vec<_>, Vec<_>) =
        logged.iter().partition(|entry| entry.action == "Create Entity");
    assert!(oldest(&logged) < app.now().minus(DAY * 9), "nothing is dropped too early");
    assert!(oldest(&logged) >= app.now().minus(DAY * 11), "{}", oldest(&logged));
    assert!(kept.len() >= 27 && kept.len() <= 33, "{}", kept.len());
    let [said] = &cuts[..] else { panic!("{cuts:?}") };
    assert_eq!((&*said.action, &*said.actor_kind), ("Cut Audit Log", "server"));
    assert!(problems(&app).await.is_empty());
    // Once a day is enough.
    cut(&app).await;
    assert_eq!(entries(&app, app.project.id).await.len(), logged.len());
    // So does the log that goes on.
    app.advance(DAY);
    seal_all(&app).await;
    cut(&app).await;
    assert_eq!(entries(&app, app.project.id).await.len(), logged.len() - 2);
    assert!(problems(&app).await.is_empty());
    // Everything that was, has been dropped; what says so is left.
    app.advance(DAY * 30);
    cut(&app).await;
    let left = entries(&app, app.project.id).await;
    assert!(left.iter().all(|entry| entry.action == "Cut Audit Log"), "{left:?}");
    assert_eq!(app.rows_of(app.project.id, "audit_seals").await, 1);
    assert!(problems(&app).await.is_empty());
    app.service().post("/entities", json!({ "title": "More" })).await.expect(201);
    app.advance(Duration::from_secs(61));
    seal_all(&app).await;
    assert!(problems(&app).await.is_empty());
}

async fn what_is_missing_after_a_cut_is_found(app: TestApp) {
    let app = logged_for_days(app, 12).await;
    cut(&app).await;
    app.advance(Duration::from_secs(61));
    seal_all(&app).await;
    assert!(problems(&app).await.is_empty());
    tamper(
        &app,
        "DELETE FROM audit_log WHERE project_id = $1 AND id =
            (SELECT id FROM audit_log WHERE project_id = $1 ORDER BY id LIMIT 1)",
    )
    .await;
    assert_eq!(problems(&app).await, ["1 entries are missing"]);
    // Without the seal as well.
    tamper(
        &app,
        "DELETE FROM audit_seals WHERE project_id = $1 AND position =
            (SELECT min(position) + 1 FROM audit_seals WHERE project_id = $1)",
    )
    .await;
    assert_eq!(problems(&app).await, ["1 seals are missing"]);
    // And when the beginning is moved, too: the log says up to when it was cut.
    tamper(&app, "DELETE FROM audit_seals WHERE project_id = $1 AND cut_before IS NOT NULL").await;
    assert!(problems(&app).await[0].ends_with("seals are missing"));
    tamper(
        &app,
        "UPDATE audit_seals SET cut_before = sealed_at WHERE project_id = $1 AND position =
            (SELECT min(position) FROM audit_seals WHERE project_id = $1)",
    )
    .await;
    assert!(problems(&app).await[0].ends_with("entries were added before the cut"));
    tamper(
        &app,
        "DELETE FROM audit_log WHERE project_id = $1 AND id <= (SELECT last_id FROM audit_seals
            WHERE project_id = $1 ORDER BY position LIMIT 1)",
    )
    .await;
    assert_eq!(problems(&app).await, ["the log was cut, and does not say so"]);
}

async fn a_log_that_was_changed_is_not_cut(app: TestApp) {
    let app = logged_for_days(app, 15).await;
    let before = entries(&app, app.project.id).await.len();
    tamper(
        &app,
        "UPDATE audit_log SET actor_name = 'somebody else' WHERE project_id = $1 AND id =
            (SELECT id FROM audit_log WHERE project_id = $1 ORDER BY id LIMIT 1)",
    )
    .await;
    cut(&app).await;
    assert_eq!(entries(&app, app.project.id).await.len(), before);
    assert_eq!(problems(&app).await, ["an entry was changed"]);
}

async fn the_log_is_kept_for_ever_by_default(app: TestApp) {
    let app = app.own_server().await;
    app.service().post("/entities", json!({ "title": "One" })).await.expect(201);
    app.advance(Duration::from_secs(61));
    seal_all(&app).await;
    app.advance(DAY * 10_000);
    cut(&app).await;
    assert_eq!(entries(&app, app.project.id).await.len(), 1);
}

async fn operators_check_the_log(app: TestApp) {
    let app = app.own_server().await;
    let admin = Visitor::operator(&app, Role::Admin, Some(app.project.id)).await;
    let owner = Visitor::operator(&app, Role::Owner, None).await;
    app.service().post("/entities", json!({ "title": "One" })).await.expect(201);
    app.advance(Duration::from_secs(61));
    seal_all(&app).await;
    let path = format!("/admin/p/{}/audit", app.project.id);
    let check = async |visitor: &Visitor<'_>, path: &str| visitor.submit(path, &[]).await.text();
    for (visitor, path) in [(&admin, &*path), (&owner, "/admin/audit")] {
        assert!(check(visitor, path).await.contains("Every entry is as it was sealed."));
    }
    tamper(&app, "DELETE FROM audit_log WHERE project_id = $1").await;
    for (visitor, path) in [(&admin, &*path), (&owner, "/admin/audit")] {
        assert!(check(visitor, path).await.contains("1 entries are missing"), "{path}");
    }
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
