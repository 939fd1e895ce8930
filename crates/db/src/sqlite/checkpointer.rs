//! Checkpoints: copies the WAL into the database concurrently with the writer. The writer copies the little
//! it has added meanwhile; once everything is copied, the WAL restarts.

use std::cell::RefCell;
use std::path::PathBuf;
use std::thread::JoinHandle;

use crate::Options;

use super::Connection;
use super::connection::Access;
use super::errors::{self, Dead};

/// A passive checkpoint: copies everything that is not in use.
pub(super) fn copy(connection: &Connection) -> Result<(), Dead> {
    let copied = connection.raw().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    // Another process may be in the way: try later.
    match copied.as_ref().err().and_then(errors::disk_failure) {
        Some(cause) => Err(Dead(format!("checkpoint: {cause}"))),
        None => Ok(()),
    }
}

pub(super) struct Checkpointer {
    path: PathBuf,
    options: Options,
    copying: RefCell<Option<JoinHandle<Result<(), Dead>>>>,
}

impl Checkpointer {
    pub(super) fn new(path: PathBuf, options: Options) -> Self {
        Checkpointer { path, options, copying: RefCell::new(None) }
    }

    pub(super) fn rests(&self) -> bool {
        self.copying.borrow().is_none()
    }

    /// Starts a checkpoint; false if there is no thread for it. Without a connection the writer copies
    /// everything.
    pub(super) fn begin(&self) -> bool {
        let (path, options) = (self.path.clone(), self.options.clone());
        let copy = move || match Connection::open(&path, Access::Write, &options) {
            Ok(connection) => copy(&connection),
            Err(_) => Ok(()),
        };
        let thread = std::thread::Builder::new().name("db-checkpoint".to_owned()).spawn(copy);
        self.copying.replace(thread.ok());
        !self.rests()
    }

    /// The result of the started checkpoint, returned once. None while it runs, unless it is awaited.
    pub(super) fn outcome(&self, wait: bool) -> Option<Result<(), Dead>> {
        let thread = self.copying.take()?;
        if wait || thread.is_finished() {
            return Some(thread.join().unwrap_or(Ok(())));
        }
        self.copying.replace(Some(thread));
        None
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        // Its connection closes before the writer's, which leaves a short WAL behind.
        self.outcome(true);
    }
}
