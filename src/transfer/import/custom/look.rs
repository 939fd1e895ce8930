//! What becomes of rows of custom tables: each can be added, is there already, waits for another, or is left out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use db::{Conn, Value};
use uuid::Uuid;

use super::row::Row;
use super::{Outcome, Pretended, store};
use crate::error::Result;
use crate::features::exports::document;
use crate::features::tables::model::{Column, ID, Table};
use crate::features::tables::rows::json::check_size;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::values::ids::ProjectId;

/// A row that was compared with what is there.
pub(super) struct Looked {
    pub(super) outcome: Outcome,
    /// None if the table is not there.
    pub(super) table: Option<Arc<Table>>,
    pub(super) id: Uuid,
    pub(super) cells: Vec<Value<'static>>,
}

pub(super) fn look(
    c: &Conn<'_>,
    project: ProjectId,
    dialect: Dialect,
    pretended: &Pretended,
    rows: &[Row],
) -> Result<Vec<Looked>> {
    let mut tables: HashMap<&str, Option<Arc<Table>>> = HashMap::new();
    let mut looked = Vec::with_capacity(rows.len());
    for row in rows {
        if !tables.contains_key(&*row.table) {
            let table = match pretended.tables.get(&row.table) {
                Some(table) => Some(table.clone()),
                None => catalogue::find(c, project, &row.table)?,
            };
            tables.insert(&row.table, table.map(Arc::new));
        }
        let table = tables.get(&*row.table).cloned().flatten();
        looked.push(match &table {
            None => {
                let outcome = Outcome::Waits(format!("there is no table {}", row.table));
                Looked { outcome, table: None, id: Uuid::nil(), cells: Vec::new() }
            }
            Some(found) => match cells_of(found, row) {
                Ok((id, cells)) => Looked { outcome: Outcome::Added(Vec::new()), table, id, cells },
                Err(outcome) => Looked { outcome, table, id: Uuid::nil(), cells: Vec::new() },
            },
        });
    }
    let mut there = existing(c, project, dialect, &looked)?;
    for one in &mut looked {
        let Some(table) = &one.table else { continue };
        if !matches!(one.outcome, Outcome::Added(_)) {
            continue;
        }
        let is_there = |name: &str, id: Uuid| {
            let row = (name.to_owned(), id);
            there.contains(&row) || pretended.rows.contains(&row)
        };
        let is_itself = |name: &str, id: Uuid| name == table.name && id == one.id;
        let missing = references(table, &one.cells)
            .find(|(name, id)| !is_itself(name, *id) && !is_there(name, *id));
        if is_there(&table.name, one.id) {
            one.outcome = Outcome::Unchanged;
        } else if let Some((name, id)) = missing {
            one.outcome = Outcome::Waits(format!("{id} of {name} is not there"));
        } else {
            // Rows behind it may refer to it.
            there.insert((table.name.clone(), one.id));
        }
    }
    Ok(looked)
}

/// The id and the cells of a row, in the order of the table's columns.
fn cells_of(table: &Table, row: &Row) -> Result<(Uuid, Vec<Value<'static>>), Outcome> {
    if let Some(name) = row.cells.keys().find(|name| table.column(name).is_none()) {
        return Err(Outcome::Waits(format!("the table has no column {name}")));
    }
    let cell = |column: &Column| {
        let given = row.cells.get(&column.name);
        let given = given.map_or(Ok(None), |given| given.value(column))?;
        match given.or_else(|| column.default()) {
            Some(value) => Ok(value),
            None if column.nullable => Ok(Value::Null),
            None => Err(format!("{}: is required", column.name)),
        }
    };
    let cells: Result<Vec<Value<'static>>, String> = table.columns.iter().map(cell).collect();
    let cells = cells.map_err(Outcome::LeftOut)?;
    check_size(&cells).map_err(|error| Outcome::LeftOut(error.to_string()))?;
    let id = table.columns.iter().zip(&cells).find(|(column, _)| column.name == ID);
    let id = id.and_then(|(_, cell)| document::uuid(cell));
    Ok((id.ok_or_else(|| Outcome::LeftOut("id: is required".to_owned()))?, cells))
}

/// The rows that a row refers to: names of tables, and ids.
fn references<'a>(
    table: &'a Table,
    cells: &'a [Value<'static>],
) -> impl Iterator<Item = (&'a str, Uuid)> {
    let cells = table.columns.iter().zip(cells);
    cells.filter_map(|(column, cell)| {
        Some((&*column.references.as_ref()?.name, document::uuid(cell)?))
    })
}

/// Which of the rows, and of those that they refer to, are there.
fn existing(
    c: &Conn<'_>,
    project: ProjectId,
    dialect: Dialect,
    looked: &[Looked],
) -> Result<HashSet<(String, Uuid)>> {
    let mut wanted: BTreeMap<&str, Vec<Uuid>> = BTreeMap::new();
    for (table, one) in looked.iter().filter_map(|one| Some((one.table.as_ref()?, one))) {
        wanted.entry(&table.name).or_default().push(one.id);
        for (name, id) in references(table, &one.cells) {
            wanted.entry(name).or_default().push(id);
        }
    }
    let mut there = HashSet::new();
    for (name, mut ids) in wanted {
        // A dry run has not created it.
        if catalogue::find(c, project, name)?.is_none() {
            continue;
        }
        ids.sort_unstable();
        ids.dedup();
        let found = store::existing_rows(c, &dialect.table_name(project, name), ids)?;
        there.extend(found.into_iter().map(|id| (name.to_owned(), id)));
    }
    Ok(there)
}
