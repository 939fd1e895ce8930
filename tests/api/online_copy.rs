//! `townhall copy --online`: from either engine to either engine while a server writes, with nothing lost.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use db::Engine;
use serde_json::{Value, json};

use crate::support::{Actor, Installation, TestApp, User, failure, on_both_engines};
use crate::tables::{column, create, insert};
use crate::transfer::{command, fill, json_of};

on_both_engines![
    nothing_is_lost_while_others_write,
    a_killed_copy_goes_on,
    a_table_is_logged_after_another_was_dropped,
    a_source_that_was_moved_is_read_only_until_it_is_reopened,
    a_server_removes_what_a_killed_copy_has_left,
    a_target_with_data_is_refused,
];

const BUSY: u16 = 503;

/// What was acknowledged.
#[derive(Debug, Default)]
struct Written {
    entities: Vec<(String, Option<String>)>,
    deleted: Vec<String>,
    rows: usize,
}

/// The reply's body, unless the database was read-only.
fn accepted(reply: &crate::support::Reply, status: u16) -> Option<Value> {
    (reply.status != BUSY).then(|| reply.expect(status))
}

/// One post after another, with comments, changes and deletions, until the copy has ended.
async fn write(app: &TestApp, ann: &User<'_>, ended: &AtomicBool) -> Written {
    let (key, mut written, mut number) = (app.service(), Written::default(), 0);
    while !ended.load(Relaxed) {
        number += 1;
        let _ = write_one(&key, ann, number, &mut written).await;
        tokio::task::yield_now().await;
    }
    written
}

/// `None`: something was refused.
async fn write_one(key: &Actor<'_>, ann: &User<'_>, number: usize, to: &mut Written) -> Option<()> {
    let post = json!({ "title": format!("Post {number}"), "foreignId": format!("f{number}") });
    let post = accepted(&ann.post("/entities", post).await, 201)?;
    let id = post["id"].as_str().unwrap().to_owned();
    to.entities.push((id.clone(), None));
    let comment = json!({ "entityId": id, "content": "c" });
    let comment = accepted(&ann.post("/comments", comment).await, 201)?;
    to.entities.last_mut().unwrap().1 = comment["id"].as_str().map(str::to_owned);
    accepted(&key.post("/db/notes", json!({ "t": "x" })).await, 201)?;
    to.rows += 1;
    if number.is_multiple_of(3) {
        let path = format!("/entities/{id}");
        accepted(&ann.patch(&path, json!({ "title": "changed" })).await, 200)?;
    }
    if number.is_multiple_of(5) {
        let (id, _) = to.entities[0].clone();
        accepted(&ann.delete(&format!("/entities/{id}")).await, 204)?;
        to.entities.remove(0);
        to.deleted.push(id);
    }
    change_tables(key, number).await
}

/// Custom tables come, change and go.
async fn change_tables(key: &Actor<'_>, number: usize) -> Option<()> {
    let name = format!("t{}", number / 4);
    match number % 4 {
        0 => {
            let table = json!({ "tableName": name, "columns": [column("t", "text")] });
            accepted(&key.post("/db/tables", table).await, 201)?;
            accepted(&key.post(&format!("/db/{name}"), json!({ "t": "a" })).await, 201)?;
        }
        1 => {
            let path = format!("/db/tables/{name}/columns");
            if key.get(&format!("/db/{name}")).await.status == 200 {
                accepted(&key.post(&path, column("n", "decimal")).await, 201)?;
                accepted(&key.post(&format!("/db/{name}"), json!({ "n": "1.50" })).await, 201)?;
            }
        }
        // A project may have a hundred tables: the first few stay.
        2 if (number > 80 || number % 8 == 2)
            && key.get(&format!("/db/{name}")).await.status == 200 =>
        {
            accepted(&key.delete(&format!("/db/tables/{name}")).await, 200)?;
        }
        _ => {}
    }
    Some(())
}

fn targets(app: &TestApp) -> Installation {
    let other = if app.engine() == Engine::Sqlite { Engine::Postgres } else { Engine::Sqlite };
    Installation::new(other).untouched()
}

async fn copy_while_writing(app: &TestApp, town: &Installation) -> (Value, Written) {
    let ann = app.user().await;
    let (from, to) = (app.app.config.database_url.clone(), town.database_url.clone());
    let mut copy = command(app);
    copy.args(["copy", "--online", "--from", &from, "--to", &to]);
    let ended = AtomicBool::new(false);
    let copying = async {
        let report =
            tokio::task::spawn_blocking(move || crate::support::outcome(copy.arg("--json")));
        let report = report.await.unwrap();
        ended.store(true, Relaxed);
        report
    };
    let (report, written) = tokio::join!(copying, write(app, &ann, &ended));
    assert_eq!(report.code, 0, "{}", report.stderr);
    (serde_json::from_str(&report.stdout).unwrap(), written)
}

/// Everything that was acknowledged is on the target, and nothing that was deleted.
fn all_there(app: &TestApp, town: &Installation, written: &Written) {
    let running = town.serve();
    let key = &app.project.service_key;
    let base = format!("/v8/{}", app.project.id);
    let get = |path: &str| running.request("GET", &format!("{base}{path}"), key, "");
    for (entity, comment) in &written.entities {
        assert_eq!(get(&format!("/entities/{entity}")).0, 200, "{entity}");
        if let Some(comment) = comment {
            assert_eq!(get(&format!("/comments/{comment}")).0, 200, "{comment}");
        }
    }
    for entity in &written.deleted {
        assert_eq!(get(&format!("/entities/{entity}")).0, 404, "{entity}");
    }
    let (status, rows) = get("/db/notes?limit=1");
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(
        (status, &rows["pagination"]["totalItems"]),
        (200, &json!(written.rows + 1)),
        "{rows}"
    );
    let post = r#"{"title":"after the move"}"#;
    assert_eq!(running.request("POST", &format!("{base}/entities"), key, post).0, 201);
    drop(running);
    let report = town.run(&["doctor", "--deep"]);
    assert_eq!(report.code, 0, "{}{}", report.stdout, report.stderr);
}

fn equal(report: &Value) {
    assert_eq!(report["equal"], true);
    for table in report["tables"].as_array().unwrap() {
        assert_eq!(table["from"], table["to"], "{table}");
    }
}

fn share_files(app: &TestApp, town: &Installation) {
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(app.data_dir().join("files"))
        .arg(&town.data_dir)
        .status();
    assert!(copied.unwrap().success());
}

async fn prepared(app: TestApp) -> TestApp {
    let app = app.own_server().await;
    fill(&app).await;
    create(&app.service(), "notes", &[("t", "text")], json!({})).await;
    insert(&app.service(), "notes", json!({ "t": "first" })).await;
    app
}

async fn nothing_is_lost_while_others_write(app: TestApp) {
    let app = prepared(app).await;
    let town = targets(&app);
    let (report, written) = copy_while_writing(&app, &town).await;
    equal(&report);
    assert!(!written.entities.is_empty() && report["pauseMilliseconds"].is_u64(), "{report}");
    share_files(&app, &town);
    all_there(&app, &town, &written);
}

async fn a_killed_copy_goes_on(app: TestApp) {
    let app = prepared(app).await;
    let town = targets(&app);
    kill_a_copy(&app, &town).await;
    let (report, written) = copy_while_writing(&app, &town).await;
    equal(&report);
    share_files(&app, &town);
    all_there(&app, &town, &written);
}

/// The copy has begun to log changes when it is killed.
async fn kill_a_copy(app: &TestApp, town: &Installation) {
    let mut copy = command(app);
    copy.args(["copy", "--online", "--json", "--from", &app.app.config.database_url]);
    copy.args(["--to", &town.database_url]);
    let mut killed = copy.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while last_log(app).await.is_none() {
        assert_eq!(killed.try_wait().unwrap(), None, "the copy has failed");
        tokio::task::yield_now().await;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
}

/// The highest number of a log in the source.
async fn last_log(app: &TestApp) -> Option<i64> {
    let tables = app.app.db.read(|c| c.tables()).await.unwrap();
    let numbers = tables.iter().filter_map(|one| one.name.strip_prefix("online_copy_log_"));
    numbers.map(|number| number.parse().unwrap()).max()
}

/// A custom table that is dropped while it is copied leaves its log behind, which is not used for the next one.
async fn a_table_is_logged_after_another_was_dropped(app: TestApp) {
    let app = prepared(app).await;
    let town = targets(&app);
    kill_a_copy(&app, &town).await;
    let of_dropped =
        format!("CREATE TABLE online_copy_log_{} (k1 BIGINT)", last_log(&app).await.unwrap() + 1);
    app.app.db.execute_script(&of_dropped).unwrap();
    let (report, written) = copy_while_writing(&app, &town).await;
    equal(&report);
    share_files(&app, &town);
    all_there(&app, &town, &written);
}

async fn a_source_that_was_moved_is_read_only_until_it_is_reopened(app: TestApp) {
    let app = prepared(app).await;
    let town = targets(&app);
    let url = app.app.config.database_url.clone();
    let online = ["copy", "--online", "--from", &url, "--to", &town.database_url];
    equal(&json_of(command(&app).args(online)));
    let (key, post) = (app.service(), json!({ "title": "lost" }));
    assert_eq!(key.post("/entities", post.clone()).await.status, BUSY);
    app.service().get("/entities?sortBy=new").await.expect(200);
    let line = failure(command(&app).arg("serve").env("TOWNHALL_LOG", "json"));
    assert!(line.contains("was moved"), "{line}");
    let again = targets(&app);
    let line = failure(command(&app).args([
        "copy",
        "--online",
        "--from",
        &url,
        "--to",
        &again.database_url,
    ]));
    assert!(line.contains("--reopen"), "{line}");
    json_of(command(&app).args(["copy", "--reopen", "--from", &url]));
    key.post("/entities", post).await.expect(201);
    no_traces(&app);
}

async fn a_server_removes_what_a_killed_copy_has_left(app: TestApp) {
    let app = prepared(app).await;
    let town = targets(&app);
    kill_a_copy(&app, &town).await;
    townhall::transfer::online::remove_leftovers(&app.app.db).unwrap();
    no_traces(&app);
}

fn no_traces(app: &TestApp) {
    let tables = app.app.db.snapshot(|c| c.tables()).unwrap();
    let left: Vec<_> = tables.iter().filter(|table| table.name.contains("online_copy")).collect();
    assert!(left.is_empty(), "{left:?}");
    let logged = match app.engine() {
        Engine::Sqlite => "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'",
        Engine::Postgres => {
            "SELECT (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'online%')
                + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'online%')"
        }
    };
    let query = db::Query::<i64>::built("test::traces", logged);
    assert_eq!(app.app.db.snapshot(|c| c.one(&query, &[])).unwrap(), 0);
}

async fn a_target_with_data_is_refused(app: TestApp) {
    let app = prepared(app).await;
    let town = Installation::new(app.engine());
    town.json(&["project", "create", "--name", "Forum"]);
    let url = &app.app.config.database_url;
    let line = failure(command(&app).args([
        "copy",
        "--online",
        "--from",
        url,
        "--to",
        &town.database_url,
    ]));
    assert!(line.contains("is not empty"), "{line}");
    no_traces(&app);
}
