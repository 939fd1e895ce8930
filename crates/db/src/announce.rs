//! Announcements: what a transaction tells every process on the database, once it is committed and in the
//! order of the commits. A process has one reader of them. Announcing never waits for it: when too much is
//! unread, all of that is forgotten and the reader is told of a gap.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Error;

/// Bytes that may wait for the reader.
const MAX_UNREAD: usize = 64 * 1024 * 1024;

/// What the reader hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// What was announced before may have been lost; from here on everything is heard. Always the first.
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

/// Where announcements wait for their reader. Without a reader they are forgotten.
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
    /// The reader, of which there is one at a time.
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

    /// Something was or may have been missed. What is still unread is of no more use then.
    pub(crate) fn gap(&self) {
        self.lock().forget();
        self.filled.notify_one();
    }

    /// No more is to come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_one();
        self.deserted.notify_one();
    }

    /// Completes when nobody reads any more.
    pub(crate) async fn deserted(&self) {
        self.deserted.notified().await;
    }

    /// Nothing in here can panic half way, so a poisoned lock is as good as any.
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

/// The announcements of a database, as this process hears them.
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
