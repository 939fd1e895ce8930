//! Errors that mean the same on both engines. Texts are for the log; a client of the server never sees them.

use std::fmt;

/// Failure of a statement, of a unit of work or of the database itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Queue full, pool exhausted, or closing. Nothing was written; try again later.
    Busy,
    /// The transaction lost against others on every try. Nothing was written.
    Conflict,
    /// The database cannot be opened or reached.
    Unreachable(String),
    /// The connection broke during COMMIT: whether it was written is unknown.
    OutcomeUnknown,
    /// A statement ran longer than the deadline.
    Deadline { statement: &'static str },
    /// No space left for the database.
    Full,
    /// A unique index refused a row. The name is the same on both engines; `<table>_pkey` for a primary key.
    Unique { index: String },
    /// A foreign key refused a row.
    ForeignKey,
    /// A statement of this transaction failed before; the transaction is rolled back.
    Aborted,
    /// `one` found nothing.
    NoRow { statement: &'static str },
    /// `one` or `opt` found more than one row.
    ManyRows { statement: &'static str },
    /// A column is not what the row type says: wrong type, or wrong name at its place.
    Row { statement: &'static str, column: String, expected: &'static str, found: String },
    /// The closure panicked.
    Panic,
    /// The database was migrated by a later release.
    NewerSchema { found: u32, known: u32 },
    /// The text of an applied migration is not the one that was applied.
    ChangedMigration { version: u32 },
    /// More than an engine can hold or follow: columns of a table, rows that depend on each other.
    Limit { statement: &'static str, message: String },
    /// The statement names a table or column that does not exist: dropped, perhaps, since it was looked up.
    Missing { statement: &'static str, message: String },
    /// Anything else an engine refused.
    Statement { statement: &'static str, message: String },
}

impl Error {
    /// Is this the refusal of the unique index of that name?
    pub fn is_unique(&self, index: &str) -> bool {
        matches!(self, Error::Unique { index: found } if found == index)
    }

    pub(crate) fn statement(statement: &'static str, message: impl fmt::Display) -> Error {
        Error::Statement { statement, message: message.to_string() }
    }

    pub(crate) fn unreachable(cause: impl fmt::Display) -> Error {
        Error::Unreachable(cause.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Busy => f.write_str("the database is busy or closing"),
            Error::Conflict => f.write_str("other transactions came first on every try"),
            Error::Unreachable(cause) => write!(f, "the database cannot be reached: {cause}"),
            Error::OutcomeUnknown => {
                f.write_str("the connection broke during COMMIT: the outcome is unknown")
            }
            Error::Deadline { statement } => write!(f, "{statement}: over its deadline"),
            Error::Full => f.write_str("no space left for the database"),
            Error::Unique { index } => write!(f, "refused by the unique index {index}"),
            Error::ForeignKey => f.write_str("refused by a foreign key"),
            Error::Aborted => f.write_str("an earlier statement of this transaction failed"),
            Error::NoRow { statement } => write!(f, "{statement}: no row"),
            Error::ManyRows { statement } => write!(f, "{statement}: more than one row"),
            Error::Row { statement, column, expected, found } => {
                write!(f, "{statement}: column {column}: expected {expected}, found {found}")
            }
            Error::Panic => f.write_str("the closure panicked"),
            Error::NewerSchema { found, known } => write!(
                f,
                "the database has schema version {found}, this program knows up to {known}"
            ),
            Error::ChangedMigration { version } => {
                write!(f, "migration {version} is not the one that was applied")
            }
            Error::Limit { statement, message }
            | Error::Missing { statement, message }
            | Error::Statement { statement, message } => {
                write!(f, "{statement}: {message}")
            }
        }
    }
}

impl std::error::Error for Error {}
