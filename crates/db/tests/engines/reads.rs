//! Reading: isolation, the two paths, errors and panics.

use db::{Command, Engine, Error, Options, Query, args};
use uuid::Uuid;

use crate::support::*;

on_both![
    uncommitted_writes_are_unseen_and_block_nobody,
    a_panicking_read_fails_alone,
    a_refused_read_leaves_the_connection_usable,
    one_and_opt_count_the_rows,
    slow_reads_answer_like_others,
    ping_answers,
    scripts_and_plans,
    a_list_is_one_argument,
    rows_are_handed_over_one_by_one,
    a_query_sent_ahead_answers_after_the_next_one,
    a_large_query_sent_ahead_does_not_hold_up_the_next_one,
    a_query_sent_ahead_may_be_dropped_or_fail,
];

async fn uncommitted_writes_are_unseen_and_block_nobody(test: TestDb) {
    let db = test.ready(Options::default());
    let (gate, stop) = gate();
    let writing = queued(db.write(move |tx| {
        insert_in(tx, 1, "hidden")?;
        stop.wait();
        Ok::<_, Error>(())
    }))
    .await;
    gate.arrived();
    assert_eq!(slugs(&db).await, [""; 0]);
    let counted = db.read_slow(|conn| conn.one(&COUNT_NOTES, &[])).await;
    assert_eq!(counted, Ok::<_, Error>(0));
    gate.open();
    writing.await.unwrap();
    assert_eq!(slugs(&db).await, ["hidden"]);
}

async fn a_panicking_read_fails_alone(test: TestDb) {
    let db = test.ready(one_connection());
    for _ in 0..3 {
        let read = db.read::<(), Error, _>(|_| panic!("on purpose")).await;
        assert_eq!(read, Err(Error::Panic));
        let read = db.read_slow::<(), Error, _>(|_| panic!("on purpose")).await;
        assert_eq!(read, Err(Error::Panic));
    }
    assert_eq!(slugs(&db).await, [""; 0]);
}

async fn a_refused_read_leaves_the_connection_usable(test: TestDb) {
    let db = test.ready(one_connection());
    let both = db.read(|conn| {
        let missing = Query::<i64>::built("missing", "SELECT n FROM nowhere");
        let refused = conn.one(&missing, &[]).unwrap_err();
        Ok::<_, Error>((refused, conn.one(&COUNT_NOTES, &[])?))
    });
    let (refused, count) = both.await.unwrap();
    assert!(matches!(refused, Error::Missing { statement: "missing", .. }), "{refused}");
    assert_eq!(count, 0);
}

async fn one_and_opt_count_the_rows(test: TestDb) {
    let db = test.ready(Options::default());
    let none = db.read(|conn| conn.opt(&FIND_NOTE, args![1i64])).await;
    assert_eq!(none, Ok::<_, Error>(None));
    let none = db.read(|conn| conn.one(&FIND_NOTE, args![1i64])).await;
    let statement = "engines::support::FIND_NOTE";
    assert_eq!(none, Err(Error::NoRow { statement }));
    insert(&db, 1, "one").await.unwrap();
    insert(&db, 2, "two").await.unwrap();
    let statement = "engines::support::LIST_SLUGS";
    let many = db.read(|conn| conn.opt(&LIST_SLUGS, &[])).await;
    assert_eq!(many, Err(Error::ManyRows { statement }));
    let many = db.read(|conn| conn.one(&LIST_SLUGS, &[])).await;
    assert_eq!(many, Err(Error::ManyRows { statement }));
}

async fn slow_reads_answer_like_others(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 1, "one").await.unwrap();
    let reads: Vec<_> = (0..64)
        .map(|_| {
            let db = db.clone();
            tokio::spawn(async move { db.read_slow(|conn| conn.one(&COUNT_NOTES, &[])).await })
        })
        .collect();
    for read in reads {
        assert_eq!(read.await.unwrap(), Ok::<_, Error>(1));
    }
}

async fn ping_answers(test: TestDb) {
    let db = test.open(Options::default());
    assert_eq!(db.ping().await, Ok(()));
}

async fn scripts_and_plans(test: TestDb) {
    let db = test.ready(Options::default());
    let script = "INSERT INTO boxes (id, name) VALUES (2, '{}'); INSERT INTO boxes (id, name) VALUES (1, 'twice')";
    assert!(db.execute_script(script).unwrap_err().is_unique("boxes_pkey"));
    let boxes = Query::<i64>::built("boxes", "SELECT count(*) FROM boxes");
    let count = db.read(move |conn| conn.one(&boxes, &[])).await;
    assert_eq!(count, Ok::<_, Error>(1), "a script is kept whole or not at all");
    let fill = "INSERT INTO notes (id, box_id, slug)
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000)
        SELECT n, 1, 'slug ' || n FROM c;";
    db.execute_script(fill).unwrap();
    db.execute_script("{analyze}").unwrap();
    let plan = db.explain(&FIND_NOTE).unwrap().join("\n");
    assert!(plan.contains("SEARCH notes") || plan.contains("notes_pkey"), "{plan}");
    let plan = db.explain(&COUNT_NOTES).unwrap().join("\n");
    assert!(
        plan.contains("SCAN notes") || plan.contains("Seq Scan") || plan.contains("Only Scan"),
        "{plan}"
    );
}

#[tokio::test]
async fn readers_cannot_write() {
    let test = TestDb::sqlite();
    let db = test.ready(Options::default());
    let liar = || Query::<i64>::built("liar", "UPDATE counters SET n = 9 WHERE id = 1 RETURNING n");
    let written = db.read(move |conn| conn.one(&liar(), &[])).await;
    assert!(matches!(written, Err(Error::Statement { .. })), "{written:?}");
    let prepared = db.prepare(&liar());
    assert!(matches!(prepared, Err(Error::Statement { .. })), "{prepared:?}");
}

async fn a_list_is_one_argument(test: TestDb) {
    let db = test.ready(Options::default());
    let ids: Vec<Uuid> = (1..=3).map(Uuid::from_u128).collect();
    let made = "CREATE TABLE things (id {uuid} PRIMARY KEY, n {int} NOT NULL) {strict}";
    tokio::task::spawn_blocking({
        let db = db.clone();
        move || db.execute_script(made).unwrap()
    })
    .await
    .unwrap();
    let seed = ids.clone();
    let written = db.write(move |tx| {
        let insert = Command::<()>::built("insert", "INSERT INTO things VALUES ($1, $2)");
        for (n, id) in (1i64..).zip(&seed) {
            tx.execute(&insert, args![id, n])?;
        }
        Ok::<_, Error>(())
    });
    written.await.unwrap();
    for (asked, expected) in [
        (vec![], vec![]),
        (vec![ids[2]], vec![3]),
        (vec![ids[2], ids[0], ids[2], Uuid::from_u128(9)], vec![1, 3]),
    ] {
        let found = db.read(move |conn| {
            let text = "SELECT n FROM things WHERE id {any}($1) ORDER BY n";
            conn.all(&Query::<i64>::built("any", text), args![asked.clone()])
        });
        assert_eq!(found.await, Ok::<_, Error>(expected));
    }
    let numbers = db.read(|conn| {
        let text = "SELECT n FROM things WHERE n {any}($1) ORDER BY n";
        conn.all(&Query::<i64>::built("numbers", text), args![vec![3, 1, i64::MIN, 3]])
    });
    assert_eq!(numbers.await, Ok::<_, Error>(vec![1, 3]));
}

async fn rows_are_handed_over_one_by_one(test: TestDb) {
    let db = test.ready(Options::default());
    for (id, slug) in [(1, "one"), (2, "two")] {
        insert(&db, id, slug).await.unwrap();
    }
    let seen = db.read(|conn| {
        let mut seen = Vec::new();
        conn.each(&LIST_SLUGS, &[], |slug| seen.push(slug))?;
        Ok::<_, Error>(seen)
    });
    assert_eq!(seen.await.unwrap(), slugs(&db).await);
}

async fn a_query_sent_ahead_answers_after_the_next_one(test: TestDb) {
    let db = test.ready(one_connection());
    for (id, slug) in [(1, "one"), (2, "two")] {
        insert(&db, id, slug).await.unwrap();
    }
    let read = db.read(|conn| {
        let ahead = conn.prefetch(&LIST_SLUGS, &[])?;
        let count = conn.one(&COUNT_NOTES, &[])?;
        Ok::<_, Error>((count, ahead.rows()?))
    });
    let (count, ahead) = read.await.unwrap();
    assert_eq!(count, 2);
    let expected = match db.engine() {
        Engine::Sqlite => None,
        Engine::Postgres => Some(slugs(&db).await),
    };
    assert_eq!(ahead, expected);
    // A transaction sends nothing ahead: it has not begun yet.
    let inside = db.write(|tx| Ok::<_, Error>(tx.prefetch(&LIST_SLUGS, &[])?.rows()?.is_some()));
    assert!(!inside.await.unwrap());
}

async fn a_large_query_sent_ahead_does_not_hold_up_the_next_one(test: TestDb) {
    let db = test.ready(one_connection());
    let inserted = db.write(|tx| {
        (100..300i64).try_for_each(|id| insert_in(tx, id, &id.to_string().repeat(500)))
    });
    inserted.await.unwrap();
    let read = db.read(|conn| {
        let ahead = conn.prefetch(&LIST_SLUGS, &[])?;
        let count = conn.one(&COUNT_NOTES, &[])?;
        Ok::<_, Error>((count, ahead.rows()?))
    });
    let (count, ahead) = read.await.unwrap();
    assert_eq!(count, 200);
    assert_eq!(ahead.map(|rows| rows.len()), (db.engine() == Engine::Postgres).then_some(200));
    let dropped = db.read(|conn| {
        drop(conn.prefetch(&LIST_SLUGS, &[])?);
        conn.one(&COUNT_NOTES, &[])
    });
    assert_eq!(dropped.await, Ok::<_, Error>(200));
}

async fn a_query_sent_ahead_may_be_dropped_or_fail(test: TestDb) {
    let db = test.ready(one_connection());
    insert(&db, 1, "one").await.unwrap();
    let dropped = db.read(|conn| {
        drop(conn.prefetch(&LIST_SLUGS, &[])?);
        conn.one(&COUNT_NOTES, &[])
    });
    assert_eq!(dropped.await, Ok::<_, Error>(1));
    let failing = Query::<i64>::built("failing", "SELECT CAST(1 AS {int}) / CAST($1 AS {int})");
    let failed = db.read(move |conn| {
        let ahead = conn.prefetch(&failing, args![0i64])?;
        let count = conn.one(&COUNT_NOTES, &[])?;
        Ok::<_, Error>((count, ahead.rows().is_err()))
    });
    assert_eq!(failed.await.unwrap(), (1, db.engine() == Engine::Postgres));
    assert_eq!(slugs(&db).await, ["one"], "the connection stays usable");
}
