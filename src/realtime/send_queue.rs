//! What waits for one socket: bounded, so that somebody who does not read costs little and holds up nobody.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::realtime::packet::Text;

/// Bytes handed over at once.
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
    /// Whoever waits is to look around, though there is nothing to send.
    nudged: bool,
    end: End,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// What is there is still sent.
    Finishing,
    Cut,
}

/// What is to be sent next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// None, if the waiting was disturbed.
    Packets(Vec<Text>),
    /// The last ones.
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
        // One alone always fits, however large it is.
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

    /// Ends after what is queued, and after this.
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

    /// Ends at once; what is queued is dropped.
    pub(crate) fn cut(&self) {
        let mut state = self.lock();
        state.end = End::Cut;
        state.packets.clear();
        drop(state);
        self.changed.notify_one();
        self.ended.notify_one();
    }

    /// Makes whoever waits return with nothing.
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

    /// Completes when what is being sent is to be given up: at once when cut, else some time after the end.
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
