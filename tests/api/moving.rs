//! `townhall export` and `townhall import` of Townhall's own formats: everything of a project, out of one installation and
//! into another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use db::Engine;
use serde_json::{Value, json};
use townhall::features::exports::kinds;

use crate::support::{Installation, TestApp, chat, fresh_directory, mode, on_both_engines};
use crate::table_rows::TYPES;
use crate::tables::{create, insert};
use crate::transfer::{command, fill, json_of};

on_both_engines![
    everything_of_a_project_moves_to_the_other_engine,
    an_import_adds_to_what_is_there,
    every_column_is_exported_or_named,
    a_damaged_export_is_refused,
    csv_is_a_folder_that_can_be_read_again,
    rows_of_a_custom_table_come_as_csv,
];

/// A new project of another installation.
pub fn project_of(town: &Installation) -> String {
    let made = town.json(&["project", "create", "--name", "Forum", "--bundles", "all"]);
    made["projectId"].as_str().unwrap().to_owned()
}

#[track_caller]
pub fn sound(town: &Installation) {
    let report = town.run(&["doctor", "--deep"]);
    assert_eq!(report.code, 0, "{}{}", report.stdout, report.stderr);
}

pub fn import(town: &Installation, project: &str, format: &str, path: &Path) -> Value {
    let path = path.to_str().unwrap();
    town.json(&["import", "--project", project, "--format", format, path])
}

fn other_engine(app: &TestApp) -> Installation {
    Installation::new(match app.engine() {
        Engine::Sqlite => Engine::Postgres,
        Engine::Postgres => Engine::Sqlite,
    })
}

fn export(app: &TestApp, name: &str, format: &str) -> (PathBuf, Value) {
    let path = fresh_directory().join(name);
    let project = app.project.id.to_string();
    let arguments = ["export", "--project", &project, "--format", format];
    let report = json_of(command(app).args(arguments).arg(&path));
    (path, report)
}

/// The documents of an export, JSON by its value.
fn documents(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let documents = lines.filter(|document| document["type"] != "townhall-export");
    documents
        .map(|mut document| {
            document.sort_all_objects();
            // Every reader counts.
            document.as_object_mut().unwrap().remove("views");
            document.to_string()
        })
        .collect()
}

/// What [`fill`] leaves out.
async fn fill_more(app: &TestApp) {
    let (ann, bob, eve) = (app.user().await, app.user().await, app.user().await);
    let post = ann.post(
        "/entities",
        json!({ "title": "more", "mentions": [
        { "type": "user", "id": bob.id, "username": "bob" }] }),
    );
    let entity = post.await.expect(201)["id"].as_str().unwrap().to_owned();
    let comment = json!({ "entityId": entity, "content": "reported", "mentions": [
        { "type": "user", "id": ann.id, "username": "ann" }] });
    let comment = bob.post("/comments", comment).await.expect(201);
    let comment = comment["id"].as_str().unwrap().to_owned();
    let reaction = json!({ "reactionType": "upvote" });
    ann.post(&format!("/comments/{comment}/reactions"), reaction).await.expect(200);
    let report = json!({ "targetType": "comment", "targetId": comment, "reason": "spam" });
    eve.post("/reports", report).await.expect(201);
    let root = ann.get("/collections/root").await.expect(200);
    let root = root["id"].as_str().unwrap();
    let below = json!({ "collectionName": "kept" });
    let kept = ann.post(&format!("/collections/{root}/sub-collections"), below).await.expect(201);
    let kept = kept["id"].as_str().unwrap();
    let saved = json!({ "entityId": entity });
    ann.post(&format!("/collections/{kept}/entities"), saved).await.expect(200);
    ann.post(&format!("/users/{}/connection", bob.id), json!({})).await.expect(201);
    let asked = eve.post(&format!("/users/{}/connection", bob.id), json!({})).await.expect(201);
    let asked = asked["connectionId"].as_str().or(asked["id"].as_str()).unwrap().to_owned();
    bob.patch(&format!("/connections/{asked}/accept"), json!({})).await.expect(200);
    eve.post(&format!("/users/{}/block", ann.id), json!({})).await.expect(201);
    let parent = ann.post("/spaces", json!({ "name": "parent" })).await.expect(201);
    let child = json!({ "name": "child", "parentSpaceId": parent["id"] });
    ann.post("/spaces", child).await.expect(201);
    let event = json!({ "title": "meet", "startTime": "2030-01-02T03:04:05Z", "type": "online",
        "url": "https://meet.example" });
    ann.post("/events", event).await.expect(201);
    let conversation = chat::direct(&ann, &bob).await;
    chat::send(&bob, &conversation, "hi").await;
}

async fn everything_of_a_project_moves_to_the_other_engine(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    fill_more(&app).await;
    let (path, report) = export(&app, "project.jsonl", "jsonl");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(report["files"], 3, "a text, a picture and a small one of it");
    let sum: u64 =
        report["documents"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    let there: BTreeSet<&str> =
        report["documents"].as_object().unwrap().keys().map(String::as_str).collect();
    for kind in [
        "user",
        "entity",
        "comment",
        "reaction",
        "message",
        "file",
        "customRow",
        "connection",
        "block",
        "event",
        "reportEntry",
        "collectionEntity",
        "workspace",
        "notification",
    ] {
        assert!(there.contains(kind), "{kind} is not in {there:?}");
    }
    let found = documents(&path);
    assert_eq!(found.len() as u64, sum + 1, "and the line at the end");

    let town = other_engine(&app);
    let project = project_of(&town);
    let dry =
        ["import", "--project", &project, "--format", "jsonl", path.to_str().unwrap(), "--dry-run"];
    let dry = town.json(&dry);
    assert_eq!((&dry["dryRun"], &dry["leftOut"]), (&json!(true), &json!([])));
    assert_eq!(dry["added"], report["documents"]);
    let done = import(&town, &project, "jsonl", &path);
    assert_eq!((&done["added"], &done["leftOut"]), (&report["documents"], &json!([])));
    assert_eq!((&done["notes"], &done["files"]), (&json!([]), &json!(3)));
    // Search is filled by a server, which does that at its start.
    drop(town.serve());
    sound(&town);

    let again = path.with_file_name("again.jsonl");
    let arguments = ["export", "--project", &project, "--format", "jsonl", again.to_str().unwrap()];
    town.json(&arguments);
    assert_eq!(documents(&again), found);
    let twice = import(&town, &project, "jsonl", &path);
    assert_eq!((&twice["added"], &twice["leftOut"]), (&json!({}), &json!([])));
    assert_eq!(twice["unchanged"], report["documents"]);
    sound(&town);
}

async fn an_import_adds_to_what_is_there(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    let (path, _) = export(&app, "project.jsonl", "jsonl");
    let town = Installation::new(app.engine());
    let project = project_of(&town);
    // Somebody has the foreign id already, somebody else a username.
    let text = std::fs::read_to_string(&path).unwrap();
    let of = |kind: &str| -> Vec<Value> {
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|document| document["type"] == kind).collect()
    };
    let users = of("user");
    let named = users.iter().find(|user| user["username"].is_string()).unwrap();
    let csv = path.with_file_name("users.csv");
    let taken = named["username"].as_str().unwrap();
    std::fs::write(&csv, format!("foreignId,username\nsilent,\nelse,{taken}\n")).unwrap();
    let before = import(&town, &project, "csv", &csv);
    assert_eq!(before["added"]["user"], 2);
    let done = import(&town, &project, "jsonl", &path);
    assert_eq!(done["added"]["user"], users.len() - 1);
    assert_eq!(done["unchanged"], json!({ "user": 1 }));
    assert_eq!(
        done["leftOut"],
        json!([]),
        "what refers to the user refers to the one that was there"
    );
    let notes = done["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["reason"], "the username was left out: another user has it");
    drop(town.serve());
    sound(&town);
}

async fn every_column_is_exported_or_named(app: TestApp) {
    let tables = app.app.db.read(|c| {
        let mut tables = BTreeMap::new();
        for table in c.tables()?.into_iter().filter(|table| !table.name.contains('.')) {
            let columns = c.shape(&table)?.columns.into_iter().map(|(name, _)| name);
            let columns: BTreeSet<String> = columns.collect();
            if columns.contains("project_id") {
                tables.insert(table.name, columns);
            }
        }
        Ok::<_, db::Error>(tables)
    });
    let mut tables: BTreeMap<String, BTreeSet<String>> = tables.await.unwrap();
    for kind in kinds::all() {
        let bodies = kind.body.map_or(kind.fields.len(), |(_, first)| first);
        let own = &kind.fields[..bodies];
        let parts = [(kind.table, own)];
        let body = kind.body.map(|(table, first)| (table, &kind.fields[first..]));
        for (table, fields) in parts.into_iter().chain(body) {
            let mut columns = tables.remove(table).unwrap_or_else(|| panic!("{table}"));
            assert!(columns.remove("project_id"));
            if kind.body.is_some_and(|(body, _)| body == table) {
                columns.remove("id");
            }
            let known: BTreeSet<String> =
                fields.iter().map(|field| field.column.to_owned()).collect();
            assert_eq!(known, columns, "{table}");
        }
    }
    let named: BTreeSet<String> =
        kinds::LEFT_OUT.iter().map(|(table, _)| (*table).to_owned()).collect();
    assert_eq!(tables.into_keys().collect::<BTreeSet<_>>(), named);
}

async fn a_damaged_export_is_refused(app: TestApp) {
    fill(&app).await;
    let (path, _) = export(&app, "project.jsonl", "jsonl");
    let sound = std::fs::read_to_string(&path).unwrap();
    let town = Installation::new(app.engine());
    let project = project_of(&town);
    let damaged = path.with_file_name("damaged.jsonl");
    let refused = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        let path = damaged.to_str().unwrap();
        town.fails(&["import", "--project", &project, "--format", "jsonl", path, "--dry-run"])
    };
    let without_end = &sound[..sound.trim_end().rfind('\n').unwrap() + 1];
    assert!(refused(without_end.as_bytes()).contains("cut off"));
    let (header, rest) = sound.split_once('\n').unwrap();
    assert!(refused(rest.as_bytes()).contains("line 1: is no header"));
    let newer = header.replace("\"version\":1", "\"version\":2");
    assert!(refused(format!("{newer}\n{rest}").as_bytes()).contains("version of the format"));
    assert!(
        refused(format!("{header}\n{{\"type\":\"user\"\n{rest}").as_bytes()).contains("line 2: ")
    );
    let mut bytes = sound.clone().into_bytes();
    bytes[sound.find("line\\nline").unwrap()] = 0xff;
    assert!(refused(&bytes).contains("is not UTF-8"));
    // What one document lacks does not keep the others from coming.
    let odd = [
        r#"{"type":"follow","id":"x"}"#,
        r#"{"type":"unheard-of"}"#,
        r#"{"type":"reaction","targetId":"0f8fad5b-d9cb-469f-a165-70867728950e","userId":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#,
        r#"{"type":"report","id":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#,
        r#"{"type":"file","id":"0f8fad5b-d9cb-469f-a165-70867728950e","path":"../../secret","size":1,"mime":"a/b","position":0,"metadata":{},"createdAt":"2020-01-01","updatedAt":"2020-01-01"}"#,
        r#"{"type":"user","foreignId":"fine"}"#,
        r#"{"type":"end","documents":6}"#,
    ];
    std::fs::write(&damaged, format!("{header}\n{}\n", odd.join("\n"))).unwrap();
    let done = import(&town, &project, "jsonl", &damaged);
    assert_eq!(done["added"], json!({ "user": 1 }), "{done}");
    let reasons: Vec<&str> = done["leftOut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(reasons, ["file", "follow", "reaction", "report", "unknown"], "{done}");
    crate::moving::sound(&town);
}

async fn csv_is_a_folder_that_can_be_read_again(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    // Null and an empty text are two things.
    insert(&app.service(), "Things", json!({ "t": "" })).await;
    let (path, report) = export(&app, "project", "csv");
    let about: Value =
        serde_json::from_slice(&std::fs::read(path.join("export.json")).unwrap()).unwrap();
    assert_eq!(about["type"], "townhall-export");
    assert_eq!(about["customTables"].as_array().unwrap().len(), 2);
    assert!(path.join("custom-Things.csv").exists() && path.join("files").exists());
    let users = std::fs::read_to_string(path.join("user.csv")).unwrap();
    assert!(users.starts_with("id,foreignId,role,name,username,email,"), "{users}");
    let (original, _) = export(&app, "project.jsonl", "jsonl");
    let town = other_engine(&app);
    let project = project_of(&town);
    let dry =
        ["import", "--project", &project, "--format", "csv", path.to_str().unwrap(), "--dry-run"];
    let dry = town.json(&dry);
    assert_eq!((&dry["added"], &dry["leftOut"]), (&report["documents"], &json!([])));
    let done = import(&town, &project, "csv", &path);
    assert_eq!((&done["added"], &done["leftOut"]), (&report["documents"], &json!([])), "{done}");
    drop(town.serve());
    sound(&town);
    let again = path.with_file_name("again.jsonl");
    town.json(&["export", "--project", &project, "--format", "jsonl", again.to_str().unwrap()]);
    assert_eq!(documents(&again), documents(&original));
    let twice = import(&town, &project, "csv", &path);
    assert_eq!((&twice["added"], &twice["unchanged"]), (&json!({}), &report["documents"]));
}

async fn rows_of_a_custom_table_come_as_csv(app: TestApp) {
    let key = app.service();
    create(&key, "things", &TYPES, json!({})).await;
    let required = json!({ "columnName": "need", "dataType": "text", "nullable": false });
    key.post("/db/tables/things/columns", required).await.expect(201);
    let preset = json!({ "columnName": "preset", "dataType": "integer", "nullable": false, "defaultValue": "7" });
    key.post("/db/tables/things/columns", preset).await.expect(201);
    let id = |number: u128| uuid::Uuid::from_u128(number);
    let rows = [
        "id,t,n,b,d,j,need,preset,createdAt,updatedAt".to_owned(),
        format!(
            "{},\"a, \"\"b\"\"\",1.50,TRUE,2024-02-29,\"{{\"\"k\"\":[1]}}\",x,,2024-01-02,2024-01-02",
            id(1)
        ),
        format!("{},,,,,,y,3,2024-01-02,2024-01-02", id(2)),
        format!("{},,much,,,,z,,2024-01-02,2024-01-02", id(3)),
        format!("{},,,,,,,,2024-01-02,2024-01-02", id(4)),
        ",,,,,,w,,2024-01-02,2024-01-02".to_owned(),
        "short,row".to_owned(),
    ];
    let path = fresh_directory().join("custom-things.csv");
    std::fs::write(&path, rows.join("\n")).unwrap();
    let project = app.project.id.to_string();
    let import = |rest: &[&str]| {
        let arguments = ["import", "--project", &project, "--format", "csv"];
        json_of(command(&app).args(arguments).arg(&path).args(rest))
    };
    let reasons = |report: &Value| -> Vec<String> {
        let left = report["leftOut"].as_array().unwrap().iter();
        left.map(|one| one["reason"].as_str().unwrap().to_owned()).collect()
    };
    let expected = [
        "id: is required",
        "n: the value is no decimal",
        "need: is required",
        "the row has another number of cells than the header",
    ];
    for arguments in [&["--dry-run"][..], &[]] {
        let done = import(arguments);
        assert_eq!(done["added"], json!({ "customRow": 2 }), "{done}");
        assert_eq!(reasons(&done), expected);
        assert!(
            done["leftOut"][1]["examples"][0].as_str().unwrap().ends_with("custom-things.csv:4")
        );
    }
    let twice = import(&[]);
    assert_eq!((&twice["added"], &twice["unchanged"]), (&json!({}), &json!({ "customRow": 2 })));
    let row = key.get(&format!("/db/things/{}", id(1))).await.expect(200);
    let row = &row["row"];
    assert_eq!(
        (&row["t"], &row["n"], &row["b"]),
        (&json!("a, \"b\""), &json!("1.50"), &json!(true))
    );
    assert_eq!(
        (&row["d"], &row["j"], &row["preset"]),
        (&json!("2024-02-29"), &json!({ "k": [1] }), &json!(7))
    );
    let row = key.get(&format!("/db/things/{}", id(2))).await.expect(200);
    assert_eq!((&row["row"]["t"], &row["row"]["preset"]), (&Value::Null, &json!(3)));
    // A table that nobody has defined.
    let other = path.with_file_name("custom-unknown.csv");
    std::fs::rename(&path, &other).unwrap();
    let arguments = ["import", "--project", &project, "--format", "csv"];
    let left = json_of(command(&app).args(arguments).arg(&other));
    assert!(reasons(&left).contains(&"there is no table unknown".to_owned()), "{left}");
}
