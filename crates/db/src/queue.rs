//! A bounded queue with many consumers. Full is an answer, not a wait; closing lets consumers finish what is there.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    waiting: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Queue {
            state: Mutex::new(State { items: VecDeque::new(), waiting: 0, closed: false }),
            filled: Condvar::new(),
            capacity: capacity.max(1),
        }
    }

    /// Nothing in here can panic half way, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the item back when the queue is full or closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.items.len() >= self.capacity {
            return Err(item);
        }
        state.items.push_back(item);
        let wake = state.waiting > 0;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Waits for at least one item and moves up to `most` into `into`. `false`: closed and empty.
    pub(crate) fn pop(&self, most: usize, into: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        while state.items.is_empty() {
            if state.closed {
                return false;
            }
            state.waiting += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        let count = state.items.len().min(most.max(1));
        into.extend(state.items.drain(..count));
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().items.len()
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Closes and takes what nobody will serve any more.
    pub(crate) fn abandon(&self) -> VecDeque<T> {
        let left = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.items)
        };
        self.filled.notify_all();
        left
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_closed_give_the_item_back() {
        let queue = Queue::new(2);
        assert_eq!(queue.push(1), Ok(()));
        assert_eq!(queue.push(2), Ok(()));
        assert_eq!(queue.push(3), Err(3));
        let mut taken = Vec::new();
        assert!(queue.pop(1, &mut taken));
        assert_eq!((taken.as_slice(), queue.len()), ([1].as_slice(), 1));
        queue.close();
        assert_eq!(queue.push(4), Err(4));
        assert!(queue.pop(9, &mut taken), "what was queued is still served");
        assert_eq!(taken, [1, 2]);
        assert!(!queue.pop(9, &mut taken));
    }
}
