//! The send queue of one socket: bounded, so that a slow reader costs little and delays nobody.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::realtime::packet::Text;

/// Maximum bytes sent at once.
const BATCH: usize = 256 * 1024;

#[derive(Debug)]
pub(crate) struct Outbox {
    most: usize,
    most_bytes: usize,
    state: Mutex<State>,
    changed: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    packets: VecDeque<Text>,
    bytes: usize,
    /// Wakes the waiting task though there is nothing to send.
    nudged: bool,
    end: End,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// Queued packets are still sent.
    Finishing,
    Cut,
}

/// What to send next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Empty if the wait was interrupted.
    Packets(Vec<Text>),
    /// The last packets.
    Last(Vec<Text>),
    Cut,
}

/// The queue has no room: the socket reads too slowly.
#[derive(Debug)]
pub(crate) struct Full;

impl Outbox {
    pub(crate) fn new(most: usize, most_bytes: usize) -> Self {
        let (state, changed, ended) = (Mutex::default(), Notify::new(), Notify::new());
        Outbox { most, most_bytes, state, changed, ended }
    }

    pub(crate) fn push(&self, packet: Text) -> Result<(), Full> {
        let mut state = self.lock();
        if state.end != End::Open {
            return Ok(());
        }
        // A single packet always fits, however large.
        let is_heavy = state.bytes + packet.len() > self.most_bytes && !state.packets.is_empty();
        if state.packets.len() >= self.most || is_heavy {
            return Err(Full);
        }
        state.bytes += packet.len();
        state.packets.push_back(packet);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Closes after the queued packets and this one.
    pub(crate) fn finish(&self, last: Option<Text>) {
        let mut state = self.lock();
        if state.end == End::Open {
            state.end = End::Finishing;
            state.packets.extend(last);
        }
        drop(state);
        self.changed.notify_one();
        self.ended.notify_one();
    }

    /// Closes at once and drops the queue.
    pub(crate) fn cut(&self) {
        let mut state = self.lock();
        state.end = End::Cut;
        state.packets.clear();
        drop(state);
        self.changed.notify_one();
        self.ended.notify_one();
    }

    /// Makes a waiting task return empty.
    pub(crate) fn nudge(&self) {
        self.lock().nudged = true;
        self.changed.notify_one();
    }

    /// Waits until there is something to send.
    pub(crate) async fn take(&self) -> Taken {
        loop {
            if let Some(taken) = self.lock().take() {
                return taken;
            }
            self.changed.notified().await;
        }
    }

    /// Completes when the current send must be abandoned: at once after a cut, otherwise some time after the
    /// close.
    pub(crate) async fn overdue(&self, grace: Duration) {
        loop {
            let end = self.lock().end;
            match end {
                End::Open => self.ended.notified().await,
                End::Finishing => return tokio::time::sleep(grace).await,
                End::Cut => return,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<Taken> {
        if self.end == End::Cut {
            return Some(Taken::Cut);
        }
        let nudged = std::mem::take(&mut self.nudged);
        let mut packets = Vec::new();
        let mut size = 0;
        while let Some(next) = self.packets.front()
            && (packets.is_empty() || size + next.len() <= BATCH)
        {
            size += next.len();
            packets.extend(self.packets.pop_front());
        }
        self.bytes = self.bytes.saturating_sub(size);
        if self.end == End::Finishing && self.packets.is_empty() {
            return Some(Taken::Last(packets));
        }
        (nudged || !packets.is_empty()).then_some(Taken::Packets(packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> Text {
        Text::from_static(text)
    }

    #[tokio::test]
    async fn packets_are_taken_in_order_and_no_more_fit_than_may_wait() {
        let outbox = Outbox::new(2, 100);
        outbox.push(text("a")).unwrap();
        outbox.push(text("b")).unwrap();
        assert!(outbox.push(text("c")).is_err());
        assert_eq!(outbox.take().await, Taken::Packets(vec![text("a"), text("b")]));
        outbox.push(text("c")).unwrap();
        outbox.finish(Some(text("end")));
        outbox.push(text("too late")).unwrap();
        assert_eq!(outbox.take().await, Taken::Last(vec![text("c"), text("end")]));
    }

    #[tokio::test]
    async fn a_large_packet_fits_alone_only() {
        let outbox = Outbox::new(9, 3);
        outbox.push(text("large")).unwrap();
        assert!(outbox.push(text("x")).is_err());
        assert_eq!(outbox.take().await, Taken::Packets(vec![text("large")]));
        outbox.push(text("x")).unwrap();
        assert!(outbox.push(text("large")).is_err());
    }

    #[tokio::test]
    async fn a_cut_drops_what_waits_and_a_nudge_ends_the_waiting() {
        let outbox = Outbox::new(9, 9);
        outbox.nudge();
        assert_eq!(outbox.take().await, Taken::Packets(Vec::new()));
        outbox.push(text("x")).unwrap();
        outbox.cut();
        assert_eq!(outbox.take().await, Taken::Cut);
        outbox.overdue(Duration::MAX).await;
    }

    #[tokio::test]
    async fn what_is_sent_last_is_given_some_time_and_no_more() {
        let outbox = Outbox::new(9, 9);
        let overdue = outbox.overdue(Duration::from_millis(1));
        tokio::join!(overdue, async { outbox.finish(None) });
    }
}
