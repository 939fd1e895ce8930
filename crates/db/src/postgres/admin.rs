//! Migrations, scripts and plans.

use tokio_postgres::SimpleQueryMessage;

use crate::migrate::{self, Applied, Migration, MigrationState, NAME};
use crate::statement::Text;
use crate::{Engine, Error, dialect};

use super::announcer;
use super::session::Session;

/// The advisory lock's key: any number that all nodes share.
const MIGRATION_LOCK: i64 = 0x6d69_6772_6174_6531;

impl Session {
    /// An error leaves lock and transaction open; the caller drops the session with them.
    pub(crate) fn migrate(&self, migrations: &[Migration], now_ms: i64) -> Result<Vec<u32>, Error> {
        let client = self.client();
        self.lock_migrations()?;
        let applied = self.applied()?;
        let pending = migrate::pending(migrations, &applied)?;
        if !self.has(announcer::SEQUENCE)? {
            self.batch(announcer::CREATE_SEQUENCE)?;
        }
        for migration in pending {
            self.batch("BEGIN")?;
            self.batch(&script(migrate::TABLE)?)?;
            self.apply(&migration.script(Engine::Postgres)?)
                .map_err(|error| migration.refused(error))?;
            let (version, checksum) = (i64::from(migration.version), migration.checksum());
            let row: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&version, &migration.name, &checksum, &now_ms];
            self.patiently(NAME, client.execute(migrate::RECORD, &row))?;
            self.batch("COMMIT")?;
        }
        self.unlock_migrations()?;
        Ok(pending.iter().map(|migration| migration.version).collect())
    }

    /// On a cluster each new table is distributed before the next statement of the script fills it.
    fn apply(&self, script: &str) -> Result<(), Error> {
        let Some(column) = self.distribution_column()? else { return self.batch(script) };
        self.begin_on_cluster()?;
        for statement in dialect::split(script) {
            self.batch(statement)?;
            self.distribute_new(&column)?;
        }
        Ok(())
    }

    pub(super) fn lock_migrations(&self) -> Result<(), Error> {
        self.batch("SET statement_timeout = 0")?;
        self.batch(&format!("SELECT pg_advisory_lock({MIGRATION_LOCK})"))
    }

    pub(super) fn unlock_migrations(&self) -> Result<(), Error> {
        self.batch(&format!("SELECT pg_advisory_unlock({MIGRATION_LOCK})"))
    }

    pub(crate) fn pending_migrations(&self, migrations: &[Migration]) -> Result<usize, Error> {
        Ok(migrate::pending(migrations, &self.applied()?)?.len())
    }

    pub(crate) fn migration_status(
        &self,
        migrations: &[Migration],
    ) -> Result<Vec<MigrationState>, Error> {
        Ok(migrate::states(migrations, &self.applied()?))
    }

    fn applied(&self) -> Result<Vec<Applied>, Error> {
        if !self.has("schema_migrations")? {
            return Ok(Vec::new());
        }
        let rows = self.patiently(NAME, self.client().query(migrate::APPLIED, &[]))?;
        let read = |row: &tokio_postgres::Row| {
            Ok(Applied { version: row.try_get(0)?, checksum: row.try_get(1)?, at: row.try_get(2)? })
        };
        rows.iter()
            .map(read)
            .collect::<Result<_, tokio_postgres::Error>>()
            .map_err(|error| Error::statement(NAME, error))
    }

    /// Whether there is a table or a sequence with this name.
    fn has(&self, name: &str) -> Result<bool, Error> {
        let found = "SELECT to_regclass($1::text) IS NOT NULL";
        let found = self.patiently(NAME, self.client().query_one(found, &[&name]))?;
        Ok(found.get(0))
    }

    pub(crate) fn script(&self, sql: &str) -> Result<(), Error> {
        self.batch("SET statement_timeout = 0")?;
        self.patiently("script", self.client().batch_execute(&script(sql)?))
    }

    /// Prepares the statement and compares its columns.
    pub(crate) fn check(&self, text: &Text) -> Result<(), Error> {
        let prepared = self.prepared(text).map_err(|failed| failed.error)?;
        text.compare(prepared.columns().iter().map(|column| column.name()))
    }

    /// The generic plan, which frequently used statements end up with.
    pub(crate) fn explain(&self, text: &Text) -> Result<Vec<String>, Error> {
        let sql = text.on(Engine::Postgres)?;
        let prepared = self.prepared_as(text.name, sql, None).map_err(|failed| failed.error)?;
        self.batch("SET plan_cache_mode = force_generic_plan")?;
        let client = self.client();
        self.patiently(text.name, client.batch_execute(&format!("PREPARE explained AS {sql}")))?;
        let nulls = vec!["NULL"; prepared.statement.params().len()].join(", ");
        let arguments = if nulls.is_empty() { nulls } else { format!("({nulls})") };
        let explain = format!("EXPLAIN EXECUTE explained{arguments}");
        let messages = self.patiently(text.name, client.simple_query(&explain))?;
        self.batch("DEALLOCATE explained; RESET plan_cache_mode")?;
        let lines = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(lines.collect())
    }

    pub(super) fn batch(&self, sql: &str) -> Result<(), Error> {
        self.patiently(NAME, self.client().batch_execute(sql))
    }
}

fn script(text: &str) -> Result<String, Error> {
    dialect::script(text, Engine::Postgres).map_err(|message| Error::statement("script", message))
}
