//! Update Row.

use db::{Tx, Value};

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::tables::ROW_NOT_FOUND;
use crate::features::tables::handle::{TableHandle, writing};
use crate::features::tables::model::{Column, InRow};
use crate::features::tables::rows::fetch;
use crate::features::tables::rows::json::{
    OneRow, Record, Row, check_references, check_size, value,
};
use crate::features::tables::store::rows;
use crate::http::input::{Path, Verbatim};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::RowId;
use crate::values::time::Timestamp;

pub(super) async fn update_row(
    call: Call<OptionalViewer>,
    (Path(InRow { table_name, row_id }), Verbatim(record)): (Path<InRow>, Verbatim<Record>),
) -> Result<Json<OneRow>> {
    let now = call.now;
    let update = move |tx: &Tx<'_>, desk: &TableHandle| update(tx, desk, row_id, &record, now);
    let row = writing(&call, &table_name, update).await?;
    Ok(Json(OneRow { row }))
}

fn update(
    tx: &Tx<'_>,
    desk: &TableHandle,
    id: RowId,
    record: &Record,
    now: Timestamp,
) -> Result<Row> {
    let said = record.writable(&desk.table)?;
    let (columns, given): (Vec<&Column>, Vec<_>) = said.into_iter().unzip();
    let read = columns.iter().zip(given).map(|(column, given)| value(column, given));
    let values: Vec<Value<'static>> = match read.collect() {
        Ok(values) => values,
        Err(refusal) => {
            // A missing row is reported before an invalid value.
            fetch::find(tx, desk, id)?;
            return Err(refusal);
        }
    };
    if desk.is_careful {
        let pairs: Vec<_> = columns.iter().copied().zip(&values).collect();
        check_references(tx, desk, &pairs)?;
    }
    let mut args = vec![id.into()];
    args.extend(values);
    if desk.table.timestamps {
        args.push(now.into());
    }
    let cells = rows::update(tx, desk, &columns, &args)?.ok_or(ROW_NOT_FOUND)?;
    check_size(&cells)?;
    Row::read(&desk.table, cells)
}
