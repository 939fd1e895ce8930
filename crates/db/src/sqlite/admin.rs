//! Migrations, scripts and plans on a connection of their own, like those of a second process.

use rusqlite::{TransactionBehavior, params};

use crate::migrate::{self, Applied, Migration, MigrationState};
use crate::statement::Text;
use crate::{Engine, Error, dialect};

use super::{Connection, errors};

impl Connection {
    pub(crate) fn migrate(
        &mut self,
        migrations: &[Migration],
        now_ms: i64,
    ) -> Result<Vec<u32>, Error> {
        let mut done = Vec::new();
        while let Some(version) = self.migrate_next(migrations, now_ms)? {
            done.push(version);
        }
        self.write_statistics()?;
        Ok(done)
    }

    /// Applies the first pending migration. Which one that is, is known only under the lock.
    fn migrate_next(
        &mut self,
        migrations: &[Migration],
        now_ms: i64,
    ) -> Result<Option<u32>, Error> {
        let transaction = self
            .raw_mut()
            .transaction_with_behavior(TransactionBehavior::Exclusive)
            .map_err(refused)?;
        let applied = applied(&transaction)?;
        let Some(migration) = migrate::pending(migrations, &applied)?.first() else {
            return Ok(None);
        };
        let table = script(migrate::TABLE)?;
        transaction.execute_batch(&table).map_err(refused)?;
        transaction
            .execute_batch(&migration.script(Engine::Sqlite)?)
            .map_err(|error| migration.refused(error))?;
        let record = dialect::statement(migrate::RECORD, Engine::Sqlite)
            .map_err(|message| migration.refused(message))?;
        let row = params![migration.version, migration.name, migration.checksum(), now_ms];
        transaction.execute(&record, row).map_err(refused)?;
        transaction.commit().map_err(refused)?;
        Ok(Some(migration.version))
    }

    pub(crate) fn pending_migrations(&self, migrations: &[Migration]) -> Result<usize, Error> {
        Ok(migrate::pending(migrations, &applied(self.raw())?)?.len())
    }

    pub(crate) fn migration_status(
        &self,
        migrations: &[Migration],
    ) -> Result<Vec<MigrationState>, Error> {
        Ok(migrate::states(migrations, &applied(self.raw())?))
    }

    /// Atomic, as PostgreSQL runs a script.
    pub(crate) fn script(&mut self, sql: &str) -> Result<(), Error> {
        let sql = script(sql)?;
        let failed = |connection: &rusqlite::Connection, error| {
            errors::failed(connection, "script", error).error
        };
        let transaction = self
            .raw_mut()
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(refused)?;
        transaction.execute_batch(&sql).map_err(|error| failed(&transaction, error))?;
        transaction.commit().map_err(refused)
    }

    pub(crate) fn explain(&self, text: &Text) -> Result<Vec<String>, Error> {
        let failed = |error| errors::failed(self.raw(), text.name, error).error;
        let sql = format!("EXPLAIN QUERY PLAN {}", text.on(Engine::Sqlite)?);
        let mut statement = self.raw().prepare(&sql).map_err(failed)?;
        let mut rows = statement.raw_query();
        let mut lines = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            lines.push(row.get("detail").map_err(failed)?);
        }
        Ok(lines)
    }
}

fn applied(connection: &rusqlite::Connection) -> Result<Vec<Applied>, Error> {
    // Read from the file: another process may have changed the schema that this connection caches.
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'";
    let count: i64 = connection.query_row(tables, [], |row| row.get(0)).map_err(refused)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(migrate::APPLIED).map_err(refused)?;
    let rows = statement
        .query_map([], |row| {
            Ok(Applied { version: row.get(0)?, checksum: row.get(1)?, at: row.get(2)? })
        })
        .map_err(refused)?;
    rows.collect::<Result<_, _>>().map_err(refused)
}

fn script(text: &str) -> Result<String, Error> {
    dialect::script(text, Engine::Sqlite).map_err(|message| Error::statement("script", message))
}

/// Waiting for the lock can end in BUSY; other errors keep their code.
fn refused(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy) => Error::Busy,
        Some(rusqlite::ErrorCode::DiskFull) => Error::Full,
        _ => Error::statement(migrate::NAME, error),
    }
}
