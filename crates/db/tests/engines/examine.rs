//! What an examination finds, and what a database keeps to its owner.

use std::os::unix::fs::PermissionsExt as _;

use db::{Command, Db, Error, Options, args};
use rusqlite::config::DbConfig;

use crate::support::*;

on_both![a_sound_database_has_no_findings, rows_without_their_parent_are_found];

async fn a_sound_database_has_no_findings(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "note").await.unwrap();
    let examined = examine(&db).await;
    assert_eq!(examined, Vec::<String>::new());
}

async fn rows_without_their_parent_are_found(test: TestDb) {
    let db = test.ready(one_connection());
    let orphan = "INSERT INTO notes (id, box_id, slug) VALUES (1, 99, 'orphan')";
    match test.url.strip_prefix("sqlite://") {
        Some(path) => {
            let raw = rusqlite::Connection::open(path).unwrap();
            raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false).unwrap();
            raw.execute_batch(orphan).unwrap();
        }
        None => {
            let unchecked = format!("SET LOCAL session_replication_role = replica; {orphan}");
            db.execute_script(&unchecked).unwrap();
        }
    }
    let findings = examine(&db).await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("foreign key") && findings[0].contains("notes"), "{findings:?}");
}

async fn examine(db: &Db) -> Vec<String> {
    let db = db.clone();
    let examined = tokio::task::spawn_blocking(move || db.examine()).await.unwrap().unwrap();
    examined.findings
}

#[tokio::test]
async fn bytes_that_are_no_text_are_found() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    insert(&db, 1, "note").await.unwrap();
    let spoil = "UPDATE notes SET body = CAST(x'c3284142' AS TEXT)";
    db.execute_script(spoil).unwrap();
    let findings = examine(&db).await;
    assert_eq!(findings, ["notes: 1 rows hold bytes that are no text"]);
}

#[tokio::test]
async fn the_database_is_for_its_owner_alone_wherever_it_lies() {
    let test = TestDb::sqlite();
    let path = test.url.strip_prefix("sqlite://").unwrap();
    let files = || ["", "-wal", "-shm"].map(|suffix| format!("{path}{suffix}"));
    let modes =
        || files().map(|file| std::fs::metadata(file).unwrap().permissions().mode() & 0o777);
    let db = test.ready(Options::default());
    insert(&db, 1, "note").await.unwrap();
    assert_eq!(modes(), [0o600; 3]);
    // One that an earlier release made, with what was left when it was stopped.
    let open = std::fs::Permissions::from_mode(0o644);
    files().iter().for_each(|file| std::fs::set_permissions(file, open.clone()).unwrap());
    let again = test.open(Options::default());
    insert(&again, 2, "next").await.unwrap();
    assert_eq!(modes(), [0o600; 3]);
}

/// Small rows, and one that is longer than a page.
#[tokio::test]
async fn what_was_deleted_is_neither_in_the_file_nor_in_its_log() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    let long = "canary ".repeat(2_000);
    for (id, body) in [(1, "canary"), (2, long.as_str()), (3, "canary")] {
        let body = body.to_owned();
        let written = db.write(move |tx| {
            insert_in(tx, id, &format!("canary{id}"))?;
            let update = Command::<()>::built("body", "UPDATE notes SET body = $2 WHERE id = $1");
            tx.execute(&update, args![id, &body])
        });
        assert_eq!(written.await, Ok::<_, Error>(1));
    }
    assert!(holds(&test, "canary"));
    let delete = Command::built("delete", "DELETE FROM notes");
    assert_eq!(db.write(move |tx| tx.execute(&delete, &[])).await, Ok::<_, Error>(3));
    assert!(holds(&test, "canary"), "the log still has it");
    assert_eq!(db.empty_log().await, Ok(()));
    assert!(!holds(&test, "canary"));
    insert(&db, 4, "next").await.unwrap();
    db.close().await;
    assert!(!holds(&test, "canary"));
}

fn holds(test: &TestDb, text: &str) -> bool {
    let path = test.url.strip_prefix("sqlite://").unwrap();
    let files =
        ["", "-wal"].map(|suffix| std::fs::read(format!("{path}{suffix}")).unwrap_or_default());
    files.iter().any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}
