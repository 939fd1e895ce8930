//! Custom tables: a project's own data besides the nouns of this API. They are real tables of the database,
//! created and dropped by the project's keys while the server runs (`definitions`); callers read and write
//! their rows (`rows`) as far as each table's access allows. `store/catalogue.rs` lists the tables, `sql`
//! builds the statements over them.

pub mod definitions;
pub mod handle;
pub mod model;
pub mod openapi;
pub mod rows;
pub mod sql;
pub mod store;
pub mod values;

use crate::error::faults;
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

pub fn operations() -> Vec<Operation> {
    let all = definitions::operations().into_iter().chain(rows::operations());
    all.map(|operation| operation.since(Version::V7)).collect()
}
