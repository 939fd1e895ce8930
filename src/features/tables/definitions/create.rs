//! Create Table.

use std::time::Duration;

use db::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::KeyHolder;
use crate::error::Result;
use crate::features::tables::definitions::request::{CreateTable, TableDefinition};
use crate::features::tables::model::Table;
use crate::features::tables::sql::{Dialect, ddl};
use crate::features::tables::store::{catalogue, locks};
use crate::features::tables::{TABLE_ALREADY_EXISTS, TABLE_LIMIT_REACHED};
use crate::http::input::Body;
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::{ProjectId, TableId, new_id};
use crate::values::time::Timestamp;

/// Maximum tables of a project.
const MAX_TABLES: i64 = 100;
/// Timeout of a change of a table: on SQLite some of them rewrite every row.
pub(super) const DDL_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CreatedTable {
    table: String,
}

pub(super) async fn create_table(
    call: Call<KeyHolder>,
    Body(body): Body<CreateTable>,
) -> Result<Created<CreatedTable>> {
    let definition = body.check()?;
    let table = definition.name.clone();
    let (project, now) = (call.project.id, call.now);
    let (id, dialect) = (TableId(new_id(now, &call.app.random)), Dialect(call.app.db.engine()));
    let create = move |tx: &Tx<'_>| create(tx, project, id, definition.clone(), dialect, now);
    call.app.db.write(create).await?;
    Ok(Created(CreatedTable { table }))
}

pub(super) fn create(
    tx: &Tx<'_>,
    project: ProjectId,
    id: TableId,
    definition: TableDefinition,
    dialect: Dialect,
    now: Timestamp,
) -> Result<()> {
    tx.within(DDL_TIMEOUT);
    catalogue::begin_change(tx, project)?;
    let TableDefinition { name, timestamps, paranoid, access, columns } = definition;
    let find = |referred: &str| {
        if referred == name {
            return Ok(Some(id));
        }
        Ok(catalogue::find(tx, project, referred)?.map(|table| table.id))
    };
    let columns = (0..).zip(columns).map(|(position, column)| column.into_column(position, find));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if catalogue::find(tx, project, &name)?.is_some() {
        return Err(TABLE_ALREADY_EXISTS.into());
    }
    if catalogue::count(tx, project)? >= MAX_TABLES {
        return Err(TABLE_LIMIT_REACHED.into());
    }
    locks::lock_exclusive(tx, dialect, project, &name)?;
    let table = Table::new(project, id, name, (timestamps, paranoid, access), columns);
    catalogue::insert(tx, &table, now)?;
    ddl::distribute(tx)?;
    ddl::run(tx, dialect.create(&table))
}
