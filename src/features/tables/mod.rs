//! Custom tables: a project's own data besides the nouns of this API. They are real tables of the database,
//! created and dropped by the project's keys while the server runs (`definitions`); callers read and write
//! their rows (`rows`) as far as each table's access allows. `store/catalogue.rs` lists the tables, `sql`
//! builds the statements over them.

mod definitions;
pub mod handle;
pub mod model;
pub mod openapi;
pub mod rows;
pub mod sql;
pub mod store;
mod values;

use crate::error::Fault;
use crate::http::input::Invalid;
use crate::http::operation::Operation;
use crate::http::version::Version;

macro_rules! faults {
    ($($name:ident $status:literal $text:literal $code:literal;)*) => {
        $(const $name: Fault = Fault::new($status, concat!("database/", $code), $text);)*
    };
}

faults! {
    INVALID_BODY 400 "Bad Request" "invalid-body";
    INVALID_PARAMS 400 "Bad Request" "invalid-params";
    INVALID_QUERY 400 "Bad Request" "invalid-query";
    INVALID_FLAGS 400 "Bad Request" "invalid-flags";
    NAME_TOO_LONG 400 "Bad Request" "name-too-long";
    RESERVED_COLUMN 400 "Bad Request" "reserved-column";
    INVALID_DEFAULT_VALUE 400 "Bad Request" "invalid-default-value";
    MANAGED_COLUMN 400 "Bad Request" "managed-column";
    NO_WRITABLE_COLUMNS 400 "Bad Request" "no-writable-columns";
    INVALID_FILTER_COLUMN 400 "Bad Request" "invalid-filter-column";
    INVALID_SORT_COLUMN 400 "Bad Request" "invalid-sort-column";
    NOT_PARANOID 400 "Bad Request" "not-paranoid";
    TABLE_NOT_FOUND 404 "Not Found" "table-not-found";
    COLUMN_NOT_FOUND 404 "Not Found" "column-not-found";
    ROW_NOT_FOUND 404 "Not Found" "row-not-found";
    TABLE_ALREADY_EXISTS 409 "Conflict" "table-already-exists";
    TABLE_LIMIT_REACHED 409 "Conflict" "table-limit-reached";
    COLUMN_LIMIT_REACHED 409 "Conflict" "column-limit-reached";
    COLUMN_CONFLICT 409 "Conflict" "column-conflict";
    FOREIGN_KEY_VIOLATION 409 "Conflict" "foreign-key-violation";
}

const INVALID: Invalid =
    Invalid { params: INVALID_PARAMS, query: INVALID_QUERY, ..Invalid::all(INVALID_BODY) };

pub fn operations() -> Vec<Operation> {
    let all = definitions::operations().into_iter().chain(rows::operations());
    all.map(|operation| operation.since(Version::V7)).collect()
}
