//! Insert Row and Bulk Insert Rows.

use std::sync::Arc;

use db::{Tx, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::auth::caller::OptionalViewer;
use crate::error::{Error, Result};
use crate::features::tables::INVALID_BODY;
use crate::features::tables::handle::{TableHandle, writing};
use crate::features::tables::model::InTable;
use crate::features::tables::rows::json::{OneRow, Record, Row, check_references, new_row};
use crate::features::tables::store::rows as store;
use crate::http::input::{Path, Verbatim};
use crate::http::operation::Call;
use crate::http::reply::Created;
use crate::values::ids::new_id;
use crate::values::time::Timestamp;

const MAX_ROWS: usize = 100;

pub(super) async fn insert_row(
    call: Call<OptionalViewer>,
    (Path(InTable { table_name }), Verbatim(record)): (Path<InTable>, Verbatim<Record>),
) -> Result<Created<OneRow>> {
    let (id, now) = (new_id(call.now, &call.app.random), call.now);
    let insert = move |tx: &Tx<'_>, desk: &TableHandle| insert(tx, desk, &[(id, &record)], now);
    let mut rows = writing(&call, &table_name, insert).await?;
    let row = rows.pop().ok_or_else(|| Error::internal("the new row is not there"))?;
    Ok(Created(OneRow { row }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BulkInsert {
    #[schemars(length(min = 1, max = 100))]
    rows: Vec<Record>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InsertedRows {
    rows: Vec<Row>,
}

pub(super) async fn insert_rows(
    call: Call<OptionalViewer>,
    (Path(InTable { table_name }), Verbatim(body)): (Path<InTable>, Verbatim<BulkInsert>),
) -> Result<Created<InsertedRows>> {
    if body.rows.is_empty() || body.rows.len() > MAX_ROWS {
        return Err(INVALID_BODY.because(format!("rows: must be 1 to {MAX_ROWS}")));
    }
    let now = call.now;
    let ids: Vec<Uuid> = body.rows.iter().map(|_| new_id(now, &call.app.random)).collect();
    let insert = move |tx: &Tx<'_>, desk: &TableHandle| {
        let records: Vec<(Uuid, &Record)> = ids.iter().copied().zip(&body.rows).collect();
        insert(tx, desk, &records, now)
    };
    let rows = writing(&call, &table_name, insert).await?;
    Ok(Created(InsertedRows { rows }))
}

/// All rows or none. The keys of every row are checked before the values of any.
fn insert(
    tx: &Tx<'_>,
    desk: &TableHandle,
    records: &[(Uuid, &Record)],
    now: Timestamp,
) -> Result<Vec<Row>> {
    let table = &desk.table;
    let said = records.iter().map(|(_, record)| record.writable(table));
    let said = said.collect::<Result<Vec<_>>>()?;
    let rows = records.iter().zip(&said).map(|((id, _), said)| new_row(table, said, *id, now));
    let rows = rows.collect::<Result<Vec<Vec<Value<'static>>>>>()?;
    let statement = store::insert(desk);
    for cells in &rows {
        if desk.is_careful {
            let values: Vec<_> = table.columns.iter().zip(cells).collect();
            check_references(tx, desk, &values)?;
        }
        tx.pipeline(&statement, cells)?;
    }
    Ok(rows.into_iter().map(|cells| Row { table: Arc::clone(table), cells }).collect())
}
