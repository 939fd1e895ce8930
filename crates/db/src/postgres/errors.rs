//! From PostgreSQL's codes to [`Error`], and to what the failure means for connection and transaction.

use std::error::Error as StdError;

use tokio_postgres::error::DbError;

use crate::Error;
use crate::conn::{Failed, Failure};

use super::types::WrongValue;

pub(super) fn failed(statement: &'static str, error: &tokio_postgres::Error) -> Failed {
    if let Some(refusal) = error.as_db_error() {
        return refused(statement, refusal);
    }
    let source = error.source();
    if source.is_some_and(|source| source.is::<WrongValue>()) {
        return Error::statement(statement, text(error)).into();
    }
    // A failed socket, or an invalid response: either way the connection is unusable.
    broken(text(error))
}

pub(super) fn broken(cause: impl std::fmt::Display) -> Failed {
    Failed { error: Error::unreachable(cause), failure: Failure::Broken }
}

fn refused(statement: &'static str, refusal: &DbError) -> Failed {
    let code = refusal.code().code();
    match code {
        // Serialization failure, deadlock.
        "40001" | "40P01" => retry(),
        // The table changed under a prepared statement, or the statement is gone: preparing it again helps.
        "26000" => retry(),
        "0A000" if refusal.message().contains("cached plan") => retry(),
        "23505" => unique(refusal).into(),
        // What a worker of a cluster refused while rows were copied to it comes without its code.
        "XX000" if refusal.message().starts_with(DUPLICATE) => unique(refusal).into(),
        "23503" => Error::ForeignKey.into(),
        // No such table, column, schema.
        "42P01" | "42703" | "3F000" => {
            Error::Missing { statement, message: refusal.message().to_owned() }.into()
        }
        _ if code.starts_with("54") => {
            Error::Limit { statement, message: refusal.message().to_owned() }.into()
        }
        "57014" => Error::Deadline { statement }.into(),
        "53100" => Failed { error: Error::Full, failure: Failure::Full },
        "25P02" => Error::Aborted.into(),
        // Lock not available.
        "55P03" => Error::Busy.into(),
        // Shut down, crashed, starting, idle for too long in a transaction; connection exceptions.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => broken(refusal.message()),
        // Read-only: after a failover this is the wrong server, and a new connection finds the right one.
        "25006" => broken(refusal.message()),
        _ if code.starts_with("08") => broken(refusal.message()),
        _ => Error::statement(statement, format!("{} ({code})", refusal.message())).into(),
    }
}

const DUPLICATE: &str = "duplicate key value violates unique constraint";

/// The coordinator of a cluster (Citus) passes on the message of its worker, but not the field with the name.
fn unique(refusal: &DbError) -> Error {
    let quoted = || refusal.message().split('"').nth(1);
    let constraint = refusal.constraint().or_else(quoted).unwrap_or_default();
    Error::Unique { index: without_shard(constraint).to_owned() }
}

/// The name as the schema has it: on a worker the tables and indexes of a shard carry its number,
/// `users_email_102087`.
fn without_shard(constraint: &str) -> &str {
    match constraint.rsplit_once('_') {
        Some((name, shard)) if !shard.is_empty() && shard.bytes().all(|b| b.is_ascii_digit()) => {
            name
        }
        _ => constraint,
    }
}

impl Failed {
    /// A mismatch with the tables is worth a second run, unless the statement was prepared just now: the
    /// tables may have changed since.
    pub(super) fn unless(self, is_new: bool) -> Failed {
        let is_misfit = matches!(self.error, Error::Missing { .. } | Error::Statement { .. });
        if is_misfit && !is_new { retry() } else { self }
    }
}

pub(super) fn retry() -> Failed {
    Failed { error: Error::Busy, failure: Failure::Retry }
}

/// The error with its cause; the client library leaves the cause out.
pub(super) fn text(error: &tokio_postgres::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_shard;

    #[test]
    fn a_constraint_is_known_with_the_number_of_a_shard_and_without() {
        for (named, found) in [
            ("users_email", "users_email"),
            ("users_email_102087", "users_email"),
            ("users_pkey_7", "users_pkey"),
            ("users_email_", "users_email_"),
            ("users_v2", "users_v2"),
            ("users", "users"),
            ("102087", "102087"),
            ("", ""),
        ] {
            assert_eq!(without_shard(named), found, "{named}");
        }
    }
}
