//! `townhall backup`, `restore`, `verify` and `copy`: everything of an installation, from either engine to
//! either engine, with nothing lost on the way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::sync_channel;

use db::{Db, Definition, Engine, Options};
use serde_json::{Value, json};
use townhall::installation::store as installation;
use townhall::schema::MIGRATIONS;
use townhall::transfer::load::{self, Message};
use townhall::values::time::Timestamp;

use crate::support::{
    Form, Installation, Part, TestApp, User, chat, failure, fresh_directory, mode, on_both_engines,
    outcome, png,
};
use crate::table_rows::TYPES;
use crate::tables::{create, insert};
use crate::workspaces::{create as create_workspace, create_below, path, verify, with_invitations};

on_both_engines![
    a_backup_is_restored_on_either_engine,
    a_folder_is_a_backup_too,
    a_damaged_archive_is_refused,
    the_secret_travels_encrypted,
    only_an_empty_installation_is_restored,
    everything_is_copied_to_either_engine,
    an_interrupted_copy_goes_on,
    nobody_writes_to_the_source_of_a_copy,
    files_deleted_during_a_backup_keep_their_bytes,
];

/// The binary on the data of a running server.
pub fn command(app: &TestApp) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_townhall"));
    command.env_clear().env("TOWNHALL_DATA_DIR", app.data_dir());
    command.env("TOWNHALL_DATABASE_URL", &app.app.config.database_url);
    command
}

#[track_caller]
pub fn json_of(command: &mut Command) -> Value {
    let done = outcome(command.arg("--json"));
    assert_eq!(done.code, 0, "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

fn backup(app: &TestApp, name: &str, arguments: &[&str]) -> (PathBuf, Value) {
    let path = fresh_directory().join(name);
    let report = json_of(command(app).arg("backup").arg(&path).args(arguments));
    (path, report)
}

/// Addresses below the project whose replies must be the same afterwards, and the bytes of a file.
pub struct Filled {
    paths: Vec<String>,
    file: String,
}

/// Something in every corner, spelt so that a careless copy would change it.
pub async fn fill(app: &TestApp) -> Filled {
    let (key, ann, bob) = (app.service(), app.user().await, app.user().await);
    let space = json!({ "name": "Spåce", "slug": "space" });
    let space = ann.post("/spaces", space).await.expect(201);
    let metadata =
        json!({ "b": [1.5, 1e300, -0.0, 12345678901234567_i64], "a": { "é": "\u{1}\n\"\\" } });
    let entity = json!({ "title": "T\u{1F980}\t", "content": "line\nline", "metadata": metadata,
        "keywords": ["one", "two"], "foreignId": "f'1", "location": { "latitude": 1.25, "longitude": -0.5 },
        "spaceId": space["id"] });
    let entity = ann.post("/entities", entity).await.expect(201);
    let id = entity["id"].as_str().unwrap();
    let comment = json!({ "entityId": id, "content": "c" });
    let comment = bob.post("/comments", comment).await.expect(201);
    let reply = json!({ "entityId": id, "content": "r", "parentId": comment["id"] });
    ann.post("/comments", reply).await.expect(201);
    let reaction = json!({ "reactionType": "love" });
    bob.post(&format!("/entities/{id}/reactions"), reaction).await.expect(200);
    bob.post(&format!("/users/{}/follow", ann.id), json!({})).await.expect(201);
    let conversation = chat::direct(&ann, &bob).await;
    chat::send(&ann, &conversation, "hello").await;
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"the bytes" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    let file = key.post_form("/storage", &form).await.expect(201);
    let picture = png(64, 48);
    let part = Part { name: "file", file: "p.png", mime: "image/png", bytes: &picture };
    let form = Form::new()
        .file(part)
        .text("mode", "exact-dimensions")
        .json("dimensions", json!({ "s": { "width": 50, "height": 50 } }));
    key.post_form("/storage/images", &form).await.expect(201);
    create(&key, "Things", &TYPES, json!({ "paranoid": true })).await;
    let all = json!({ "t": "x", "i": i64::MIN, "f": 0.1, "n": "-12345678901234567890.00012300", "b": true,
        "d": "1969-12-31", "s": "2026-02-03T04:05:06.007Z", "u": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "j": { "z": 1, "a": [null, "é"] } });
    insert(&key, "Things", all).await;
    insert(&key, "Things", json!({ "n": "0.5" })).await;
    let parent = json!({ "columnName": "parent", "dataType": "uuid", "nullable": true,
        "references": { "table": "Things", "onDelete": "cascade" } });
    let links = json!({ "tableName": "links", "columns": [parent] });
    key.post("/db/tables", links).await.expect(201);
    // In a circle.
    let back = json!({ "columnName": "link", "dataType": "uuid", "nullable": true,
        "references": { "table": "links", "onDelete": "setNull" } });
    key.post("/db/tables/Things/columns", back).await.expect(201);
    let workspace = workspaces(app, &ann, &bob).await;
    let paths = vec![
        format!("/workspaces/{workspace}/members?include=ancestorOwners"),
        format!("/entities/{id}?include=user,space"),
        "/entities?sortBy=new&include=user".to_owned(),
        format!("/comments?entityId={id}"),
        format!("/entities/{id}/reactions"),
        format!("/users/{}/followers", ann.id),
        "/spaces/by-slug?slug=space".to_owned(),
        "/db/Things?sortBy=n".to_owned(),
        "/db/links".to_owned(),
    ];
    Filled { paths, file: file["fileId"].as_str().unwrap().to_owned() }
}

/// A tree with a member and an invitation, to somebody without an address: no mail is queued.
async fn workspaces(app: &TestApp, ann: &User<'_>, bob: &User<'_>) -> String {
    with_invitations(app).await;
    for user in [ann, bob] {
        verify(app, app.project.id, user.id).await;
    }
    let root = create_workspace(ann, "r\u{1F980}").await;
    let child = create_below(ann, &root, "child").await;
    let to = json!({ "newOwnerId": bob.id, "previousOwnerDisposition": "demote",
        "previousOwnerCapabilities": ["invite"] });
    ann.post(&format!("{}/transfer-ownership", path(&child)), to).await.expect(200);
    let address = "/users/by-foreign-id?foreignId=silent&createIfNotFound=true";
    let silent = app.service().get(address).await.expect(201);
    let invite = json!({ "userId": silent["id"], "permissions": ["\u{1}\"é"] });
    ann.post(&format!("{}/invites", path(&child)), invite).await.expect(201);
    child["id"].as_str().unwrap().to_owned()
}

/// Comparing counts as viewing.
fn without_views(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("views");
            map.values_mut().for_each(|inner| *inner = without_views(inner.take()));
        }
        Value::Array(list) => {
            list.iter_mut().for_each(|inner| *inner = without_views(inner.take()))
        }
        _ => {}
    }
    value
}

/// Every reply of the restored server, and its doctor, against the original.
async fn compare(app: &TestApp, filled: &Filled, town: &Installation) {
    let running = town.serve();
    let key = &app.project.service_key;
    let project = app.project.id;
    for path in &filled.paths {
        let expected = app.service().get(path).await.expect(200);
        let (status, body) = running.request("GET", &format!("/v8/{project}{path}"), key, "");
        assert_eq!(status, 200, "{path}: {body}");
        let found = serde_json::from_str(&body).unwrap();
        assert_eq!(without_views(found), without_views(expected), "{path}");
    }
    let path = format!("/v8/{project}/storage/{}", filled.file);
    let (_, body) = running.request("GET", &path, key, "");
    let at = body.find("/internal/").unwrap_or_else(|| panic!("{body}"));
    let address = body[at..].split('"').next().unwrap();
    assert_eq!(running.request("GET", address, "", "").1, "the bytes");
    drop(running);
    let report = town.run(&["doctor", "--deep"]);
    assert_eq!(report.code, 0, "{}{}", report.stdout, report.stderr);
}

fn towns(app: &TestApp) -> [Installation; 2] {
    let one = Installation::new(app.engine());
    let other = if app.engine() == Engine::Sqlite { Engine::Postgres } else { Engine::Sqlite };
    [one.untouched(), Installation::new(other).untouched()]
}

fn total(report: &Value) -> u64 {
    report["tables"].as_object().unwrap().values().map(|rows| rows.as_u64().unwrap()).sum()
}

async fn a_backup_is_restored_on_either_engine(app: TestApp) {
    let app = app.own_server().await;
    let filled = fill(&app).await;
    let (path, report) = backup(&app, "all.tar.zst", &[]);
    assert_eq!(report["path"], path.to_str().unwrap());
    assert_eq!(mode(&path), 0o600);
    assert_eq!(report["bytes"], std::fs::metadata(&path).unwrap().len());
    assert_eq!(
        (&report["tables"]["entities"], &report["tables"]["comments"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(report["files"], 3, "a text, a picture and a small one of it");
    let checked = json_of(command(&app).arg("verify").arg(&path));
    assert_eq!((total(&checked), &checked["files"]), (total(&report), &report["files"]));
    for town in towns(&app) {
        let restored = town.json(&["restore", path.to_str().unwrap()]);
        assert_eq!(restored["tables"], report["tables"]);
        assert_eq!((&restored["files"], &restored["secret"]), (&json!(3), &json!(false)));
        compare(&app, &filled, &town).await;
    }
}

async fn a_folder_is_a_backup_too(app: TestApp) {
    let app = app.own_server().await;
    let filled = fill(&app).await;
    let (path, _) = backup(&app, "folder", &["--directory"]);
    let [_, town] = towns(&app);
    town.json(&["restore", path.to_str().unwrap()]);
    compare(&app, &filled, &town).await;
    let file = path.join("files").join(app.project.id.to_string());
    std::fs::remove_dir_all(file).unwrap();
    let line = failure(command(&app).arg("verify").arg(&path));
    assert!(line.ends_with("is missing"), "{line}");
}

async fn a_damaged_archive_is_refused(app: TestApp) {
    let app = app.own_server().await;
    fill(&app).await;
    let (path, _) = backup(&app, "all.tar.zst", &[]);
    let sound = std::fs::read(&path).unwrap();
    let damaged = path.with_file_name("damaged");
    let verify = |bytes: &[u8]| {
        std::fs::write(&damaged, bytes).unwrap();
        failure(command(&app).arg("verify").arg(&damaged));
    };
    verify(&sound[..sound.len() - 9]);
    verify(&sound[..sound.len() / 2]);
    for at in [100, sound.len() / 3, sound.len() / 2, sound.len() - 100] {
        let mut bytes = sound.clone();
        bytes[at] ^= 4;
        verify(&bytes);
    }
    let [town, _] = towns(&app);
    town.fails(&["restore", damaged.to_str().unwrap()]);
    let exists = failure(command(&app).arg("backup").arg(&path));
    assert!(exists.ends_with("exists already"), "{exists}");
    assert_eq!(std::fs::read(&path).unwrap(), sound);
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 2, "no unfinished archive stays: {left:?}");
}

async fn the_secret_travels_encrypted(app: TestApp) {
    let town = Installation::new(app.engine());
    let made = town.json(&["project", "create", "--name", "Forum"]);
    let user = ["user", "token", "--project", made["projectId"].as_str().unwrap()];
    let secret = |town: &Installation| std::fs::read(town.data_dir.join("secret_key")).ok();
    // Made by the first command that needs it.
    town.run(&[&user[..], &["--user", "0f8fad5b-d9cb-469f-a165-70867728950e"]].concat());
    let own = secret(&town).unwrap();
    let directory = fresh_directory();
    let (path, right, wrong) =
        (directory.join("a.tar.zst"), directory.join("right"), directory.join("wrong"));
    std::fs::write(&right, "open sesame\n").unwrap();
    std::fs::write(&wrong, "open sesam\n").unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    town.json(&["backup", &text(&path), "--secret-passphrase-file", &text(&right)]);
    let restored = town.untouched();
    let line =
        restored.fails(&["restore", &text(&path), "--secret-passphrase-file", &text(&wrong)]);
    assert!(line.contains("passphrase"), "{line}");
    assert_eq!(secret(&restored), None);
    let restored = town.untouched();
    restored.json(&["restore", &text(&path), "--secret-passphrase-file", &text(&right)]);
    assert_eq!(secret(&restored), Some(own));
    drop(restored.serve());
}

async fn only_an_empty_installation_is_restored(app: TestApp) {
    let app = app.own_server().await;
    app.user().await;
    let (path, _) = backup(&app, "all.tar.zst", &[]);
    let [town, _] = towns(&app);
    let archive = path.to_str().unwrap();
    std::fs::write(town.data_dir.join("notes.txt"), "mine").unwrap();
    let line = town.fails(&["restore", archive]);
    assert!(line.contains("is not empty"), "{line}");
    let [town, _] = towns(&app);
    town.json(&["restore", archive]);
    let line = town.fails(&["restore", archive]);
    assert!(line.contains("is not empty"), "{line}");
    if !town.is_sqlite() {
        // Another directory, the same database.
        std::fs::remove_dir_all(&town.data_dir).unwrap();
        let line = town.fails(&["restore", archive]);
        assert!(line.contains("the target is not empty"), "{line}");
    }
}

async fn nobody_writes_to_the_source_of_a_copy(app: TestApp) {
    let app = app.own_server().await;
    if app.engine() == Engine::Sqlite {
        // Its directory is locked by the server.
        return;
    }
    let (url, db) = (app.app.config.database_url.clone(), app.app.db.clone());
    let writing = move || {
        db.bulk(|bulk| {
            bulk.execute("BEGIN; UPDATE projects SET name = name")?;
            let town = Installation::new(Engine::Postgres).untouched();
            let line = town.fails(&["copy", "--from", &url, "--to", &town.database_url]);
            bulk.execute("ROLLBACK")?;
            let copied = town.json(&["copy", "--from", &url, "--to", &town.database_url]);
            Ok::<_, db::Error>((line, copied))
        })
    };
    let (line, copied) = tokio::task::spawn_blocking(writing).await.unwrap().unwrap();
    assert!(line.contains("somebody is writing to the source"), "{line}");
    assert_eq!(copied["equal"], true);
    app.user().await;
}

async fn everything_is_copied_to_either_engine(app: TestApp) {
    let app = app.own_server().await;
    let filled = fill(&app).await;
    for town in towns(&app) {
        // A database alone: the files stay where they are.
        let (from, to) = (&app.app.config.database_url, &town.database_url);
        let report = json_of(command(&app).args(["copy", "--from", from, "--to", to]));
        assert_eq!(report["equal"], true);
        let tables = report["tables"].as_array().unwrap();
        let entities = tables.iter().find(|table| table["name"] == "entities").unwrap();
        assert_eq!((&entities["rows"], &entities["from"]), (&json!(1), &entities["to"]));
        assert!(tables.iter().any(|table| table["name"].as_str().unwrap().ends_with("/Things")));
        let files = app.data_dir().join("files");
        let copied = Command::new("cp").arg("-a").arg(files).arg(&town.data_dir).status().unwrap();
        assert!(copied.success());
        compare(&app, &filled, &town).await;
        if town.is_sqlite() == (app.engine() == Engine::Sqlite) {
            assert_eq!(
                definitions(&town.db()),
                definitions(&app.app.db),
                "indexes and foreign keys"
            );
        }
        let again = failure(command(&app).args(["copy", "--from", from, "--to", to]));
        assert!(again.contains("the target is not empty"), "{again}");
    }
}

/// Every index and foreign key.
fn definitions(db: &Db) -> Vec<Definition> {
    let all = db.bulk(|bulk| {
        let tables = bulk.conn().tables()?;
        let all: Result<Vec<_>, db::Error> =
            tables.iter().map(|table| bulk.definitions(table)).collect();
        all.map(|all| all.concat())
    });
    let all = all.unwrap();
    assert!(all.len() > 50, "{}", all.len());
    all
}

async fn an_interrupted_copy_goes_on(app: TestApp) {
    let app = app.own_server().await;
    let filled = fill(&app).await;
    for town in towns(&app) {
        let target = Db::open(&town.database_url, Options::default()).unwrap();
        load::prepare(&target, MIGRATIONS.len(), Timestamp::from_millis(1)).unwrap();
        let (sender, receiver) = sync_channel(2);
        let head = |name: &str, columns: &[&str]| Message::Table {
            name: name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            json: vec![false; columns.len()],
        };
        // It ends in the middle of a table that is not even of the source.
        sender.send(head("installation", &["name", "value"])).unwrap();
        let row = vec!["of before".to_owned().into(), "x".to_owned().into()];
        sender.send(Message::Rows(vec![row])).unwrap();
        drop(sender);
        assert!(load::run(&target, receiver, &|_, _| {}).is_err());
        target.close().await;
        let line = failure(town.command().arg("serve").env("TOWNHALL_LOG", "json"));
        assert!(line.contains("unfinished copy"), "{line}");
        let (from, to) = (&app.app.config.database_url, &town.database_url);
        let report = json_of(command(&app).args(["copy", "--from", from, "--to", to]));
        assert_eq!(report["equal"], true);
        let files = app.data_dir().join("files");
        let copied = Command::new("cp").arg("-a").arg(files).arg(&town.data_dir).status().unwrap();
        assert!(copied.success());
        compare(&app, &filled, &town).await;
    }
}

async fn files_deleted_during_a_backup_keep_their_bytes(app: TestApp) {
    let app = app.own_server().await;
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes: b"hello" };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    let file = app.service().post_form("/storage", &form).await.expect(201);
    let until = app.now().plus(std::time::Duration::from_secs(3600));
    let hold = app.app.db.write(move |tx| installation::hold_files(tx, "backup", until));
    hold.await.unwrap();
    let path = format!("/storage/{}", file["fileId"].as_str().unwrap());
    app.service().delete(&path).await.expect(200);
    app.run_jobs().await;
    assert_eq!(app.stored(), 1);
    let release = app.app.db.write(|tx| installation::release_files(tx, "backup"));
    release.await.unwrap();
    app.advance(std::time::Duration::from_secs(61));
    app.run_jobs().await;
    assert_eq!(app.stored(), 0);
}
