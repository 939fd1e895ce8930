//! A table of an export. Tables may refer to each other in a circle, so a column that refers to a table that is not there yet
//! is added when the same definition comes again.

use db::Tx;
use serde_json::Value as Json;

use crate::error::Result;
use crate::features::tables::INVALID_BODY;
use crate::features::tables::definitions::request::{
    AddColumn, ColumnDefinition, CreateTable, TableDefinition,
};
use crate::features::tables::definitions::{columns, create};
use crate::features::tables::model::{Table, is_name};
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::values::ids::{ProjectId, TableId};
use crate::values::time::Timestamp;

/// What became of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    pub has_changed: bool,
    /// Whether all of its columns are there.
    pub is_complete: bool,
}

/// The table as it would be created if every table that it refers to were there.
pub fn preview(project: ProjectId, id: TableId, definition: &Json) -> Result<Table> {
    let TableDefinition { name, timestamps, paranoid, access, columns } =
        CreateTable::of(definition.clone()).check()?;
    let column = |(position, column): (i64, ColumnDefinition)| {
        column.into_column(position, |_| Ok(Some(id)))
    };
    let columns = (0..).zip(columns).map(column).collect::<Result<Vec<_>>>()?;
    Ok(Table::new(project, id, name, (timestamps, paranoid, access), columns))
}

/// Creates the table, or adds columns that it lacks. Columns that are there stay as they are.
pub fn import(
    tx: &Tx<'_>,
    project: ProjectId,
    id: TableId,
    definition: &Json,
    dialect: Dialect,
    now: Timestamp,
) -> Result<Imported> {
    let name = definition["tableName"].as_str().filter(|name| is_name(name));
    let name = name.ok_or_else(|| INVALID_BODY.because("tableName: must be a name"))?;
    let given = definition["columns"].as_array().cloned().unwrap_or_default();
    let mut possible = Vec::new();
    for column in &given {
        let referred = column["references"]["table"].as_str();
        let is_there = match referred {
            None => true,
            Some(referred) if referred == name => true,
            Some(referred) => catalogue::find(tx, project, referred)?.is_some(),
        };
        if is_there {
            possible.push(column.clone());
        }
    }
    let is_complete = possible.len() == given.len();
    let Some(table) = catalogue::find(tx, project, name)? else {
        let mut definition = definition.clone();
        definition["columns"] = Json::Array(possible);
        let definition = CreateTable::of(definition).check()?;
        create::create(tx, project, id, definition, dialect, now)?;
        return Ok(Imported { has_changed: true, is_complete });
    };
    let mut has_changed = false;
    for column in possible {
        let is_new = column["columnName"].as_str().is_some_and(|name| table.column(name).is_none());
        if is_new {
            let column = AddColumn::of(column).check()?;
            columns::add(tx, project, name, column, dialect)?;
            has_changed = true;
        }
    }
    Ok(Imported { has_changed, is_complete })
}
