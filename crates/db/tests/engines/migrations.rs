//! The numbered list: applied once, in order, never changed.

use std::sync::Barrier;

use db::{Db, Error, Migration, MigrationState, Options, Query};

use crate::support::*;

const NOTES: Migration = Migration::shared(
    1,
    "notes",
    "CREATE TABLE notes (id {int} PRIMARY KEY, body {text}) {strict}; INSERT INTO notes VALUES (1, 'old');",
);
const MARKS: Migration = Migration::twins(
    2,
    "marks",
    "ALTER TABLE notes ADD COLUMN mark INTEGER NOT NULL DEFAULT 7",
    "ALTER TABLE notes ADD COLUMN mark BIGINT NOT NULL DEFAULT 7",
);
const BROKEN: Migration =
    Migration::shared(3, "broken", "CREATE TABLE half (id {int}); INSERT INTO nowhere VALUES (1);");

on_both![
    a_longer_list_brings_an_old_database_up_to_date,
    a_changed_migration_is_refused,
    a_newer_schema_is_refused,
    a_failing_migration_leaves_nothing_behind,
    versions_must_follow_each_other,
    migrating_at_once_applies_once,
];

async fn a_longer_list_brings_an_old_database_up_to_date(test: TestDb) {
    let db = test.open(Options::default());
    let state = |applied_at| MigrationState { version: 1, name: "notes", applied_at };
    assert_eq!(db.migration_status(&[NOTES]), Ok(vec![state(None)]));
    assert_eq!(db.migrate(&[NOTES], 10), Ok(vec![1]));
    assert_eq!(db.migrate(&[NOTES], 20), Ok(vec![]));
    assert_eq!(db.migration_status(&[NOTES]), Ok(vec![state(Some(10))]));
    db.close().await;

    let db = test.open(Options::default());
    assert_eq!(db.migrate(&[NOTES, MARKS], 30), Ok(vec![2]));
    let status = db.migration_status(&[NOTES, MARKS]).unwrap();
    assert_eq!(status[0], state(Some(10)));
    assert_eq!(status[1].applied_at, Some(30));
    let row = db.read(|conn| {
        let query = Query::<(String, i64)>::built("row", "SELECT body, mark FROM notes");
        conn.one(&query, &[])
    });
    assert_eq!(row.await, Ok::<_, Error>(("old".to_owned(), 7)));
}

async fn a_changed_migration_is_refused(test: TestDb) {
    let db = test.open(Options::default());
    db.migrate(&[NOTES], 0).unwrap();
    let changed = Migration::twins(1, "notes", NOTES.sqlite, "CREATE TABLE other (id {int})");
    assert_eq!(
        db.migrate(&[changed, MARKS], 0),
        Err(Error::ChangedMigration { version: 1 }),
        "also when only the text of the other engine changed"
    );
    let status = db.migration_status(&[NOTES, MARKS]).unwrap();
    assert_eq!(status[1].applied_at, None);
}

async fn a_newer_schema_is_refused(test: TestDb) {
    let db = test.open(Options::default());
    db.migrate(&[NOTES, MARKS], 0).unwrap();
    let newer = Error::NewerSchema { found: 2, known: 1 };
    assert_eq!(db.migrate(&[NOTES], 0), Err(newer));
}

async fn a_failing_migration_leaves_nothing_behind(test: TestDb) {
    let db = test.open(Options::default());
    let error = db.migrate(&[NOTES, MARKS, BROKEN], 0).unwrap_err();
    assert!(error.to_string().contains("3 broken"), "{error}");
    let applied = db.migration_status(&[NOTES, MARKS, BROKEN]).unwrap();
    let applied: Vec<_> = applied.iter().map(|state| state.applied_at.is_some()).collect();
    assert_eq!(applied, [true, true, false]);
    let half = Query::<i64>::built("half", "SELECT id FROM half");
    assert!(db.prepare(&half).is_err(), "the table of the failed migration is not there");
    assert_eq!(db.migrate(&[NOTES, MARKS], 0), Ok(vec![]));
}

async fn versions_must_follow_each_other(test: TestDb) {
    let db = test.open(Options::default());
    for list in [&[MARKS][..], &[NOTES, BROKEN], &[NOTES, NOTES]] {
        assert!(matches!(db.migrate(list, 0), Err(Error::Statement { .. })));
    }
}

async fn migrating_at_once_applies_once(test: TestDb) {
    let start = Barrier::new(4);
    let migrate = || {
        let opened = Db::open(&test.url, Options::default());
        start.wait();
        opened.unwrap().migrate(&[NOTES, MARKS], 0).unwrap()
    };
    let mut applied: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(migrate)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    applied.sort_unstable();
    assert_eq!(applied, [1, 2]);
}
