//! Numbered migrations, each in a transaction of its own, under a lock, recorded with the digest of its text.

use std::fmt::Write;

use aws_lc_rs::digest;

use crate::{Engine, Error, dialect};

pub(crate) const NAME: &str = "migration";
/// Created by the first migration; the same text on both engines.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version {int} PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at {time} NOT NULL) {strict}";
pub(crate) const APPLIED: &str =
    "SELECT version, checksum, applied_at FROM schema_migrations ORDER BY version";
pub(crate) const RECORD: &str =
    "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    pub version: u32,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl Migration {
    /// One text for both engines.
    pub const fn shared(version: u32, name: &'static str, sql: &'static str) -> Self {
        Self::twins(version, name, sql, sql)
    }

    /// A text for each engine.
    pub const fn twins(
        version: u32,
        name: &'static str,
        sqlite: &'static str,
        postgres: &'static str,
    ) -> Self {
        Migration { version, name, sqlite, postgres }
    }

    pub(crate) fn script(&self, engine: Engine) -> Result<String, Error> {
        let text = match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        };
        dialect::script(text, engine).map_err(|message| self.refused(message))
    }

    /// SHA-256 over both texts as written, so that it is the same on both engines.
    pub(crate) fn checksum(&self) -> String {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(self.sqlite.as_bytes());
        context.update(&[0]);
        context.update(self.postgres.as_bytes());
        let mut hex = String::with_capacity(64);
        for byte in context.finish().as_ref() {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    pub(crate) fn refused(&self, message: impl std::fmt::Display) -> Error {
        Error::statement(NAME, format!("{} {}: {message}", self.version, self.name))
    }
}

/// A migration and when it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationState {
    pub version: u32,
    pub name: &'static str,
    pub applied_at: Option<i64>,
}

/// How tables are distributed over the workers of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    /// The table of which every node has a copy.
    pub reference: &'static str,
    /// Each table that has this column is distributed by it.
    pub column: &'static str,
    /// A schema whose name begins so, and ends with a value of the column, is on one worker as a whole.
    pub schema_prefix: &'static str,
}

/// How tables lie on a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Nodes that hold shards.
    pub workers: i64,
    /// Distributed tables; none if all are on the coordinator.
    pub tables: i64,
    /// Shards of each of them, and how many of these hold one value of the column alone.
    pub shards: i64,
    pub isolated: i64,
    /// Schemas that are on a worker.
    pub schemas: i64,
    /// Tables and schemas that are not where they belong.
    pub astray: Vec<String>,
}

/// A row of the table of migrations.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) version: i64,
    pub(crate) checksum: String,
    pub(crate) at: i64,
}

/// Compares applied migrations with known ones and returns those still to apply.
pub(crate) fn pending<'m>(
    known: &'m [Migration],
    applied: &[Applied],
) -> Result<&'m [Migration], Error> {
    for (migration, expected) in known.iter().zip(1..) {
        if migration.version != expected {
            return Err(migration.refused(format!("expected version {expected} here")));
        }
    }
    for (row, expected) in applied.iter().zip(1u32..) {
        if row.version != i64::from(expected) {
            let message = format!("version {expected} was never applied but a later one was");
            return Err(Error::statement(NAME, message));
        }
        let Some(migration) = known.get(expected as usize - 1) else {
            break;
        };
        if migration.checksum() != row.checksum {
            return Err(Error::ChangedMigration { version: expected });
        }
    }
    if applied.len() > known.len() {
        let version = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        return Err(Error::NewerSchema {
            found: version(applied.len()),
            known: version(known.len()),
        });
    }
    Ok(&known[applied.len()..])
}

pub(crate) fn states(known: &[Migration], applied: &[Applied]) -> Vec<MigrationState> {
    let applied_at = |version: u32| {
        let row = applied.iter().find(|row| row.version == i64::from(version));
        row.map(|row| row.at)
    };
    known
        .iter()
        .map(|migration| MigrationState {
            version: migration.version,
            name: migration.name,
            applied_at: applied_at(migration.version),
        })
        .collect()
}
