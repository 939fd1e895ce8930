//! Limits how many slow reads run and wait at a time, so that quick reads keep their share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::{Error, Options};

/// Slow reads, on SQLite on blocking threads: bounded in number, running and waiting.
#[derive(Debug)]
pub(crate) struct SlowReads {
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
}

impl SlowReads {
    pub(crate) fn new(options: &Options, sqlite: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let slots = if sqlite { 2 * cores } else { (options.pool / 2).max(1) };
        SlowReads {
            slots: Arc::new(Semaphore::new(slots)),
            waiting: AtomicUsize::new(0),
            most_waiting: options.queue,
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    pub(crate) async fn slot(&self, until: Instant) -> Result<OwnedSemaphorePermit, Error> {
        let slots = Arc::clone(&self.slots);
        if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
            return Ok(slot);
        }
        let _waiting = Waiting::new(self)?;
        let slot = timeout_at(until.into(), slots.acquire_owned()).await;
        slot.map_err(|_| Error::Busy)?.map_err(|_| Error::Busy)
    }
}

/// Counts a waiting read, also if it gives up.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(slow: &'a SlowReads) -> Result<Self, Error> {
        let waiting = Waiting(&slow.waiting);
        if slow.waiting.fetch_add(1, Relaxed) >= slow.most_waiting {
            return Err(Error::Busy);
        }
        Ok(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
