//! The rows of custom tables: insert, fetch, list, update, delete and restore.

mod delete;
mod fetch;
pub mod filters;
mod insert;
pub mod json;
mod list;
mod restore;
mod update;

use http::Method;

use crate::error::Fault;
use crate::features::tables::{
    FOREIGN_KEY_VIOLATION, INVALID, INVALID_FILTER_COLUMN, INVALID_SORT_COLUMN, MANAGED_COLUMN,
    NO_WRITABLE_COLUMNS, NOT_PARANOID, ROW_NOT_FOUND, TABLE_NOT_FOUND,
};
use crate::http::operation::Operation;

/// The faults of insert, bulk insert and update.
const WRITE_FAULTS: &[Fault] =
    &[MANAGED_COLUMN, NO_WRITABLE_COLUMNS, TABLE_NOT_FOUND, ROW_NOT_FOUND, FOREIGN_KEY_VIOLATION];

pub(super) fn operations() -> Vec<Operation> {
    let (get, post, delete, feature) = (Method::GET, Method::POST, Method::DELETE, "database");
    let (table, row) = ("/db/{tableName}", "/db/{tableName}/{rowId}");
    let found: &[Fault] = &[TABLE_NOT_FOUND, ROW_NOT_FOUND];
    let operations = vec![
        Operation::new(post.clone(), table, "Insert Row", feature, INVALID, insert::insert_row)
            .errors(WRITE_FAULTS),
        Operation::new(
            post.clone(),
            "/db/{tableName}/bulk",
            "Bulk Insert Rows",
            feature,
            INVALID,
            insert::insert_rows,
        )
        .errors(WRITE_FAULTS),
        Operation::new(get.clone(), row, "Fetch Row", feature, INVALID, fetch::fetch_row)
            .errors(found),
        Operation::new(get, table, "Fetch Rows", feature, INVALID, list::fetch_rows).errors(&[
            INVALID_FILTER_COLUMN,
            INVALID_SORT_COLUMN,
            TABLE_NOT_FOUND,
        ]),
        Operation::new(Method::PATCH, row, "Update Row", feature, INVALID, update::update_row)
            .errors(WRITE_FAULTS),
        Operation::new(delete.clone(), row, "Delete Row", feature, INVALID, delete::delete_row)
            .errors(&[TABLE_NOT_FOUND, ROW_NOT_FOUND, FOREIGN_KEY_VIOLATION]),
        Operation::new(delete, table, "Bulk Delete Rows", feature, INVALID, delete::delete_rows)
            .errors(&[INVALID_FILTER_COLUMN, TABLE_NOT_FOUND, FOREIGN_KEY_VIOLATION]),
        Operation::new(
            post,
            "/db/{tableName}/{rowId}/restore",
            "Restore Row",
            feature,
            INVALID,
            restore::restore_row,
        )
        .errors(&[NOT_PARANOID, TABLE_NOT_FOUND, ROW_NOT_FOUND]),
    ];
    let all = operations.into_iter();
    all.map(|operation| operation.open_to_suspended().may_be_closed()).collect()
}
