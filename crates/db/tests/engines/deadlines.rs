//! No statement runs for ever, and one that tries harms no other.

use std::time::{Duration, Instant};

use db::{Command, Db, Error, Options, Query, args};

use crate::support::*;

on_both![
    a_read_over_its_deadline_is_stopped,
    a_write_over_its_deadline_leaves_the_rest_of_the_batch,
    a_slow_query_in_a_transaction_leaves_the_rest_of_the_batch,
    a_closure_may_ask_for_less_time_and_the_next_has_its_own,
    a_closure_may_ask_for_more_time,
];

/// What every other statement here has to keep as well, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(1);

async fn hasty(test: &TestDb) -> Db {
    test.ready(one_connection()).close().await;
    test.open(Options { statement_deadline: DEADLINE, ..one_connection() })
}

async fn a_read_over_its_deadline_is_stopped(test: TestDb) {
    let db = hasty(&test).await;
    let statement = "engines::support::ENDLESS";
    let endless = db.read(|conn| conn.one(&ENDLESS, &[])).await;
    assert_eq!(endless, Err(Error::Deadline { statement }));
    let endless = db.read_slow(|conn| conn.one(&ENDLESS, &[])).await;
    assert_eq!(endless, Err(Error::Deadline { statement }));
    assert_eq!(slugs(&db).await, [""; 0], "the connection is good for more");
}

async fn a_write_over_its_deadline_leaves_the_rest_of_the_batch(test: TestDb) {
    let db = hasty(&test).await;
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let endless = queued(db.write(|tx| {
        insert_in(tx, 2, "undone")?;
        tx.execute(&INSERT_ENDLESSLY, &[])
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    let statement = "engines::support::INSERT_ENDLESSLY";
    assert_eq!(endless.await, Err(Error::Deadline { statement }));
    assert_eq!(slugs(&db).await, ["first", "last"]);
}

async fn a_slow_query_in_a_transaction_leaves_the_rest_of_the_batch(test: TestDb) {
    let db = hasty(&test).await;
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let endless = queued(db.write(|tx| {
        insert_in(tx, 2, "undone")?;
        tx.one(&ENDLESS, &[])
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    let statement = "engines::support::ENDLESS";
    assert_eq!(endless.await, Err(Error::Deadline { statement }));
    assert_eq!(slugs(&db).await, ["first", "last"]);
}

#[tokio::test]
async fn long_like_patterns_are_refused() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    insert(&db, 1, "one").await.unwrap();
    let matching = |length: usize| {
        let query = || Query::<i64>::built("like", "SELECT count(*) FROM notes WHERE slug LIKE $1");
        db.read(move |conn| conn.one(&query(), args!["%".repeat(length)]))
    };
    assert_eq!(matching(256).await, Ok::<_, Error>(1));
    let refused = matching(257).await;
    assert!(matches!(refused, Err(Error::Statement { .. })), "{refused:?}");
}

async fn a_closure_may_ask_for_less_time_and_the_next_has_its_own(test: TestDb) {
    let db = test.ready(one_connection());
    let statement = "engines::support::ENDLESS";
    for _ in 0..3 {
        let hurried = db.read_slow(|conn| {
            conn.within(Duration::from_millis(20));
            conn.one(&ENDLESS, &[])
        });
        assert_eq!(hurried.await, Err(Error::Deadline { statement }));
        let hurried = db.write(|tx| {
            insert_in(tx, 1, "undone")?;
            tx.within(Duration::from_millis(20));
            tx.one(&ENDLESS, &[])
        });
        assert_eq!(hurried.await, Err(Error::Deadline { statement }));
        insert(&db, 7, "kept").await.unwrap();
        db.write(|tx| tx.execute(&Command::built("all", "DELETE FROM notes"), &[])).await.unwrap();
        assert_eq!(slugs(&db).await, [""; 0]);
    }
}

async fn a_closure_may_ask_for_more_time(test: TestDb) {
    let db = hasty(&test).await;
    let started = now();
    let patient = db.read_slow(|conn| {
        conn.within(2 * DEADLINE);
        conn.one(&ENDLESS, &[])
    });
    let statement = "engines::support::ENDLESS";
    assert_eq!(patient.await, Err(Error::Deadline { statement }));
    assert!(started.elapsed() > DEADLINE * 3 / 2, "stopped by the deadline of all");
}

#[expect(clippy::disallowed_methods, reason = "how long the database really took")]
fn now() -> Instant {
    Instant::now()
}
