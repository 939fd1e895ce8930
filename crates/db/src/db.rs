//! The handle: where each kind of work runs on each engine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout_at;
use uuid::Uuid;

use crate::postgres::{Postgres, Replica};
use crate::slow::SlowReads;
use crate::sqlite::Sqlite;
use crate::stats::{Histogram, now};
use crate::{
    Announcement, Announcements, AnyStatement, Command, Conn, Distribution, Engine, Error, Layout,
    Migration, MigrationState, Options, Query, Stats, Tx, job, lag,
};

const UNKNOWN_URL: &str = "a database URL is sqlite:///path/file.db or postgres://…";

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

/// The result of an examination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// Problems; empty if there are none.
    pub findings: Vec<String>,
    /// What could not be checked, and why.
    pub skipped: Option<String>,
}

#[derive(Debug)]
struct Inner {
    backend: Backend,
    replica: Option<Replica>,
    slow: SlowReads,
    wait: Duration,
    closed: AtomicBool,
    reads: Histogram,
    writes: Histogram,
}

#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Db {
    /// Whether [`open`](Db::open) understands the address; opens nothing.
    pub fn check_url(url: &str) -> Result<(), Error> {
        match url.split_once("://") {
            Some(("sqlite", path)) if !path.is_empty() => Ok(()),
            Some(("postgres" | "postgresql", _)) => Postgres::check_url(url),
            _ => Err(Error::unreachable(UNKNOWN_URL)),
        }
    }

    /// Opens `sqlite:///path/file.db` or `postgres://…`. Blocks. Does not migrate.
    pub fn open(url: &str, options: Options) -> Result<Db, Error> {
        let slow = SlowReads::new(&options, url.starts_with("sqlite:"));
        let (wait, mut replica) = (options.wait, None);
        let backend = match url.split_once("://") {
            Some(("sqlite", path)) if !path.is_empty() => {
                Backend::Sqlite(Sqlite::open(Path::new(path), options)?)
            }
            Some(("postgres" | "postgresql", _)) => {
                let postgres = Postgres::open(url, &options)?;
                if let Some(url) = &options.read_url {
                    replica = Some(Replica::open(url, &postgres, options.clone())?);
                }
                Backend::Postgres(postgres)
            }
            _ => return Err(Error::unreachable(UNKNOWN_URL)),
        };
        Ok(Db {
            inner: Arc::new(Inner {
                backend,
                replica,
                slow,
                wait,
                closed: AtomicBool::new(false),
                reads: Histogram::default(),
                writes: Histogram::default(),
            }),
        })
    }

    pub fn engine(&self) -> Engine {
        match self.inner.backend {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Short indexed reads. On SQLite they run right on the calling worker; slower ones belong into
    /// [`read_slow`](Db::read_slow).
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.read_until(now() + self.inner.wait, work).await
    }

    /// `until`: how long the work may wait to start.
    async fn read_until<T, E, F>(&self, until: Instant, work: F) -> Result<T, E>
    where
        F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.inner.admit()?;
        let start = now();
        let result = match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work),
            Backend::Postgres(postgres) => {
                match self.inner.replica.as_ref().filter(|replica| replica.is_fit()) {
                    None => self.inner.read_primary(postgres, until, work).await,
                    Some(replica) => {
                        let work = Arc::new(Mutex::new(work));
                        // Enough time remains for the primary.
                        let soon = start + until.saturating_duration_since(start) / 2;
                        match replica.read(soon, Arc::clone(&work)).await {
                            Some(result) => result,
                            None => {
                                let work = move |c: &Conn<'_>| {
                                    work.lock().unwrap_or_else(PoisonError::into_inner)(c)
                                };
                                self.inner.read_primary(postgres, until, work).await
                            }
                        }
                    }
                }
            }
        };
        self.inner.reads.record(now() - start);
        result
    }

    /// Whether there is a replica for reads that [tolerate lag](crate::tolerate_lag).
    pub fn has_replica(&self) -> bool {
        self.inner.replica.is_some()
    }

    /// Reads that may be slow (lists with filters, counts): they never block an async worker.
    pub async fn read_slow<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.inner.admit()?;
        let start = now();
        let until = start + self.inner.wait;
        let slot = self.inner.slow.slot(until).await?;
        if let Backend::Postgres(_) = self.inner.backend {
            // At most half of the pool: the other half stays for quick reads.
            let result = self.read_until(until, work).await;
            drop(slot);
            return result;
        }
        let inner = Arc::clone(&self.inner);
        let reading = tokio::task::spawn_blocking(move || {
            // Held by the work, not by the caller: a caller who disconnects must not free the slot early.
            let _slot = slot;
            match &inner.backend {
                Backend::Sqlite(sqlite) => sqlite.read(work),
                Backend::Postgres(_) => Err(Error::Busy.into()),
            }
        });
        let result = reading.await.unwrap_or_else(|_| Err(Error::Busy.into()));
        self.inner.reads.record(now() - start);
        result
    }

    /// One transaction. The closure may run more than once, and only its last run counts: it must have no
    /// effects except on `tx`.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_with(None, work).await
    }

    /// The same, for writes that lock a row which many may write at once, under a key of their own. On
    /// PostgreSQL those that wait share a transaction, and none of them holds a connection while it waits.
    pub async fn write_contended<T, E, F>(&self, key: Uuid, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_with(Some(key), work).await
    }

    async fn write_with<T, E, F>(&self, key: Option<Uuid>, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        lag::note_write();
        let start = now();
        let until = start + self.inner.wait;
        let (job, answer) = job::write(key, until, work);
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.push(job)?,
            Backend::Postgres(postgres) => postgres.push(job)?,
        }
        // No reply at all: the thread died with the job, perhaps during COMMIT.
        let result = self.inner.received(answer, until, Error::OutcomeUnknown).await;
        self.inner.writes.record(now() - start);
        result
    }

    /// Announcements from now on, in commit order: those of this process, and on PostgreSQL those of every
    /// process on the database. Transactions on PostgreSQL that do not wait for each other's rows have any order.
    /// There is one reader at a time.
    pub fn announcements(&self) -> Result<Announcements, Error> {
        let reader = match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.announcements(),
            Backend::Postgres(postgres) => postgres.announcements()?,
        };
        reader.ok_or(Error::Busy)
    }

    /// Announces without a transaction, in no particular order relative to commits.
    pub fn announce(&self, topic: &str, text: &str) -> Result<(), Error> {
        self.inner.admit()?;
        let announcement = Announcement::new(topic, text)?;
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.announce(announcement),
            Backend::Postgres(postgres) => postgres.announce(announcement),
        }
        Ok(())
    }

    /// Checks that the database responds.
    pub async fn ping(&self) -> Result<(), Error> {
        static PING: Query<i64> = Query::declared("db::PING", "SELECT 1", None);
        self.read(|conn| conn.one(&PING, crate::args![]).map(drop)).await
    }

    /// A write that changes nothing and really goes to the disk.
    pub async fn touch(&self) -> Result<(), Error> {
        /// An unused number that stays zero. Setting it still writes a page.
        static PAGE: Command<()> = Command::declared("db::PAGE", "PRAGMA user_version = 0", None);
        static TRANSACTION: Query<i64> =
            Query::declared("db::TRANSACTION", "SELECT txid_current()", None);
        let engine = self.engine();
        let written = self.write(move |tx| match engine {
            Engine::Sqlite => tx.execute(&PAGE, crate::args![]).map(drop),
            Engine::Postgres => tx.one(&TRANSACTION, crate::args![]).map(drop),
        });
        written.await
    }

    /// Whether the last write found the disk full. A later successful write clears this.
    pub fn is_full(&self) -> bool {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.is_full(),
            Backend::Postgres(postgres) => postgres.is_full(),
        }
    }

    /// SQLite: truncates the write-ahead log, which still holds deleted data. Busy while other connections
    /// use it. On PostgreSQL, VACUUM removes deleted rows.
    pub async fn empty_log(&self) -> Result<(), Error> {
        self.inner.admit()?;
        let inner = Arc::clone(&self.inner);
        let emptied = tokio::task::spawn_blocking(move || match &inner.backend {
            Backend::Sqlite(sqlite) => sqlite.empty_log(),
            Backend::Postgres(_) => Ok(()),
        });
        emptied.await.unwrap_or(Err(Error::Panic))
    }

    pub fn stats(&self) -> Stats {
        let queue_depth = match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.queue_depth() + self.inner.slow.waiting(),
            Backend::Postgres(postgres) => postgres.queue_depth(),
        };
        Stats {
            queue_depth,
            silent: self.inner.is_silent(),
            reads: self.inner.reads.snapshot(),
            writes: self.inner.writes.snapshot(),
            replica: self.inner.replica.as_ref().map(Replica::stats),
        }
    }

    /// Finishes what is queued, checkpoints (SQLite) and closes. Afterwards every call is [`Error::Busy`].
    pub async fn close(&self) {
        self.inner.closed.store(true, Relaxed);
        self.inner.replica.iter().for_each(Replica::shut);
        let mut ended = match &self.inner.backend {
            Backend::Sqlite(sqlite) => {
                sqlite.shut();
                sqlite.ended()
            }
            Backend::Postgres(postgres) => {
                postgres.shut();
                postgres.ended()
            }
        };
        // Nothing is ever sent: the channel closes with the last thread.
        while ended.changed().await.is_ok() {}
    }

    /// Applies pending migrations on this thread, and returns their versions.
    pub fn migrate(&self, migrations: &[Migration], now_ms: i64) -> Result<Vec<u32>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.migrate(migrations, now_ms),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.migrate(migrations, now_ms))
            }
        }
    }

    pub fn migration_status(&self, migrations: &[Migration]) -> Result<Vec<MigrationState>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.migration_status(migrations),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.migration_status(migrations))
            }
        }
    }

    /// Distributes the tables over the workers of a cluster, as far as they are not; returns what was moved.
    /// `None` if the database cannot: it is not PostgreSQL with the extension Citus.
    pub fn distribute(&self, how: &Distribution) -> Result<Option<Vec<String>>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => postgres.alone(|session| match session.is_cluster {
                true => session.distribute(how).map(Some),
                false => Ok(None),
            }),
        }
    }

    /// Gives the rows with this value of the distribution column shards of their own; false if they have them.
    pub fn isolate(&self, value: &str) -> Result<bool, Error> {
        match &self.inner.backend {
            Backend::Sqlite(_) => Ok(false),
            Backend::Postgres(postgres) => postgres.alone(|session| session.isolate(value)),
        }
    }

    /// How the tables lie on a cluster; `None` if the database is none.
    pub fn layout(&self, how: &Distribution) -> Result<Option<Layout>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(postgres) => postgres.alone(|session| session.layout(how)),
        }
    }

    /// How many migrations are still to be applied; an error if the schema is newer, or not the one that is known.
    pub fn pending_migrations(&self, migrations: &[Migration]) -> Result<usize, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.pending_migrations(migrations),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.pending_migrations(migrations))
            }
        }
    }

    /// Checks the integrity of the whole database, which takes a while.
    pub fn examine(&self) -> Result<Examination, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => {
                Ok(Examination { findings: sqlite.connect()?.examine(), skipped: None })
            }
            Backend::Postgres(postgres) => postgres.alone(|session| session.examine()),
        }
    }

    /// Prepares a statement and compares its columns with its row type, for the test of all statements.
    pub fn prepare(&self, statement: &dyn AnyStatement) -> Result<(), Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.check(statement.inner()),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.check(statement.inner()))
            }
        }
    }

    /// The lines of the plan the engine would use whatever the arguments.
    pub fn explain(&self, statement: &dyn AnyStatement) -> Result<Vec<String>, Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.explain(statement.inner()),
            Backend::Postgres(postgres) => {
                postgres.alone(|session| session.explain(statement.inner()))
            }
        }
    }

    /// Several statements in one transaction, dialect tokens expanded; for seeding and ANALYZE.
    pub fn execute_script(&self, sql: &str) -> Result<(), Error> {
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.connect()?.script(sql),
            Backend::Postgres(postgres) => postgres.alone(|session| session.script(sql)),
        }
    }
}

impl Inner {
    /// Refuses work that would only wait.
    fn admit(&self) -> Result<(), Error> {
        if self.closed.load(Relaxed) {
            return Err(Error::Busy);
        }
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => postgres.admit(),
        }
    }

    async fn read_primary<T, E, F>(
        &self,
        postgres: &Postgres,
        until: Instant,
        work: F,
    ) -> Result<T, E>
    where
        F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, answer) = job::read(until, work);
        postgres.push(job)?;
        self.received(answer, until, Error::Busy).await
    }

    fn is_silent(&self) -> bool {
        matches!(&self.backend, Backend::Postgres(postgres) if postgres.is_silent())
    }

    /// The reply of a job. A job that is still queued by then is refused; a running one is bounded by the
    /// deadlines of its statements. `none`: the error for no reply at all.
    async fn received<T, E: From<Error>>(
        &self,
        mut answer: oneshot::Receiver<Result<T, E>>,
        until: Instant,
        none: Error,
    ) -> Result<T, E> {
        let answered = match timeout_at(until.into(), &mut answer).await {
            Ok(answered) => answered,
            Err(_) => {
                match &self.backend {
                    Backend::Sqlite(sqlite) => sqlite.expire(),
                    Backend::Postgres(postgres) => postgres.expire(),
                }
                answer.await
            }
        };
        answered.unwrap_or_else(|_| Err(none.into()))
    }
}
