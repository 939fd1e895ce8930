//! A bounded queue with many consumers. A full queue refuses instead of waiting; closing lets consumers
//! finish what is queued. The most recently idle consumer is woken first (LIFO): its connection has the
//! freshest caches, and the others stay idle, or unopened, while one is enough.
//!
//! Items may have a key. Those with the same key are handed out together, and never to two consumers at once.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};

use uuid::Uuid;

/// Maximum items of one key that are handed out together.
const MAX_TOGETHER: usize = 32;

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    capacity: usize,
    key: fn(&T) -> Option<Uuid>,
}

struct State<T> {
    items: VecDeque<T>,
    /// The keys of items that were handed out and are not done.
    busy: HashSet<Uuid>,
    waiting: Vec<Thread>,
    closed: bool,
}

impl<T> State<T> {
    /// The first item that may be handed out.
    fn ready(&self, key: fn(&T) -> Option<Uuid>) -> Option<usize> {
        let is_ready = |item| key(item).is_none_or(|key| !self.busy.contains(&key));
        self.items.iter().position(is_ready)
    }

    /// Takes the item with further ones of its key; or, if it has none, up to `most` without a key.
    fn hand_out(&mut self, at: usize, most: usize, key: fn(&T) -> Option<Uuid>, into: &mut Vec<T>) {
        let shared = self.items.get(at).and_then(key);
        self.busy.extend(shared);
        let (mut index, mut left) = (at, if shared.is_some() { MAX_TOGETHER } else { most.max(1) });
        while left > 0
            && let Some(item) = self.items.get(index)
        {
            if key(item) == shared {
                into.extend(self.items.remove(index));
                left -= 1;
            } else {
                index += 1;
            }
        }
    }

    /// Closes the queue and wakes all waiting consumers.
    fn close(&mut self) -> Vec<Thread> {
        self.closed = true;
        std::mem::take(&mut self.waiting)
    }
}

impl<T> Queue<T> {
    /// A queue of items without keys.
    pub(crate) fn new(capacity: usize) -> Self {
        Queue::keyed(capacity, |_| None)
    }

    pub(crate) fn keyed(capacity: usize, key: fn(&T) -> Option<Uuid>) -> Self {
        let (items, busy, waiting) = (VecDeque::new(), HashSet::new(), Vec::new());
        Queue {
            state: Mutex::new(State { items, busy, waiting, closed: false }),
            capacity: capacity.max(1),
            key,
        }
    }

    /// Nothing can panic halfway through a change, so a poisoned lock is still consistent.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Consumers that wait for an item.
    pub(crate) fn idle(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Gives the item back when the queue is full or closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed || state.items.len() >= self.capacity {
            return Err(item);
        }
        let is_ready = (self.key)(&item).is_none_or(|key| !state.busy.contains(&key));
        state.items.push_back(item);
        let called = if is_ready { state.waiting.pop() } else { None };
        drop(state);
        if let Some(thread) = called {
            thread.unpark();
        }
        Ok(())
    }

    /// Waits for at least one item and moves up to `most` into `into`, or all of one key. `false`: closed and
    /// empty.
    pub(crate) fn pop(&self, most: usize, into: &mut Vec<T>) -> bool {
        self.pop_after(None, most, into)
    }

    /// The same, when the items of the key that were handed out before are done.
    pub(crate) fn pop_after(&self, done: Option<Uuid>, most: usize, into: &mut Vec<T>) -> bool {
        let mut state = self.lock();
        if let Some(key) = done {
            state.busy.remove(&key);
        }
        let ready = loop {
            if let Some(ready) = state.ready(self.key) {
                break ready;
            }
            if state.closed && state.items.is_empty() {
                // Those that found only busy items have nothing to wait for any more.
                let waiting = std::mem::take(&mut state.waiting);
                drop(state);
                waiting.iter().for_each(Thread::unpark);
                return false;
            }
            let this = thread::current();
            state.waiting.push(this.clone());
            drop(state);
            thread::park();
            state = self.lock();
            // A spurious wake-up.
            state.waiting.retain(|thread| thread.id() != this.id());
        };
        state.hand_out(ready, most, self.key, into);
        // Pushing an item of a busy key wakes nobody: the end of that key does.
        let called = match done {
            Some(_) if state.ready(self.key).is_some() => state.waiting.pop(),
            _ => None,
        };
        drop(state);
        if let Some(thread) = called {
            thread.unpark();
        }
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
    fn items_of_one_key_are_handed_out_together_and_to_one_consumer_at_a_time() {
        let [hot, cold] = [Uuid::from_u128(1), Uuid::from_u128(2)];
        let queue = Queue::keyed(9, |(key, _): &(Option<Uuid>, i32)| *key);
        let pop = |done| {
            let mut taken = Vec::new();
            queue.pop_after(done, 1, &mut taken);
            taken.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        };
        for item in [(Some(hot), 1), (None, 2), (Some(hot), 3), (None, 4)] {
            queue.push(item).unwrap();
        }
        assert_eq!(pop(None), [1, 3]);
        for item in [(Some(hot), 5), (Some(cold), 6), (Some(hot), 7)] {
            queue.push(item).unwrap();
        }
        assert_eq!(pop(None), [2]);
        assert_eq!(pop(None), [4]);
        assert_eq!(pop(None), [6], "the hot key is still busy");
        assert_eq!(pop(Some(hot)), [5, 7]);
    }

    #[test]
    fn the_end_of_a_key_wakes_the_consumers_that_found_only_busy_items() {
        let hot = Uuid::from_u128(1);
        let queue = Arc::new(Queue::keyed(99, |(key, _): &(Option<Uuid>, i32)| *key));
        let (tell, told) = channel();
        let consume = |_| {
            let (queue, tell) = (queue.clone(), tell.clone());
            thread::spawn(move || {
                let (mut taken, mut done) = (Vec::new(), None);
                while queue.pop_after(done, 1, &mut taken) {
                    done = taken.first().and_then(|(key, _)| *key);
                    taken.drain(..).for_each(|(_, number)| tell.send(number).unwrap());
                }
            })
        };
        let consumers: Vec<_> = (0..3).map(consume).collect();
        (0..90).for_each(|number| queue.push(((number % 3 > 0).then_some(hot), number)).unwrap());
        let served: HashSet<i32> = told.iter().take(90).collect();
        assert_eq!(served, (0..90).collect());
        queue.close();
        consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
    }

    #[test]
    fn a_closed_queue_ends_the_consumers_that_found_only_busy_items() {
        let hot = Uuid::from_u128(1);
        let queue = Arc::new(Queue::keyed(9, |_: &i32| Some(Uuid::from_u128(1))));
        let mut taken = Vec::new();
        queue.push(1).unwrap();
        assert!(queue.pop(1, &mut taken));
        queue.push(2).unwrap();
        let (tell, told) = channel();
        let other = Arc::clone(&queue);
        thread::spawn(move || tell.send(other.pop(1, &mut Vec::new())).unwrap());
        let waits = || {
            while queue.lock().waiting.is_empty() {
                thread::yield_now();
            }
        };
        waits();
        queue.close();
        waits();
        assert!(queue.pop_after(Some(hot), 1, &mut taken));
        assert!(!queue.pop_after(Some(hot), 1, &mut taken));
        assert_eq!(taken, [1, 2]);
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(30)), Ok(false));
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
