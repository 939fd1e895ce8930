//! A database of its own for every test, and the means to order things without sleeping.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Poll;

use db::testing::Cluster;
use db::{Db, Error, Migration, Options, Tx};

pub(crate) const SCHEMA: &str = "
    CREATE TABLE boxes (id {int} PRIMARY KEY, name {text} NOT NULL) {strict};
    CREATE TABLE notes (
        id {int} PRIMARY KEY,
        box_id {int} NOT NULL REFERENCES boxes (id),
        slug {text} NOT NULL,
        body {text},
        next_id {int} REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED
    ) {strict};
    CREATE UNIQUE INDEX notes_box_slug ON notes (box_id, slug);
    CREATE TABLE counters (id {int} PRIMARY KEY, n {int} NOT NULL) {strict};
    INSERT INTO boxes (id, name) VALUES (1, 'first');
    INSERT INTO counters (id, n) VALUES (1, 0), (2, 0);
";

db::row! {
    #[derive(Debug, Clone, PartialEq)]
    pub(crate) struct NoteRow {
        pub(crate) id: i64,
        pub(crate) slug: String,
        pub(crate) body: Option<String>,
    }
}

db::statements! {
    query FIND_NOTE -> NoteRow = "SELECT id, slug, body FROM notes WHERE box_id = 1 AND id = $1";
    query LIST_SLUGS -> String = "SELECT slug FROM notes WHERE box_id = 1 ORDER BY slug";
    query COUNT_NOTES -> i64, unscoped "a figure over all boxes" = "SELECT count(*) FROM notes";
    command INSERT_NOTE = "INSERT INTO notes (id, box_id, slug) VALUES ($1, 1, $2)";
    command INSERT_INTO_BOX = "INSERT INTO notes (id, box_id, slug) VALUES ($1, $2, $3)";
    command LINK_NOTE = "UPDATE notes SET next_id = $2 WHERE id = $1";
    command INCREMENT -> i64 = "UPDATE counters SET n = n + 1 WHERE id = $1 RETURNING n";
    query COUNTER -> i64 = "SELECT n FROM counters WHERE id = $1";
    /// Over a thousand million rows: longer than any deadline of a test.
    query ENDLESS -> i64 = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000)
                            SELECT count(*) FROM c";
    command INSERT_ENDLESSLY = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000)
                                INSERT INTO notes (id, box_id, slug) SELECT 1000 + count(*), 1, 'endless' FROM c";
}

/// A database that goes away with the test.
pub(crate) struct TestDb {
    pub(crate) url: String,
    dir: Option<PathBuf>,
}

impl TestDb {
    pub(crate) fn sqlite() -> TestDb {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("db-engines-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        TestDb { url: format!("sqlite://{}/test.db", dir.display()), dir: Some(dir) }
    }

    pub(crate) fn postgres() -> TestDb {
        TestDb { url: Cluster::shared().create_database(), dir: None }
    }

    /// Without a schema.
    pub(crate) fn open(&self, options: Options) -> Db {
        Db::open(&self.url, options).unwrap()
    }

    /// With the schema of these tests.
    pub(crate) fn ready(&self, options: Options) -> Db {
        let db = self.open(options);
        db.migrate(&[Migration::shared(1, "all", SCHEMA)], 0).unwrap();
        db
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        match &self.dir {
            Some(dir) => drop(std::fs::remove_dir_all(dir)),
            None => Cluster::shared().drop_database(&self.url),
        }
    }
}

/// Runs each test on SQLite and on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::TestDb::sqlite()).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::support::TestDb::postgres()).await;
            }
        )*}
    };
}
pub(crate) use on_both;

/// A place inside a closure where it waits until the test lets it go on.
pub(crate) struct Gate {
    arrived: Mutex<Receiver<()>>,
    go_on: Sender<()>,
}

/// The closure's side of the gate.
pub(crate) struct Stop {
    arrive: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

pub(crate) fn gate() -> (Gate, Stop) {
    let (arrive, arrived) = channel();
    let (go_on, wait) = channel();
    let gate = Gate { arrived: Mutex::new(arrived), go_on };
    let stop = Stop { arrive, go_on: Mutex::new(wait) };
    (gate, stop)
}

impl Stop {
    pub(crate) fn wait(&self) {
        self.arrive.send(()).unwrap();
        self.go_on.lock().unwrap().recv().unwrap();
    }
}

impl Gate {
    /// Returns when the closure has come to its stop.
    pub(crate) fn arrived(&self) {
        self.arrived.lock().unwrap().recv().unwrap();
    }

    pub(crate) fn open(&self) {
        self.go_on.send(()).unwrap();
    }
}

/// Starts work that blocks the writer (or the only connection) until the gate opens. Jobs queued meanwhile
/// run after it, on SQLite in one batch.
pub(crate) async fn hold(db: &Db) -> (Gate, Pin<Box<impl Future<Output = Result<(), Error>>>>) {
    let (gate, stop) = gate();
    let work = move |_: &Tx<'_>| {
        stop.wait();
        Ok(())
    };
    let held = queued(db.write(work)).await;
    gate.arrived();
    (gate, held)
}

/// Polls once, after which the work is in the queue.
pub(crate) async fn queued<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    std::future::poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    future
}

/// One connection on PostgreSQL, so that work runs in the order it was queued in, as on SQLite.
pub(crate) fn one_connection() -> Options {
    Options { pool: 1, ..Options::default() }
}

pub(crate) async fn slugs(db: &Db) -> Vec<String> {
    let list: Result<_, Error> = db.read(|conn| conn.all(&LIST_SLUGS, &[])).await;
    list.unwrap()
}

pub(crate) async fn insert(db: &Db, id: i64, slug: &'static str) -> Result<(), Error> {
    db.write(move |tx| insert_in(tx, id, slug)).await
}

pub(crate) fn insert_in(tx: &Tx<'_>, id: i64, slug: &str) -> Result<(), Error> {
    let touched = tx.execute(&INSERT_NOTE, db::args![id, slug])?;
    assert_eq!(touched, 1);
    Ok(())
}

/// A function that fails as a transaction does that is worth running again.
pub(crate) const REFUSE: &str = "CREATE FUNCTION refuse() RETURNS bigint LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '40001'; END $$";
