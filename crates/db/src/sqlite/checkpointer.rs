//! Copies the WAL into the database beside the writer, who goes on meanwhile. What the writer has added by the
//! time that is done is little, and it copies that itself: once everything is copied, the WAL begins anew.

use std::cell::RefCell;
use std::path::PathBuf;
use std::thread::JoinHandle;

use crate::Options;

use super::Connection;
use super::connection::Access;
use super::errors::{self, Dead};

/// Copies everything that nobody reads or writes just now.
pub(super) fn copy(connection: &Connection) -> Result<(), Dead> {
    let copied = connection.raw().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    // Another process may be in the way: later, then.
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

    /// Begins to copy; false if there is no thread for it. Without a connection nothing is copied here, and all
    /// of it by the writer.
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

    /// What has become of the copy that was begun, told once. None while it goes on, unless it is waited for.
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
        // Its connection goes before the writer's, who leaves a short WAL behind.
        self.outcome(true);
    }
}
