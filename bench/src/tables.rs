//! A custom table of many rows, of a thousand kinds.

use db::{Db, Engine};
use townhall::error::Error;
use townhall::features::tables::model::{Column, DataType, RowAccess, Table};
use townhall::features::tables::sql::{Dialect, ddl};
use townhall::features::tables::store::catalogue;
use townhall::values::ids::{ProjectId, TableId};
use townhall::values::time::Timestamp;
use uuid::Uuid;

use crate::fixture::text;

pub const NAME: &str = "Events";
pub const KINDS: usize = 1000;

fn column(position: i64, name: &str, data_type: DataType) -> Column {
    Column {
        name: name.to_owned(),
        data_type,
        nullable: true,
        default_value: None,
        indexed: name == "kind",
        references: None,
        position: Some(position),
    }
}

pub fn table(project: ProjectId) -> Table {
    let columns = vec![
        column(0, "kind", DataType::Text),
        column(1, "title", DataType::Text),
        column(2, "size", DataType::Integer),
        column(3, "price", DataType::Decimal),
        column(4, "extra", DataType::Json),
    ];
    let flags = (true, false, RowAccess::Open);
    Table::new(project, TableId(Uuid::from_u128(1)), NAME.to_owned(), flags, columns)
}

pub async fn seed(db: &Db, project: ProjectId, rows: usize, now: Timestamp) -> Result<(), String> {
    let (table, dialect) = (table(project), Dialect(db.engine()));
    let name = dialect.table(project, NAME);
    let created = db.write(move |tx| {
        catalogue::insert(tx, &table, now)?;
        ddl::run(tx, dialect.create(&table))?;
        Ok::<_, Error>(())
    });
    created.await.map_err(text)?;
    let now = now.millis();
    let (id, price, time) = match db.engine() {
        Engine::Sqlite => {
            ("unhex(printf('%032x', n))", "CAST(n AS TEXT) || '.50'", format!("{now} - n"))
        }
        Engine::Postgres => (
            "lpad(to_hex(n), 32, '0')::uuid",
            "(n::text || '.50')::numeric",
            format!("to_timestamp(({now} - n) / 1000.0)"),
        ),
    };
    let numbers = match db.engine() {
        Engine::Sqlite => format!(
            "(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT n FROM s)"
        ),
        Engine::Postgres => format!("(SELECT n::bigint AS n FROM generate_series(1, {rows}) n) s"),
    };
    let script = format!(
        "INSERT INTO {name} SELECT {id}, 'kind-' || (n % {KINDS}), 'Event number ' || n, n, {price},
            '{{\"colour\": \"green\"}}', {time}, {time} FROM {numbers}"
    );
    db.execute_script(&script).map_err(|error| error.to_string())
}
