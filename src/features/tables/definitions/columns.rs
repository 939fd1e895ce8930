//! Add Column and Drop Column.

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::KeyHolder;
use crate::error::{Error, Result};
use crate::features::tables::definitions::create::DDL_TIMEOUT;
use crate::features::tables::definitions::drop::Dropped;
use crate::features::tables::definitions::request::{
    AddColumn, ColumnDefinition, MAX_COLUMNS, invalid_default, next_position,
};
use crate::features::tables::handle;
use crate::features::tables::model::{InColumn, InTable, MANAGED, Table};
use crate::features::tables::sql::{Dialect, ddl};
use crate::features::tables::store::{catalogue, locks, rows};
use crate::features::tables::{
    COLUMN_CONFLICT, COLUMN_LIMIT_REACHED, COLUMN_NOT_FOUND, FOREIGN_KEY_VIOLATION,
    RESERVED_COLUMN, TABLE_NOT_FOUND,
};
use crate::http::input::{Body, Path};
use crate::http::operation::Call;
use crate::http::reply::{Created, Json};
use crate::values::ids::ProjectId;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AddedColumn")]
pub(super) struct Added {
    added: String,
}

pub(super) async fn add_column(
    call: Call<KeyHolder>,
    (Path(InTable { table_name }), Body(body)): (Path<InTable>, Body<AddColumn>),
) -> Result<Created<Added>> {
    let column = body.check()?;
    let added = column.name.clone();
    let (project, dialect) = (call.project.id, Dialect(call.app.db.engine()));
    let change = move |tx: &Tx<'_>| add(tx, project, &table_name.0, column.clone(), dialect);
    call.app.db.write(change).await.map_err(|error: Error| {
        // PostgreSQL counts dropped columns against its limit.
        if handle::is_over_limit(&error) {
            return COLUMN_LIMIT_REACHED.into();
        }
        error.on_foreign_key(FOREIGN_KEY_VIOLATION.with("column", added.as_str()))
    })?;
    Ok(Created(Added { added }))
}

pub(super) fn add(
    tx: &Tx<'_>,
    project: ProjectId,
    name: &str,
    column: ColumnDefinition,
    dialect: Dialect,
) -> Result<()> {
    let table = lock_table(tx, project, name, dialect)?;
    let find = |referred: &str| Ok(catalogue::find(tx, project, referred)?.map(|table| table.id));
    let column = column.into_column(next_position(&table), find)?;
    let needs_default = !column.nullable && column.default_value.is_none();
    if needs_default && rows::has_rows(tx, &table, dialect)? {
        return Err(invalid_default(&column.name));
    }
    if table.column(&column.name).is_some() {
        return Err(COLUMN_CONFLICT.into());
    }
    if table.own_columns().count() >= MAX_COLUMNS {
        return Err(COLUMN_LIMIT_REACHED.into());
    }
    catalogue::insert_column(tx, &table, &column)?;
    ddl::run(tx, dialect.add_column(&table, &column, tx.is_distributed()?))
}

pub(super) async fn drop_column(
    call: Call<KeyHolder>,
    Path(InColumn { table_name, column_name }): Path<InColumn>,
) -> Result<Json<Dropped>> {
    if MANAGED.contains(&column_name.0.as_str()) {
        return Err(RESERVED_COLUMN.with("column", column_name.0));
    }
    let dropped = column_name.0.clone();
    let (project, dialect) = (call.project.id, Dialect(call.app.db.engine()));
    let work = move |tx: &Tx<'_>| -> Result<()> {
        let table = lock_table(tx, project, &table_name.0, dialect)?;
        let column = table.own_column(&column_name.0).ok_or(COLUMN_NOT_FOUND)?;
        catalogue::delete_column(tx, &table, column)?;
        ddl::run(tx, dialect.drop_column(&table, column))
    };
    call.app.db.write(work).await?;
    Ok(Json(Dropped { dropped }))
}

/// The table, locked for a change of its definition.
fn lock_table(tx: &Tx<'_>, project: ProjectId, name: &str, dialect: Dialect) -> Result<Table> {
    tx.within(DDL_TIMEOUT);
    catalogue::begin_change(tx, project)?;
    let table = catalogue::find(tx, project, name)?.ok_or(TABLE_NOT_FOUND)?;
    locks::lock_exclusive(tx, dialect, project, name)?;
    Ok(table)
}
