//! Whole tables: a snapshot that lasts, and rows written in bulk.

use crate::transfer::{TableName, quoted};
use crate::{Error, Value};

use super::{Connection, errors};

const NAME: &str = "transfer";

impl Connection {
    pub(crate) fn begin_snapshot(&self) -> Result<(), Error> {
        self.execute_plain("PRAGMA query_only = ON")?;
        // The transaction begins with its first read.
        self.execute_plain("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1")
    }

    /// Commits do not wait for the disk: what was written is synced at the end.
    pub(crate) fn begin_bulk(&self) -> Result<(), Error> {
        self.execute_plain("PRAGMA foreign_keys = OFF; PRAGMA synchronous = NORMAL")
    }

    pub(crate) fn end_bulk(&self) -> Result<(), Error> {
        self.execute_plain("PRAGMA synchronous = FULL")?;
        self.checkpoint("TRUNCATE")
    }

    pub(crate) fn insert_all(
        &self,
        table: &TableName,
        columns: &[String],
        rows: &[Vec<Value<'static>>],
    ) -> Result<(), Error> {
        self.execute_plain("BEGIN IMMEDIATE")?;
        if let Err(error) = self.append_all(table, columns, rows) {
            self.execute_plain("ROLLBACK")?;
            return Err(error);
        }
        self.execute_plain("COMMIT")?;
        // Nothing else keeps the WAL short here.
        self.checkpoint("PASSIVE")
    }

    /// The same in a transaction that has begun.
    pub(crate) fn append_all(
        &self,
        table: &TableName,
        columns: &[String],
        rows: &[Vec<Value<'static>>],
    ) -> Result<(), Error> {
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        let (table, names, places) = (table.quoted(), names.join(", "), places.join(", "));
        let insert = format!("INSERT INTO {table} ({names}) VALUES ({places})");
        let failed = |error| errors::failed(self.raw(), NAME, error).error;
        let mut statement = self.raw().prepare_cached(&insert).map_err(failed)?;
        for row in rows {
            statement.execute(rusqlite::params_from_iter(row)).map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn execute_plain(&self, sql: &str) -> Result<(), Error> {
        self.raw().execute_batch(sql).map_err(|error| errors::failed(self.raw(), NAME, error).error)
    }

    fn checkpoint(&self, mode: &str) -> Result<(), Error> {
        self.raw()
            .query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
            .map_err(|error| errors::failed(self.raw(), NAME, error).error)
    }

    pub(crate) fn dangling(&self) -> Result<Vec<String>, Error> {
        let failed = |error| errors::failed(self.raw(), NAME, error).error;
        let text = "SELECT \"table\" || ' refers to ' || parent || ': ' || count(*)
            FROM pragma_foreign_key_check GROUP BY \"table\", parent";
        let mut statement = self.raw().prepare(text).map_err(failed)?;
        let found = statement.query_map([], |row| row.get(0)).map_err(failed)?;
        found.collect::<Result<_, _>>().map_err(failed)
    }
}
