//! Announcements: broadcast by a transaction to every process on the database, after its commit and in commit
//! order. A process has one reader. Announcing never waits for it: when too much is unread, all of it is
//! dropped and the reader gets a gap.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Error;

/// Maximum unread bytes.
const MAX_UNREAD: usize = 64 * 1024 * 1024;

/// What the reader receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// Earlier announcements may have been lost; from here on all are received. Always the first.
    Gap,
    Heard(Announcement),
}

/// A text under a topic, as given to [`Tx::announce`](crate::Tx::announce).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    pub topic: String,
    pub text: String,
}

impl Announcement {
    /// Refuses what one of the engines could not carry.
    pub(crate) fn new(topic: &str, text: &str) -> Result<Self, Error> {
        if topic.contains(['\0', '\n']) || text.contains('\0') {
            return Err(Error::statement("announce", "NUL, or a topic of several lines"));
        }
        Ok(Announcement { topic: topic.to_owned(), text: text.to_owned() })
    }
}

/// The queue of unread announcements. Without a reader they are dropped.
#[derive(Default)]
pub(crate) struct Broadcast {
    state: Mutex<State>,
    filled: Notify,
    deserted: Notify,
}

#[derive(Default)]
struct State {
    has_reader: bool,
    closed: bool,
    unread: VecDeque<Announced>,
    bytes: usize,
}

impl Broadcast {
    /// The only reader at a time.
    pub(crate) fn reader(self: &Arc<Self>) -> Option<Announcements> {
        let mut state = self.lock();
        if state.has_reader || state.closed {
            return None;
        }
        state.has_reader = true;
        Some(Announcements { board: Arc::clone(self) })
    }

    pub(crate) fn post(&self, announced: impl IntoIterator<Item = Announcement>) {
        let mut state = self.lock();
        if !state.has_reader {
            return;
        }
        for announcement in announced {
            state.bytes += announcement.topic.len() + announcement.text.len();
            state.unread.push_back(Announced::Heard(announcement));
            if state.bytes > MAX_UNREAD {
                state.forget();
            }
        }
        drop(state);
        self.filled.notify_one();
    }

    /// Announcements were or may have been missed. Unread ones are dropped.
    pub(crate) fn gap(&self) {
        self.lock().forget();
        self.filled.notify_one();
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.deserted.notify_one();
    }

    /// Completes when there is no reader any more.
    pub(crate) async fn deserted(&self) {
        self.deserted.notified().await;
    }

    /// Nothing can panic halfway through a change, so a poisoned lock is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self) {
        self.unread.clear();
        self.bytes = 0;
        self.unread.push_back(Announced::Gap);
    }
}

impl fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcast")
            .field("unread", &self.lock().unread.len())
            .finish_non_exhaustive()
    }
}

/// The announcements of a database, as received by this process.
#[derive(Debug)]
pub struct Announcements {
    board: Arc<Broadcast>,
}

impl Announcements {
    /// Waits for the next one; `None` when the database was closed.
    pub async fn next(&mut self) -> Option<Announced> {
        loop {
            {
                let mut state = self.board.lock();
                if let Some(next) = state.unread.pop_front() {
                    if let Announced::Heard(Announcement { topic, text }) = &next {
                        state.bytes -= topic.len() + text.len();
                    }
                    return Some(next);
                }
                if state.closed {
                    return None;
                }
            }
            self.board.filled.notified().await;
        }
    }
}

impl Drop for Announcements {
    fn drop(&mut self) {
        let mut state = self.board.lock();
        state.has_reader = false;
        state.unread.clear();
        state.bytes = 0;
        drop(state);
        self.board.deserted.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> Announcement {
        Announcement { topic: "t".to_owned(), text: "x".repeat(MAX_UNREAD / 4) }
    }

    #[tokio::test]
    async fn what_is_too_much_becomes_a_gap() {
        let board = Arc::new(Broadcast::default());
        let mut reader = board.reader().unwrap();
        board.post((0..3).map(|_| large()));
        assert_eq!(reader.next().await, Some(Announced::Heard(large())));
        board.post((0..2).map(|_| large()));
        assert_eq!(reader.next().await, Some(Announced::Gap));
        board.post([large()]);
        assert_eq!(reader.next().await, Some(Announced::Heard(large())));
    }

    #[tokio::test]
    async fn there_is_one_reader_at_a_time_and_the_next_hears_nothing_old() {
        let board = Arc::new(Broadcast::default());
        board.post([large()]);
        let reader = board.reader().unwrap();
        assert!(board.reader().is_none());
        board.post([large()]);
        drop(reader);
        let mut reader = board.reader().unwrap();
        board.close();
        assert_eq!(reader.next().await, None);
    }
}
