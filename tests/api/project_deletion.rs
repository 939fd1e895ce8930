//! `townhall project delete`: everything of the project goes, step by step, and nothing of any other.

use std::collections::BTreeMap;
use std::time::Duration;

use db::{Engine, Query, args};
use serde_json::json;
use townhall::features::project_deletion::{self, Left};
use townhall::installation::store as installation;
use townhall::jobs;
use townhall::values::ids::{JobId, ProjectId};

use crate::support::{Actor, Form, Part, TestApp, failure, on_both_engines, outcome};
use crate::tables::{create, insert};
use crate::transfer::{command, fill, json_of};

on_both_engines![
    everything_of_a_project_is_deleted_and_nothing_else,
    an_interrupted_deletion_goes_on,
    files_wait_for_a_backup_that_reads_them,
    the_command_deletes_for_good,
];

/// How many rows of a project each table has that could have any, as the schema says.
async fn counts(app: &TestApp, project: ProjectId) -> BTreeMap<String, i64> {
    let tables = app.app.db.read(|c| {
        let mut names = Vec::new();
        for table in c.tables()? {
            let columns = c.shape(&table)?.columns;
            if columns.iter().any(|(name, _)| name == "project_id") && !table.name.contains('.') {
                names.push(table.name);
            }
        }
        Ok::<_, db::Error>(names)
    });
    let mut counts = BTreeMap::new();
    for table in tables.await.unwrap() {
        let count = app.rows_of(project, &table).await;
        counts.insert(table, count);
    }
    assert!(counts.len() > 40, "{counts:?}");
    counts
}

fn total(counts: &BTreeMap<String, i64>) -> i64 {
    counts.values().sum()
}

/// The tables that the project has made, whatever the catalogue says of them.
async fn custom_tables(app: &TestApp, project: ProjectId) -> i64 {
    let text = match app.engine() {
        Engine::Sqlite => {
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND instr(name, $1) > 0"
        }
        Engine::Postgres => "SELECT count(*) FROM pg_namespace WHERE nspname = $1",
    };
    let (query, name) =
        (Query::<i64>::built("test", text), format!("project_{}", project.0.simple()));
    app.app
        .db
        .read(move |c| c.one(&query, args![&name]))
        .await
        .unwrap_or_else(|e: db::Error| panic!("{e}"))
}

async fn begin(app: &TestApp) {
    let (project, now) = (app.project.id, app.now());
    let begun = app.app.db.write(move |tx| project_deletion::begin(tx, project, now)).await;
    assert_eq!(begun.unwrap(), None);
    app.advance(Duration::from_secs(1));
}

async fn store(actor: &Actor<'_>) {
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"bytes" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    actor.post_form("/storage", &form).await.expect(201);
}

async fn everything_of_a_project_is_deleted_and_nothing_else(app: TestApp) {
    let app = app.own_server().await;
    let (project, other) = (app.project.id, app.other.id);
    fill(&app).await;
    let ann = app.user().await;
    let mut parent = ann.get("/collections/root").await.expect(200);
    for name in ["outer", "inner"] {
        let path = format!("/collections/{}/sub-collections", parent["id"].as_str().unwrap());
        parent = ann.post(&path, json!({ "collectionName": name })).await.expect(201);
    }
    // References that cannot be cleared, and rows that refer to themselves.
    let key = app.service();
    let reference = |name: &str, table: &str, nullable: bool, action: &str| {
        json!({ "columnName": name, "dataType": "uuid", "nullable": nullable,
            "references": { "table": table, "onDelete": action } })
    };
    create(&key, "authors", &[("name", "text")], json!({})).await;
    let books = json!({ "tableName": "books", "columns": [reference("author", "authors", false, "restrict")] });
    key.post("/db/tables", books).await.expect(201);
    let column = reference("mentor", "authors", true, "restrict");
    key.post("/db/tables/authors/columns", column).await.expect(201);
    let one = insert(&key, "authors", json!({ "name": "a" })).await;
    let two = insert(&key, "authors", json!({ "name": "b", "mentor": one["id"] })).await;
    let path = format!("/db/authors/{}", one["id"].as_str().unwrap());
    key.patch(&path, json!({ "mentor": two["id"] })).await.expect(200);
    insert(&key, "books", json!({ "author": one["id"] })).await;

    let stranger = app.stranger().await;
    stranger.post("/entities", json!({ "title": "stays" })).await.expect(201);
    store(&stranger).await;
    app.index().await;
    let others = counts(&app, other).await;
    let filled = counts(&app, project).await;
    assert!(filled.values().filter(|count| **count > 0).count() > 20, "{filled:?}");
    assert!(custom_tables(&app, project).await > 0);
    assert_eq!(app.stored(), 4);

    begin(&app).await;
    app.service().get("/entities").await.refused(423, "project/pending-deletion");
    app.run_jobs().await;
    app.advance(Duration::from_secs(1));
    let left = counts(&app, project).await;
    assert_eq!(total(&left), 0, "{left:?}");
    assert_eq!(custom_tables(&app, project).await, 0);
    assert!(!app.data_dir().join("files").join(project.to_string()).exists());
    app.service().get("/entities").await.refused(404, "project/not-found");
    assert_eq!(counts(&app, other).await, others);
    assert_eq!(app.stored(), 1);
    stranger.get("/entities").await.expect(200);
    let began = app.app.db.read(move |c| installation::deletion_began(c, project)).await;
    assert_eq!(began.unwrap(), None);
}

async fn an_interrupted_deletion_goes_on(app: TestApp) {
    let app = app.own_server().await;
    let project = app.project.id;
    fill(&app).await;
    begin(&app).await;
    let before = total(&counts(&app, project).await);
    // As a worker that is killed after a few steps.
    let (now, id) = (app.now(), JobId(project.0));
    let until = now.plus(Duration::from_secs(120));
    let claim = app.app.db.write(move |tx| jobs::store::claim(tx, project, id, now, until));
    assert!(claim.await.unwrap().is_some());
    for steps in [1, 7, 12] {
        let left = project_deletion::some_steps(&app.app, project, steps).await.unwrap();
        assert_eq!(left, Left::Something, "{steps}");
    }
    let left = total(&counts(&app, project).await);
    assert!(left > 0 && left < before, "{left} of {before}");
    app.run_jobs().await;
    assert_eq!(total(&counts(&app, project).await), left, "another worker has the job");
    app.advance(Duration::from_secs(121));
    app.run_jobs().await;
    assert_eq!((total(&counts(&app, project).await), app.stored()), (0, 0));
}

async fn files_wait_for_a_backup_that_reads_them(app: TestApp) {
    let app = app.own_server().await;
    store(&app.service()).await;
    begin(&app).await;
    let until = app.now().plus(Duration::from_secs(3600));
    let hold = app.app.db.write(move |tx| installation::hold_files(tx, "backup", until));
    hold.await.unwrap();
    app.run_jobs().await;
    assert_eq!((app.rows_of(app.project.id, "files").await, app.stored()), (0, 1));
    let release = app.app.db.write(|tx| installation::release_files(tx, "backup"));
    release.await.unwrap();
    app.advance(Duration::from_secs(61));
    app.run_jobs().await;
    assert_eq!((total(&counts(&app, app.project.id).await), app.stored()), (0, 0));
}

async fn the_command_deletes_for_good(app: TestApp) {
    let app = app.own_server().await;
    let id = app.project.id.to_string();
    let project = |arguments: &[&str]| {
        let mut command = command(&app);
        command.arg("project").args(arguments).stdin(std::process::Stdio::null());
        command
    };
    // The state alone can be taken back.
    json_of(&mut project(&["state", &id, "--set", "pending-deletion"]));
    json_of(&mut project(&["state", &id, "--set", "active"]));
    let line = failure(&mut project(&["delete", &id]));
    assert!(line.ends_with("Say so with --yes."), "{line}");
    let deleted = json_of(&mut project(&["delete", &id, "--yes"]));
    assert_eq!((&deleted["state"], &deleted["isNew"]), (&json!("pending-deletion"), &json!(true)));
    let again = outcome(&mut project(&["delete", &id, "--yes"]));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stdout.contains("is being deleted already, since "), "{}", again.stdout);
    let line = failure(&mut project(&["state", &id, "--set", "active"]));
    assert_eq!(line, "the project is being deleted, which cannot be taken back");
    // The command has the time of the machine, which may be ahead of the test's.
    app.advance(Duration::from_secs(10 * 365 * 24 * 3600));
    app.run_jobs().await;
    let line = failure(&mut project(&["delete", &id, "--yes"]));
    assert_eq!(line, "No such project");
    let listed = json_of(&mut project(&["list"]));
    assert_eq!(listed.as_array().unwrap().len(), 1, "the other one stays");
}
