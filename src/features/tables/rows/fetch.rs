//! Fetch Row.

use db::Conn;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::tables::ROW_NOT_FOUND;
use crate::features::tables::handle::{ReadMode, TableHandle, reading};
use crate::features::tables::model::InRow;
use crate::features::tables::rows::json::{OneRow, Row};
use crate::features::tables::store::rows;
use crate::http::input::Path;
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::RowId;

pub(super) async fn fetch_row(
    call: Call<OptionalViewer>,
    Path(InRow { table_name, row_id }): Path<InRow>,
) -> Result<Json<OneRow>> {
    let find = move |c: &Conn<'_>, desk: &TableHandle| find(c, desk, row_id);
    let row = reading(&call, &table_name, ReadMode::Quick, find).await?;
    Ok(Json(OneRow { row }))
}

/// The row, unless it is soft-deleted.
pub(super) fn find(c: &Conn<'_>, desk: &TableHandle, id: RowId) -> Result<Row> {
    let cells = rows::find(c, desk, id)?.ok_or(ROW_NOT_FOUND)?;
    Row::read(&desk.table, cells)
}
