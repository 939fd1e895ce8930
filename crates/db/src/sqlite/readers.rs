//! Pooled reading connections, opened on demand. A connection that saw a panic is dropped.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Error, Options};

use super::{Access, Connection};

/// Maximum idle connections; further ones are closed when returned.
const KEPT: usize = 16;

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: Options,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    connections: Vec<Connection>,
    closed: bool,
}

impl Readers {
    pub(super) fn new(path: &Path, options: Options) -> Self {
        Readers { path: path.to_owned(), options, idle: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Result<Connection, Error> {
        {
            let mut idle = self.lock();
            if idle.closed {
                return Err(Error::Busy);
            }
            if let Some(connection) = idle.connections.pop() {
                return Ok(connection);
            }
        }
        Connection::open(&self.path, Access::Read, &self.options)
    }

    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.lock();
        if !idle.closed && idle.connections.len() < KEPT {
            idle.connections.push(connection);
        }
    }

    pub(super) fn close(&self) {
        let connections = {
            let mut idle = self.lock();
            idle.closed = true;
            std::mem::take(&mut idle.connections)
        };
        drop(connections);
    }
}
