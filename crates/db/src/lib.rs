//! One SQL text, two engines: closures on embedded SQLite or on PostgreSQL.
//!
//! Work is a synchronous closure: `db.read(|conn| …)` reads, `db.write(|tx| …)` is one transaction.
//! Statements are static values declared with [`statements!`], rows are structs declared with [`row!`]. Where the
//! text depends on the request, a [`Builder`] joins the pieces and numbers the arguments.
//! Parameters are `$1…$n` on both engines; where the engines differ, a statement uses a `{token}`.

mod administration;
mod announce;
mod builder;
mod companion;
mod conn;
mod db;
mod dialect;
mod error;
mod inner;
mod job;
mod lag;
mod migrate;
mod options;
mod postgres;
mod queue;
mod row;
mod signal;
mod slow;
mod sqlite;
mod statement;
mod stats;
#[cfg(feature = "testing")]
pub mod testing;
mod transfer;
mod value;

pub use administration::Examination;
pub use announce::{Announced, Announcement, Announcements};
pub use builder::{Builder, Placeholder, Placeholders};
pub use companion::accompanied;
pub use conn::{Conn, Later, Prefetch, Tx};
pub use db::Db;
pub use error::Error;
pub use lag::{Moment, exactly, must_see, tolerate_lag};
pub use migrate::{Distribution, Layout, Migration, MigrationState};
pub use options::{Options, Ran, Watch};
pub use row::{Column, ColumnRef, Columns, JsonText, Maybe, Row, WrongType};
#[doc(hidden)]
pub use row::{Field, column_name, column_names, width};
pub use signal::Signal;
pub use statement::{AnyStatement, Command, MAX_CACHED_ARGUMENTS, Query, Statement};
pub use stats::{Histogram, Latency, PoolStats, ReplicaStats, Stats, timed};
pub use transfer::{Bulk, ColumnKind, Definition, ForeignColumn, Shape, TableName};
pub use value::Value;

/// Which engine a database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    Sqlite,
    Postgres,
}
