//! Wake-ups after commits, within this process: a transaction names a key, and a waiting task gets the keys of all
//! transactions that were committed since.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

/// What a wake-up is about; the database does not know what it means.
pub type Signal = (uuid::Uuid, uuid::Uuid);

#[derive(Debug, Default)]
pub(crate) struct Signals {
    committed: Mutex<HashSet<Signal>>,
    notify: Notify,
}

impl Signals {
    pub(crate) fn add(&self, signals: Vec<Signal>) {
        if signals.is_empty() {
            return;
        }
        self.committed.lock().unwrap_or_else(PoisonError::into_inner).extend(signals);
        self.notify.notify_one();
    }

    /// Waits until there is one.
    pub(crate) async fn take(&self) -> Vec<Signal> {
        loop {
            let taken = {
                let mut committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *committed)
            };
            if !taken.is_empty() {
                return taken.into_iter().collect();
            }
            self.notify.notified().await;
        }
    }
}
