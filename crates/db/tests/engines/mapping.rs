//! Rows, values, parameters and dialect tokens.

use db::{Command, Engine, Error, JsonText, Maybe, Options, Query, Value, args};
use uuid::Uuid;

use crate::support::*;

on_both![
    every_kind_of_value_comes_back,
    nulls_come_back_as_none,
    rows_hold_rows,
    a_row_of_an_outer_join_may_be_missing,
    a_wrong_type_names_statement_and_column,
    wrong_columns_are_named,
    every_statement_prepares,
    parameters_are_bound_by_number,
    a_value_that_does_not_fit_is_an_error,
    a_wrong_number_of_arguments_is_an_error,
    tokens_work_in_statements,
    unknown_tokens_are_named,
    rows_of_any_width_come_back,
    a_table_may_change_under_prepared_statements,
    a_quoted_name_of_nothing_is_no_text,
];

db::row! {
    #[derive(Debug, PartialEq)]
    struct EverythingRow {
        id: Uuid,
        yes: bool,
        small: i32,
        n: i64,
        r#real: f64,
        r#type: String,
        data: Vec<u8>,
        doc: JsonText,
    }
}

const EVERYTHING: &str =
    "CREATE TABLE everything (id {uuid}, yes {bool}, small {int}, n {int}, real {real},
    type {text}, data {bytes}, doc {json}) {strict}";
const SELECT: &str = "SELECT id, yes, small, n, real, type, data, doc FROM everything";

async fn every_kind_of_value_comes_back(test: TestDb) {
    let db = test.open(Options::default());
    db.execute_script(EVERYTHING).unwrap();
    let id = Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    let insert = "INSERT INTO everything VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let back = db.write(move |tx| {
        let doc = JsonText(r#"{"a": [1, null]}"#.to_owned());
        let args = args![id, true, -7i32, i64::MIN, 0.1, "é日", vec![0u8, 255], doc];
        tx.execute(&Command::built("insert", insert), args)?;
        tx.one(&Query::<EverythingRow>::built("select", SELECT), &[])
    });
    let expected = EverythingRow {
        id,
        yes: true,
        small: -7,
        n: i64::MIN,
        r#real: 0.1,
        r#type: "é日".to_owned(),
        data: vec![0, 255],
        doc: JsonText(r#"{"a": [1, null]}"#.to_owned()),
    };
    assert_eq!(back.await, Ok::<_, Error>(expected));
}

async fn nulls_come_back_as_none(test: TestDb) {
    let db = test.open(Options::default());
    db.execute_script(EVERYTHING).unwrap();
    let back = db.write(|tx| {
        let insert = "INSERT INTO everything (id, n, doc) VALUES ($1, $2, $3)";
        let args = args![None::<Uuid>, None::<i64>, None::<&str>];
        tx.execute(&Command::built("insert", insert), args)?;
        let select = "SELECT id, n, doc FROM everything";
        tx.one(
            &Query::<(Option<Uuid>, Option<i64>, Option<JsonText>)>::built("select", select),
            &[],
        )
    });
    assert_eq!(back.await, Ok::<_, Error>((None, None, None)));
}

db::row! {
    #[derive(Debug, PartialEq)]
    struct Name {
        slug: String,
        body: Option<String>,
    }
}

db::row! {
    #[derive(Debug, PartialEq)]
    struct NamedRow {
        id: i64,
        name: Name,
        box_id: i64,
    }
}

async fn rows_hold_rows(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 2, "one").await.unwrap();
    let named = |text| Query::<NamedRow>::built("named", text);
    let text = "SELECT id, slug, body, box_id FROM notes";
    let row = db.read(move |conn| conn.one(&named(text), &[])).await;
    let name = Name { slug: "one".to_owned(), body: None };
    assert_eq!(row, Ok::<_, Error>(NamedRow { id: 2, name, box_id: 1 }));
    let error = db.prepare(&named("SELECT id, body, slug, box_id FROM notes")).unwrap_err();
    assert!(
        error.to_string().contains("expected slug"),
        "columns of the inner row are compared: {error}"
    );
}

db::row! {
    #[derive(Debug, PartialEq)]
    struct WantedRow {
        id: i64,
        name: Maybe<Name>,
        box_id: Option<i64>,
    }
}

async fn a_row_of_an_outer_join_may_be_missing(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 2, "one").await.unwrap();
    let wanted = Query::<WantedRow>::built(
        "wanted",
        "WITH wanted AS (SELECT CAST(2 AS {int}) AS id UNION ALL SELECT CAST(3 AS {int}))
         SELECT w.id, n.slug, n.body, n.box_id FROM wanted w LEFT JOIN notes n ON n.id = w.id
         ORDER BY w.id",
    );
    let rows = db.read(move |conn| conn.all(&wanted, &[])).await;
    let name = Name { slug: "one".to_owned(), body: None };
    let found = WantedRow { id: 2, name: Maybe(Some(name)), box_id: Some(1) };
    let missing = WantedRow { id: 3, name: Maybe(None), box_id: None };
    assert_eq!(rows, Ok::<_, Error>(vec![found, missing]), "what follows it is read nevertheless");
}

async fn a_wrong_type_names_statement_and_column(test: TestDb) {
    let db = test.ready(Options::default());
    let wrong =
        db.read(|conn| conn.one(&Query::<i64>::built("names", "SELECT name FROM boxes"), &[]));
    let error = Error::Row {
        statement: "names",
        column: "name".to_owned(),
        expected: "integer",
        found: "text".to_owned(),
    };
    assert_eq!(wrong.await, Err(error));
    let null = db.read(|conn| {
        let query = Query::<String>::built("nulls", "SELECT body FROM notes");
        conn.one(&query, &[])
    });
    insert(&db, 1, "one").await.unwrap();
    let error = null.await.unwrap_err();
    assert_eq!(error.to_string(), "nulls: column body: expected text, found null");
}

async fn wrong_columns_are_named(test: TestDb) {
    let db = test.ready(Options::default());
    let error = |column: &str, expected, found: &str| Error::Row {
        statement: "note",
        column: column.to_owned(),
        expected,
        found: found.to_owned(),
    };
    for (text, expected) in [
        ("SELECT id, body, slug FROM notes", error("body", "slug", "body")),
        ("SELECT id, slug FROM notes", error("body", "body", "no column")),
        ("SELECT id, slug, body, box_id FROM notes", error("box_id", "no more columns", "box_id")),
    ] {
        let note = move || Query::<NoteRow>::built("note", text);
        let read = db.read(move |conn| conn.all(&note(), &[])).await;
        assert_eq!(read, Err(expected.clone()), "{text}");
        assert_eq!(db.prepare(&note()), Err(expected), "{text}");
    }
    let pair = Query::<i64>::built("pair", "SELECT id, box_id FROM notes");
    assert!(matches!(db.prepare(&pair), Err(Error::Row { .. })), "one value is one column");
}

async fn every_statement_prepares(test: TestDb) {
    let db = test.ready(Options::default());
    for statement in ALL {
        db.prepare(*statement).unwrap();
        assert!(statement.name().starts_with("engines::support::"));
    }
    let writing = ALL.iter().filter(|statement| statement.writes()).count();
    assert_eq!(writing, 5);
    let unscoped: Vec<_> = ALL.iter().filter_map(|statement| statement.unscoped()).collect();
    assert_eq!(unscoped, ["a figure over all boxes"]);
}

async fn parameters_are_bound_by_number(test: TestDb) {
    let db = test.ready(Options::default());
    insert(&db, 2, "one").await.unwrap();
    let text = "SELECT id, '$1' || slug FROM notes WHERE slug = $2 AND id = $1 AND $2 <> 'x'";
    let row = db.read(move |conn| {
        let query = Query::<(i64, String)>::built("swapped", text);
        conn.one(&query, args![2i64, "one"])
    });
    assert_eq!(row.await, Ok::<_, Error>((2, "$1one".to_owned())));
}

async fn a_value_that_does_not_fit_is_an_error(test: TestDb) {
    let db = test.ready(Options::default());
    let text = db.write(|tx| {
        let insert = "INSERT INTO counters (id, n) VALUES ($1, 0)";
        tx.execute(&Command::built("insert", insert), args!["text"])
    });
    let refused = text.await.unwrap_err();
    assert!(matches!(refused, Error::Statement { statement: "insert", .. }), "{refused}");
    assert_eq!(db.ping().await, Ok(()));
}

async fn a_wrong_number_of_arguments_is_an_error(test: TestDb) {
    let db = test.ready(Options::default());
    let found = db.read(|conn| conn.opt(&FIND_NOTE, args![1i64, 2i64])).await;
    let message = "engines::support::FIND_NOTE: expects 1 arguments, got 2";
    assert_eq!(found.unwrap_err().to_string(), message);
}

async fn tokens_work_in_statements(test: TestDb) {
    let db = test.ready(Options::default());
    let found = db.write(|tx| {
        insert_in(tx, 1, "needle in hay")?;
        let text = "SELECT {contains}(slug, $1), {greatest}(id, 5), {least}(id, 5) FROM notes {for_update}";
        tx.one(&Query::<(i64, i64, i64)>::built("tokens", text), args!["in"])
    });
    assert_eq!(found.await, Ok::<_, Error>((8, 5, 1)));
}

async fn unknown_tokens_are_named(test: TestDb) {
    let db = test.open(Options::default());
    let error = db.execute_script("SELECT {nonsense}").unwrap_err();
    assert!(error.to_string().contains("{nonsense}"), "{error}");
    let error = db.prepare(&Query::<i64>::built("odd", "SELECT {nonsense}")).unwrap_err();
    assert_eq!(error.to_string(), "odd: unknown dialect token {nonsense}");
}

async fn rows_of_any_width_come_back(test: TestDb) {
    let db = test.ready(Options::default());
    let (time, day) = match db.engine() {
        Engine::Sqlite => ("INTEGER", "INTEGER"),
        Engine::Postgres => ("TIMESTAMPTZ", "DATE"),
    };
    let table = format!("CREATE TABLE wide (a {{int}}, b {{text}}, c {time}, d {day})");
    db.execute_script(&table).unwrap();
    let row = [Value::Null, Value::from("x"), Value::Int(-1), Value::Int(-719_162)];
    let written = row.clone();
    let insert = move |tx: &db::Tx<'_>| {
        tx.execute(&Command::built("insert", "INSERT INTO wide VALUES ($1, $2, $3, $4)"), &written)
    };
    db.write(insert).await.unwrap();
    let read = |text: &'static str| {
        db.read(move |conn| conn.all(&Query::<Vec<Value<'static>>>::built("wide", text), &[]))
    };
    assert_eq!(read("SELECT a, b, c, d FROM wide").await, Ok::<_, Error>(vec![row.to_vec()]));
    assert_eq!(read("SELECT b FROM wide").await, Ok::<_, Error>(vec![vec![Value::from("x")]]));
}

async fn a_table_may_change_under_prepared_statements(test: TestDb) {
    let db = test.ready(one_connection());
    db.execute_script("CREATE TABLE changing (id {int} PRIMARY KEY, a {int}) {strict}").unwrap();
    let add = |value: Value<'static>| {
        db.write(move |tx| {
            let insert = "INSERT INTO changing (id, a) VALUES (1, $1)";
            tx.pipeline(&Command::built("insert", insert), std::slice::from_ref(&value))?;
            let update = "UPDATE changing SET a = $1 WHERE id = 1 RETURNING a";
            let updated = Command::<Value<'static>>::built("update", update);
            let shown = tx.one(&updated, std::slice::from_ref(&value))?;
            tx.execute(&Command::built("delete", "DELETE FROM changing"), &[])?;
            Ok::<_, Error>(shown)
        })
    };
    assert_eq!(add(Value::Int(1)).await, Ok(Value::Int(1)));
    db.execute_script("ALTER TABLE changing DROP COLUMN a").unwrap();
    assert!(matches!(add(Value::Int(1)).await, Err(Error::Missing { .. })));
    db.execute_script("ALTER TABLE changing ADD COLUMN a {text}").unwrap();
    assert_eq!(add(Value::from("x")).await, Ok(Value::from("x")));
    db.execute_script("DROP TABLE changing").unwrap();
    assert!(matches!(add(Value::Int(1)).await, Err(Error::Missing { .. })));
}

async fn a_quoted_name_of_nothing_is_no_text(test: TestDb) {
    let db = test.ready(Options::default());
    let read = db.read(|conn| {
        conn.all(&Query::<Value<'static>>::built("nothing", "SELECT \"nothing\" FROM notes"), &[])
    });
    assert!(matches!(read.await, Err(Error::Missing { .. })));
}
