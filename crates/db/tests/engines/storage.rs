//! SQLite: another process at the same file, and storage that fails.

use std::io::{Seek, SeekFrom, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use db::{Command, Conn, Db, Error, Options, Query, args};

use crate::support::*;

/// Five thousand notes.
const FILL: &str = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000)
    INSERT INTO notes (id, box_id, slug) SELECT n, 1, 'slug ' || n FROM c";

#[tokio::test]
async fn failing_storage_is_fatal_and_nobody_is_told_of_success() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    db.execute_script(FILL).unwrap();
    db.close().await;
    spoil(test.url.strip_prefix("sqlite://").unwrap());

    let (died, death) = channel();
    let died = Mutex::new(died);
    let options = Options {
        on_fatal: Arc::new(move |cause| died.lock().unwrap().send(cause.to_owned()).unwrap()),
        ..Options::default()
    };
    let db = test.open(options);
    let (gate, held) = hold(&db).await;
    let with_it = queued(db.write(|tx| tx.one(&INCREMENT, args![1i64]))).await;
    let met_it = queued(insert(&db, 9_999, "lost")).await;
    gate.open();
    assert_eq!(held.await, Ok(()), "answered before");
    assert_eq!(met_it.await, Err(Error::OutcomeUnknown));
    assert_eq!(with_it.await, Err::<i64, _>(Error::OutcomeUnknown));
    let cause = death.recv().unwrap();
    assert!(cause.contains("malformed"), "{cause}");
    assert_eq!(insert(&db, 1, "later").await, Err(Error::Busy));
}

/// Overwrites the later half of the file, where the notes and their index are.
fn spoil(file: &str) {
    let mut file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    let length = file.metadata().unwrap().len();
    let start = length / 2 / 4096 * 4096;
    file.seek(SeekFrom::Start(start)).unwrap();
    let count = usize::try_from(length - start).unwrap();
    file.write_all(&vec![0xa5; count]).unwrap();
}

#[tokio::test]
async fn readers_map_the_file_on_request_and_go_on_when_it_shrinks() {
    let test = TestDb::sqlite();
    let db = test.ready(Options { mmap: true, ..Options::default() });
    db.execute_script(FILL).unwrap();
    let file = test.url.strip_prefix("sqlite://").unwrap();
    let other = rusqlite::Connection::open(file).unwrap();
    let shrink = |sql: &str| {
        other.execute_batch(&format!("{sql}; PRAGMA wal_checkpoint(TRUNCATE)")).unwrap();
        std::fs::metadata(file).unwrap().len()
    };
    let before = shrink("SELECT 1");
    let mapped = || Query::<i64>::built("mapped", "PRAGMA mmap_size");
    let read = || db.read(move |conn| Ok::<_, Error>((conn.one(&mapped(), &[])?, count(conn)?)));
    let (mapped, notes) = read().await.unwrap();
    assert!(u64::try_from(mapped).unwrap() > before, "{mapped}");
    assert_eq!(notes, 5000);
    let after = shrink("DELETE FROM notes WHERE id > 10; VACUUM");
    assert!(after < before / 2, "{before} {after}");
    assert_eq!(read().await.unwrap(), (mapped, 10));
}

fn count(conn: &Conn<'_>) -> Result<i64, Error> {
    conn.one(&Query::built("count", "SELECT count(*) FROM notes"), &[])
}

/// It is copied into the database while more is written, and then begins anew.
#[tokio::test]
async fn the_log_stays_short_however_much_is_written() {
    const LARGE: usize = 500_000;
    let test = TestDb::sqlite();
    let db = test.ready(Options { durable: false, ..Options::default() });
    for number in 0..200 {
        // The text is in the table and in the index of slugs.
        let slug = format!("{number} {}", "x".repeat(LARGE));
        let written = db.write(move |tx| {
            tx.execute(&Command::<()>::built("clear", "DELETE FROM notes"), args![])?;
            insert_in(tx, number, &slug)
        });
        assert_eq!(written.await, Ok(()));
    }
    let log = std::fs::metadata(format!("{}-wal", test.url.strip_prefix("sqlite://").unwrap()));
    let (log, written) = (log.unwrap().len(), 200 * 2 * LARGE as u64);
    assert!(log < written / 2, "{log} of {written} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handles_on_one_file_take_turns() {
    let test = TestDb::sqlite();
    let server = test.ready(Options::default());
    let command_line = test.open(Options::default());
    let increment = |db: Db| async move {
        for _ in 0..50 {
            let n: Result<i64, Error> = db.write(|tx| tx.one(&INCREMENT, args![1i64])).await;
            n.unwrap();
        }
    };
    let (one, other) = tokio::join!(
        tokio::spawn(increment(server.clone())),
        tokio::spawn(increment(command_line))
    );
    one.unwrap();
    other.unwrap();
    let n = server.read(|conn| conn.one(&COUNTER, args![1i64])).await;
    assert_eq!(n, Ok::<_, Error>(100));
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_unreachable() {
    for url in ["sqlite:///nowhere/at/all.db", "sqlite://", "mysql://localhost/x", "plain"] {
        let opened = Db::open(url, Options::default());
        assert!(matches!(opened, Err(Error::Unreachable(_))), "{opened:?}");
    }
}
