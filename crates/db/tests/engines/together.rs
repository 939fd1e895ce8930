//! Commands that run together: all of them, or none.

use db::{Command, Engine, Error, Options, Query, Tx, Value, args};

use crate::support::*;

on_both![
    all_are_done_and_the_one_waited_for_gives_its_row,
    without_one_to_wait_for_they_are_done_all_the_same,
    however_many_they_are_all_are_done,
    a_statement_with_a_clause_of_its_own_finds_them_done,
    a_failure_of_one_undoes_them_all,
    an_error_amid_them_loses_none_that_came_before,
    rows_needed_later_are_there_after_a_flush_and_after_the_commit,
    the_rows_of_a_batch_are_those_of_the_statement_needed_later,
    a_failure_of_what_was_sent_ahead_is_that_of_the_transaction,
    many_rows_are_appended_behind_what_was_sent_before,
    rows_that_are_refused_undo_the_transaction,
    who_does_not_wait_for_the_disk_is_done_all_the_same,
];

async fn all_are_done_and_the_one_waited_for_gives_its_row(test: TestDb) {
    let db = test.ready(Options::default());
    let counted = db.write(|tx| {
        tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            // One inside the other is one of them.
            tx.batch(|| tx.pipeline(&INSERT_NOTE, args![2i64, "$1 two"]))?;
            tx.one(&INCREMENT, args![2i64])
        })
    });
    assert_eq!(counted.await, Ok::<_, Error>(1));
    assert_eq!(slugs(&db).await, ["$1 two", "one"]);
}

async fn without_one_to_wait_for_they_are_done_all_the_same(test: TestDb) {
    let db = test.ready(Options::default());
    let counted = db.write(|tx| {
        // Before anything else has been said in the transaction, and after.
        tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            tx.pipeline(&INSERT_NOTE, args![2i64, "two"])
        })?;
        tx.batch(|| tx.pipeline(&INSERT_NOTE, args![3i64, "three"]))?;
        tx.batch(|| Ok::<_, Error>(()))?;
        tx.one(&COUNT_NOTES, &[])
    });
    assert_eq!(counted.await, Ok::<_, Error>(3));
    assert_eq!(slugs(&db).await, ["one", "three", "two"]);
}

async fn however_many_they_are_all_are_done(test: TestDb) {
    let db = test.ready(Options::default());
    let written = db.write(|tx| {
        tx.batch(|| {
            (1..=50i64).try_for_each(|n| tx.pipeline(&INSERT_NOTE, args![n, n.to_string()]))
        })
    });
    assert_eq!(written.await, Ok::<_, Error>(()));
    assert_eq!(slugs(&db).await.len(), 50);
}

async fn a_statement_with_a_clause_of_its_own_finds_them_done(test: TestDb) {
    let db = test.ready(Options::default());
    let counted = db.write(|tx| {
        let count = "WITH all_of_them AS (SELECT id FROM notes) SELECT count(*) FROM all_of_them";
        tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            tx.one(&Query::<i64>::built("count", count), &[])
        })
    });
    assert_eq!(counted.await, Ok::<_, Error>(1));
    assert_eq!(slugs(&db).await, ["one"]);
}

async fn a_failure_of_one_undoes_them_all(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "one").await.unwrap();
    for waits in [true, false] {
        let refused = db.write(move |tx| {
            insert_in(tx, 2, "two")?;
            tx.batch(|| {
                tx.pipeline(&INSERT_NOTE, args![3i64, "three"])?;
                tx.pipeline(&INSERT_NOTE, args![4i64, "one"])?;
                if waits { tx.one(&INCREMENT, args![1i64]) } else { Ok(0) }
            })
        });
        assert!(matches!(refused.await, Err::<i64, _>(Error::Unique { .. })), "{waits}");
        assert_eq!(slugs(&db).await, ["one"]);
    }
    // Nothing is left over for the next job.
    insert(&db, 5, "five").await.unwrap();
    assert_eq!(slugs(&db).await, ["five", "one"]);
}

/// Not an error of the database, after which nothing can go on: one of the caller's own.
async fn an_error_amid_them_loses_none_that_came_before(test: TestDb) {
    let db = test.ready(Options::default());
    let written = db.write(|tx| {
        let refused: Result<(), Error> = tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            Err(Error::Busy)
        });
        assert_eq!(refused, Err(Error::Busy));
        tx.pipeline(&Command::<()>::built("two", "UPDATE counters SET n = 7 WHERE id = 1"), &[])
    });
    assert_eq!(written.await, Ok::<_, Error>(()));
    assert_eq!(slugs(&db).await, ["one"]);
    assert_eq!(db.read(|conn| conn.one(&COUNTER, args![1i64])).await, Ok::<_, Error>(7));
}

async fn rows_needed_later_are_there_after_a_flush_and_after_the_commit(test: TestDb) {
    let db = test.ready(Options::default());
    let written = db.write(|tx| {
        // The first statements of the transaction: each sees what the one before it has done.
        let first = tx.later(&INCREMENT, args![1i64])?;
        let second = tx.later(&INCREMENT, args![1i64])?;
        tx.flush()?;
        assert_eq!((first.one()?, second.opt()?), (1, Some(2)));
        tx.flush()?;
        let nothing = tx.later(&LIST_SLUGS, &[])?;
        Ok::<_, Error>((nothing, tx.later(&INCREMENT, args![1i64])?))
    });
    let (nothing, last) = written.await.unwrap();
    assert_eq!((nothing.all(), last.one()), (Ok(Vec::new()), Ok(3)));
}

async fn the_rows_of_a_batch_are_those_of_the_statement_needed_later(test: TestDb) {
    let db = test.ready(Options::default());
    let written = db.write(|tx| {
        let (first, second) = tx.batch(|| {
            let first = tx.later(&INCREMENT, args![1i64])?;
            tx.pipeline(&INSERT_NOTE, args![1i64, "one"])?;
            // A batch returns the rows of one statement only.
            let second = tx.later(&INCREMENT, args![1i64])?;
            tx.pipeline(&INSERT_NOTE, args![2i64, "two"])?;
            Ok::<_, Error>((first, second))
        })?;
        let third = tx.batch(|| {
            let third = tx.later(&INCREMENT, args![1i64])?;
            tx.pipeline(&INSERT_NOTE, args![3i64, "three"])?;
            assert_eq!(tx.one(&COUNTER, args![1i64])?, 3);
            Ok::<_, Error>(third)
        })?;
        Ok::<_, Error>([first, second, third])
    });
    let counted = written.await.unwrap().map(|later| later.one().unwrap());
    assert_eq!(counted, [1, 2, 3]);
    assert_eq!(slugs(&db).await, ["one", "three", "two"]);
}

async fn a_failure_of_what_was_sent_ahead_is_that_of_the_transaction(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "one").await.unwrap();
    for flushes in [true, false] {
        let refused = db.write(move |tx| {
            insert_in(tx, 2, "two")?;
            let sent = tx.later(&INSERT_NOTE, args![3i64, "one"])?;
            if flushes {
                tx.flush()?;
            }
            Ok(sent)
        });
        let refused = refused.await.map(drop);
        assert!(matches!(refused, Err(Error::Unique { .. })), "{flushes} {refused:?}");
        assert_eq!(slugs(&db).await, ["one"]);
    }
    // Nothing is left over for the next job.
    insert(&db, 5, "five").await.unwrap();
    assert_eq!(slugs(&db).await, ["five", "one"]);
}

const COLUMNS: [&str; 4] = ["id", "box_id", "slug", "body"];

fn notes(numbers: std::ops::Range<i64>) -> Vec<Vec<Value<'static>>> {
    let body = |n: i64| if n % 2 == 0 { Value::Null } else { format!("\u{e9}\t{n}\n").into() };
    numbers.map(|n| vec![n.into(), 1_i64.into(), n.to_string().into(), body(n)]).collect()
}

async fn many_rows_are_appended_behind_what_was_sent_before(test: TestDb) {
    let db = test.ready(Options::default());
    let counted = db.write(|tx| {
        // Before anything else has been said in the transaction, and between others.
        tx.append("notes", &COLUMNS, &notes(0..300))?;
        tx.pipeline(&INSERT_NOTE, args![300i64, "300"])?;
        tx.append("notes", &COLUMNS, &notes(301..302))?;
        tx.append("notes", &COLUMNS, &[])?;
        tx.batch(|| {
            tx.pipeline(&INSERT_NOTE, args![302i64, "302"])?;
            tx.append("notes", &COLUMNS, &notes(303..304))
        })?;
        tx.one(&COUNT_NOTES, &[])
    });
    assert_eq!(counted.await, Ok::<_, Error>(304));
    let note = |n: i64| db.read(move |c| c.one(&FIND_NOTE, args![n]));
    let bodies = (note(298).await.unwrap().body, note(299).await.unwrap().body);
    assert_eq!(bodies, (None, Some("\u{e9}\t299\n".to_owned())));
}

async fn rows_that_are_refused_undo_the_transaction(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 5, "one").await.unwrap();
    let refused = db.write(|tx| {
        tx.pipeline(&INSERT_NOTE, args![1i64, "two"])?;
        tx.append("notes", &COLUMNS, &notes(2..9))
    });
    assert!(matches!(refused.await, Err(Error::Unique { .. })));
    let earlier = db.write(|tx| {
        tx.pipeline(&INSERT_NOTE, args![5i64, "two"])?;
        tx.append("notes", &COLUMNS, &notes(6..9))
    });
    assert!(matches!(earlier.await, Err(Error::Unique { .. })));
    let misfit = db.write(|tx| {
        let row = vec!["no number".into(), 1_i64.into(), "two".into(), Value::Null];
        tx.append("notes", &COLUMNS, &[row])
    });
    misfit.await.unwrap_err();
    assert_eq!(slugs(&db).await, ["one"]);
    // Nothing is left over for the next job.
    insert(&db, 6, "six").await.unwrap();
    assert_eq!(slugs(&db).await, ["one", "six"]);
}

async fn who_does_not_wait_for_the_disk_is_done_all_the_same(test: TestDb) {
    let db = test.ready(one_connection());
    let engine = db.engine();
    // Where the server's setting comes from, which says whether it was set for this transaction.
    let source = move |tx: &Tx<'_>| match engine {
        Engine::Sqlite => Ok(None),
        Engine::Postgres => {
            let text = "SELECT setting || ' ' || source FROM pg_settings WHERE name = 'synchronous_commit'";
            tx.one(&Query::<String>::built("setting", text), &[]).map(Some)
        }
    };
    let written = db.write(move |tx| {
        tx.commit_early()?;
        insert_in(tx, 1, "one")?;
        source(tx)
    });
    let early = (engine == Engine::Postgres).then(|| "off session".to_owned());
    assert_eq!(written.await, Ok::<_, Error>(early));
    let after = db.write(move |tx| source(tx)).await.unwrap();
    assert!(after.is_none_or(|setting| !setting.ends_with("session")));
    assert_eq!(slugs(&db).await, ["one"]);
}
