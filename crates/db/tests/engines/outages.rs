//! PostgreSQL: lost connections, deadlocks, changed tables.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

use db::{Command, Db, Error, Options, Query, args};

use crate::proxy::{Cut, Wired, wired};
use crate::support::*;

const BEGIN: &[u8] = b"BEGIN\0";
const COMMIT: &[u8] = b"COMMIT\0";

/// Inserts a note and counts how often the closure ran.
async fn counted_insert(db: &Db) -> (Result<(), Error>, usize) {
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&runs);
    let result = db
        .write(move |tx| {
            seen.fetch_add(1, SeqCst);
            insert_in(tx, 1, "note")
        })
        .await;
    (result, runs.load(SeqCst))
}

#[tokio::test]
async fn cut_during_commit_the_outcome_is_unknown() {
    for delivered in [false, true] {
        let Wired { test, proxy, db } = wired(one_connection());
        db.ping().await.unwrap();
        proxy.cut(Cut { word: COMMIT, delivered, times: 1 });
        assert_eq!(counted_insert(&db).await, (Err(Error::OutcomeUnknown), 1));
        // A lock the lost transaction may still hold makes this wait for its end.
        test.open(one_connection())
            .execute_script("BEGIN; LOCK TABLE notes IN ACCESS EXCLUSIVE MODE; COMMIT")
            .unwrap();
        let expected: &[&str] = if delivered { &["note"] } else { &[] };
        assert_eq!(slugs(&db).await, expected, "and the pool recovered");
    }
}

#[tokio::test]
async fn cut_before_commit_the_work_is_run_again() {
    let Wired { test: _test, proxy, db } = wired(one_connection());
    db.ping().await.unwrap();
    for delivered in [false, true] {
        proxy.cut(Cut { word: BEGIN, delivered, times: 1 });
        assert_eq!(counted_insert(&db).await, (Ok(()), 2));
        let delete = Command::built("delete", "DELETE FROM notes");
        assert_eq!(db.write(move |tx| tx.execute(&delete, &[])).await, Ok::<_, Error>(1));
    }
}

#[tokio::test]
async fn cut_again_and_again_the_database_is_unreachable() {
    let Wired { test: _test, proxy, db } = wired(one_connection());
    proxy.cut(Cut { word: BEGIN, delivered: false, times: 3 });
    let (result, runs) = counted_insert(&db).await;
    assert!(matches!(result, Err(Error::Unreachable(_))), "{result:?}");
    assert_eq!(runs, 3);
    assert_eq!(counted_insert(&db).await, (Ok(()), 1));
}

#[tokio::test]
async fn connections_killed_while_idle_are_replaced_silently() {
    let test = TestDb::postgres();
    let db = test.ready(one_connection());
    insert(&db, 1, "before").await.unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let kill_all = || async {
        let killer = test.open(one_connection());
        killer.execute_script(kill).unwrap();
        killer.close().await;
    };
    kill_all().await;
    assert_eq!(slugs(&db).await, ["before"]);
    kill_all().await;
    insert(&db, 2, "between").await.unwrap();
    assert_eq!(slugs(&db).await, ["before", "between"]);
}

#[tokio::test]
async fn an_unreachable_server_is_told_at_the_start() {
    let url = "postgres://postgres@127.0.0.1:1/none";
    let opened = Db::open(url, Options::default());
    assert!(matches!(opened, Err(Error::Unreachable(_))), "{opened:?}");
}

#[tokio::test]
async fn deadlocked_transactions_are_run_again() {
    let test = TestDb::postgres();
    let setup = test.ready(one_connection());
    let name = test.url.rsplit_once('/').unwrap().1;
    // Found out early, for the sake of the test's time only.
    let quick = format!("ALTER DATABASE {name} SET deadlock_timeout = '20ms'");
    setup.execute_script(&quick).unwrap();
    let db = test.open(Options::default());
    let both_hold_one = Arc::new(Barrier::new(2));
    let cross = |first: i64, second: i64| {
        let (barrier, runs) = (Arc::clone(&both_hold_one), AtomicUsize::new(0));
        db.write(move |tx| {
            tx.one(&INCREMENT, args![first])?;
            if runs.fetch_add(1, SeqCst) == 0 {
                barrier.wait();
            }
            tx.one(&INCREMENT, args![second])?;
            Ok::<_, Error>(runs.load(SeqCst))
        })
    };
    let (one, other) = tokio::join!(cross(1, 2), cross(2, 1));
    let runs = one.unwrap() + other.unwrap();
    assert!(runs > 2, "one of them had to run again");
    for id in [1i64, 2] {
        let n = db.read(move |conn| conn.one(&COUNTER, args![id])).await;
        assert_eq!(n, Ok::<_, Error>(2));
    }
}

#[tokio::test]
async fn failures_worth_a_retry_end_in_a_conflict() {
    let test = TestDb::postgres();
    let db = test.ready(one_connection());
    db.execute_script(REFUSE).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&runs);
    let refused = db.write(move |tx| {
        seen.fetch_add(1, SeqCst);
        tx.one(&Query::<i64>::built("refuse", "SELECT refuse()"), &[])
    });
    assert_eq!(refused.await, Err(Error::Conflict));
    assert_eq!(runs.load(SeqCst), 3);
}

#[tokio::test]
async fn a_changed_table_does_not_break_prepared_statements() {
    let test = TestDb::postgres();
    let db = test.ready(one_connection());
    let read = || {
        db.read(|conn| conn.all(&Query::<(i64, String)>::built("star", "SELECT * FROM boxes"), &[]))
    };
    assert_eq!(read().await, Ok::<_, Error>(vec![(1, "first".to_owned())]));
    db.execute_script("ALTER TABLE boxes ALTER COLUMN name TYPE varchar(9)").unwrap();
    assert_eq!(read().await, Ok::<_, Error>(vec![(1, "first".to_owned())]));
}
