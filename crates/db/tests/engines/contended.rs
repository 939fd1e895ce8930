//! Writes on one row that many write at once: they share a transaction, and each has its own outcome.

use std::collections::HashSet;

use db::{Error, Options, Query, args};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::*;

on_both![
    all_of_them_are_counted_once,
    each_gets_its_own_rows_after_the_commit,
    a_refusal_before_any_write_concerns_nobody_else,
    a_failure_after_a_write_is_undone_alone,
    a_panic_is_undone_alone,
    other_work_does_not_wait_for_them,
];

const KEY: Uuid = Uuid::from_u128(1);

async fn counter(db: &db::Db) -> i64 {
    let counted: Result<_, Error> = db.read(|conn| conn.one(&COUNTER, args![1i64])).await;
    counted.unwrap()
}

async fn all_of_them_are_counted_once(test: TestDb) {
    let db = test.ready(Options { pool: 4, ..Options::default() });
    let mut writing = JoinSet::new();
    for _ in 0..100 {
        let db = db.clone();
        writing.spawn(async move {
            db.write_contended(KEY, |tx| tx.one(&INCREMENT, args![1i64])).await
                as Result<i64, Error>
        });
    }
    let mut seen: HashSet<i64> = HashSet::new();
    while let Some(written) = writing.join_next().await {
        seen.insert(written.unwrap().unwrap());
    }
    assert_eq!(seen, (1..=100).collect());
    assert_eq!(counter(&db).await, 100);
}

async fn each_gets_its_own_rows_after_the_commit(test: TestDb) {
    let db = test.ready(Options { pool: 4, ..Options::default() });
    let mut writing = JoinSet::new();
    for _ in 0..100 {
        let db = db.clone();
        writing.spawn(async move {
            let written = db.write_contended(KEY, |tx| tx.later(&INCREMENT, args![1i64]));
            written.await.and_then(db::Later::one)
        });
    }
    let mut seen: HashSet<i64> = HashSet::new();
    while let Some(written) = writing.join_next().await {
        seen.insert(written.unwrap().unwrap());
    }
    assert_eq!(seen, (1..=100).collect());
}

/// Runs `odd` between two increments, all queued behind a job that holds the only connection.
async fn between_two<T: Send + 'static>(
    db: &db::Db,
    odd: impl Fn(&db::Tx<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let increment = || db.write_contended(KEY, |tx| tx.one(&INCREMENT, args![1i64]));
    let (gate, held) = hold(db).await;
    let first = queued(increment()).await;
    let odd = queued(db.write_contended(KEY, odd)).await;
    let last = queued(increment()).await;
    gate.open();
    held.await.unwrap();
    let (first, odd, last): (Result<i64, Error>, _, Result<i64, Error>) =
        (first.await, odd.await, last.await);
    assert_eq!((first, last), (Ok(1), Ok(2)));
    assert_eq!(counter(db).await, 2);
    odd
}

async fn a_refusal_before_any_write_concerns_nobody_else(test: TestDb) {
    let db = test.ready(one_connection());
    let refused = between_two(&db, |tx| match tx.one(&COUNTER, args![1i64])? {
        1 => Err::<(), _>(Error::Busy),
        _ => Ok(()),
    });
    assert_eq!(refused.await, Err(Error::Busy));
}

async fn a_failure_after_a_write_is_undone_alone(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "one").await.unwrap();
    let refused = between_two(&db, |tx| {
        tx.one(&INCREMENT, args![1i64])?;
        insert_in(tx, 2, "one")
    });
    assert!(matches!(refused.await, Err(Error::Unique { .. })));
    assert_eq!(slugs(&db).await, ["one"]);
}

async fn a_panic_is_undone_alone(test: TestDb) {
    let db = test.ready(one_connection());
    let panicked = between_two::<()>(&db, |tx| {
        tx.one(&INCREMENT, args![1i64])?;
        panic!("on purpose")
    });
    assert_eq!(panicked.await, Err(Error::Panic));
}

async fn other_work_does_not_wait_for_them(test: TestDb) {
    let db = test.ready(Options { pool: 2, ..Options::default() });
    let (gate, stop) = gate();
    let holding = db.write_contended(KEY, move |_| {
        stop.wait();
        Ok::<_, Error>(())
    });
    let holding = queued(holding).await;
    gate.arrived();
    let increment = || db.write_contended(KEY, |tx| tx.one(&INCREMENT, args![1i64]));
    let waiting = [queued(increment()).await, queued(increment()).await];
    // Two connections: one holds, and the other is free although two more writes wait for the key.
    let free: Result<i64, Error> = db.read(|conn| conn.one(&COUNTER, args![1i64])).await;
    assert_eq!(free, Ok(0));
    gate.open();
    holding.await.unwrap();
    for (number, write) in (1i64..).zip(waiting) {
        let count: Result<_, Error> = write.await;
        assert_eq!(count, Ok(number));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_that_wait_share_a_transaction_on_postgres() {
    let test = TestDb::postgres();
    let db = test.ready(one_connection());
    // The first job of a connection opens it, alone.
    insert(&db, 1, "one").await.unwrap();
    let (gate, held) = hold(&db).await;
    let mut writing = Vec::new();
    for _ in 0..10 {
        let write = db.write_contended(KEY, |tx| {
            tx.one(&INCREMENT, args![1i64])?;
            tx.one(&Query::<i64>::built("transaction", "SELECT txid_current()"), &[])
        });
        writing.push(queued(write).await);
    }
    gate.open();
    held.await.unwrap();
    let mut transactions = HashSet::new();
    for written in writing {
        let transaction: Result<_, Error> = written.await;
        transactions.insert(transaction.unwrap());
    }
    assert_eq!((transactions.len(), counter(&db).await), (1, 10));
}
