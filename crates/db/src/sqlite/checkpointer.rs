//! Copies the WAL into the database beside the writer, who goes on meanwhile. What the writer has added by the
//! time that is done is little, and it copies that itself: once everything is copied, the WAL begins anew.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use crate::{Error, Options};

use super::connection::Access;
use super::{Connection, errors};

/// The disk failed.
pub(super) struct Failed(pub(super) String);

/// Copies everything that nobody reads or writes just now.
pub(super) fn copy(connection: &Connection) -> Result<(), Failed> {
    let copied = connection.raw().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    // Another process may be in the way: later, then.
    match copied.as_ref().err().and_then(errors::disk_failure) {
        Some(cause) => Err(Failed(format!("checkpoint: {cause}"))),
        None => Ok(()),
    }
}

/// What is told of a copy.
pub(super) enum Progress {
    Resting,
    Copying,
    Done(Result<(), Failed>),
}

pub(super) struct Checkpointer {
    ask: Option<SyncSender<()>>,
    told: Receiver<Result<(), Failed>>,
    copying: Cell<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(path: PathBuf, options: Options) -> Result<Checkpointer, Error> {
        let (ask, asked) = sync_channel::<()>(1);
        let (tell, told) = sync_channel(1);
        let serve = move || {
            // Opened when there is something to do, which for most short lives is never.
            let mut connection = None;
            while asked.recv().is_ok() {
                if connection.is_none() {
                    connection = Connection::open(&path, Access::Write, &options).ok();
                }
                // Without a connection nothing is copied here, and all of it by the writer.
                let copied = connection.as_ref().map_or(Ok(()), copy);
                if tell.send(copied).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("db-checkpoint".to_owned())
            .spawn(serve)
            .map_err(Error::unreachable)?;
        Ok(Checkpointer { ask: Some(ask), told, copying: Cell::new(false), thread: Some(thread) })
    }

    /// Begins to copy.
    pub(super) fn begin(&self) {
        if let Some(ask) = &self.ask {
            self.copying.set(ask.try_send(()).is_ok());
        }
    }

    /// How far the copy is that was begun; the end of one is told once.
    pub(super) fn progress(&self) -> Progress {
        if !self.copying.get() {
            return Progress::Resting;
        }
        match self.told.try_recv() {
            Err(TryRecvError::Empty) => Progress::Copying,
            Err(TryRecvError::Disconnected) => self.done(Ok(())),
            Ok(copied) => self.done(copied),
        }
    }

    /// Waits for the end of a copy that was begun.
    pub(super) fn finish(&self) -> Result<(), Failed> {
        self.copying.set(false);
        self.told.recv().unwrap_or(Ok(()))
    }

    fn done(&self, copied: Result<(), Failed>) -> Progress {
        self.copying.set(false);
        Progress::Done(copied)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
