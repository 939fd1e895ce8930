//! `townhall backup --project` and `restore --project`: one project alone, beside others.

use db::Engine;
use serde_json::{Value, json};

use crate::moving::{project_of, sound};
use crate::support::{Installation, TestApp, failure, fresh_directory, on_both_engines};
use crate::transfer::{command, fill, json_of};

on_both_engines![
    a_project_is_restored_beside_others_on_either_engine,
    a_project_of_a_whole_archive_becomes_a_copy,
    what_cannot_be_restored_is_refused,
];

fn backup(app: &TestApp, arguments: &[&str]) -> (String, Value) {
    let path = fresh_directory().join("archive.tar.zst");
    let report = json_of(command(app).arg("backup").arg(&path).args(arguments));
    (path.to_str().unwrap().to_owned(), report)
}

async fn a_project_is_restored_beside_others_on_either_engine(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    app.stranger().await.post("/entities", json!({ "title": "of the other" })).await.expect(201);
    let project = app.project.id.to_string();
    let (path, report) = backup(&app, &["--project", &project]);
    let tables = &report["tables"];
    assert_eq!((&tables["projects"], &tables["entities"]), (&json!(1), &json!(1)), "{tables}");
    assert_eq!((&report["files"], &tables["installation"]), (&json!(3), &Value::Null));
    json_of(command(&app).args(["verify", &path]));
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let town = Installation::new(engine);
        let other = project_of(&town);
        let restored = town.json(&["restore", &path, "--project", &project]);
        assert_eq!((&restored["projectId"], &restored["files"]), (&json!(project), &json!(3)));
        for (name, rows) in restored["tables"].as_object().unwrap() {
            assert_eq!(rows, &tables[name], "{name}");
        }
        let running = town.serve();
        let (status, body) = running.request(
            "GET",
            &format!("/v8/{project}/entities?sortBy=new"),
            &app.project.service_key,
            "",
        );
        assert_eq!((status, body.contains("line\\nline")), (200, true), "{body}");
        drop(running);
        sound(&town);
        let listed = town.json(&["project", "list"]);
        assert!(listed.to_string().contains(&other), "{listed}");
        let again = town.fails(&["restore", &path, "--project", &project]);
        assert!(again.contains("already"), "{again}");
    }
}

async fn a_project_of_a_whole_archive_becomes_a_copy(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    app.index().await;
    let project = app.project.id.to_string();
    let (path, _) = backup(&app, &[]);
    let copy = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let arguments = ["restore", &path, "--project", &project, "--as", copy];
    let restored = json_of(command(&app).args(arguments));
    assert_eq!((&restored["projectId"], &restored["files"]), (&json!(copy), &json!(3)));
    assert_eq!(restored["tables"]["entities"], 1);
    assert!(restored["tables"].get("jobs").is_none(), "the original does its work");
    let mut doctor = command(&app);
    let report = crate::support::outcome(doctor.args(["doctor", "--deep"]));
    assert_eq!(report.code, 0, "{}{}", report.stdout, report.stderr);
    let key =
        json_of(command(&app).args(["key", "create", "--project", copy, "--kind", "service"]));
    let path = format!("/v8/{copy}/db/Things?sortBy=n");
    let key = app.bearer(key["key"].as_str().unwrap());
    let rows =
        key.raw(http::Method::GET, &path, "application/json", String::new()).await.expect(200);
    let original = app.service().get("/db/Things?sortBy=n").await.expect(200);
    assert_eq!(rows["data"], original["data"]);
}

async fn what_cannot_be_restored_is_refused(app: TestApp) {
    let app = app.own_server().await;
    let project = app.project.id.to_string();
    let (path, _) = backup(&app, &["--project", &project]);
    let other = app.other.id.to_string();
    let unknown = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let line = failure(command(&app).args(["restore", &path, "--project", unknown]));
    assert!(line.contains("the archive has no project"), "{line}");
    let line =
        failure(command(&app).args(["restore", &path, "--project", &project, "--as", &other]));
    assert!(line.contains("already"), "{line}");
    let archive = fresh_directory().join("none.tar.zst");
    let line = failure(command(&app).arg("backup").arg(&archive).args(["--project", unknown]));
    assert!(!archive.exists(), "{line}");
}
