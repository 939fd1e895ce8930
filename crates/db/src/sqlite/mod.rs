//! Embedded SQLite: one thread writes, pooled `query_only` connections read.

mod admin;
mod checkpointer;
mod connection;
mod decimal;
mod errors;
mod functions;
mod like;
mod readers;
mod syncer;
mod writer;

use connection::Access;
pub(crate) use connection::{Connection, expect_arguments};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use crate::announce::Board;
use crate::conn::Link;
use crate::job::{Job, guarded};
use crate::queue::Queue;
use crate::{Announcement, Announcements, Conn, Error, Options};
use readers::Readers;

/// An open SQLite database.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    options: Options,
    readers: Readers,
    queue: Arc<Queue<Box<dyn Job>>>,
    board: Arc<Board>,
    /// Closes when the writer has ended.
    ended: watch::Receiver<()>,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, options: Options) -> Result<Sqlite, Error> {
        let connection = Connection::open(path, Access::Write, &options)?;
        let queue = Arc::new(Queue::new(options.queue));
        let board = Arc::new(Board::default());
        let (writers, boards) = (Arc::clone(&queue), Arc::clone(&board));
        let ended = writer::start(path, connection, writers, boards, &options)?;
        Ok(Sqlite {
            path: path.to_owned(),
            readers: Readers::new(path, options.clone()),
            queue,
            board,
            ended,
            options,
        })
    }

    /// A connection of its own that writes, for migrations and scripts.
    pub(crate) fn connect(&self) -> Result<Connection, Error> {
        Connection::open(&self.path, Access::Write, &self.options)
    }

    /// Runs the closure here and now.
    pub(crate) fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&Conn<'_>) -> Result<T, E>,
        E: From<Error>,
    {
        let connection = self.readers.take()?;
        let mut whole = false;
        let result = guarded(|| {
            let result = work(&Conn::new(Link::Sqlite(&connection)));
            whole = true;
            result
        });
        if whole {
            self.readers.give_back(connection);
        }
        result
    }

    pub(crate) fn push(&self, job: Box<dyn Job>) -> Result<(), Error> {
        self.queue.push(job).map_err(|_| Error::Busy)
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

    /// Closes the doors. The writer finishes what is queued and ends.
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
