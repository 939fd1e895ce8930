//! Backups on a schedule: when, by whom, where to, and which of them stay.

use std::path::Path;
use std::time::Duration;

use http::Method;
use townhall::auth::operators::Role;
use townhall::installation::store as installation;
use townhall::transfer::{archive, schedule};
use townhall::values::clock::Clock;

use crate::support::visitor::Visitor;
use crate::support::{Bucket, TestApp, fresh_directory, on_both_engines, outcome};
use crate::transfer::command;

on_both_engines![
    a_backup_is_made_whenever_one_is_due_and_the_oldest_go,
    nodes_make_one_backup_together,
    a_backup_that_fails_removes_nothing_and_is_tried_again,
    backups_go_to_a_bucket,
    the_doctor_misses_a_backup_that_is_overdue,
    an_operator_asks_for_a_backup,
];

const HOUR: Duration = Duration::from_secs(3600);

async fn scheduled(app: TestApp, to: &str, keep: &str) -> TestApp {
    app.restart_with(|config| {
        config.set("TOWNHALL_BACKUP_EVERY", "1h");
        config.set("TOWNHALL_BACKUP_TO", to);
        config.set("TOWNHALL_BACKUP_KEEP", keep);
    })
    .await
}

async fn due(app: &TestApp) -> Option<String> {
    schedule::run_if_due(&app.app).await.unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

async fn gauge(app: &TestApp) -> String {
    let text = app.anonymous().raw(Method::GET, "/metrics", "", "").await.text();
    let name = "townhall_backup_last_success_timestamp_seconds ";
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("{text}")).to_owned()
}

async fn a_backup_is_made_whenever_one_is_due_and_the_oldest_go(app: TestApp) {
    let to = fresh_directory();
    let app = scheduled(app, to.to_str().unwrap(), "2").await;
    app.user().await;
    // Not ours, however old.
    std::fs::write(to.join("townhall-first.tar.zst"), "x").unwrap();
    // What a killed backup leaves.
    std::fs::write(to.join(".townhall-20200101T000000Z.tar.zst.00aa"), "x").unwrap();
    assert_eq!(gauge(&app).await, "0");
    let mut made = vec!["townhall-first.tar.zst".to_owned()];
    for _ in 0..3 {
        let name = due(&app).await.unwrap();
        let manifest = archive::verify(&to.join(&name)).unwrap();
        let users = manifest.tables.iter().find(|table| table.name == "users").unwrap();
        assert_eq!(users.rows, 1);
        assert_eq!(gauge(&app).await, app.now().seconds().to_string());
        made.push(name);
        assert_eq!(due(&app).await, None);
        app.advance(HOUR - Duration::from_secs(1));
        assert_eq!(due(&app).await, None, "a second too early");
        app.advance(Duration::from_secs(1));
    }
    made.remove(1);
    made.sort();
    assert_eq!(names(&to), made);
}

async fn nodes_make_one_backup_together(app: TestApp) {
    let to = fresh_directory();
    let app = scheduled(app, to.to_str().unwrap(), "9").await;
    let other = match app.engine() {
        db::Engine::Postgres => Some(app.second_node().await),
        db::Engine::Sqlite => None,
    };
    let other = other.as_ref().unwrap_or(&app);
    for round in 1..=2 {
        let made = tokio::join!(due(&app), due(other), due(&app), due(other));
        let made = [made.0, made.1, made.2, made.3];
        assert_eq!(made.iter().flatten().count(), 1, "{made:?}");
        assert_eq!(names(&to).len(), round);
        app.advance(HOUR);
    }
}

async fn a_backup_that_fails_removes_nothing_and_is_tried_again(app: TestApp) {
    let to = fresh_directory();
    let app = scheduled(app, to.to_str().unwrap(), "1").await;
    let first = due(&app).await.unwrap();
    let last = gauge(&app).await;
    app.advance(HOUR);
    let hour = first.replace("T120000Z", "T130000Z");
    assert_ne!(first, hour);
    std::fs::create_dir(to.join(&hour)).unwrap();
    assert!(schedule::run_if_due(&app.app).await.is_err());
    assert_eq!((names(&to), gauge(&app).await), (vec![first.clone(), hour.clone()], last));
    assert_eq!(due(&app).await, None, "not at once");
    std::fs::remove_dir(to.join(&hour)).unwrap();
    app.advance(Duration::from_secs(600));
    let second = due(&app).await.unwrap();
    assert_eq!(names(&to), [second]);
}

async fn backups_go_to_a_bucket(app: TestApp) {
    let bucket = Bucket::open().await;
    let app = app.restart_with(|config| bucket.configure(config)).await;
    let app = scheduled(app, "s3://townhall-test/kept/here", "2").await;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(format!("kept/here/{}", due(&app).await.unwrap()));
        app.advance(HOUR);
    }
    assert_eq!(bucket.keys().await, made[1..]);
    assert!(!app.data_dir().join("backup").exists(), "nothing stays here");
}

async fn the_doctor_misses_a_backup_that_is_overdue(app: TestApp) {
    let to = fresh_directory();
    let app = scheduled(app, to.to_str().unwrap(), "2").await;
    let doctor = || {
        let mut doctor = command(&app);
        doctor.arg("doctor").env("TOWNHALL_BACKUP_EVERY", "1h").env("TOWNHALL_BACKUP_TO", &to);
        let report = outcome(&mut doctor).stdout;
        report.lines().find(|line| line.contains("backups")).unwrap().to_owned()
    };
    assert!(doctor().starts_with("FAIL"), "{}", doctor());
    for (age, mark) in [(3 * HOUR, "FAIL"), (HOUR + HOUR / 2, "ok")] {
        let began = Clock::system().now().minus(age);
        let finish = app.app.db.write(move |tx| installation::finish_backup(tx, began));
        finish.await.unwrap();
        assert!(doctor().starts_with(mark), "{}", doctor());
    }
}

async fn an_operator_asks_for_a_backup(app: TestApp) {
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    assert!(admin.get("/admin/system").await.text().contains("TOWNHALL_BACKUP_TO"));
    assert_eq!(admin.submit("/admin/backup", &[]).await.status, 400);
    let to = fresh_directory();
    let app = scheduled(app, to.to_str().unwrap(), "5").await;
    let admin = Visitor::operator(&app, Role::Admin, None).await;
    assert!(due(&app).await.is_some());
    app.advance(Duration::from_secs(60));
    assert!(due(&app).await.is_none());
    let asked = admin.submit("/admin/backup", &[]).await;
    assert_eq!(asked.header("location"), Some("/admin/system#backups"));
    assert!(admin.get("/admin/system").await.text().contains("One was asked for"));
    app.advance(Duration::from_secs(1));
    assert!(due(&app).await.is_some());
    assert!(due(&app).await.is_none());
    assert!(admin.get("/admin/system").await.text().contains("Make one now"));
    assert_eq!(names(&to).len(), 2);
}
