//! Drop Table.

use db::{Engine, Tx};
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::KeyHolder;
use crate::error::{Error, Result};
use crate::features::tables::definitions::create::DDL_TIMEOUT;
use crate::features::tables::model::{InTable, OnDelete, Reference};
use crate::features::tables::sql::{Dialect, ddl};
use crate::features::tables::store::{catalogue, locks, rows};
use crate::features::tables::{FOREIGN_KEY_VIOLATION, TABLE_NOT_FOUND};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::ProjectId;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DroppedName")]
pub(super) struct Dropped {
    pub(super) dropped: String,
}

pub(super) async fn drop_table(
    call: Call<KeyHolder>,
    Path(InTable { table_name }): Path<InTable>,
) -> Result<Json<Dropped>> {
    let dropped = table_name.0.clone();
    let (project, dialect) = (call.project.id, Dialect(call.app.db.engine()));
    let work = move |tx: &Tx<'_>| drop_now(tx, project, &table_name.0, dialect);
    call.app.db.write(work).await.map_err(|e: Error| e.on_foreign_key(FOREIGN_KEY_VIOLATION))?;
    Ok(Json(Dropped { dropped }))
}

/// First deletes the rows, which cascades to or clears references to them; then nothing refers to the table.
fn drop_now(tx: &Tx<'_>, project: ProjectId, name: &str, dialect: Dialect) -> Result<()> {
    tx.within(DDL_TIMEOUT);
    catalogue::begin_change(tx, project)?;
    let table = catalogue::find(tx, project, name)?.ok_or(TABLE_NOT_FOUND)?;
    let referrers = catalogue::referrers(tx, &table)?;
    let restricts = |reference: &Reference| reference.on_delete == OnDelete::Restrict;
    if referrers.iter().any(|(_, column)| column.references.as_ref().is_some_and(restricts)) {
        return Err(FOREIGN_KEY_VIOLATION.because("another table refers to this one"));
    }
    locks::lock_exclusive(tx, dialect, project, name)?;
    for (referrer, _) in &referrers {
        locks::lock_exclusive(tx, dialect, project, &referrer.name)?;
    }
    // SQLite refuses cascades within a table beyond a certain depth.
    let own = table.own_columns().filter(|column| {
        column.references.as_ref().is_some_and(|reference| reference.table == table.id)
    });
    if dialect.0 == Engine::Sqlite {
        for column in own {
            ddl::run(tx, dialect.drop_column(&table, column))?;
        }
    }
    if !referrers.is_empty() {
        rows::delete_all(tx, &table, dialect)?;
    }
    for (referrer, column) in &referrers {
        ddl::run(tx, dialect.unlink(referrer, column))?;
        catalogue::unlink(tx, referrer, column)?;
    }
    catalogue::delete(tx, &table)?;
    ddl::run(tx, dialect.drop(&table))
}
