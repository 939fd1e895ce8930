//! A bounded queue with many consumers. A full queue refuses instead of waiting; closing lets consumers
//! finish what is queued. The most recently idle consumer is woken first (LIFO): its connection has the
//! freshest caches, and the others stay idle, or unopened, while one is enough.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    waiting: Vec<Thread>,
    closed: bool,
}

impl<T> State<T> {
    /// Closes the queue and wakes all waiting consumers.
    fn close(&mut self) -> Vec<Thread> {
        self.closed = true;
        std::mem::take(&mut self.waiting)
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Queue {
            state: Mutex::new(State { items: VecDeque::new(), waiting: Vec::new(), closed: false }),
            capacity: capacity.max(1),
        }
    }

    /// Nothing can panic halfway through a change, so a poisoned lock is still consistent.
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
        let called = state.waiting.pop();
        drop(state);
        if let Some(thread) = called {
            thread.unpark();
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
            let this = thread::current();
            state.waiting.push(this.clone());
            drop(state);
            thread::park();
            state = self.lock();
            // A spurious wake-up.
            state.waiting.retain(|thread| thread.id() != this.id());
        }
        let count = state.items.len().min(most.max(1));
        into.extend(state.items.drain(..count));
        true
    }

    /// Removes the items that are due, at any position.
    pub(crate) fn take(&self, is_due: impl Fn(&T) -> bool) -> Vec<T> {
        let mut state = self.lock();
        if !state.items.iter().any(&is_due) {
            return Vec::new();
        }
        let (due, kept): (Vec<T>, Vec<T>) = state.items.drain(..).partition(is_due);
        state.items.extend(kept);
        due
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().items.len()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(crate) fn close(&self) {
        let waiting = self.lock().close();
        waiting.iter().for_each(Thread::unpark);
    }

    /// Closes and returns what will not be served any more.
    pub(crate) fn abandon(&self) -> VecDeque<T> {
        let mut state = self.lock();
        let (waiting, left) = (state.close(), std::mem::take(&mut state.items));
        drop(state);
        waiting.iter().for_each(Thread::unpark);
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
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

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

    #[test]
    fn what_is_due_is_taken_and_the_rest_keeps_its_order() {
        let queue = Queue::new(9);
        (1..=5).for_each(|number| queue.push(number).unwrap());
        assert_eq!(queue.take(|number| number % 2 == 0), [2, 4]);
        assert_eq!(queue.take(|number| *number > 5), [0; 0]);
        let mut left = Vec::new();
        assert!(queue.pop(9, &mut left));
        assert_eq!(left, [1, 3, 5]);
    }

    #[test]
    fn one_consumer_serves_what_comes_one_at_a_time() {
        let queue = Arc::new(Queue::new(9));
        let (tell, told) = channel();
        let consume = |_| {
            let (queue, tell) = (queue.clone(), tell.clone());
            let mut taken = Vec::new();
            thread::spawn(move || {
                while queue.pop(1, &mut taken) {
                    tell.send((thread::current().id(), taken.pop())).unwrap();
                }
            })
        };
        let consumers: Vec<_> = (0..4).map(consume).collect();
        let all_wait = |queue: &Queue<i32>| {
            while queue.lock().waiting.len() < 4 {
                thread::yield_now();
            }
        };
        let mut served_by = HashSet::new();
        for number in 0..20 {
            all_wait(&queue);
            queue.push(number).unwrap();
            let (thread, served) = told.recv().unwrap();
            assert_eq!(served, Some(number));
            served_by.insert(thread);
        }
        assert_eq!(served_by.len(), 1);
        queue.close();
        consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
    }
}
