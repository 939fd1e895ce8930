//! Delete Row and Bulk Delete Rows. Paranoid tables soft-delete their rows, which can be restored, unless the
//! caller forces a hard delete.

use db::{Conn, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::tables::handle::{ReadMode, TableHandle, reading, writing};
use crate::features::tables::model::{InRow, InTable};
use crate::features::tables::rows::filters::{self, Clause};
use crate::features::tables::store::rows;
use crate::features::tables::{INVALID_BODY, ROW_NOT_FOUND};
use crate::http::input::{Flag, Path, Query as UrlQuery, Verbatim};
use crate::http::operation::Call;
use crate::http::reply::Json;
use crate::values::ids::RowId;

const MAX_ROWS: usize = 100;
/// Attempts when rows change between being found and being deleted.
const ATTEMPTS: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DeleteQuery {
    #[serde(default)]
    force: Flag,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DeletedRow {
    deleted: bool,
    soft: bool,
}

pub(super) async fn delete_row(
    call: Call<OptionalViewer>,
    (Path(InRow { table_name, row_id }), UrlQuery(query)): (Path<InRow>, UrlQuery<DeleteQuery>),
) -> Result<Json<DeletedRow>> {
    let (now, force) = (call.now, query.force.0);
    let delete = move |tx: &Tx<'_>, desk: &TableHandle| match rows::delete(
        tx,
        desk,
        &[row_id.0],
        &[],
        force,
        now,
    )? {
        0 => Err(ROW_NOT_FOUND.into()),
        _ => Ok(desk.table.paranoid && !force),
    };
    let soft = writing(&call, &table_name, delete).await?;
    Ok(Json(DeletedRow { deleted: true, soft }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BulkDelete {
    /// Together with `filters`: rows that are in the list and match the filters.
    #[serde(default)]
    #[schemars(length(max = 100))]
    row_ids: Vec<RowId>,
    #[serde(default)]
    #[schemars(with = "Vec<super::list::ClauseDoc>", length(max = 50))]
    filters: Vec<Box<RawValue>>,
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeletedRows {
    deleted_count: u64,
    soft: bool,
}

pub(super) async fn delete_rows(
    call: Call<OptionalViewer>,
    (Path(InTable { table_name }), Verbatim(body)): (Path<InTable>, Verbatim<BulkDelete>),
) -> Result<Json<DeletedRows>> {
    let BulkDelete { row_ids, filters, force } = body;
    let clauses = std::sync::Arc::new(filters::read(&filters, INVALID_BODY)?);
    if row_ids.is_empty() && clauses.is_empty() {
        return Err(INVALID_BODY.because("name rows by rowIds, by filters or by both"));
    }
    if row_ids.len() > MAX_ROWS {
        return Err(INVALID_BODY.because(format!("rowIds: at most {MAX_ROWS}")));
    }
    let (now, named) = (call.now, row_ids.iter().map(|id| id.0).collect::<Vec<Uuid>>());
    let mut attempts = 0;
    loop {
        attempts += 1;
        let ids = match named.is_empty() {
            true => {
                let (clauses, limit) = (clauses.clone(), call.app.config.table_query_deadline);
                let find = move |c: &Conn<'_>, desk: &TableHandle| {
                    c.within(limit);
                    oldest(c, desk, &clauses, force)
                };
                reading(&call, &table_name, ReadMode::Slow, find).await?
            }
            false => named.clone(),
        };
        let (clauses, found) = (clauses.clone(), ids.len());
        let limit = call.app.config.table_query_deadline;
        let delete = move |tx: &Tx<'_>, desk: &TableHandle| {
            if !clauses.is_empty() {
                tx.within(limit);
            }
            let filters = filters::fit(&desk.table, &clauses, INVALID_BODY)?;
            let deleted = rows::delete(tx, desk, &ids, &filters, force, now)?;
            Ok((deleted, desk.table.paranoid && !force))
        };
        let (deleted_count, soft) = writing(&call, &table_name, delete).await?;
        // All rows that were found have changed meanwhile: search again.
        let slipped = named.is_empty() && found > 0 && deleted_count == 0;
        if !slipped || attempts == ATTEMPTS {
            return Ok(Json(DeletedRows { deleted_count, soft }));
        }
    }
}

/// Runs outside of the transaction: filters may take a while, and writers must not wait for them.
fn oldest(c: &Conn<'_>, desk: &TableHandle, clauses: &[Clause], force: bool) -> Result<Vec<Uuid>> {
    let filters = filters::fit(&desk.table, clauses, INVALID_BODY)?;
    let mut conditions = desk.dialect.conditions(&desk.table, &filters, force);
    let most = i64::try_from(MAX_ROWS).unwrap_or(i64::MAX);
    rows::oldest(c, desk, &mut conditions, most)
}
