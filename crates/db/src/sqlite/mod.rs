//! Embedded SQLite: one thread writes, pooled `query_only` connections read.

mod admin;
mod bulk;
mod checkpointer;
mod connection;
mod decimal;
mod errors;
mod examine;
mod functions;
mod like;
mod private;
mod readers;
mod statistics;
mod syncer;
mod writer;

use connection::Access;
pub(crate) use connection::{Connection, expect_arguments};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::watch;

use crate::announce::Broadcast;
use crate::conn::Link;
use crate::job::{self, Job, Work};
use crate::queue::Queue;
use crate::{Announcement, Announcements, Error, Options, Tx};
use readers::Readers;

/// How long truncating the WAL waits for readers and writers.
const LOG_PATIENCE: Duration = Duration::from_millis(200);

/// An open SQLite database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    options: Options,
    readers: Readers,
    queue: Arc<Queue<Job>>,
    board: Arc<Broadcast>,
    full: Arc<AtomicBool>,
    /// Closes when the writer has ended.
    ended: watch::Receiver<()>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, options: Options) -> Result<Sqlite, Error> {
        private::keep(path);
        let connection = Connection::open(path, Access::Write, &options)?;
        let queue = Arc::new(Queue::new(options.queue));
        let board = Arc::new(Broadcast::default());
        let (writers, boards) = (Arc::clone(&queue), Arc::clone(&board));
        let full = Arc::<AtomicBool>::default();
        let ended = writer::start(path, connection, writers, boards, Arc::clone(&full), &options)?;
        Ok(Sqlite {
            path: path.to_owned(),
            readers: Readers::new(path, options.clone()),
            queue,
            board,
            full,
            ended,
            options,
        })
    }

    /// A separate writing connection, for migrations and scripts.
    pub(crate) fn connect(&self) -> Result<Connection, Error> {
        Connection::open(&self.path, Access::Write, &self.options)
    }

    /// Runs the work on the calling thread.
    pub(crate) fn read(&self, work: &mut dyn Work) -> Result<(), Error> {
        let connection = self.readers.take()?;
        job::guarded(work, &Tx::reading(Link::Sqlite(&connection)))?;
        self.readers.give_back(connection);
        Ok(())
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), Error> {
        self.queue.push(job).map_err(|_| Error::Busy)
    }

    /// Refuses jobs that have waited too long. They never ran and never will.
    pub(crate) fn expire(&self) {
        job::expire(&self.queue);
    }

    /// Whether the disk was full at the last write.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// Copies the WAL into the database and truncates it, so that it holds no deleted data. Busy, after a
    /// moment, while others read it.
    pub(crate) fn empty_log(&self) -> Result<(), Error> {
        let connection = self.connect()?;
        // Writers wait meanwhile, so the timeout is short.
        connection.raw().busy_timeout(LOG_PATIENCE).map_err(Error::unreachable)?;
        let is_busy = connection
            .raw()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))
            .map_err(|error| errors::failed(connection.raw(), "wal_checkpoint", error).error)?;
        if is_busy { Err(Error::Busy) } else { Ok(()) }
    }

    pub(crate) fn announce(&self, announcement: Announcement) {
        self.board.post([announcement]);
    }

    pub(crate) fn announcements(&self) -> Option<Announcements> {
        let reader = self.board.reader()?;
        self.board.gap();
        Some(reader)
    }

    pub(crate) fn queue_depth(&self) -> usize {
        self.queue.len()
    }

    /// Closes the queue. The writer finishes queued jobs and ends.
    pub(crate) fn shut(&self) {
        self.readers.close();
        self.queue.close();
    }

    pub(crate) fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.shut();
    }
}
