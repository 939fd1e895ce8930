//! The SQL of custom tables is built at run time. Whatever a caller sends, each text is one statement, its
//! names are those of the catalogue, and its values are bound.

use std::collections::BTreeSet;

use db::{Engine, Value as Bound};
use http::Method;
use serde_json::json;
use townhall::features::tables::model::{Column, DataType, OnDelete, Reference, RowAccess, Table};
use townhall::features::tables::rows::filters::{Filter, Test};
use townhall::features::tables::sql::conditions::Way;
use townhall::features::tables::sql::{Dialect, schema};
use townhall::values::ids::{ProjectId, TableId};
use uuid::Uuid;

use crate::support::{Dice, TestApp, on_both_engines};
use crate::table_lists::filters;
use crate::tables::column;

on_both_engines![nothing_a_caller_sends_becomes_a_statement];

/// One part of a statement.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Name(String),
    Literal(String),
    Number(String),
    Parameter,
    Word(String),
    Sign(char),
}

/// Takes a text apart; what could end a statement or hide a part of it is no token.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |rest: &str| {
            rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count()
        };
        let (token, taken) = match first {
            ' ' | '\n' => (None, 1),
            '"' | '\'' => {
                let mut end = 1;
                loop {
                    end +=
                        rest[end..].find(first).unwrap_or_else(|| panic!("open quote: {text}")) + 1;
                    if !rest[end..].starts_with(first) {
                        break;
                    }
                    end += 1;
                }
                let inner = rest[1..end - 1].to_owned();
                (Some(if first == '"' { Token::Name(inner) } else { Token::Literal(inner) }), end)
            }
            '$' | '?' => {
                let digits = word(&rest[1..]);
                assert!(digits > 0 && rest[1..=digits].parse::<usize>().is_ok(), "{text}");
                (Some(Token::Parameter), digits + 1)
            }
            '0'..='9' => (Some(Token::Number(rest[..word(rest)].to_owned())), word(rest)),
            'a'..='z' | 'A'..='Z' | '_' => {
                (Some(Token::Word(rest[..word(rest)].to_owned())), word(rest))
            }
            '(' | ')' | ',' | '.' | '=' | '<' | '>' | '*' | ':' | '+' => {
                (Some(Token::Sign(first)), 1)
            }
            other => panic!("{other:?} in {text}"),
        };
        tokens.extend(token);
        rest = &rest[taken..];
    }
    tokens
}

const WORDS: &str = "ACTION ADD ALTER ANY AND AS ASC BIGINT BLOB BOOLEAN BY CASCADE COLLATE COLUMN CONSTRAINT \
    CREATE DATE DEFAULT DELETE DESC DOUBLE DROP EXCLUSIVE EXISTS FIRST FOR FROM IF IN INDEX INSERT INTEGER INTO \
    IS JSONB KEY LAST LIMIT LOCK MODE NO NOT NULL NULLS NUMERIC OFFSET ON OR ORDER PRECISION PRIMARY REAL \
    REFERENCES RETURNING ROW SCHEMA SELECT SET SHARE STRICT TABLE TEXT TIMESTAMPTZ TRUE UPDATE UUID VALUES WHERE \
    bigint boolean count current_setting date decimal float8 found left listed numeric rarray set_config text text_contains pg_advisory_xact_lock pg_advisory_xact_lock_shared text_like timestamptz true uuid jsonb";
const FIRST: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER"];

/// Compares a text with what statements here are made of.
fn check(text: &str, names: &BTreeSet<String>, words: &BTreeSet<&str>) {
    let tokens = tokens(text);
    let first = matches!(&tokens[0], Token::Word(word) if FIRST.contains(&word.as_str()));
    assert!(first, "{text}");
    let mut depth = 0_i32;
    for token in tokens {
        match token {
            Token::Name(name) => assert!(names.contains(&name), "{name:?} in {text}"),
            Token::Literal(literal) => assert_eq!(literal, "townhall.default_value", "{text}"),
            Token::Number(number) => assert!(["1", "256"].contains(&number.as_str()), "{text}"),
            Token::Word(word) => assert!(words.contains(word.as_str()), "{word} in {text}"),
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            Token::Sign(_) | Token::Parameter => {}
        }
        assert!(depth >= 0, "{text}");
    }
    assert_eq!(depth, 0, "{text}");
}

const KINDS: [DataType; 9] = [
    DataType::Text,
    DataType::Integer,
    DataType::Float,
    DataType::Decimal,
    DataType::Boolean,
    DataType::Date,
    DataType::Timestamp,
    DataType::Uuid,
    DataType::Json,
];
const HOSTILE: [&str; 8] = [
    "'; DROP TABLE users;--",
    "\"; DELETE FROM users; --",
    "$1 {uuid} {any}",
    "/* */ ' OR 1=1",
    "%_\\\\'",
    "]]>`\u{7f}é",
    "x\nUNION SELECT 1",
    "?1",
];

/// A name that the catalogue may hold: words of SQL, upper and lower case, the longest.
fn name(dice: &mut Dice) -> String {
    let plain =
        ["select", "Order", "TABLE", "_", "x", "X", "user", "values", "createdat", "ID", "xmin"];
    match dice.draw(3) {
        0 => "n".repeat(1 + dice.draw(56)),
        1 => format!("{}{}", plain[dice.draw(plain.len())], dice.draw(1000)),
        _ => plain[dice.draw(plain.len())].to_owned(),
    }
}

fn table(dice: &mut Dice) -> Table {
    let mut own: Vec<Column> = Vec::new();
    let target = name(dice);
    for position in 0..dice.draw(12) {
        let data_type = KINDS[dice.draw(KINDS.len())];
        let name = name(dice);
        if own.iter().any(|column| column.name == name) {
            continue;
        }
        let on_delete = [OnDelete::Restrict, OnDelete::Cascade, OnDelete::SetNull][dice.draw(3)];
        let reference =
            Reference { table: TableId(Uuid::from_u128(7)), name: target.clone(), on_delete };
        let default = match data_type {
            DataType::Text => HOSTILE[dice.draw(HOSTILE.len())],
            DataType::Integer | DataType::Float | DataType::Decimal | DataType::Json => "7",
            DataType::Boolean => "true",
            DataType::Date | DataType::Timestamp => "2024-01-01",
            DataType::Uuid => "0f8fad5b-d9cb-469f-a165-70867728950e",
        };
        own.push(Column {
            name,
            data_type,
            nullable: dice.draw(2) == 0,
            default_value: (dice.draw(2) == 0).then(|| default.to_owned()),
            indexed: data_type != DataType::Json && dice.draw(2) == 0,
            references: (data_type == DataType::Uuid && dice.draw(2) == 0).then_some(reference),
            position: i64::try_from(position).ok(),
        });
    }
    let timestamps = dice.draw(3) > 0;
    let flags = (timestamps, timestamps && dice.draw(2) == 0, RowAccess::Open);
    let (project, id) = (Uuid::from_u128(u128::MAX), Uuid::from_u128(9));
    Table::new(ProjectId(project), TableId(id), name(dice), flags, own)
}

/// What may be quoted: names of the catalogue, and what is derived from them.
fn known(table: &Table, engine: Engine) -> BTreeSet<String> {
    let spelt = |name: &str| match engine {
        Engine::Postgres if name == "xmin" => "^xmin".to_owned(),
        Engine::Postgres => name.to_owned(),
        Engine::Sqlite => {
            let escape = |c: char| {
                if c.is_ascii_uppercase() {
                    format!("^{}", c.to_ascii_lowercase())
                } else {
                    c.into()
                }
            };
            name.chars().map(escape).collect::<String>()
        }
    };
    let schema = schema(table.project);
    let targets = table.columns.iter().filter_map(|column| column.references.as_ref());
    let tables = targets.map(|reference| reference.name.as_str()).chain([table.name.as_str()]);
    let mut names: BTreeSet<String> = tables
        .map(|name| match engine {
            Engine::Postgres => format!("custom_{name}"),
            Engine::Sqlite => format!("{schema}.custom_{}", spelt(name)),
        })
        .collect();
    for column in &table.columns {
        let which = column.position.map_or(column.name.clone(), |position| position.to_string());
        names.insert(spelt(&column.name));
        names.insert(format!("index_{}_{which}", table.id.0.simple()));
        names.insert(format!("reference_{which}"));
    }
    names.extend([schema, "C".to_owned()]);
    names
}

fn some_filters(dice: &mut Dice, table: &Table) -> Vec<Filter> {
    let mut hostile = || HOSTILE[dice.draw(HOSTILE.len())].to_owned();
    let texts = [hostile(), hostile(), hostile()];
    let bound = |number: usize| Bound::from(texts[number % 3].clone());
    let tests = [
        Test::IsNull(true),
        Test::IsNull(false),
        Test::Compare("=", bound(0)),
        Test::Compare("<>", bound(1)),
        Test::Compare(">=", bound(2)),
        Test::AnyOf(vec![bound(0), bound(1), bound(2)]),
        Test::Contains(texts[0].clone()),
        Test::Like(texts[1].clone()),
    ];
    let picked = (0..dice.draw(6)).map(|_| {
        let column = table.columns[dice.draw(table.columns.len())].clone();
        Filter { column, test: tests[dice.draw(tests.len())].clone() }
    });
    picked.collect()
}

#[test]
fn every_statement_is_one_of_known_names_and_bound_values() {
    let mut dice = Dice::new(7);
    let words: BTreeSet<&str> = WORDS.split_whitespace().collect();
    let mut seen = 0;
    for _ in 0..500 {
        let table = table(&mut dice);
        for engine in [Engine::Sqlite, Engine::Postgres] {
            let (dialect, names) = (Dialect(engine), known(&table, engine));
            let mut texts: Vec<String> = Vec::new();
            texts.extend(dialect.create(&table).into_iter().map(|(text, _)| text));
            texts.extend(dialect.drop(&table).into_iter().map(|(text, _)| text));
            for column in table.own_columns() {
                let steps = [
                    dialect.add_column(&table, column, false),
                    dialect.drop_column(&table, column),
                ];
                texts.extend(steps.into_iter().flatten().map(|(text, _)| text));
                if column.references.is_some() {
                    texts.extend(dialect.unlink(&table, column).into_iter().map(|(text, _)| text));
                }
            }
            let own: Vec<&Column> = table.own_columns().collect();
            texts.extend([dialect.insert(&table, 1), dialect.find(&table)]);
            if !own.is_empty() {
                texts.push(dialect.update(&table, &own));
            }
            let filters = some_filters(&mut dice, &table);
            let conditions = dialect.conditions(&table, &filters, dice.draw(2) == 0);
            texts.push(dialect.count(&table, &conditions));
            texts.push(dialect.oldest(&table, &mut conditions.clone(), 100));
            texts.push(dialect.delete(&table, &mut conditions.clone(), None));
            if table.paranoid {
                texts.push(dialect.delete(&table, &mut conditions.clone(), Some(Bound::Int(1))));
                texts.push(dialect.restore(&table));
            }
            let by = &table.columns[dice.draw(table.columns.len())];
            for way in [None, Some(Way::Rising), Some(Way::Falling)] {
                for by in [None, Some(by)] {
                    let order = dialect.order(&table, by, way);
                    texts.push(dialect.page(
                        &table,
                        &mut conditions.clone(),
                        &order,
                        (50, 0),
                        way.is_none(),
                    ));
                }
            }
            seen += texts.len();
            texts.iter().for_each(|text| check(text, &names, &words));
        }
    }
    assert!(seen > 10_000, "{seen}");
}

/// The same with everything that a running server asks its engine, which has parsed it all.
async fn nothing_a_caller_sends_becomes_a_statement(app: TestApp) {
    let key = app.service();
    let work = async {
        for hostile in HOSTILE {
            let defaulted = json!({ "columnName": "d", "dataType": "text", "nullable": false, "defaultValue": hostile });
            let columns = [
                column("t", "text"),
                column("j", "json"),
                column("n", "decimal"),
                defaulted.clone(),
            ];
            let body = json!({ "tableName": "Select", "columns": columns, "paranoid": true });
            key.post("/db/tables", body).await.expect(201);
            let row = json!({ "t": hostile, "j": { hostile: hostile }, "n": "1.5", hostile: 1 });
            let made = key.post("/db/Select", row.clone()).await.expect(201)["row"].clone();
            assert_eq!(
                (&made["t"], &made["d"], &made["j"][hostile]),
                (&json!(hostile), &json!(hostile), &json!(hostile))
            );
            let path = format!("/db/Select/{}", made["id"].as_str().unwrap());
            let mut late = defaulted;
            late["columnName"] = "late".into();
            key.post("/db/tables/Select/columns", late).await.expect(201);
            assert_eq!(
                key.patch(&path, json!({ "t": hostile })).await.expect(200)["row"]["late"],
                hostile
            );
            for operator in ["eq", "ne", "gt", "lte", "contains", "like", "in"] {
                let value = if operator == "in" { json!([hostile]) } else { json!(hostile) };
                let clause = json!([{ "column": "t", "operator": operator, "value": value }]);
                key.get(&format!("/db/Select?sortBy=n&{}", filters(clause))).await.expect(200);
            }
            let same =
                json!({ "filters": [{ "column": "t", "operator": "eq", "value": hostile }] });
            assert_eq!(
                key.send(Method::DELETE, "/db/Select", Some(same)).await.expect(200)["deletedCount"],
                1
            );
            key.post(&format!("{path}/restore"), json!({})).await.expect(200);
            key.delete("/db/tables/Select/columns/late").await.expect(200);
            key.delete("/db/tables/Select").await.expect(200);
            let strange = key
                .get(&format!(
                    "/db/Select?sortBy={}",
                    townhall::http::query::percent_encode(hostile)
                ))
                .await;
            strange.refused(404, "database/table-not-found");
        }
    };
    let seen = app.statements.during(work).await;
    let of_tables: Vec<&String> = seen
        .iter()
        .filter(|(name, _)| name.starts_with("tables::"))
        .map(|(_, text)| text)
        .collect();
    assert!(of_tables.len() > 100, "{}", of_tables.len());
    for text in of_tables {
        for token in tokens(text) {
            match token {
                Token::Literal(literal) => assert_eq!(literal, "townhall.default_value", "{text}"),
                Token::Name(name) => assert!(!HOSTILE.contains(&name.as_str()), "{text}"),
                _ => {}
            }
        }
    }
    assert_eq!(app.rows("users").await, 0);
}
