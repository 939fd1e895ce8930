//! Operators, the audit log and its seals in backups: after a restore every entry is as it was sealed.

use std::time::Duration;

use db::Engine;
use serde_json::{Value, json};
use townhall::audit::seal;
use townhall::auth::operators::Role;

use crate::support::visitor::Visitor;
use crate::support::{Installation, TestApp, fresh_directory, on_both_engines};
use crate::transfer::{command, json_of};

on_both_engines![
    operators_and_the_sealed_log_are_restored,
    a_restored_project_has_its_own_log_alone,
    a_copy_of_a_project_begins_a_log_of_its_own,
    an_online_copy_keeps_the_log_sealed,
];

/// An operator, and sealed entries of two projects and of the installation.
async fn logged(app: TestApp) -> TestApp {
    let app = app.own_server().await;
    Visitor::operator(&app, Role::Admin, None).await;
    for n in 0..3 {
        app.service().post("/entities", json!({ "title": format!("{n}") })).await.expect(201);
        let other = app.bearer(&app.other.service_key);
        let path = format!("/v8/{}/entities", app.other.id);
        let body = json!({ "title": "of the other" }).to_string();
        other.raw(http::Method::POST, &path, "application/json", body).await.expect(201);
        app.advance(Duration::from_secs(61));
        let now = app.now();
        app.app.db.write(move |tx| seal(tx, now, 10_000)).await.unwrap();
    }
    assert!(app.rows("audit_seals").await >= 6);
    app
}

fn backup(app: &TestApp, arguments: &[&str]) -> (String, Value) {
    let path = fresh_directory().join("archive.tar.zst");
    let report = json_of(command(app).arg("backup").arg(&path).args(arguments));
    (path.to_str().unwrap().to_owned(), report)
}

fn count(town: &Installation, table: &str) -> i64 {
    let query = db::Query::<i64>::built("test::count", format!("SELECT count(*) FROM {table}"));
    town.db().snapshot(|c| c.one(&query, &[])).unwrap()
}

#[track_caller]
fn verified(town: &Installation) {
    let report = town.run(&["audit", "--verify"]);
    assert_eq!(report.code, 0, "{}{}", report.stdout, report.stderr);
}

async fn operators_and_the_sealed_log_are_restored(app: TestApp) {
    let app = logged(app).await;
    let (path, report) = backup(&app, &[]);
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let town = Installation::new(engine).untouched();
        town.json(&["restore", &path]);
        for table in ["operators", "operator_roles", "audit_log", "audit_seals"] {
            let rows = count(&town, table);
            assert!(rows > 0 && report["tables"][table] == rows, "{table}: {rows}, {report}");
        }
        verified(&town);
    }
}

async fn a_restored_project_has_its_own_log_alone(app: TestApp) {
    let app = logged(app).await;
    let project = app.project.id.to_string();
    for (path, _) in [backup(&app, &["--project", &project]), backup(&app, &[])] {
        let town = Installation::new(app.engine());
        let before = count(&town, "audit_log");
        town.json(&["restore", &path, "--project", &project]);
        assert_eq!(count(&town, "operators"), 0);
        let own = town.json(&["audit", "--project", &project]);
        assert_eq!(own.as_array().unwrap().len(), 3, "{own}");
        let other = town.json(&["audit", "--project", &app.other.id.to_string()]);
        assert_eq!(other, json!([]));
        assert_eq!(count(&town, "audit_log"), before + 3);
        verified(&town);
    }
}

async fn a_copy_of_a_project_begins_a_log_of_its_own(app: TestApp) {
    let app = logged(app).await;
    let (path, _) = backup(&app, &[]);
    let (project, copy) = (app.project.id.to_string(), "0f8fad5b-d9cb-469f-a165-70867728950e");
    json_of(command(&app).args(["restore", &path, "--project", &project, "--as", copy]));
    let own = json_of(command(&app).args(["audit", "--project", copy]));
    assert_eq!(own, json!([]));
    json_of(command(&app).args(["audit", "--verify"]));
}

async fn an_online_copy_keeps_the_log_sealed(app: TestApp) {
    let app = logged(app).await;
    let other = if app.engine() == Engine::Sqlite { Engine::Postgres } else { Engine::Sqlite };
    let town = Installation::new(other).untouched();
    let from = &app.app.config.database_url;
    json_of(command(&app).args(["copy", "--online", "--from", from, "--to", &town.database_url]));
    assert!(count(&town, "operators") > 0);
    verified(&town);
}
