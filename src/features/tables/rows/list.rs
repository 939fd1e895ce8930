//! Fetch Rows: a page of a table, filtered and sorted, with its exact total. A query may be expensive, so it
//! runs off the async workers and under a deadline.

use db::Conn;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::auth::caller::OptionalViewer;
use crate::error::Result;
use crate::features::tables::handle::{ReadMode, TableHandle, reading};
use crate::features::tables::model::{ID, InTable};
use crate::features::tables::rows::filters::{self, Clause};
use crate::features::tables::rows::json::Row;
use crate::features::tables::sql::conditions::Way;
use crate::features::tables::store::rows as store;
use crate::features::tables::{INVALID_QUERY, INVALID_SORT_COLUMN};
use crate::http::input::{Flag, Path, Query as UrlQuery};
use crate::http::operation::Call;
use crate::http::page::{Page, Paged};
use crate::http::reply::Json;
use crate::values::json;

const DEFAULT_LIMIT: u32 = 50;
const MAX_ROWS: u32 = 200;
/// Maximum bytes of a page in memory.
const LARGEST_PAGE: usize = 8 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RowsQuery {
    #[schemars(with = "Option<u32>", range(min = 1))]
    page: Option<String>,
    #[schemars(with = "Option<u32>", range(min = 1, max = 200))]
    limit: Option<String>,
    /// A column of the table. Without it rows are by `createdAt`, the newest first, or else by `id`.
    sort_by: Option<String>,
    sort_dir: Option<SortDir>,
    /// Includes soft-deleted rows.
    #[serde(default)]
    include_deleted: Flag,
    /// A JSON array of at most 50 clauses, all of which must match.
    filters: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum SortDir {
    Asc,
    Desc,
}

/// One clause of a filter.
#[derive(JsonSchema)]
#[schemars(rename = "FilterClause", rename_all = "camelCase")]
#[expect(dead_code, reason = "the form of a document, never made")]
pub(super) struct ClauseDoc {
    column: String,
    operator: Operator,
    /// A text, number or boolean; an array of them for `in`; a boolean for `isNull`.
    value: serde_json::Value,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", inline)]
#[expect(dead_code, reason = "the form of a document, never made")]
enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    Contains,
    Like,
    In,
    IsNull,
}

/// The parsed query.
struct Asked {
    page: Page,
    sort_by: Option<String>,
    way: Option<Way>,
    with_deleted: bool,
    clauses: Vec<Clause>,
}

pub(super) async fn fetch_rows(
    call: Call<OptionalViewer>,
    (Path(InTable { table_name }), UrlQuery(query)): (Path<InTable>, UrlQuery<RowsQuery>),
) -> Result<Json<Paged<Row>>> {
    let asked = query.read()?;
    let (page, limit) = (asked.page, call.app.config.table_query_deadline);
    let list = move |c: &Conn<'_>, desk: &TableHandle| {
        // Without filters and sorting there is no deadline: pages of a large table wait for the count, as in
        // any other list.
        if !asked.clauses.is_empty() || asked.sort_by.is_some() {
            c.within(limit);
        }
        list(c, desk, &asked)
    };
    let (rows, total) = reading(&call, &table_name, ReadMode::Slow, list).await?;
    Ok(Json(page.of(rows, total)))
}

impl RowsQuery {
    fn read(self) -> Result<Asked> {
        let number = |name: &str, text: Option<&str>, default, most| match text {
            None => Ok(default),
            Some(text) => {
                text.parse::<u32>().ok().filter(|number| (1..=most).contains(number)).ok_or_else(
                    || INVALID_QUERY.because(format!("{name}: must be from 1 to {most}")),
                )
            }
        };
        let page = Page {
            page: number("page", self.page.as_deref(), 1, u32::MAX)?,
            limit: number("limit", self.limit.as_deref(), DEFAULT_LIMIT, MAX_ROWS)?,
        };
        let clauses = match &self.filters {
            None => Vec::new(),
            Some(text) => read_clauses(text)?,
        };
        Ok(Asked {
            page,
            sort_by: self.sort_by,
            way: self.sort_dir.map(|direction| match direction {
                SortDir::Asc => Way::Rising,
                SortDir::Desc => Way::Falling,
            }),
            with_deleted: self.include_deleted.0,
            clauses,
        })
    }
}

fn read_clauses(text: &str) -> Result<Vec<Clause>> {
    json::check(text.as_bytes()).map_err(|why| INVALID_QUERY.because(format!("filters: {why}")))?;
    let clauses: Vec<Box<RawValue>> = serde_json::from_str(text)
        .map_err(|_| INVALID_QUERY.because("filters: must be a JSON array"))?;
    filters::read(&clauses, INVALID_QUERY)
}

fn list(c: &Conn<'_>, desk: &TableHandle, asked: &Asked) -> Result<(Vec<Row>, i64)> {
    let TableHandle { table, dialect, .. } = desk;
    let sort_by = match &asked.sort_by {
        None => None,
        Some(name) => Some(table.column(name).ok_or(INVALID_SORT_COLUMN)?),
    };
    let filters = filters::fit(table, &asked.clauses, INVALID_QUERY)?;
    let mut conditions = dialect.conditions(table, &filters, asked.with_deleted);
    let total = store::count(c, desk, &conditions)?;
    let (limit, offset) = (i64::from(asked.page.limit), asked.page.offset());
    if offset >= total {
        return Ok((Vec::new(), total));
    }
    let order = dialect.order(table, sort_by, asked.way);
    let is_sorted = sort_by.is_none_or(|column| column.has_index() || column.name == ID);
    let query = store::page(desk, &mut conditions, &order, (limit, offset), is_sorted);
    let (mut rows, mut size) = (Vec::new(), 0);
    c.each(&query, conditions.args(), |cells| {
        size += Row::size(&cells);
        if size <= LARGEST_PAGE {
            rows.push(Row::read(table, cells));
        }
    })?;
    if size > LARGEST_PAGE {
        return Err(INVALID_QUERY.because("limit: that many of these rows are too much for a page"));
    }
    Ok((rows.into_iter().collect::<Result<_>>()?, total))
}
