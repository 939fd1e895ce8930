//! The SQL of the catalogue: which tables exist, and their columns. Every request reads it anew, so none
//! works with an outdated definition.

use db::{Conn, Tx, args};

use crate::error::{Error, Result};
use crate::features::tables::model::{Column, DataType, OnDelete, Reference, RowAccess, Table};
use crate::values::ids::{ProjectId, TableId};
use crate::values::time::Timestamp;

db::row! {
    /// A table and one of its columns; without a column if it has none of its own.
    #[derive(Debug)]
    struct ColumnRow {
        id: TableId,
        name: String,
        timestamps: bool,
        paranoid: bool,
        access: RowAccess,
        position: Option<i64>,
        column_name: Option<String>,
        data_type: Option<DataType>,
        nullable: Option<bool>,
        default_value: Option<String>,
        indexed: Option<bool>,
        references_id: Option<TableId>,
        references_name: Option<String>,
        on_delete: Option<OnDelete>,
    }
}

macro_rules! select_columns {
    ($rest:literal) => {
        concat!(
            "SELECT t.id, t.name, t.timestamps, t.paranoid, t.access, c.position, c.name AS column_name,
                c.data_type, c.nullable, c.default_value, c.indexed, c.references_id,
                r.name AS references_name, c.on_delete
             FROM custom_tables t
             LEFT JOIN custom_columns c ON c.project_id = t.project_id AND c.table_id = t.id
             LEFT JOIN custom_tables r ON r.project_id = c.project_id AND r.id = c.references_id
             WHERE t.project_id = $1 ",
            $rest
        )
    };
}

db::statements! {
    query FIND -> ColumnRow = select_columns!("AND t.name = $2 ORDER BY c.position");
    query LIST -> ColumnRow = select_columns!("ORDER BY t.name, c.position");
    query COUNT -> i64 = "SELECT count(*) FROM custom_tables WHERE project_id = $1";

    query PROJECTS -> ProjectId, unscoped "an examination of everything" =
        "SELECT DISTINCT project_id FROM custom_tables ORDER BY project_id";

    /// The columns of other tables that refer to a table.
    query REFERRERS -> (String, String) = "SELECT t.name, c.name FROM custom_columns c
        JOIN custom_tables t ON t.project_id = c.project_id AND t.id = c.table_id
        WHERE c.project_id = $1 AND c.references_id = $2 AND c.table_id <> $2
        ORDER BY t.name, c.position";

    query VERSION -> i64, unscoped "the project itself" =
        "SELECT catalogue_version FROM projects WHERE id = $1";
    command BEGIN_CHANGE, unscoped "the project itself" =
        "UPDATE projects SET catalogue_version = catalogue_version + 1 WHERE id = $1";

    command INSERT_TABLE = "INSERT INTO custom_tables
        (project_id, id, name, timestamps, paranoid, access, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    command INSERT_COLUMN = "INSERT INTO custom_columns (project_id, table_id, position, name, data_type,
            nullable, default_value, indexed, references_id, on_delete)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    /// Before the table: columns may refer to their own table, and not every cluster checks that last.
    command DELETE_COLUMNS = "DELETE FROM custom_columns WHERE project_id = $1 AND table_id = $2";
    command DELETE_TABLE = "DELETE FROM custom_tables WHERE project_id = $1 AND id = $2";
    command DELETE_COLUMN =
        "DELETE FROM custom_columns WHERE project_id = $1 AND table_id = $2 AND position = $3";
    /// The index of a reference stays, as that of a plain column.
    command UNLINK = "UPDATE custom_columns SET references_id = NULL, on_delete = NULL, indexed = TRUE
        WHERE project_id = $1 AND table_id = $2 AND position = $3";
}

impl ColumnRow {
    fn into_column(self) -> Option<Column> {
        let references = match (self.references_id, self.references_name, self.on_delete) {
            (Some(table), Some(name), Some(on_delete)) => {
                Some(Reference { table, name, on_delete })
            }
            _ => None,
        };
        Some(Column {
            name: self.column_name?,
            data_type: self.data_type?,
            nullable: self.nullable?,
            default_value: self.default_value,
            indexed: self.indexed?,
            references,
            position: self.position,
        })
    }
}

fn tables(project: ProjectId, rows: Vec<ColumnRow>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut rows = rows.into_iter().peekable();
    while let Some(mut first) = rows.next() {
        let (id, name) = (first.id, std::mem::take(&mut first.name));
        let flags = (first.timestamps, first.paranoid, first.access);
        let mut columns = Vec::from_iter(first.into_column());
        while let Some(next) = rows.next_if(|row| row.id == id) {
            columns.extend(next.into_column());
        }
        tables.push(Table::new(project, id, name, flags, columns));
    }
    tables
}

pub fn find(c: &Conn<'_>, project: ProjectId, name: &str) -> Result<Option<Table>> {
    Ok(tables(project, c.all(&FIND, args![project, name])?).pop())
}

pub fn list(c: &Conn<'_>, project: ProjectId) -> Result<Vec<Table>> {
    Ok(tables(project, c.all(&LIST, args![project])?))
}

pub fn count(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.one(&COUNT, args![project])?)
}

/// Projects that have tables.
pub fn projects(c: &Conn<'_>) -> Result<Vec<ProjectId>> {
    Ok(c.all(&PROJECTS, args![])?)
}

/// Tables and columns that refer to a table from outside.
pub fn referrers(c: &Conn<'_>, table: &Table) -> Result<Vec<(Table, Column)>> {
    let names = c.all(&REFERRERS, args![table.project, table.id])?;
    let mut found = Vec::with_capacity(names.len());
    for (name, column) in names {
        let table = find(c, table.project, &name)?;
        let unreadable = || Error::internal(format!("the catalogue lost {name}.{column}"));
        let table = table.ok_or_else(unreadable)?;
        let column = table.column(&column).cloned().ok_or_else(unreadable)?;
        found.push((table, column));
    }
    Ok(found)
}

/// The version of a project's catalogue; 0 before its first table.
pub fn version(c: &Conn<'_>, project: ProjectId) -> Result<i64> {
    Ok(c.opt(&VERSION, args![project])?.unwrap_or(0))
}

/// One change of a project's tables at a time: locks the row of the project, and increments the version of
/// its catalogue.
pub fn begin_change(tx: &Tx<'_>, project: ProjectId) -> Result<()> {
    tx.execute(&BEGIN_CHANGE, args![project])?;
    Ok(())
}

pub fn insert(tx: &Tx<'_>, table: &Table, now: Timestamp) -> Result<()> {
    let Table { project, id, name, timestamps, paranoid, access, .. } = table;
    let args = args![*project, *id, name, *timestamps, *paranoid, *access, now];
    tx.execute(&INSERT_TABLE, args)?;
    for column in table.own_columns() {
        insert_column(tx, table, column)?;
    }
    Ok(())
}

pub fn insert_column(tx: &Tx<'_>, table: &Table, column: &Column) -> Result<()> {
    let references = column.references.as_ref();
    let args = args![
        table.project,
        table.id,
        column.position,
        &column.name,
        column.data_type,
        column.nullable,
        &column.default_value,
        column.indexed,
        references.map(|reference| reference.table),
        references.map(|reference| reference.on_delete),
    ];
    tx.execute(&INSERT_COLUMN, args)?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, table: &Table) -> Result<()> {
    tx.execute(&DELETE_COLUMNS, args![table.project, table.id])?;
    tx.execute(&DELETE_TABLE, args![table.project, table.id])?;
    Ok(())
}

pub fn delete_column(tx: &Tx<'_>, table: &Table, column: &Column) -> Result<()> {
    tx.execute(&DELETE_COLUMN, args![table.project, table.id, column.position])?;
    Ok(())
}

pub fn unlink(tx: &Tx<'_>, table: &Table, column: &Column) -> Result<()> {
    tx.execute(&UNLINK, args![table.project, table.id, column.position])?;
    Ok(())
}
