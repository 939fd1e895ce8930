//! How nodes share their counts: each announces what it has added to its windows, and adds what the others announce.
//! Counts that are lost with an announcement make a limit wider, never narrower.

use std::fmt::Write as _;
use std::future::pending;
use std::sync::PoisonError;
use std::time::Duration;

use db::{Db, Engine};

use super::{Limiter, WINDOWS_PER_SHARD, Window, make_room};
use crate::values::clock::Clock;

pub(crate) const TOPIC: &str = "rate-limits";
/// Pause between two announcements, in which counts gather.
const PAUSE: Duration = Duration::from_millis(2);
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
                // Writing to a string cannot fail.
                let _ = write!(text, " {key:x}:{unsent}:{left}");
            }
        }
        Some(text)
    }

    /// Adds what another node has counted. What cannot be read, perhaps from a newer version, is left out.
    pub(crate) fn heard(&self, text: &str, own: &str, now: Duration) {
        let mut words = text.split(' ');
        if words.next() == Some(own) {
            return;
        }
        words.filter_map(read).for_each(|counted| self.add(counted, now));
    }

    fn add(&self, Counted { key, count, left }: Counted, now: Duration) {
        let mut windows = self.shard(key);
        if windows.len() >= WINDOWS_PER_SHARD && !windows.contains_key(&key) {
            make_room(&mut windows, now);
        }
        let fresh = Window { ends: now + left, count: 0, unsent: 0, is_due: false };
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
    use super::*;
    use crate::config::Scale;
    use crate::rate_limits::RateLimit;

    const LIMIT: RateLimit = RateLimit::per_5_minutes(100);
    const NOW: Duration = Duration::from_secs(1000);

    fn node() -> Limiter {
        Limiter::new(Scale::Times(1.0), b"a secret of all nodes")
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
        assert!((100..=104).contains(&admitted), "{admitted}");
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
