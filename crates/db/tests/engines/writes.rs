//! Transactions: commits, rollbacks, and the result that the caller gets.

use db::{Command, Db, Error, Options, args};

use crate::support::*;

on_both![
    concurrent_writers_lose_nothing,
    a_failing_closure_in_a_batch_is_undone_alone,
    a_panicking_closure_in_a_batch_is_undone_alone,
    closures_that_write_alone_are_done_beside_a_batch,
    an_error_of_the_closure_undoes_its_writes,
    after_a_failed_statement_the_transaction_is_lost,
    a_missing_row_does_not_lose_the_transaction,
    unique_refusals_name_the_index,
    foreign_keys_refuse,
    a_deferred_foreign_key_refuses_its_own_closure_only,
    a_full_queue_is_busy,
    work_of_a_caller_who_hung_up_is_done,
    close_finishes_what_is_queued,
    figures_are_counted,
    what_is_left_for_later_is_done_in_order,
    a_failure_of_what_was_left_for_later_is_the_transactions,
];

async fn concurrent_writers_lose_nothing(test: TestDb) {
    let db = test.ready(Options::default());
    let increment = |db: Db| async move {
        for _ in 0..20 {
            let n: Result<i64, Error> = db.write(|tx| tx.one(&INCREMENT, args![1i64])).await;
            n.unwrap();
        }
    };
    let writers: Vec<_> = (0..64).map(|_| tokio::spawn(increment(db.clone()))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let n = db.read(|conn| conn.one(&COUNTER, args![1i64])).await;
    assert_eq!(n, Ok::<_, Error>(64 * 20));
}

async fn a_failing_closure_in_a_batch_is_undone_alone(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let failing = queued(db.write(|tx| {
        insert_in(tx, 2, "failing")?;
        insert_in(tx, 2, "again")
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    assert!(failing.await.unwrap_err().is_unique("notes_pkey"));
    assert_eq!(slugs(&db).await, ["first", "last"]);
}

async fn a_panicking_closure_in_a_batch_is_undone_alone(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let panicking = queued(db.write::<(), Error, _>(|tx| {
        insert_in(tx, 2, "panicking")?;
        panic!("on purpose");
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!(first.await, Ok(()));
    assert_eq!(panicking.await, Err(Error::Panic));
    assert_eq!(last.await, Ok(()));
    insert(&db, 4, "later").await.unwrap();
    assert_eq!(slugs(&db).await, ["first", "last", "later"]);
}

async fn closures_that_write_alone_are_done_beside_a_batch(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let alone = queued(db.write_alone(|tx| insert_in(tx, 2, "alone"))).await;
    let failing = queued(db.write_alone(|tx| {
        insert_in(tx, 3, "failing")?;
        insert_in(tx, 3, "again")
    }))
    .await;
    let last = queued(insert(&db, 4, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, alone.await, last.await), (Ok(()), Ok(()), Ok(())));
    assert!(failing.await.unwrap_err().is_unique("notes_pkey"));
    assert_eq!(slugs(&db).await, ["alone", "first", "last"]);
}

async fn an_error_of_the_closure_undoes_its_writes(test: TestDb) {
    #[derive(Debug)]
    struct Refused;
    impl From<Error> for Refused {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    let db = test.ready(Options::default());
    let refused = db.write::<(), _, _>(|tx| {
        insert_in(tx, 1, "undone")?;
        Err(Refused)
    });
    refused.await.unwrap_err();
    assert_eq!(slugs(&db).await, [""; 0]);
}

async fn after_a_failed_statement_the_transaction_is_lost(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 1, "there").await.unwrap();
    let swallowed = db.write(|tx| {
        insert_in(tx, 2, "before")?;
        assert!(insert_in(tx, 1, "twice").is_err());
        assert_eq!(tx.one(&COUNT_NOTES, &[]), Err(Error::Aborted));
        assert_eq!(insert_in(tx, 3, "after"), Err(Error::Aborted));
        Ok(())
    });
    assert_eq!(swallowed.await, Err(Error::Aborted));
    assert_eq!(slugs(&db).await, ["there"]);
}

async fn a_missing_row_does_not_lose_the_transaction(test: TestDb) {
    let db = test.ready(Options::default());
    let written = db.write(|tx| {
        assert!(matches!(tx.one(&FIND_NOTE, args![9i64]), Err(Error::NoRow { .. })));
        insert_in(tx, 1, "kept")
    });
    assert_eq!(written.await, Ok(()));
    assert_eq!(slugs(&db).await, ["kept"]);
}

async fn unique_refusals_name_the_index(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 1, "taken").await.unwrap();
    let same_slug = insert(&db, 2, "taken").await.unwrap_err();
    assert!(same_slug.is_unique("notes_box_slug"), "{same_slug}");
    assert!(!same_slug.is_unique("notes_pkey"));
    let same_key = insert(&db, 1, "other").await.unwrap_err();
    assert!(same_key.is_unique("notes_pkey"), "{same_key}");
}

async fn foreign_keys_refuse(test: TestDb) {
    let db = test.ready(Options::default());
    let no_box = db.write(|tx| tx.execute(&INSERT_INTO_BOX, args![1i64, 99i64, "lost"]));
    assert_eq!(no_box.await, Err(Error::ForeignKey));
}

async fn a_deferred_foreign_key_refuses_its_own_closure_only(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let dangling = queued(db.write(|tx| {
        insert_in(tx, 2, "dangling")?;
        tx.execute(&LINK_NOTE, args![2i64, 99i64])
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    assert_eq!(dangling.await, Err(Error::ForeignKey));
    assert_eq!(slugs(&db).await, ["first", "last"]);
}

async fn a_full_queue_is_busy(test: TestDb) {
    let options = Options { queue: 2, ..one_connection() };
    let db = test.ready(options);
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let second = queued(insert(&db, 2, "second")).await;
    assert_eq!(db.stats().queue_depth, 2);
    assert_eq!(insert(&db, 3, "third").await, Err(Error::Busy));
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, second.await), (Ok(()), Ok(())));
    assert_eq!(db.stats().queue_depth, 0);
    assert_eq!(slugs(&db).await, ["first", "second"]);
}

async fn work_of_a_caller_who_hung_up_is_done(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    drop(queued(insert(&db, 1, "orphan")).await);
    let last = queued(insert(&db, 2, "last")).await;
    gate.open();
    held.await.unwrap();
    last.await.unwrap();
    assert_eq!(slugs(&db).await, ["last", "orphan"]);
}

async fn close_finishes_what_is_queued(test: TestDb) {
    let db = test.ready(one_connection());
    let (gate, held) = hold(&db).await;
    let queued_before = queued(insert(&db, 1, "before")).await;
    let closing = queued(db.close()).await;
    assert_eq!(insert(&db, 2, "after").await, Err(Error::Busy));
    assert_eq!(db.ping().await, Err(Error::Busy));
    gate.open();
    closing.await;
    held.await.unwrap();
    assert_eq!(queued_before.await, Ok(()));
    db.close().await;
    if let Some(file) = test.url.strip_prefix("sqlite://") {
        let wal = std::fs::metadata(format!("{file}-wal"));
        assert!(wal.is_err(), "everything is in the database file");
    }
    let db = test.open(Options::default());
    assert_eq!(slugs(&db).await, ["before"]);
}

async fn figures_are_counted(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 1, "one").await.unwrap();
    slugs(&db).await;
    let slow = db.read_slow(|conn| conn.one(&COUNT_NOTES, &[])).await;
    assert_eq!(slow, Ok::<_, Error>(1));
    let stats = db.stats();
    assert_eq!((stats.reads.count, stats.writes.count), (2, 1));
    assert_eq!(stats.reads.counts.len(), stats.reads.buckets.len() + 1);
    assert!(stats.writes.sum_seconds > 0.0);
}

#[tokio::test]
async fn a_full_disk_fails_the_closure_that_met_it_only() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    let (gate, held) = hold(&db).await;
    let first = queued(insert(&db, 1, "first")).await;
    let big = queued(db.write(|tx| {
        // No more pages than there are: to SQLite that is a full disk.
        let limit = Command::<i64>::built("limit", "PRAGMA max_page_count = 1");
        tx.one(&limit, &[])?;
        insert_in(tx, 2, "big")?;
        let fill = "UPDATE notes SET body = $1 WHERE id = 2";
        tx.execute(&Command::built("fill", fill), args!["x".repeat(1 << 20)])
    }))
    .await;
    let last = queued(insert(&db, 3, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    assert_eq!(big.await, Err(Error::Full));
    assert_eq!(slugs(&db).await, ["first", "last"]);
}

async fn what_is_left_for_later_is_done_in_order(test: TestDb) {
    let db = test.ready(Options::default());
    let update = "UPDATE counters SET n = n * $2 + $3 WHERE id = $1";
    let counted = db.write(move |tx| {
        let update = Command::<()>::built("update", update);
        for n in 1..5i64 {
            tx.pipeline(&update, args![1i64, 10i64, n])?;
        }
        let between = tx.one(&COUNTER, args![1i64])?;
        tx.pipeline(&update, args![1i64, 10i64, 5i64])?;
        Ok::<_, Error>(between)
    });
    assert_eq!(counted.await, Ok(1234));
    let counted = db.read(|conn| conn.one(&COUNTER, args![1i64]));
    assert_eq!(counted.await, Ok::<_, Error>(12345));
}

/// Whether the next statement or the commit fails; and the connection is usable afterwards.
async fn a_failure_of_what_was_left_for_later_is_the_transactions(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "one").await.unwrap();
    for then_read in [true, false] {
        let refused = db.write(move |tx| {
            insert_in(tx, 2, "two")?;
            let again = "INSERT INTO notes (id, box_id, slug, body) SELECT 3, box_id, slug, body FROM notes";
            tx.pipeline(&Command::<()>::built("again", again), &[])?;
            if then_read {
                tx.one(&COUNT_NOTES, &[])?;
            }
            Ok::<_, Error>(())
        });
        assert!(matches!(refused.await, Err(Error::Unique { .. })), "{then_read}");
        assert_eq!(slugs(&db).await, ["one"]);
    }
}
