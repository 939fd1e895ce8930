//! Create and drop tables and columns. Only the project's keys may.

mod columns;
mod create;
mod drop;
pub mod import;
mod request;

use http::Method;

use crate::features::tables::{
    COLUMN_CONFLICT, COLUMN_LIMIT_REACHED, COLUMN_NOT_FOUND, FOREIGN_KEY_VIOLATION, INVALID,
    INVALID_DEFAULT_VALUE, INVALID_FLAGS, NAME_TOO_LONG, RESERVED_COLUMN, TABLE_ALREADY_EXISTS,
    TABLE_LIMIT_REACHED, TABLE_NOT_FOUND,
};
use crate::http::operation::Operation;

pub(super) fn operations() -> Vec<Operation> {
    let (post, delete, feature) = (Method::POST, Method::DELETE, "database");
    vec![
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
    ]
}
