//! Nothing waits for ever: not in the queue, not for a slot, not for a server that has fallen silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use db::{Db, Error, Options};
use futures_util::FutureExt as _;
use futures_util::future::join_all;

use crate::proxy::{Wired, wired};
use crate::support::*;

on_both![
    what_waits_too_long_in_the_queue_is_refused_and_never_runs,
    who_waits_too_long_for_a_slot_is_refused,
];

/// Short, because these tests wait for its end; nothing is asked to happen within it.
const WAIT: Duration = Duration::from_millis(200);

fn hasty() -> Options {
    Options { wait: WAIT, ..one_connection() }
}

async fn what_waits_too_long_in_the_queue_is_refused_and_never_runs(test: TestDb) {
    let db = test.ready(hasty());
    let (gate, held) = hold(&db).await;
    let late = join_all((1..=3).map(|id| insert(&db, id, "late"))).await;
    assert_eq!(late, vec![Err(Error::Busy); 3]);
    assert_eq!(db.stats().queue_depth, 0, "they wait no more");
    gate.open();
    held.await.unwrap();
    assert_eq!(slugs(&db).await, [""; 0]);
    assert_eq!(insert(&db, 4, "next").await, Ok(()));
}

async fn who_waits_too_long_for_a_slot_is_refused(test: TestDb) {
    let db = test.ready(hasty());
    let is_sqlite = db.engine() == db::Engine::Sqlite;
    let cores = std::thread::available_parallelism().unwrap().get();
    let slots = if is_sqlite { 2 * cores } else { 1 };
    let mut held = Vec::new();
    for _ in 0..slots {
        let (gate, stop) = gate();
        let holding = queued(db.read_slow(move |_| {
            stop.wait();
            Ok::<_, Error>(())
        }));
        held.push((holding.await, gate));
    }
    held.iter().for_each(|(_, gate)| gate.arrived());
    let late = db.read_slow(|conn| conn.all(&LIST_SLUGS, &[])).await;
    assert_eq!(late, Err::<Vec<String>, _>(Error::Busy));
    for (holding, gate) in held {
        gate.open();
        holding.await.unwrap();
    }
    assert_eq!(db.read_slow(|conn| conn.all(&LIST_SLUGS, &[])).await, Ok(vec![]));
}

fn hastily_wired() -> Wired {
    wired(Options { pool: 2, ..hasty() })
}

async fn until_it_answers(db: &Db) {
    while db.ping().await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_silent_server_is_noticed_and_work_is_refused_until_it_answers() {
    let Wired { test: _test, proxy, db } = hastily_wired();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = |id: i64| {
        let runs = Arc::clone(&runs);
        db.write(move |tx| {
            runs.fetch_add(1, SeqCst);
            insert_in(tx, id, "counted")
        })
    };
    counted(1).await.unwrap();
    assert!(!db.stats().silent);
    proxy.silence();
    let reads = join_all((0..20).map(|_| db.ping()));
    let slow = join_all((0..5).map(|_| db.read_slow(|conn| conn.all(&LIST_SLUGS, &[]))));
    let writes = join_all((2..20).map(counted));
    let (reads, slow, writes) = tokio::join!(reads, slow, writes);
    let is_refusal = |error: &Error| matches!(error, Error::Busy | Error::Unreachable(_));
    assert!(reads.iter().all(|read| read.as_ref().is_err_and(is_refusal)), "{reads:?}");
    assert!(slow.iter().all(|read| read.as_ref().is_err_and(is_refusal)), "{slow:?}");
    assert!(writes.iter().all(|write| write.as_ref().is_err_and(is_refusal)), "{writes:?}");
    while !db.stats().silent {
        tokio::task::yield_now().await;
    }

    let begun = runs.load(SeqCst);
    // Refused when first polled: it did not wait for anything.
    let refused =
        |result: Option<Result<(), Error>>| matches!(result, Some(Err(Error::Unreachable(_))));
    assert!(refused(db.ping().now_or_never()));
    assert!(refused(counted(30).now_or_never()));
    let slow = db.read_slow(|conn| conn.all(&LIST_SLUGS, &[]).map(drop));
    assert!(refused(slow.now_or_never()));
    assert_eq!(runs.load(SeqCst), begun);

    proxy.speak();
    until_it_answers(&db).await;
    assert!(!db.stats().silent);
    assert_eq!(slugs(&db).await, ["counted"], "nothing of what was refused was written later");
    assert_eq!(insert(&db, 40, "next").await, Ok(()));
}

#[tokio::test]
async fn a_commit_that_stays_unanswered_has_an_unknown_outcome() {
    let Wired { test: _test, proxy, db } = hastily_wired();
    db.ping().await.unwrap();
    proxy.silence_at(b"COMMIT\0");
    assert_eq!(insert(&db, 1, "note").await, Err(Error::OutcomeUnknown));
    proxy.speak();
    until_it_answers(&db).await;
}

#[tokio::test]
async fn a_statement_that_takes_long_does_not_make_the_server_silent() {
    let Wired { test: _test, proxy: _proxy, db } = hastily_wired();
    let slow = db.read(|conn| conn.one(&db::Query::<i64>::built("sleep", LONG), &[])).await;
    assert_eq!(slow, Ok::<_, Error>(1));
    assert!(!db.stats().silent);
}

/// Longer than a probe waits for a reply.
const LONG: &str = "SELECT CAST(1 AS bigint) FROM pg_sleep(0.5)";

#[tokio::test]
async fn a_database_is_closed_while_its_server_is_silent() {
    let Wired { test: _test, proxy, db } = hastily_wired();
    proxy.silence();
    assert!(db.ping().await.is_err());
    db.close().await;
    assert_eq!(db.ping().await, Err(Error::Busy));
}
