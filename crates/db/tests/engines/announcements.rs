//! Announcements: heard after the commit, in its order, by every process on the database.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use db::{Announced, Announcement, Announcements, Db, Error, Options, Query, Tx, args};

use crate::support::*;

on_both![
    announcements_are_heard_in_the_order_of_the_commits,
    several_of_one_transaction_keep_their_order_and_none_is_folded,
    what_is_undone_announces_nothing,
    what_runs_again_announces_once,
    a_long_text_arrives_whole,
    announcing_needs_no_other_statement_and_mixes_with_gathered_ones,
    what_is_written_nowhere_is_told_all_the_same,
    there_is_one_reader_and_it_ends_with_the_database,
    a_text_that_one_engine_could_not_carry_is_refused_by_both,
];

async fn next(reader: &mut Announcements) -> Option<Announced> {
    tokio::time::timeout(Duration::from_secs(20), reader.next()).await.unwrap()
}

/// A reader that has started to receive.
async fn listening(db: &Db) -> Announcements {
    let mut reader = db.announcements().unwrap();
    assert_eq!(next(&mut reader).await, Some(Announced::Gap));
    reader
}

async fn heard(reader: &mut Announcements) -> String {
    match next(reader).await {
        Some(Announced::Heard(Announcement { topic, text })) => {
            assert_eq!(topic, "topic");
            text
        }
        other => panic!("{other:?}"),
    }
}

async fn announce(db: &Db, text: &str) -> Result<(), Error> {
    let text = text.to_owned();
    db.write(move |tx| tx.announce("topic", &text)).await
}

async fn announcements_are_heard_in_the_order_of_the_commits(test: TestDb) {
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    // The counter is locked until the commit, so the numbers show the commit order.
    let count = |db: Db| async move {
        for _ in 0..20 {
            let counted = db.write(|tx| {
                let n = tx.one(&INCREMENT, args![1i64])?;
                tx.announce("topic", &n.to_string())
            });
            counted.await.unwrap_or_else(|error: Error| panic!("{error}"));
        }
    };
    let writers: Vec<_> = (0..16).map(|_| tokio::spawn(count(db.clone()))).collect();
    for n in 1..=16 * 20 {
        assert_eq!(heard(&mut reader).await, n.to_string());
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn several_of_one_transaction_keep_their_order_and_none_is_folded(test: TestDb) {
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    let said = ["same", "same", "other", "same"];
    let written = db.write(move |tx| said.iter().try_for_each(|text| tx.announce("topic", text)));
    written.await.unwrap_or_else(|error: Error| panic!("{error}"));
    for text in said {
        assert_eq!(heard(&mut reader).await, text);
    }
}

async fn what_is_undone_announces_nothing(test: TestDb) {
    let db = test.ready(one_connection());
    let mut reader = listening(&db).await;
    let failing = db.write::<(), _, _>(|tx| {
        tx.announce("topic", "of an error")?;
        Err(Error::Busy)
    });
    assert_eq!(failing.await, Err(Error::Busy));
    let refused = db.write(|tx| {
        insert_in(tx, 1, "note")?;
        tx.announce("topic", "of a refused statement")?;
        insert_in(tx, 1, "note")
    });
    assert!(refused.await.is_err());
    let panicking = db.write::<(), Error, _>(|tx| {
        tx.announce("topic", "of a panic")?;
        panic!("on purpose");
    });
    assert_eq!(panicking.await, Err(Error::Panic));
    announce(&db, "of a success").await.unwrap();
    assert_eq!(heard(&mut reader).await, "of a success");
}

async fn what_runs_again_announces_once(test: TestDb) {
    let db = test.ready(one_connection());
    let mut reader = listening(&db).await;
    let (gate, held) = hold(&db).await;
    let first = queued(announce(&db, "first")).await;
    // Refused at COMMIT, which on SQLite makes the others of the batch run again.
    let dangling = queued(db.write(|tx| {
        tx.announce("topic", "dangling")?;
        insert_in(tx, 2, "dangling")?;
        tx.execute(&LINK_NOTE, args![2i64, 99i64])
    }))
    .await;
    let last = queued(announce(&db, "last")).await;
    gate.open();
    held.await.unwrap();
    assert_eq!((first.await, last.await), (Ok(()), Ok(())));
    assert_eq!(dangling.await, Err(Error::ForeignKey));
    announce(&db, "end").await.unwrap();
    for text in ["first", "last", "end"] {
        assert_eq!(heard(&mut reader).await, text);
    }
}

async fn a_long_text_arrives_whole(test: TestDb) {
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    let long: String = (0..).map(|n| format!("{n} ü ")).take(128 * 1024).collect();
    assert!(long.len() > 1024 * 1024);
    announce(&db, &long).await.unwrap();
    announce(&db, "short").await.unwrap();
    assert!(heard(&mut reader).await == long);
    assert_eq!(heard(&mut reader).await, "short");
}

async fn announcing_needs_no_other_statement_and_mixes_with_gathered_ones(test: TestDb) {
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    let written = db.write(|tx| {
        tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            tx.announce("topic", "between")?;
            tx.pipeline(&INSERT_NOTE, args![2i64, "two"])
        })
    });
    written.await.unwrap_or_else(|error: Error| panic!("{error}"));
    assert_eq!(heard(&mut reader).await, "between");
    assert_eq!(slugs(&db).await, ["one", "two"]);
}

async fn what_is_written_nowhere_is_told_all_the_same(test: TestDb) {
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    let long = "ü".repeat(20_000);
    for text in ["short", &long] {
        db.announce("topic", text).unwrap();
        assert_eq!(heard(&mut reader).await, text);
    }
    assert!(db.announce("topic", "a\0b").is_err());
}

async fn there_is_one_reader_and_it_ends_with_the_database(test: TestDb) {
    let db = test.ready(Options::default());
    let reader = listening(&db).await;
    assert!(db.announcements().is_err());
    drop(reader);
    let mut reader = listening(&db).await;
    db.close().await;
    assert_eq!(next(&mut reader).await, None);
}

async fn a_text_that_one_engine_could_not_carry_is_refused_by_both(test: TestDb) {
    let db = test.ready(Options::default());
    for (topic, text) in [("topic", "a\0b"), ("to\npic", ""), ("to\0pic", "")] {
        let refused = db.write(move |tx: &Tx<'_>| tx.announce(topic, text)).await;
        assert!(matches!(refused, Err(Error::Statement { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn processes_on_one_postgres_hear_each_other() {
    let test = TestDb::postgres();
    let (one, other) = (test.ready(Options::default()), test.open(Options::default()));
    let mut readers = [listening(&one).await, listening(&other).await];
    announce(&one, "of one").await.unwrap();
    announce(&other, "of the other").await.unwrap();
    for reader in &mut readers {
        assert_eq!(heard(reader).await, "of one");
        assert_eq!(heard(reader).await, "of the other");
    }
}

/// By their last statement.
const KILL_LISTENER: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'SELECT last_value %'";
const KILL_ANNOUNCERS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'SELECT pg_notify(%'";

#[tokio::test]
async fn a_listener_that_was_cut_off_reports_a_gap_and_hears_again() {
    let test = TestDb::postgres();
    let db = test.ready(Options::default());
    let mut reader = listening(&db).await;
    announce(&db, "before").await.unwrap();
    assert_eq!(heard(&mut reader).await, "before");
    let killed = db.write(|tx| tx.one(&Query::<i64>::built("kill", KILL_LISTENER), &[]));
    assert_eq!(killed.await, Ok::<_, Error>(1));
    assert_eq!(next(&mut reader).await, Some(Announced::Gap));
    announce(&db, "after").await.unwrap();
    assert_eq!(heard(&mut reader).await, "after");
}

#[tokio::test]
async fn a_transaction_that_runs_again_on_postgres_announces_once() {
    let test = TestDb::postgres();
    let db = test.ready(one_connection());
    db.execute_script(REFUSE).unwrap();
    let mut reader = listening(&db).await;
    let runs = AtomicUsize::new(0);
    let written = db.write(move |tx| {
        tx.announce("topic", "once")?;
        if runs.fetch_add(1, SeqCst) == 0 {
            tx.one(&Query::<i64>::built("refuse", "SELECT refuse()"), &[])?;
        }
        Ok::<_, Error>(())
    });
    written.await.unwrap();
    announce(&db, "end").await.unwrap();
    assert_eq!(heard(&mut reader).await, "once");
    assert_eq!(heard(&mut reader).await, "end");
}

/// Two processes with eight connections each, sixteen writers of a few rows: what the row's lock orders is heard in
/// that order by both, and everything is heard once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_hear_the_writers_of_one_row_in_their_order() {
    let test = TestDb::postgres();
    let (one, other) = (test.ready(Options::default()), test.open(Options::default()));
    let rows: String =
        (10..14).map(|id| format!("INSERT INTO counters VALUES ({id}, 0);")).collect();
    one.execute_script(&rows).unwrap();
    let mut readers = [listening(&one).await, listening(&other).await];
    let write = |db: Db, id: i64| async move {
        for turn in 0..25 {
            let counted = db.write(move |tx| {
                let n = tx.one(&INCREMENT, args![id])?;
                tx.announce("topic", &format!("{id} {n}"))?;
                // One in five announces twice, one is rolled back.
                match turn % 5 {
                    0 => tx.announce("topic", &format!("{id} {n}")),
                    1 => Err(Error::Aborted),
                    _ => Ok(()),
                }
            });
            assert!(counted.await.is_ok() || turn % 5 == 1);
        }
    };
    let writers: Vec<_> = (0..16)
        .map(|n| {
            tokio::spawn(write(if n % 2 == 0 { one.clone() } else { other.clone() }, 10 + n % 4))
        })
        .collect();
    // An announcer that is cut off sends again what was not confirmed.
    for _ in 0..5 {
        let killed = one.write(|tx| tx.one(&Query::<i64>::built("kill", KILL_ANNOUNCERS), &[]));
        killed.await.unwrap_or_else(|error: Error| panic!("{error}"));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for reader in &mut readers {
        let (mut last, mut twice) = ([0; 4], 0);
        for _ in 0..16 * 25 {
            let text = heard(reader).await;
            let (id, n) = text.split_once(' ').unwrap();
            let (id, n): (usize, i64) = (id.parse().unwrap(), n.parse().unwrap());
            let before = std::mem::replace(&mut last[id - 10], n);
            assert!(n == before + 1 || n == before, "{n} after {before}");
            twice += usize::from(n == before);
        }
        assert_eq!((last, twice), ([80; 4], 16 * 5));
    }
}

#[tokio::test]
async fn what_a_process_took_along_when_it_died_is_a_gap_for_the_others() {
    let test = TestDb::postgres();
    let patience = Options { announcement_wait: Duration::from_millis(50), ..Options::default() };
    let db = test.ready(patience);
    let mut reader = listening(&db).await;
    announce(&db, "before").await.unwrap();
    assert_eq!(heard(&mut reader).await, "before");
    // As a process does that ends between COMMIT and sending.
    db.execute_script("SELECT nextval('announcement_positions')").unwrap();
    announce(&db, "after").await.unwrap();
    assert_eq!(next(&mut reader).await, Some(Announced::Gap));
    assert_eq!(heard(&mut reader).await, "after");
    announce(&db, "later").await.unwrap();
    assert_eq!(heard(&mut reader).await, "later");
}

#[tokio::test]
async fn a_database_that_is_closed_has_sent_everything() {
    let test = TestDb::postgres();
    let (one, other) = (test.ready(Options::default()), test.open(Options::default()));
    let mut reader = listening(&other).await;
    for n in 0..50 {
        announce(&one, &n.to_string()).await.unwrap();
    }
    one.announce("topic", "last").unwrap();
    one.close().await;
    let mut all = Vec::new();
    for _ in 0..=50 {
        all.push(heard(&mut reader).await);
    }
    all.retain(|text| text != "last");
    assert_eq!(all, (0..50).map(|n| n.to_string()).collect::<Vec<_>>());
}
