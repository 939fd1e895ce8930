//! Restore Row.

use db::Tx;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::tables::handle::{TableHandle, writing};
use crate::features::tables::model::InRow;
use crate::features::tables::rows::json::{OneRow, Row};
use crate::features::tables::store::rows;
use crate::features::tables::{NOT_PARANOID, ROW_NOT_FOUND};
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;

pub(super) async fn restore_row(
    call: Call<OptionalViewer>,
    Path(InRow { table_name, row_id }): Path<InRow>,
) -> Result<Json<OneRow>> {
    let now = call.now;
    let restore = move |tx: &Tx<'_>, desk: &TableHandle| {
        if !desk.table.paranoid {
            return Err(NOT_PARANOID.into());
        }
        let cells = rows::restore(tx, desk, row_id, now)?.ok_or(ROW_NOT_FOUND)?;
        Row::read(&desk.table, cells)
    };
    let row = writing(&call, &table_name, restore).await?;
    Ok(Json(OneRow { row }))
}
