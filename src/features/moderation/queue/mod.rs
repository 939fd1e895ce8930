//! The queue of operators: every open report that nobody has decided, also those by which a rule holds or flags
//! content. A page takes a constant number of statements, and every order has an index.

mod claim;
mod content;
pub mod model;
mod show;
pub mod store;

pub use claim::{CLAIM_FOR, claim, release};
pub(super) use content::Contents;
pub use model::{ItemKind, Page, QueueItem};
pub(super) use show::authors_of;
pub use store::filter::{ClaimFilter, Cursor, Filter, Order};

use db::Conn;

use crate::error::Result;
use crate::values::ids::{ProjectId, ReportId};
use crate::values::time::Timestamp;

pub const MAX_LIMIT: i64 = 100;
/// Totals are counted up to this number.
pub const COUNTED: i64 = 10_000;

/// A page of the queue after a cursor, and how many items there are in all.
pub fn list(
    c: &Conn<'_>,
    project: ProjectId,
    filter: &Filter,
    order: Order,
    after: Option<Cursor>,
    limit: i64,
    now: Timestamp,
) -> Result<Page> {
    let limit = limit.clamp(1, MAX_LIMIT);
    let mut rows = filter.page(c, project, order, after, limit + 1, now)?;
    let size = usize::try_from(limit).unwrap_or(0);
    let has_more = rows.len() > size;
    rows.truncate(size);
    let next = rows.last().filter(|_| has_more).map(Cursor::of);
    let (total, total_is_capped) = filter.count(c, project, now)?;
    let items = show::items(c, project, rows, now)?;
    Ok(Page { items, total, total_is_capped, next })
}

/// The next items behind a cursor, newest first: as they are counted.
pub fn places(
    c: &Conn<'_>,
    project: ProjectId,
    filter: &Filter,
    after: Option<Cursor>,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Cursor>> {
    let rows = filter.page(c, project, Order::Newest, after, limit, now)?;
    Ok(rows.iter().map(Cursor::of).collect())
}

/// One item, whether or not it is still open; none if there is no such report.
pub fn find(
    c: &Conn<'_>,
    project: ProjectId,
    id: ReportId,
    now: Timestamp,
) -> Result<Option<QueueItem>> {
    let row = store::find(c, project, id)?;
    Ok(show::items(c, project, row.into_iter().collect(), now)?.pop())
}
