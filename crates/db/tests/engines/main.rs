//! Behaviour of the database crate, on both engines.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use db::{Db, Error, Migration, Options, args};

mod store {
    db::row! {
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) struct NoteRow { pub(crate) id: i64, pub(crate) body: Option<String>, }
    }
    db::statements! {
        /// One note by id.
        query FIND -> NoteRow = "SELECT id, body FROM notes WHERE id = $1";
        command INSERT -> i64 = "INSERT INTO notes (id, slug, body) VALUES ($1, $2, $3) RETURNING id";
        command DELETE = "DELETE FROM notes WHERE id = $1";
        query COUNT -> i64, unscoped "a figure over all" = "SELECT count(*) FROM notes";
    }
}

#[tokio::test]
async fn smoke_pg() {
    smoke(db::testing::Cluster::shared().create_database()).await;
}
#[tokio::test]
async fn smoke_sqlite() {
    let path = std::env::temp_dir().join(format!("db-smoke-{}.db", std::process::id()));
    smoke(format!("sqlite://{}", path.display())).await;
    std::fs::remove_file(path).unwrap();
}
async fn smoke(url: String) {
    let db = Db::open(&url, Options::default()).unwrap();
    let list = [Migration::shared(
        1,
        "notes",
        "CREATE TABLE notes (id {int} PRIMARY KEY, slug {text} NOT NULL, body {text}) {strict}; CREATE UNIQUE INDEX notes_slug ON notes (slug);",
    )];
    assert_eq!(db.migrate(&list, 5).unwrap(), [1]);
    assert_eq!(db.migrate(&list, 5).unwrap(), [0u32; 0]);
    for s in store::ALL {
        db.prepare(*s).unwrap();
    }
    println!("{:?}", db.explain(&store::FIND));
    let id: Result<i64, Error> =
        db.write(|tx| tx.one(&store::INSERT, args![1i64, "a", None::<&str>])).await;
    assert_eq!(id, Ok(1));
    let again: Result<i64, Error> =
        db.write(|tx| tx.one(&store::INSERT, args![2i64, "a", "x"])).await;
    assert!(again.unwrap_err().is_unique("notes_slug"));
    let row = db.read(|c| c.one(&store::FIND, args![1i64])).await;
    assert_eq!(row, Ok::<_, Error>(store::NoteRow { id: 1, body: None }));
    assert_eq!(db.read_slow(|c| c.one(&store::COUNT, args![])).await, Ok::<_, Error>(1));
    assert_eq!(db.write(|tx| tx.execute(&store::DELETE, args![1i64])).await, Ok::<_, Error>(1));
    db.ping().await.unwrap();
    db.close().await;
    assert_eq!(db.ping().await, Err(Error::Busy));
}
