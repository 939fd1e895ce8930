//! Rows of a custom table: one, a hundred at once, and a page of one kind. The bare work is the statements
//! themselves, and the same bytes.

use std::sync::Arc;

use db::{Command, Db, Query, Value};
use serde_json::json;
use townhall::error::Error;
use townhall::features::tables::model::Table;
use townhall::features::tables::rows::filters::{Filter, Test};
use townhall::features::tables::rows::json::Row;
use townhall::features::tables::sql::Dialect;
use townhall::http::page::Page;
use townhall::http::query::percent_encode;
use townhall::values::ids::new_id;
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use crate::fixture::{Fixture, text};
use crate::scenario::{Bare, Scenario};
use crate::server::{get, send};
use crate::tables::{KINDS, NAME, table};

const BULK: usize = 100;
const LIMIT: i64 = 50;

pub const INSERT: Scenario = Scenario {
    name: "insert-row",
    about: "POST /db/Events by anybody",
    expected_status: &[201],
    requests: |fixture| {
        let path = format!("/v8/{}/db/{NAME}", fixture.project);
        vec![send("POST", &path, "", &body(7).to_string())]
    },
    bare: |fixture, db| vec![bare_insert(fixture, db, 1)],
};

pub const BULK_INSERT: Scenario = Scenario {
    name: "insert-100-rows",
    about: "POST /db/Events/bulk with 100 rows",
    expected_status: &[201],
    requests: |fixture| {
        let path = format!("/v8/{}/db/{NAME}/bulk", fixture.project);
        let rows: Vec<_> = (0..BULK).map(body).collect();
        vec![send("POST", &path, "", &json!({ "rows": rows }).to_string())]
    },
    bare: |fixture, db| vec![bare_insert(fixture, db, BULK)],
};

pub const FILTER: Scenario = Scenario {
    name: "filter-rows",
    about: "GET /db/Events?filters=[kind eq …], the newest 50 of one of 1,000 kinds",
    expected_status: &[200],
    requests: |fixture| {
        let request = |kind: usize| {
            let clause =
                json!([{ "column": "kind", "operator": "eq", "value": format!("kind-{kind}") }]);
            let filters = percent_encode(&clause.to_string());
            get(&format!("/v8/{}/db/{NAME}?filters={filters}", fixture.project))
        };
        (0..KINDS).map(request).collect()
    },
    bare: bare_filter,
};

fn body(number: usize) -> serde_json::Value {
    json!({
        "kind": "kind-new",
        "title": format!("A new event, number {number}"),
        "size": number,
        "price": "12.50",
        "extra": { "colour": "green" },
    })
}

fn cells(number: usize, now: Timestamp) -> Vec<Value<'static>> {
    vec![
        new_id(now, &Random::System).into(),
        "kind-new".into(),
        format!("A new event, number {number}").into(),
        i64::try_from(number).unwrap_or_default().into(),
        "12.50".into(),
        Value::Json(r#"{"colour": "green"}"#.into()),
        now.into(),
        now.into(),
    ]
}

fn bare_insert(fixture: &Fixture, db: &Db, count: usize) -> Bare {
    let (db, now, table) = (db.clone(), fixture.now, Arc::new(table(fixture.project)));
    let statement = Dialect(db.engine()).insert(&table, 1);
    Bare::new("insert and bytes", move |_| {
        let (db, table, statement) = (db.clone(), table.clone(), statement.clone());
        let rows: Vec<Vec<Value<'static>>> = (0..count).map(|number| cells(number, now)).collect();
        async move {
            let written = rows.clone();
            let insert = db.write(move |tx| {
                let insert = Command::<()>::built("bench::insert", statement.clone());
                written.iter().try_for_each(|cells| tx.pipeline(&insert, cells))?;
                Ok::<_, Error>(())
            });
            insert.await.map_err(text)?;
            bytes(&table, rows)
        }
    })
}

fn bytes(table: &Arc<Table>, rows: Vec<Vec<Value<'static>>>) -> Result<Vec<u8>, String> {
    let rows: Vec<Row> =
        rows.into_iter().map(|cells| Row { table: table.clone(), cells }).collect();
    let total = i64::try_from(rows.len()).unwrap_or_default();
    let page = Page { page: 1, limit: 50 }.of(rows, total);
    serde_json::to_vec(&page).map_err(|error| error.to_string())
}

/// The page alone; the server counts as well.
fn bare_filter(fixture: &Fixture, db: &Db) -> Vec<Bare> {
    let (db, table) = (db.clone(), Arc::new(table(fixture.project)));
    let dialect = Dialect(db.engine());
    vec![Bare::new("page and bytes", move |dice| {
        let (db, table) = (db.clone(), table.clone());
        let kind = format!("kind-{}", dice.draw(KINDS));
        async move {
            let asked = table.clone();
            let found = db.read(move |c| {
                let column =
                    asked.column("kind").cloned().ok_or_else(|| Error::internal("kind"))?;
                let test = Test::Compare("=", kind.clone().into());
                let mut conditions = dialect.conditions(&asked, &[Filter { column, test }], false);
                let order = dialect.order(&asked, None, None);
                let text = dialect.page(&asked, &mut conditions, &order, (LIMIT, 0), true);
                let query = Query::<Vec<Value<'static>>>::built("bench::page", text);
                Ok::<_, Error>(c.all(&query, conditions.args())?)
            });
            bytes(&table, found.await.map_err(text)?)
        }
    })]
}
