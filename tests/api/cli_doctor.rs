//! `townhall doctor`: what cannot be reached, what was damaged, what was lost. The server is at work meanwhile.

use std::path::{Path, PathBuf};
use std::process::Command;

use db::Engine;
use serde_json::{Value, json};

use crate::support::{
    Dice, Form, Installation, Part, TestApp, installed_on_both_engines, on_both_engines, outcome,
};

on_both_engines![
    a_proxy_that_is_not_trusted_is_named,
    a_lost_storage_directory_is_told,
    the_deep_check_compares_rows_with_bytes,
    a_wrong_balance_of_votes_is_repaired,
];

installed_on_both_engines![a_newer_schema_is_told, what_cannot_be_reached_is_told];

/// What the doctor says about an installation: its exit code and its report.
fn doctor(command: &mut Command, arguments: &[&str]) -> (i32, Value) {
    let done = outcome(command.arg("doctor").args(arguments).arg("--json"));
    let report = serde_json::from_str(&done.stdout);
    (done.code, report.unwrap_or_else(|_| panic!("{} {}", done.stdout, done.stderr)))
}

/// The binary on the data of a running server.
fn command(app: &TestApp) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_townhall"));
    command.env_clear().env("TOWNHALL_DATA_DIR", app.data_dir());
    command.env("TOWNHALL_DATABASE_URL", &app.app.config.database_url);
    command
}

/// Status and detail of a check.
fn check<'r>(report: &'r Value, name: &str) -> (&'r str, &'r str) {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["check"] == name);
    let check = check.unwrap_or_else(|| panic!("no {name} in {report}"));
    (check["status"].as_str().unwrap(), check["detail"].as_str().unwrap())
}

fn a_newer_schema_is_told(town: Installation) {
    let town = town.untouched();
    let applied = town.json(&["migrate", "up"])["applied"].as_array().unwrap().len();
    let newer = format!(
        "INSERT INTO schema_migrations (version, name, checksum, applied_at)
         VALUES ({}, 'from the future', 'x', 1)",
        applied + 1
    );
    assert_eq!(doctor(&mut town.command(), &[]).0, 0);
    town.db().execute_script(&newer).unwrap();
    let (code, report) = doctor(&mut town.command(), &[]);
    assert_eq!((code, check(&report, "database").0), (1, "fail"), "{report}");
    assert!(check(&report, "database").1.contains("this program knows"), "{report}");
}

fn what_cannot_be_reached_is_told(town: Installation) {
    town.json(&["migrate", "up"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = town.command();
    command.env("TOWNHALL_SMTP_URL", format!("smtp://{closed}"));
    command.env("TOWNHALL_MAIL_FROM", "forum@example.com");
    command.env("TOWNHALL_STORAGE", "s3://bucket").env("TOWNHALL_S3_PATH_STYLE", "1");
    command.env("AWS_ENDPOINT_URL", format!("http://{closed}")).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    let (code, report) = doctor(&mut command, &[]);
    assert_eq!(code, 1);
    assert_eq!(check(&report, "mail").0, "fail", "{report}");
    assert_eq!(check(&report, "storage").0, "fail", "{report}");
    assert_eq!(check(&report, "database").0, "pass", "{report}");
}

async fn upload(app: &TestApp, bytes: &[u8]) -> PathBuf {
    let part = Part { name: "file", file: "a.txt", mime: "text/plain", bytes };
    let form = Form::new().file(part).json("pathParts", json!(["docs"]));
    let file = app.service().post_form("/storage", &form).await.expect(201);
    let root = app.data_dir().join("files").join(app.project.id.to_string());
    root.join("docs").join(file["fileId"].as_str().unwrap()).join("a.txt")
}

async fn a_proxy_that_is_not_trusted_is_named(app: TestApp) {
    let app = app.own_server().await;
    let proxy = |app: &TestApp| {
        let (code, report) = doctor(&mut command(app), &[]);
        assert_eq!((code, check(&report, "proxy").0), (0, "pass"), "{report}");
        check(&report, "proxy").1.to_owned()
    };
    assert!(!proxy(&app).contains("TOWNHALL_TRUSTED_PROXIES"));
    let forwarded = app.anonymous().with_header("X-Forwarded-For", "203.0.113.9");
    forwarded.get("/projects/lean").await.expect(200);
    app.until(|app| townhall::network::forwarding::untrusted_proxy(app.data_dir()).is_some()).await;
    let named = proxy(&app);
    assert!(
        named.starts_with("127.0.0.1 ") && named.contains("TOWNHALL_TRUSTED_PROXIES"),
        "{named}"
    );
}

async fn a_lost_storage_directory_is_told(app: TestApp) {
    let app = app.own_server().await;
    assert_eq!(doctor(&mut command(&app), &[]).0, 0);
    upload(&app, b"hello").await;
    let (code, report) = doctor(&mut command(&app), &[]);
    assert_eq!((code, check(&report, "storage").0), (0, "pass"), "{report}");
    std::fs::remove_dir_all(app.data_dir().join("files")).unwrap();
    for arguments in [&[][..], &["--deep"]] {
        let (code, report) = doctor(&mut command(&app), arguments);
        assert_eq!((code, check(&report, "storage").0), (1, "fail"), "{report}");
    }
    assert!(!app.data_dir().join("files").exists(), "a look changes nothing");
}

async fn the_deep_check_compares_rows_with_bytes(app: TestApp) {
    let app = app.own_server().await;
    let file = upload(&app, b"hello").await;
    upload(&app, b"another").await;
    let deep = || doctor(&mut command(&app), &["--deep"]);
    let (code, report) = deep();
    assert_eq!((code, check(&report, "integrity").0), (0, "pass"), "{report}");
    assert_eq!(check(&report, "files"), ("pass", "2 objects, all as they were stored"));
    for (bytes, wrong) in [
        (Some(&b"jello"[..]), "has other bytes than were stored"),
        (Some(b"hell"), "has another size"),
        (None, "is missing"),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        assert_eq!(doctor(&mut command(&app), &[]).0, 0, "only the deep check reads files");
        let (code, report) = deep();
        assert_eq!((code, check(&report, "files").0), (1, "fail"), "{report}");
        assert!(
            check(&report, "files").1.ends_with(&format!("docs/{} {wrong}", tail(&file))),
            "{report}"
        );
    }
    std::fs::write(&file, b"hello").unwrap();
    std::fs::write(file.with_file_name("b.txt"), b"").unwrap();
    let (code, report) = deep();
    assert_eq!(code, 0);
    assert!(check(&report, "files").1.contains("1 stored objects without a row"), "{report}");
}

/// The last two parts of a path.
fn tail(path: &Path) -> String {
    let parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_str().unwrap()).collect();
    format!("{}/{}", parts[1], parts[0])
}

async fn a_wrong_balance_of_votes_is_repaired(app: TestApp) {
    let app = app.own_server().await;
    let user = app.user().await;
    let entity = user.post("/entities", json!({ "title": "T" })).await.expect(201);
    let comment = json!({ "entityId": entity["id"], "content": "c" });
    user.post("/comments", comment).await.expect(201);
    assert_eq!(doctor(&mut command(&app), &[]).0, 0);
    let spoil = db::Command::<()>::built("spoil", "UPDATE comments SET balance = 7");
    app.app.db.write(move |tx| tx.execute(&spoil, &[])).await.unwrap();
    let (code, report) = doctor(&mut command(&app), &[]);
    assert_eq!((code, check(&report, "counters").0), (1, "fail"), "{report}");
    assert_eq!(doctor(&mut command(&app), &["--fix"]).0, 0);
    assert_eq!(doctor(&mut command(&app), &[]).0, 0);
}

/// Overwrites a part of one cell, in a table or an index: what is free means nothing.
fn damage(bytes: &mut [u8], dice: &mut Dice) -> String {
    const PAGE: usize = 4096;
    let pages = bytes.len() / PAGE;
    loop {
        let page = dice.draw(pages);
        let header = page * PAGE + if page == 0 { 100 } else { 0 };
        let pointers = match bytes[header] {
            2 | 5 => header + 12,
            10 | 13 => header + 8,
            _ => continue,
        };
        let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        let mut cells: Vec<usize> = (0..word(header + 3)).map(|n| word(pointers + 2 * n)).collect();
        cells.sort_unstable();
        cells.push(PAGE);
        if cells.len() < 2 {
            continue;
        }
        let cell = dice.draw(cells.len() - 1);
        let (start, end) = (page * PAGE + cells[cell], page * PAGE + cells[cell + 1]);
        for byte in &mut bytes[start..end.min(start + 64)] {
            *byte = u8::try_from(dice.draw(256)).unwrap();
        }
        return format!("page {page} of {pages}, type {}, cell {cell}", bytes[header]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deep_check_finds_damage_wherever_it_is() {
    let app = TestApp::start(Engine::Sqlite, "the_deep_check_finds_damage_wherever_it_is")
        .await
        .own_server()
        .await;
    for _ in 0..4 {
        let user = app.user().await;
        let profile = json!({ "name": "Somebody", "bio": "Words ".repeat(40) });
        user.patch(&format!("/users/{}", user.id), profile).await.expect(200);
        for number in 0..10 {
            let entity = json!({ "title": format!("Entity {number}"), "content": "Text ".repeat(50),
                "keywords": ["a", "b"], "metadata": { "n": number } });
            let entity = user.post("/entities", entity).await.expect(201);
            let comment = json!({ "entityId": entity["id"], "content": "A comment" });
            user.post("/comments", comment).await.expect(201);
            let reaction = json!({ "reactionType": "like" });
            let target = format!("/entities/{}/reactions", entity["id"].as_str().unwrap());
            user.post(&target, reaction).await.expect(200);
        }
    }
    app.app.db.close().await;
    let sound = std::fs::read(app.data_dir().join("townhall.db")).unwrap();
    let mut dice = Dice::new(22);
    for _ in 0..22 {
        let town = Installation::new(Engine::Sqlite);
        let mut bytes = sound.clone();
        let place = damage(&mut bytes, &mut dice);
        std::fs::write(town.data_dir.join("townhall.db"), &bytes).unwrap();
        let (code, report) = doctor(&mut town.command(), &["--deep"]);
        assert_eq!((code, &report["status"]), (1, &json!("fail")), "{place}: {report}");
    }
    let town = Installation::new(Engine::Sqlite);
    std::fs::write(town.data_dir.join("townhall.db"), &sound).unwrap();
    let (code, report) = doctor(&mut town.command(), &["--deep"]);
    assert_eq!(code, 0, "{report}");
}
