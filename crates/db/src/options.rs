//! Limits of the database: every queue, pool and timeout has one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Value;

/// A statement that a closure runs.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    pub name: &'static str,
    /// The text, as the engine reads it.
    pub sql: &'a str,
    pub args: &'a [Value<'a>],
    /// SQLite: it runs on the connection that writes.
    pub is_on_writer: bool,
}

/// Receives each statement before it runs.
pub type Watch = Arc<dyn Fn(Ran<'_>) + Send + Sync>;

/// How a database is opened.
#[derive(Clone)]
pub struct Options {
    /// Maximum jobs waiting for the writer or the pool; more get [`Error::Busy`](crate::Error::Busy).
    pub queue: usize,
    /// SQLite: maximum closures in one commit.
    pub batch: usize,
    /// PostgreSQL: connections.
    pub pool: usize,
    /// Timeout of one statement.
    pub statement_deadline: Duration,
    /// Maximum wait of a job: in the queue, for a slow-read slot, for a connection, for the replacement of a
    /// lost connection. Also the time in which a PostgreSQL server must answer a probe, or it counts as down.
    pub wait: Duration,
    /// PostgreSQL: how long an announcement that was missed is waited for, while later ones are held back. Then it
    /// counts as lost with its process, and the reader gets a gap.
    pub announcement_wait: Duration,
    /// PostgreSQL: the address of a replica, for reads that [tolerate lag](crate::tolerate_lag), and how much at most.
    pub read_url: Option<String>,
    pub max_lag: Duration,
    /// SQLite: whether an acknowledged write survives a power loss, or only a crash of the process.
    pub durable: bool,
    /// SQLite: whether readers map the database file into memory, instead of copying pages out of the system's
    /// page cache. The process then seems to hold what it maps, and a page that the disk cannot read ends it.
    pub mmap: bool,
    /// Called when the writer died or its disk failed. No write is possible after that: the process should
    /// exit.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
    /// Called for each statement that closures run, for measurements and tests that count, explain or repeat them.
    pub on_statement: Option<Watch>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            queue: 4096,
            batch: 1024,
            pool: 8,
            statement_deadline: Duration::from_secs(5),
            wait: Duration::from_secs(5),
            announcement_wait: Duration::from_secs(3),
            read_url: None,
            max_lag: Duration::from_secs(5),
            durable: true,
            mmap: false,
            on_fatal: Arc::new(|cause| {
                eprintln!("fatal: {cause}");
                std::process::exit(70);
            }),
            on_statement: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("queue", &self.queue)
            .field("batch", &self.batch)
            .field("pool", &self.pool)
            .field("statement_deadline", &self.statement_deadline)
            .field("wait", &self.wait)
            .field("announcement_wait", &self.announcement_wait)
            .field("durable", &self.durable)
            .field("mmap", &self.mmap)
            .finish_non_exhaustive()
    }
}
