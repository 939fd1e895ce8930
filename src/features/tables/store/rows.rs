//! Reads and writes the rows of one table, with the statements that `sql/` builds.

use std::collections::HashSet;

use db::{Builder, Command, Conn, Engine, Query, Tx, Value, args};
use uuid::Uuid;

use crate::error::Result;
use crate::features::tables::handle::TableHandle;
use crate::features::tables::model::{Column, ID, OnDelete, Table};
use crate::features::tables::rows::filters::Filter;
use crate::features::tables::sql::Dialect;
use crate::values::ids::RowId;
use crate::values::time::Timestamp;

/// One value for each column of the table.
type Cells = Vec<Value<'static>>;

/// The row, unless it is soft-deleted.
pub fn find(c: &Conn<'_>, desk: &TableHandle, id: RowId) -> Result<Option<Cells>> {
    let query = Query::<Cells>::built("tables::fetch::row", desk.dialect.find(&desk.table));
    Ok(c.opt(&query, &[id.into()])?)
}

/// Inserts one row, an argument for each column.
pub fn insert(desk: &TableHandle) -> Command<()> {
    Command::built("tables::insert::row", desk.dialect.insert(&desk.table, 1))
}

/// Updates columns of a row. The arguments are its id, a value for each column, and the time if the table has
/// `updatedAt`.
pub fn update(
    tx: &Tx<'_>,
    desk: &TableHandle,
    columns: &[&Column],
    args: &[Value<'static>],
) -> Result<Option<Cells>> {
    let text = desk.dialect.update(&desk.table, columns);
    Ok(tx.opt(&Command::<Cells>::built("tables::update::row", text), args)?)
}

/// Restores a soft-deleted row.
pub fn restore(
    tx: &Tx<'_>,
    desk: &TableHandle,
    id: RowId,
    now: Timestamp,
) -> Result<Option<Cells>> {
    let text = desk.dialect.restore(&desk.table);
    let command = Command::<Cells>::built("tables::restore::row", text);
    Ok(tx.opt(&command, &[id.into(), now.into()])?)
}

/// Whether the referenced row exists; it is locked until the transaction ends.
pub fn lock_referred(
    tx: &Tx<'_>,
    desk: &TableHandle,
    table: &str,
    value: Value<'static>,
) -> Result<bool> {
    let target = desk.dialect.table(desk.table.project, table);
    let id = desk.dialect.column(ID);
    let text = format!("SELECT 1 FROM {target} WHERE {id} = $1 {{for_key_share}}");
    let query = Query::<Value<'static>>::built("tables::rows::referred", text);
    Ok(tx.opt(&query, &[value])?.is_some())
}

/// How many rows match the conditions.
pub fn count(c: &Conn<'_>, desk: &TableHandle, conditions: &Builder<'_>) -> Result<i64> {
    let text = desk.dialect.count(&desk.table, conditions);
    Ok(c.one(&Query::<i64>::built("tables::list::count", text), conditions.args())?)
}

/// The query for a page; its arguments are those of the conditions.
pub fn page(
    desk: &TableHandle,
    conditions: &mut Builder<'static>,
    order: &str,
    slice: (i64, i64),
    is_sorted: bool,
) -> Query<Cells> {
    let text = desk.dialect.page(&desk.table, conditions, order, slice, is_sorted);
    Query::built("tables::list::page", text)
}

/// The ids of the oldest rows that match the conditions.
pub fn oldest(
    c: &Conn<'_>,
    desk: &TableHandle,
    conditions: &mut Builder<'static>,
    most: i64,
) -> Result<Vec<Uuid>> {
    let text = desk.dialect.oldest(&desk.table, conditions, most);
    Ok(c.all(&Query::<Uuid>::built("tables::delete::oldest", text), conditions.args())?)
}

pub fn has_rows(c: &Conn<'_>, table: &Table, dialect: Dialect) -> Result<bool> {
    let name = dialect.table(table.project, &table.name);
    let text = format!("SELECT count(*) FROM (SELECT 1 FROM {name} LIMIT 1) found");
    Ok(c.one(&Query::<i64>::built("tables::columns::has_rows", text), args![])? > 0)
}

pub fn delete_all(tx: &Tx<'_>, table: &Table, dialect: Dialect) -> Result<()> {
    let text = format!("DELETE FROM {}", dialect.table(table.project, &table.name));
    tx.execute(&Command::built("tables::drop::rows", text), args![])?;
    Ok(())
}

/// Deletes those of the rows that match the filters, and returns their number.
pub fn delete(
    tx: &Tx<'_>,
    desk: &TableHandle,
    ids: &[Uuid],
    filters: &[Filter],
    force: bool,
    now: Timestamp,
) -> Result<u64> {
    let mut conditions = desk.dialect.conditions(&desk.table, filters, force);
    let listed = conditions.bind(Value::Uuids(ids.to_vec()));
    conditions.add(format_args!("{} {{any}}({listed})", desk.dialect.column(ID)));
    let at = (desk.table.paranoid && !force).then(|| now.into());
    if at.is_none() {
        delete_dependants(tx, desk, &conditions)?;
    }
    let text = desk.dialect.delete(&desk.table, &mut conditions, at);
    Ok(tx.execute(&Command::built("tables::delete::rows", text), conditions.args())?)
}

/// Deletes rows of the same table that refer to matching rows, the last of a chain first. SQLite's own
/// cascade would follow a chain row by row, ever slower, and give up on long ones.
fn delete_dependants(tx: &Tx<'_>, desk: &TableHandle, conditions: &Builder<'_>) -> Result<()> {
    let TableHandle { table, dialect, .. } = desk;
    let links: Vec<String> = table
        .own_columns()
        .filter(|column| {
            column.references.as_ref().is_some_and(|reference| {
                reference.table == table.id && reference.on_delete == OnDelete::Cascade
            })
        })
        .map(|column| dialect.column(&column.name))
        .collect();
    if links.is_empty() || dialect.0 == Engine::Postgres {
        return Ok(());
    }
    let (name, id) = (dialect.table(table.project, &table.name), dialect.column(ID));
    let first = format!("SELECT {id} FROM {name} WHERE {conditions}");
    let found = tx.all(&Query::<Uuid>::built("tables::delete::found", first), conditions.args())?;
    let next = links.iter().map(|link| format!("{link} {{any}}($1)")).collect::<Vec<_>>();
    let next = format!("SELECT {id} FROM {name} WHERE {}", next.join(" OR "));
    let next = Query::<Uuid>::built("tables::delete::dependants", next);
    let mut seen: HashSet<Uuid> = found.iter().copied().collect();
    let mut levels = vec![found];
    while let Some(last) = levels.last().filter(|level| !level.is_empty()) {
        let mut below = tx.all(&next, &[Value::Uuids(last.clone())])?;
        below.retain(|id| seen.insert(*id));
        levels.push(below);
    }
    let delete = format!("DELETE FROM {name} WHERE {id} {{any}}($1)");
    let delete = Command::built("tables::delete::level", delete);
    for level in levels.into_iter().skip(1).rev().filter(|level| !level.is_empty()) {
        tx.execute(&delete, &[Value::Uuids(level)])?;
    }
    Ok(())
}
