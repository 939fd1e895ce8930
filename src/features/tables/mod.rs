//! Custom tables: what a project keeps beside the nouns of this API. Real tables of the database, made
//! and dropped by the project's keys while the server runs; their rows are read and written by whoever
//! the table is open to. Which tables there are is in `catalogue.rs`, the SQL over them in `sql`.

mod columns;
mod create;
mod decimal;
mod definition;
mod delete;
mod drop;
mod fetch;
pub mod filters;
mod insert;
mod json_text;
mod list;
pub mod model;
pub mod openapi;
mod restore;
pub mod rows;
pub mod sql;
pub mod store;
mod update;
mod values;
pub mod work;

use http::Method;

use crate::error::{Fault, faults};
use crate::http::input::Invalid;
use crate::http::operation::Operation;
use crate::http::version::Version;

faults! {
    INVALID_BODY = 400 "database/invalid-body": "Bad Request";
    INVALID_PARAMS = 400 "database/invalid-params": "Bad Request";
    INVALID_QUERY = 400 "database/invalid-query": "Bad Request";
    INVALID_FLAGS = 400 "database/invalid-flags": "Bad Request";
    NAME_TOO_LONG = 400 "database/name-too-long": "Bad Request";
    RESERVED_COLUMN = 400 "database/reserved-column": "Bad Request";
    INVALID_DEFAULT_VALUE = 400 "database/invalid-default-value": "Bad Request";
    MANAGED_COLUMN = 400 "database/managed-column": "Bad Request";
    NO_WRITABLE_COLUMNS = 400 "database/no-writable-columns": "Bad Request";
    INVALID_FILTER_COLUMN = 400 "database/invalid-filter-column": "Bad Request";
    INVALID_SORT_COLUMN = 400 "database/invalid-sort-column": "Bad Request";
    NOT_PARANOID = 400 "database/not-paranoid": "Bad Request";
    TABLE_NOT_FOUND = 404 "database/table-not-found": "Not Found";
    COLUMN_NOT_FOUND = 404 "database/column-not-found": "Not Found";
    ROW_NOT_FOUND = 404 "database/row-not-found": "Not Found";
    TABLE_ALREADY_EXISTS = 409 "database/table-already-exists": "Conflict";
    TABLE_LIMIT_REACHED = 409 "database/table-limit-reached": "Conflict";
    COLUMN_LIMIT_REACHED = 409 "database/column-limit-reached": "Conflict";
    COLUMN_CONFLICT = 409 "database/column-conflict": "Conflict";
    FOREIGN_KEY_VIOLATION = 409 "database/foreign-key-violation": "Conflict";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

/// What insert, bulk insert and update may say.
const WRITE_FAULTS: &[Fault] =
    &[MANAGED_COLUMN, NO_WRITABLE_COLUMNS, TABLE_NOT_FOUND, ROW_NOT_FOUND, FOREIGN_KEY_VIOLATION];

pub fn operations() -> Vec<Operation> {
    let (post, delete, feature) = (Method::POST, Method::DELETE, "database");
    let manage = [
        Operation::new(
            post.clone(),
            "/db/tables",
            "Create Table",
            feature,
            INVALID,
            create::create_table,
        )
        .errors(&[
            INVALID_FLAGS,
            NAME_TOO_LONG,
            RESERVED_COLUMN,
            INVALID_DEFAULT_VALUE,
            TABLE_ALREADY_EXISTS,
            TABLE_LIMIT_REACHED,
            COLUMN_LIMIT_REACHED,
        ]),
        Operation::new(
            delete.clone(),
            "/db/tables/{tableName}",
            "Drop Table",
            feature,
            INVALID,
            drop::drop_table,
        )
        .errors(&[TABLE_NOT_FOUND, FOREIGN_KEY_VIOLATION]),
        Operation::new(
            post.clone(),
            "/db/tables/{tableName}/columns",
            "Add Column",
            feature,
            INVALID,
            columns::add_column,
        )
        .errors(&[
            RESERVED_COLUMN,
            INVALID_DEFAULT_VALUE,
            TABLE_NOT_FOUND,
            COLUMN_CONFLICT,
            COLUMN_LIMIT_REACHED,
            FOREIGN_KEY_VIOLATION,
        ]),
        Operation::new(
            delete,
            "/db/tables/{tableName}/columns/{columnName}",
            "Drop Column",
            feature,
            INVALID,
            columns::drop_column,
        )
        .errors(&[RESERVED_COLUMN, TABLE_NOT_FOUND, COLUMN_NOT_FOUND]),
    ];
    let all = manage.into_iter().chain(row_operations());
    all.map(|operation| operation.since(Version::V7)).collect()
}

fn row_operations() -> Vec<Operation> {
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
