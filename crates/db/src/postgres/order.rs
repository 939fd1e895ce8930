//! Puts announcements in the order of their positions. Nodes send them after their commits, so they arrive in any
//! order, and one whose node died between COMMIT and sending never does: then there is a gap, and nothing that
//! belongs before it is handed over later.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::announce::{Announced, Announcement};

/// Maximum announcements that wait for an earlier one, and missing positions that are remembered.
const MAX_WAITING: usize = 100_000;
const MAX_SKIPPED: usize = 10_000;

#[derive(Debug)]
pub(super) struct Order {
    /// The next position to hand over.
    next: u64,
    /// What arrives late from here or below may never have been handed over.
    floor: u64,
    /// Positions above the floor that were given up.
    skipped: BTreeSet<u64>,
    waiting: BTreeMap<u64, Option<Announcement>>,
    /// When `next` is given up.
    deadline: Option<Instant>,
    patience: Duration,
    /// The gap that every listener begins with is still to come: what arrives late belongs to it.
    is_beginning: bool,
}

impl Order {
    /// `last`: the last position that was drawn before the listener was there.
    pub(super) fn after(last: u64, patience: Duration) -> Order {
        Order {
            next: last + 1,
            floor: last,
            skipped: BTreeSet::new(),
            waiting: BTreeMap::new(),
            deadline: None,
            patience,
            is_beginning: true,
        }
    }

    /// The first gap was reported: a late arrival is a new gap from now on.
    pub(super) fn begun(&mut self) {
        self.is_beginning = false;
    }

    /// When the missing position is given up, if there is one.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes in an announcement, or the word that there is none at this position, and returns what can be handed over.
    pub(super) fn take(
        &mut self,
        position: u64,
        announcement: Option<Announcement>,
        now: Instant,
    ) -> Vec<Announced> {
        if position < self.next {
            let is_late = position <= self.floor || self.skipped.remove(&position);
            // Otherwise it was sent twice.
            let is_gap = is_late && announcement.is_some() && !self.is_beginning;
            return if is_gap { vec![Announced::Gap] } else { Vec::new() };
        }
        self.waiting.insert(position, announcement);
        let mut ready = Vec::new();
        self.advance(&mut ready, now);
        if self.waiting.len() > MAX_WAITING {
            ready.extend(self.give_up(now));
        }
        ready
    }

    /// Goes on without the missing positions.
    pub(super) fn give_up(&mut self, now: Instant) -> Vec<Announced> {
        let Some((&first, _)) = self.waiting.first_key_value() else { return Vec::new() };
        if first - self.next > MAX_SKIPPED as u64 {
            self.floor = first - 1;
            self.skipped.clear();
        } else {
            self.skipped.extend(self.next..first);
        }
        while self.skipped.len() > MAX_SKIPPED {
            self.floor = self.skipped.pop_first().unwrap_or(self.floor).max(self.floor);
        }
        self.next = first;
        let mut ready = vec![Announced::Gap];
        self.advance(&mut ready, now);
        ready
    }

    fn advance(&mut self, ready: &mut Vec<Announced>, now: Instant) {
        let start = self.next;
        while let Some(announcement) = self.waiting.remove(&self.next) {
            ready.extend(announcement.map(Announced::Heard));
            self.next += 1;
        }
        if self.waiting.is_empty() {
            self.deadline = None;
        } else if self.deadline.is_none() || self.next > start {
            self.deadline = Some(now + self.patience);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats;

    const PATIENCE: Duration = Duration::from_secs(3);

    fn begun() -> Order {
        let mut order = Order::after(10, PATIENCE);
        order.begun();
        order
    }

    #[test]
    fn what_arrives_late_before_the_first_gap_belongs_to_it() {
        let (mut order, now) = (Order::after(10, PATIENCE), stats::now());
        assert!(order.take(9, Some(said("x")), now).is_empty());
        order.begun();
        assert_eq!(order.take(10, Some(said("y")), now), [Announced::Gap]);
        assert_eq!(order.take(11, Some(said("a")), now), [heard("a")]);
    }

    fn said(text: &str) -> Announcement {
        Announcement { topic: "t".to_owned(), text: text.to_owned() }
    }

    fn heard(text: &str) -> Announced {
        Announced::Heard(said(text))
    }

    #[test]
    fn whatever_the_order_of_arrival_the_order_of_positions_is_kept() {
        let (mut order, now) = (begun(), stats::now());
        assert!(order.take(13, Some(said("c")), now).is_empty());
        assert_eq!(order.deadline(), Some(now + PATIENCE));
        assert!(order.take(12, None, now).is_empty());
        assert_eq!(order.take(11, Some(said("a")), now), [heard("a"), heard("c")]);
        assert_eq!(order.deadline(), None);
        assert!(order.take(13, Some(said("c")), now).is_empty(), "it was sent twice");
    }

    #[test]
    fn a_missing_one_is_given_up_once_and_never_handed_over_late() {
        let (mut order, now) = (begun(), stats::now());
        assert!(order.take(12, Some(said("b")), now).is_empty());
        assert!(order.take(14, Some(said("d")), now).is_empty());
        let later = now + PATIENCE;
        assert_eq!(order.give_up(later), [Announced::Gap, heard("b")]);
        assert_eq!(order.deadline(), Some(later + PATIENCE), "13 is waited for as long");
        assert_eq!(order.take(11, Some(said("a")), later), [Announced::Gap]);
        assert!(order.take(11, Some(said("a")), later).is_empty());
        assert_eq!(order.take(13, Some(said("c")), later), [heard("c"), heard("d")]);
        assert!(order.give_up(later).is_empty());
    }

    #[test]
    fn what_was_drawn_before_the_listener_was_there_is_a_gap() {
        let (mut order, now) = (begun(), stats::now());
        assert_eq!(order.take(9, Some(said("a")), now), [Announced::Gap]);
        assert!(order.take(10, None, now).is_empty(), "it was rolled back");
        assert_eq!(order.take(11, Some(said("b")), now), [heard("b")]);
    }

    #[test]
    fn memory_stays_bounded_when_positions_jump() {
        let (mut order, now) = (begun(), stats::now());
        for jump in 1..100 {
            order.take(jump * 1_000_000, None, now);
            order.give_up(now);
        }
        for jump in 1..10_000 {
            order.take(1_000_000_000 + jump * 5, None, now);
            order.give_up(now);
        }
        assert!(order.skipped.len() <= MAX_SKIPPED && order.waiting.is_empty());
        assert_eq!(order.take(11, Some(said("a")), now), [Announced::Gap]);
        assert_eq!(order.take(1_000_000_006, Some(said("a")), now), [Announced::Gap]);
        let flood = 3_000_000_000;
        for position in 1..=MAX_WAITING as u64 + 1 {
            order.take(flood + position, None, now);
        }
        assert!(order.waiting.is_empty());
    }
}
