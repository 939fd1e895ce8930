//! Removes all tables of a project that is deleted, a little in each transaction.

use std::collections::HashSet;

use db::{Command, Engine, Query, Tx, args};

use crate::error::Result;
use crate::features::tables::model::{Column, ID, Table};
use crate::features::tables::sql::{Dialect, schema};
use crate::features::tables::store::{catalogue, rows};
use crate::values::ids::ProjectId;

/// One step; false once there is no table left. PostgreSQL drops a table at once, however large it is. On SQLite
/// rows go first, in batches, and before them what refers from one row to another.
pub fn some(tx: &Tx<'_>, project: ProjectId, dialect: Dialect, batch: i64) -> Result<bool> {
    let tables = catalogue::list(tx, project)?;
    if tables.is_empty() {
        return Ok(false);
    }
    if dialect.0 == Engine::Sqlite && remove_rows(tx, &tables, dialect, batch)? {
        return Ok(true);
    }
    catalogue::begin_change(tx, project)?;
    if let Some(table) = tables.first() {
        for (referrer, column) in catalogue::referrers(tx, table)? {
            catalogue::unlink(tx, &referrer, &column)?;
        }
        catalogue::delete(tx, table)?;
        let cascade = if dialect.0 == Engine::Postgres { " CASCADE" } else { "" };
        let name = dialect.table(project, &table.name);
        tx.execute(&built(format!("DROP TABLE {name}{cascade}")), args![])?;
    }
    Ok(true)
}

/// On PostgreSQL the tables of a project have a schema of their own.
pub fn drop_schema(tx: &Tx<'_>, project: ProjectId, dialect: Dialect) -> Result<()> {
    if dialect.0 == Engine::Postgres {
        let name = schema(project);
        tx.execute(&built(format!("DROP SCHEMA IF EXISTS \"{name}\" CASCADE")), args![])?;
    }
    Ok(())
}

/// Tables without rows are left alone: SQLite refuses statements about a table that refers to a dropped one.
/// References that can be cleared are, so that no deletion cascades. Those that cannot are from tables to tables
/// that were there before them: the newer table goes first.
fn remove_rows(tx: &Tx<'_>, tables: &[Table], dialect: Dialect, batch: i64) -> Result<bool> {
    let mut filled = Vec::new();
    for table in tables {
        if rows::has_rows(tx, table, dialect)? {
            filled.push(table);
        }
    }
    let mut required: HashSet<(String, String)> = HashSet::new();
    for &table in &filled {
        let clearable = clearable(tx, table, dialect)?;
        for (column, reference) in references(table) {
            if !clearable.contains(&dialect.spelt(&column.name)) {
                required.insert((table.name.clone(), reference.to_owned()));
            } else if clear_some(tx, table, column, dialect, batch)? {
                return Ok(true);
            }
        }
    }
    let refers = |a: &&Table, b: &&Table| required.contains(&(a.name.clone(), b.name.clone()));
    for table in referrers_first(filled, refers) {
        if delete_some(tx, table, dialect, batch)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What refers to something comes before it; a circle is broken anywhere.
pub fn referrers_first<T>(mut left: Vec<T>, refers: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut sorted = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_free = |at: &usize| {
            let others = left.iter().enumerate().filter(|(other, _)| other != at);
            !others.into_iter().any(|(_, other)| refers(other, &left[*at]))
        };
        let next = (0..left.len()).find(is_free).unwrap_or(0);
        sorted.push(left.remove(next));
    }
    sorted
}

/// The columns that refer to a table, and its name.
fn references(table: &Table) -> impl Iterator<Item = (&Column, &str)> {
    table.own_columns().filter_map(|column| Some((column, &*column.references.as_ref()?.name)))
}

/// The columns, as they are spelt, that may be null in the database: those that were added later may be, whatever
/// the catalogue says.
fn clearable(tx: &Tx<'_>, table: &Table, dialect: Dialect) -> Result<Vec<String>> {
    let name = dialect.table_name(table.project, &table.name).name;
    let text = "SELECT name FROM pragma_table_info($1) WHERE \"notnull\" = 0";
    Ok(tx.all(&Query::<String>::built("tables::remove", text), args![name])?)
}

fn clear_some(
    tx: &Tx<'_>,
    table: &Table,
    column: &Column,
    dialect: Dialect,
    batch: i64,
) -> Result<bool> {
    let (name, id) = (dialect.table(table.project, &table.name), dialect.column(ID));
    let column = dialect.column(&column.name);
    let text = format!(
        "UPDATE {name} SET {column} = NULL WHERE {id} IN
            (SELECT {id} FROM {name} WHERE {column} IS NOT NULL LIMIT $1)"
    );
    Ok(tx.execute(&built(text), args![batch])? > 0)
}

fn delete_some(tx: &Tx<'_>, table: &Table, dialect: Dialect, batch: i64) -> Result<bool> {
    let (name, id) = (dialect.table(table.project, &table.name), dialect.column(ID));
    let text = format!("DELETE FROM {name} WHERE {id} IN (SELECT {id} FROM {name} LIMIT $1)");
    Ok(tx.execute(&built(text), args![batch])? > 0)
}

fn built(text: String) -> Command<()> {
    Command::built("tables::remove", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_refers_comes_before_what_it_refers_to() {
        let refers = |a: &&str, b: &&str| {
            [("rows", "tables"), ("tables", "users"), ("cells", "rows"), ("rows", "rows")]
                .contains(&(*a, *b))
        };
        let sorted = referrers_first(vec!["users", "tables", "rows", "cells"], refers);
        assert_eq!(sorted, ["cells", "rows", "tables", "users"]);
        assert_eq!(referrers_first(vec!["a", "b"], |_, _| true), ["a", "b"]);
    }
}
