//! From SQLite's codes to [`Error`]. SQLite reports the columns of a violated unique constraint, PostgreSQL
//! the index: the index is looked up in the schema, so that both report the same.

use rusqlite::ffi;
use rusqlite::{Connection, ErrorCode};

use crate::Error;
use crate::conn::{Failed, Failure};

use super::functions;

/// The disk failed: no more writes.
pub(super) struct Dead(pub(super) String);

pub(super) fn failed(
    connection: &Connection,
    statement: &'static str,
    error: rusqlite::Error,
) -> Failed {
    let (code, message) = match &error {
        rusqlite::Error::SqliteFailure(code, message) => (code, message.as_deref()),
        rusqlite::Error::SqlInputError { error, msg, .. } => (error, Some(msg.as_str())),
        _ => return Error::statement(statement, error).into(),
    };
    let mapped = match code.code {
        ErrorCode::OperationInterrupted => Error::Deadline { statement },
        ErrorCode::DiskFull => Error::Full,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy,
        ErrorCode::ConstraintViolation => {
            let message = message.unwrap_or_default();
            match code.extended_code {
                ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Error::ForeignKey,
                // The only triggers that refuse are those of a database that was moved elsewhere.
                ffi::SQLITE_CONSTRAINT_TRIGGER => Error::Busy,
                ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
                    Error::Unique { index: format!("{}_pkey", table(message)) }
                }
                ffi::SQLITE_CONSTRAINT_UNIQUE => {
                    Error::Unique { index: unique_index(connection, message) }
                }
                _ => Error::statement(statement, message),
            }
        }
        ErrorCode::Unknown if message.is_some_and(is_missing) => {
            Error::Missing { statement, message: error.to_string() }
        }
        ErrorCode::TooBig => Error::Limit { statement, message: error.to_string() },
        ErrorCode::Unknown if message.is_some_and(|text| text.starts_with("too many levels")) => {
            Error::Limit { statement, message: error.to_string() }
        }
        ErrorCode::Unknown if message == Some(functions::OUT_OF_TIME) => {
            Error::Deadline { statement }
        }
        _ => Error::statement(statement, &error),
    };
    let failure = match disk_failure(&error) {
        Some(cause) => Failure::Disk(cause),
        None if mapped == Error::Full => Failure::Full,
        None => Failure::Refused,
    };
    Failed { error: mapped, failure }
}

/// The storage failed: nothing that was not yet acknowledged may be trusted.
pub(super) fn disk_failure(error: &rusqlite::Error) -> Option<String> {
    let code = error.sqlite_error_code()?;
    matches!(
        code,
        ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase
    )
    .then(|| error.to_string())
}

/// SQLite has no code of its own for unknown tables and columns.
fn is_missing(message: &str) -> bool {
    message.starts_with("no such table")
        || message.starts_with("no such column")
        || message.contains("has no column named")
}

/// The table in `UNIQUE constraint failed: notes.box_id, notes.slug`.
fn table(message: &str) -> &str {
    let columns = message.rsplit_once(": ").map_or(message, |(_, rest)| rest);
    columns.split_once('.').map_or(columns, |(table, _)| table)
}

/// The name of the index over exactly the columns in the message.
fn unique_index(connection: &Connection, message: &str) -> String {
    let columns = message.rsplit_once(": ").map_or(message, |(_, rest)| rest);
    // An index over expressions is reported by name.
    if let Some(name) = columns.strip_prefix("index '") {
        return name.trim_end_matches('\'').to_owned();
    }
    let table = table(message);
    let names: Vec<&str> = columns
        .split(", ")
        .map(|column| column.split_once('.').map_or(column, |(_, name)| name))
        .collect();
    // Of two indexes over the same columns the one for all rows comes first: SQLite does not report which one
    // refused.
    let found = connection.query_row(
        "SELECT i.name FROM pragma_index_list(?1) i WHERE i.\"unique\" AND ?2 =
             (SELECT group_concat(c.name, ', ' ORDER BY c.seqno) FROM pragma_index_info(i.name) c)
         ORDER BY i.partial, i.seq LIMIT 1",
        [table, names.join(", ").as_str()],
        |row| row.get(0),
    );
    found.unwrap_or_else(|_| columns.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_violations_name_the_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE notes (id INTEGER PRIMARY KEY, box_id INTEGER, slug TEXT, mark TEXT);
                 CREATE UNIQUE INDEX notes_slug_box ON notes (slug, box_id);
                 CREATE UNIQUE INDEX notes_box_slug ON notes (box_id, slug);
                 CREATE UNIQUE INDEX notes_mark ON notes (lower(mark));
                 INSERT INTO notes VALUES (1, 1, 'a', 'm');",
            )
            .unwrap();
        let refused = |sql: &str| {
            let error = connection.execute(sql, []).unwrap_err();
            failed(&connection, "insert", error).error
        };
        assert!(refused("INSERT INTO notes VALUES (1, 2, 'b', 'n')").is_unique("notes_pkey"));
        let pair = refused("INSERT INTO notes VALUES (2, 1, 'a', 'n')");
        assert!(pair.is_unique("notes_box_slug") || pair.is_unique("notes_slug_box"), "{pair}");
        assert!(refused("INSERT INTO notes VALUES (2, 1, 'b', 'M')").is_unique("notes_mark"));
    }
}
