//! What an administrator or a test does with a database, on the calling thread: migrating, distributing,
//! examining, explaining.

use crate::db::Db;
use crate::inner::Backend;
use crate::{AnyStatement, Distribution, Error, Layout, Migration, MigrationState};

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// Problems; empty if there are none.
    pub findings: Vec<String>,
    /// What could not be checked, and why.
    pub skipped: Option<String>,
}

impl Db {
    /// Applies pending migrations on this thread, and returns their versions.
    pub fn migrate(&self, migrations: &[Migration], now_ms: i64) -> Result<Vec<u32>, Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.migrate(migrations, now_ms),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.migrate(migrations, now_ms))
            }
        }
    }

    pub fn migration_status(&self, migrations: &[Migration]) -> Result<Vec<MigrationState>, Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.migration_status(migrations),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.migration_status(migrations))
            }
        }
    }

    /// Distributes the tables over the workers of a cluster, as far as they are not; returns what was moved.
    /// `None` if the database cannot: it is not PostgreSQL with the extension Citus.
    pub fn distribute(&self, how: &Distribution) -> Result<Option<Vec<String>>, Error> {
        match self.backend() {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => postgres.alone(|session| match session.is_cluster {
                true => session.distribute(how).map(Some),
                false => Ok(None),
            }),
        }
    }

    /// Gives the rows with this value of the distribution column shards of their own; false if they have them.
    pub fn isolate(&self, value: &str) -> Result<bool, Error> {
        match self.backend() {
            Backend::Sqlite(_) => Ok(false),
            Backend::Postgres(postgres) => postgres.alone(|session| session.isolate(value)),
        }
    }

    /// How the tables lie on a cluster; `None` if the database is none.
    pub fn layout(&self, how: &Distribution) -> Result<Option<Layout>, Error> {
        match self.backend() {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => postgres.alone(|session| session.layout(how)),
        }
    }

    /// How many migrations are still to be applied; an error if the schema is newer, or not the one that is known.
    pub fn pending_migrations(&self, migrations: &[Migration]) -> Result<usize, Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.pending_migrations(migrations),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.pending_migrations(migrations))
            }
        }
    }

    /// Checks the integrity of the whole database, which takes a while.
    pub fn examine(&self) -> Result<Examination, Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => {
                Ok(Examination { findings: sqlite.connect()?.examine(), skipped: None })
            }
            Backend::Postgres(postgres) => postgres.alone(|session| session.examine()),
        }
    }

    /// Prepares a statement and compares its columns with its row type, for the test of all statements.
    pub fn prepare(&self, statement: &dyn AnyStatement) -> Result<(), Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.check(statement.inner()),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.check(statement.inner()))
            }
        }
    }

    /// The lines of the plan the engine would use whatever the arguments.
    pub fn explain(&self, statement: &dyn AnyStatement) -> Result<Vec<String>, Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.explain(statement.inner()),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.explain(statement.inner()))
            }
        }
    }

    /// Several statements in one transaction, dialect tokens expanded; for seeding and ANALYZE.
    pub fn execute_script(&self, sql: &str) -> Result<(), Error> {
        match self.backend() {
            Backend::Sqlite(sqlite) => sqlite.connect()?.script(sql),
            Backend::Postgres(postgres) => postgres.alone(|session| session.script(sql)),
        }
    }
}
