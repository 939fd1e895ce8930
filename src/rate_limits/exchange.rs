//! How nodes share their counts: each announces what it has added to its windows, and adds what the others announce.
//! Counts that are lost with an announcement make a limit wider, never narrower.

use std::fmt::Write as _;
use std::future::pending;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use db::{Db, Engine};

use super::{Limiter, RateLimit, WINDOWS_PER_SHARD, Window, make_room};
use crate::values::clock::Clock;
use crate::values::ids::ProjectId;

pub(crate) const TOPIC: &str = "rate-limits";
/// Pause between two announcements, in which counts gather.
const PAUSE: Duration = Duration::from_millis(2);
/// How long a request waits at most until the others know of earlier ones.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum windows in one announcement.
const BATCH_SIZE: usize = 1000;

/// Announces the counts of this node, for ever. On SQLite there is no other.
pub(crate) async fn share(limiter: &Limiter, db: &Db, clock: &Clock, node: &str) {
    if db.engine() == Engine::Sqlite {
        return pending().await;
    }
    loop {
        limiter.has_due.notified().await;
        while let Some(text) = limiter.take_due(node, clock.uptime()) {
            // While the database is down nobody counts much.
            let _ = db.announce(TOPIC, &text);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Limiter {
    /// What the other nodes are to know: the node, then key, count and remaining milliseconds of each window.
    fn take_due(&self, node: &str, now: Duration) -> Option<String> {
        let keys = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let rest = due.len().saturating_sub(BATCH_SIZE);
            due.split_off(rest)
        };
        if keys.is_empty() {
            return None;
        }
        let mut text = node.to_owned();
        for key in keys {
            let mut windows = self.shard(key);
            let Some(window) = windows.get_mut(&key) else { continue };
            let (unsent, left) = (window.unsent, window.ends.saturating_sub(now).as_millis());
            (window.unsent, window.is_due) = (0, false);
            if unsent != 0 && left > 0 {
                window.unconfirmed = window.unconfirmed.saturating_add(unsent);
                // Writing to a string cannot fail.
                let _ = write!(text, " {key:x}:{unsent}:{left}");
            }
        }
        Some(text)
    }

    /// Adds what another node has counted. What cannot be read, perhaps from a newer version, is left out. This node's
    /// own counts have been heard by the others too, or will be before anything they announce later is heard here.
    pub(crate) fn heard(&self, text: &str, own: &str, now: Duration) {
        let mut words = text.split(' ');
        if words.next() == Some(own) {
            for Counted { key, count, .. } in words.filter_map(read) {
                if let Some(window) = self.shard(key).get_mut(&key) {
                    window.unconfirmed = window.unconfirmed.saturating_sub(count);
                }
            }
            return self.confirmed.notify_waiters();
        }
        words.filter_map(read).for_each(|counted| self.add(counted, now));
    }

    pub fn nodes(&self) -> u32 {
        self.nodes.load(Relaxed)
    }

    /// How many nodes there are, by what is known.
    pub(crate) fn set_nodes(&self, nodes: usize) {
        self.nodes.store(u32::try_from(nodes).unwrap_or(u32::MAX), Relaxed);
    }

    /// Announcements may have been lost: nobody waits for them.
    pub(crate) fn start_over(&self) {
        for shard in &self.shards {
            let mut windows = shard.lock().unwrap_or_else(PoisonError::into_inner);
            windows.values_mut().for_each(|window| window.unconfirmed = 0);
        }
        self.confirmed.notify_waiters();
    }

    /// Waits until the other nodes know of enough of the requests that this one has counted, before another is.
    pub(crate) async fn settled(
        &self,
        limit: RateLimit,
        endpoint: &str,
        project: Option<ProjectId>,
        client: &[u8],
    ) {
        let Some(max) = self.scaled(limit.max).filter(|_| self.nodes.load(Relaxed) > 1) else {
            return;
        };
        let key = self.key(endpoint, project, client);
        let waiting = async {
            loop {
                let mut confirmed = std::pin::pin!(self.confirmed.notified());
                // Registered before the look, or a confirmation in between would be missed.
                confirmed.as_mut().enable();
                let unknown = |window: &Window| window.unsent.saturating_add(window.unconfirmed);
                let is_over = |window: &Window| {
                    // A window that is used up admits nothing more anyway.
                    window.count < max && unknown(window) >= self.share_of(max)
                };
                if !self.shard(key).get(&key).is_some_and(is_over) {
                    return;
                }
                confirmed.await;
            }
        };
        // Better a limit that is too wide than a request that waits for an outage.
        let _ = tokio::time::timeout(PATIENCE, waiting).await;
    }

    fn add(&self, Counted { key, count, left }: Counted, now: Duration) {
        let mut windows = self.shard(key);
        if windows.len() >= WINDOWS_PER_SHARD && !windows.contains_key(&key) {
            make_room(&mut windows, now);
        }
        let fresh = Window::ending(now + left);
        let window = windows.entry(key).or_insert(fresh);
        if window.ends <= now {
            *window = fresh;
        }
        // The window begins with the first request on any node.
        window.ends = window.ends.min(fresh.ends);
        window.count = window.count.saturating_add_signed(count);
    }
}

struct Counted {
    key: u128,
    count: i32,
    left: Duration,
}

fn read(word: &str) -> Option<Counted> {
    let mut parts = word.split(':');
    let key = u128::from_str_radix(parts.next()?, 16).ok()?;
    let count = parts.next()?.parse().ok()?;
    let left = Duration::from_millis(parts.next()?.parse().ok()?);
    Some(Counted { key, count, left })
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use crate::config::Scale;

    const LIMIT: RateLimit = RateLimit::per_5_minutes(100);
    const NOW: Duration = Duration::from_secs(1000);

    fn node() -> Limiter {
        let limiter = Limiter::new(Scale::Times(1.0), b"a secret of all nodes");
        limiter.set_nodes(3);
        limiter
    }

    #[test]
    fn nodes_that_take_turns_admit_together_what_one_would() {
        let nodes = [node(), node(), node()];
        let mut admitted = 0;
        for request in 0..300 {
            let here = request % 3;
            if nodes[here].count(LIMIT, "a", None, b"1", NOW).is_ok() {
                admitted += 1;
            }
            if let Some(text) = nodes[here].take_due(&here.to_string(), NOW) {
                for (number, node) in nodes.iter().enumerate() {
                    node.heard(&text, &number.to_string(), NOW);
                }
            }
        }
        assert!((100..=110).contains(&admitted), "{admitted}");
    }

    #[tokio::test]
    async fn a_node_waits_until_the_others_know_of_its_part_of_a_tenth() {
        let limiter = node();
        let settled = || limiter.settled(LIMIT, "a", None, b"");
        for _ in 0..3 {
            settled().await;
            limiter.count(LIMIT, "a", None, b"", NOW).unwrap();
        }
        let text = limiter.take_due("own", NOW).unwrap();
        let mut waiting = std::pin::pin!(settled());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        limiter.heard(&text, "own", NOW);
        waiting.await;
        limiter.set_nodes(1);
        for _ in 0..97 {
            settled().await;
            limiter.count(LIMIT, "a", None, b"", NOW).unwrap();
        }
    }

    #[test]
    fn a_window_ends_with_the_node_that_began_it_first() {
        let (one, other) = (node(), node());
        let count = |node: &Limiter, at: u64| {
            node.count(LIMIT, "a", None, b"", NOW + Duration::from_secs(at)).unwrap().unwrap()
        };
        count(&one, 0);
        count(&one, 0);
        count(&other, 10);
        let text = one.take_due("one", NOW + Duration::from_secs(20)).unwrap();
        other.heard(&text, "other", NOW + Duration::from_secs(20));
        let state = count(&other, 20);
        assert_eq!((state.remaining, state.reset), (96, 280));
        assert_eq!(count(&other, 300).remaining, 99, "a new window");
    }

    #[test]
    fn refunds_reach_the_others_and_nonsense_changes_nothing() {
        let (one, other) = (node(), node());
        let few = RateLimit::per_5_minutes(5);
        one.count(few, "a", None, b"", NOW).unwrap();
        other.heard(&one.take_due("one", NOW).unwrap(), "other", NOW);
        one.uncount("a", None, b"");
        other.heard(&one.take_due("one", NOW).unwrap(), "other", NOW);
        for nonsense in ["", "one", "one x:1:1", "one 1:1", "one 1:x:1", "one ::"] {
            other.heard(nonsense, "other", NOW);
        }
        assert_eq!(other.count(few, "a", None, b"", NOW).unwrap().unwrap().remaining, 4);
        assert!(one.take_due("one", NOW).is_none());
    }
}
