//! The handle that everything else has.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use uuid::Uuid;

use crate::inner::{Backend, Inner, Kind};
use crate::postgres::{Postgres, Replica};
use crate::slow::SlowReads;
use crate::sqlite::Sqlite;
use crate::stats::{Histogram, now};
use crate::{
    Announcement, Announcements, Command, Conn, Engine, Error, Options, Query, Signal, Stats, Tx,
    companion, job,
};

const UNKNOWN_URL: &str = "a database URL is sqlite:///path/file.db or postgres://…";

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Db {
    inner: Arc<Inner>,
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
                signals: Arc::default(),
                reads: Histogram::default(),
                writes: Histogram::default(),
            }),
        })
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    pub fn engine(&self) -> Engine {
        match self.inner.backend {
            Backend::Sqlite(_) => Engine::Sqlite,
            Backend::Postgres(_) => Engine::Postgres,
        }
    }

    /// Whether statements can travel together, so that [`Tx::later`] and the like save round trips.
    pub fn can_pipeline(&self) -> bool {
        matches!(self.inner.backend, Backend::Postgres(_))
    }

    /// Short indexed reads. On SQLite they run right on the calling worker; slower ones belong into
    /// [`read_slow`](Db::read_slow).
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let mut work = job::read(work);
        if self.inner.read_here(&mut work)? {
            return job::result(&mut work);
        }
        let until = now() + self.inner.wait;
        job::result(&mut *self.inner.read_pooled(until, Box::new(work)).await?)
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
        job::result(&mut *Inner::read_slow(&self.inner, Box::new(job::read(work))).await?)
    }

    /// One transaction. The closure may run more than once, and only its last run counts: it must have no
    /// effects except on `tx`.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_as(Kind::Plain, work).await
    }

    /// The same, for work that writes much. On SQLite it shares its transaction with no other: then SQLite need not keep what
    /// its pages were before, which costs more the more of them change.
    pub async fn write_alone<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_as(Kind::Alone, work).await
    }

    /// The same, for writes that lock a row which many may write at once, under a key of their own. On
    /// PostgreSQL those that wait share a transaction, and none of them holds a connection while it waits.
    pub async fn write_contended<T, E, F>(&self, key: Uuid, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.write_as(Kind::Contended(key), work).await
    }

    async fn write_as<T, E, F>(&self, kind: Kind, work: F) -> Result<T, E>
    where
        F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let companion = companion::current();
        let work = job::write(work, companion.clone());
        let result = job::result(&mut *self.inner.write(kind, Box::new(work)).await?);
        if let Some(companion) = companion.filter(|_| result.is_ok()) {
            companion.committed();
        }
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

    /// What transactions of this process have [signalled](Tx::signal) and committed since the last call; waits until
    /// one has. There is one waiter at a time.
    pub async fn signalled(&self) -> Vec<Signal> {
        self.inner.signals.take().await
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
            pool: match &self.inner.backend {
                Backend::Sqlite(_) => None,
                Backend::Postgres(postgres) => Some(postgres.pool()),
            },
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
}
