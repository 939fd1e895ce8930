//! Rate limits: fixed windows that begin with the first request in them, one for each endpoint,
//! project and client network. Memory is bounded: a window is small and their number is capped.
//!
//! Nodes share their counts by announcements (`exchange`). Together they admit at most a tenth more than the limit: a
//! node that has counted its part of that tenth waits until the others know of it. Only clients that are faster
//! than the exchange, a few milliseconds, ever wait.

mod exchange;

pub(crate) use exchange::{TOPIC, share};

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::config::Scale;
use crate::error::{Exceeded, WindowState};
use crate::values::ids::ProjectId;

/// Maximum requests in a window, and the error beyond that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    pub max: u32,
    pub window: Duration,
    pub text: &'static str,
}

impl RateLimit {
    pub const fn per_5_minutes(max: u32) -> Self {
        let text = "Too many attempts, please try again shortly";
        RateLimit { max, window: Duration::from_secs(300), text }
    }

    pub const fn text(self, text: &'static str) -> Self {
        RateLimit { text, ..self }
    }

    pub const fn window_minutes(self, minutes: u64) -> Self {
        RateLimit { window: Duration::from_secs(minutes * 60), ..self }
    }
}

const SHARDS: usize = 16;
/// 16 shards of this many windows stay under 64 MB.
const WINDOWS_PER_SHARD: usize = 50_000;

#[derive(Debug)]
pub struct Limiter {
    scale: Scale,
    /// They begin with a secret that all nodes have.
    hash: [DefaultHasher; 2],
    shards: Vec<Mutex<HashMap<u128, Window>>>,
    /// Windows to announce.
    due: Mutex<Vec<u128>>,
    has_due: Notify,
    /// How many nodes there are.
    nodes: AtomicU32,
    /// Notified when the others know of counts of this node.
    confirmed: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    ends: Duration,
    /// Requests on all nodes, as far as they are known.
    count: u32,
    /// Those of this node that the others do not know of, less those refunded.
    unsent: i32,
    /// Those that were announced, but may not have been heard.
    unconfirmed: i32,
    is_due: bool,
}

impl Window {
    const fn ending(ends: Duration) -> Self {
        Window { ends, count: 0, unsent: 0, unconfirmed: 0, is_due: false }
    }
}

impl Limiter {
    pub fn new(scale: Scale, secret: &[u8]) -> Self {
        let seeded = |part: u8| {
            let mut hasher = DefaultHasher::new();
            (part, secret).hash(&mut hasher);
            hasher
        };
        Limiter {
            scale,
            hash: [seeded(0), seeded(1)],
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            due: Mutex::default(),
            has_due: Notify::new(),
            nodes: AtomicU32::new(1),
            confirmed: Notify::new(),
        }
    }

    /// Counts one request. `None` when limits are off.
    pub fn count(
        &self,
        limit: RateLimit,
        endpoint: &str,
        project: Option<ProjectId>,
        client: &[u8],
        now: Duration,
    ) -> Result<Option<WindowState>, Exceeded> {
        let Some(max) = self.scaled(limit.max) else {
            return Ok(None);
        };
        let key = self.key(endpoint, project, client);
        let mut windows = self.shard(key);

        if windows.len() >= WINDOWS_PER_SHARD && !windows.contains_key(&key) {
            make_room(&mut windows, now);
        }
        let fresh = Window::ending(now + limit.window);
        let window = windows.entry(key).or_insert(fresh);
        if window.ends <= now {
            *window = fresh;
        }
        window.count = window.count.saturating_add(1);
        window.unsent = window.unsent.saturating_add(1);
        let is_alone = self.nodes.load(Relaxed) <= 1;
        if !is_alone && !window.is_due && window.unsent >= self.share_of(max) / 2 {
            window.is_due = true;
            self.announce_soon(key);
        }
        let left = window.ends.saturating_sub(now);
        let reset = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let state = WindowState { limit: max, remaining: max.saturating_sub(window.count), reset };
        if window.count > max {
            return Err(Exceeded { window: state, text: limit.text });
        }
        Ok(Some(state))
    }

    /// Refunds one counted request that the limit should not have counted.
    pub fn uncount(&self, endpoint: &str, project: Option<ProjectId>, client: &[u8]) {
        let key = self.key(endpoint, project, client);
        if let Some(window) = self.shard(key).get_mut(&key) {
            window.count = window.count.saturating_sub(1);
            window.unsent = window.unsent.saturating_sub(1);
            // The others may know of it already.
            if !window.is_due && window.unsent < 0 {
                window.is_due = true;
                self.announce_soon(key);
            }
        }
    }

    /// How many requests this node may count that others do not know of: its part of a tenth.
    fn share_of(&self, max: u32) -> i32 {
        let share = max / self.nodes.load(Relaxed).saturating_mul(10).max(1);
        i32::try_from(share).unwrap_or(i32::MAX).max(1)
    }

    fn announce_soon(&self, key: u128) {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        // Without anybody who takes them they are only marked.
        if due.len() < WINDOWS_PER_SHARD {
            due.push(key);
            self.has_due.notify_one();
        }
    }

    /// A limit multiplied by the operator's setting; none when limits are off.
    pub fn scaled(&self, max: u32) -> Option<u32> {
        let Scale::Times(times) = self.scale else { return None };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float-to-integer `as` saturates, which is what a multiplied limit should do"
        )]
        let max = (f64::from(max) * times).ceil() as u32;
        Some(max)
    }

    /// Two keyed 64-bit hashes: nobody can aim at another's window, and collisions are negligible.
    fn key(&self, endpoint: &str, project: Option<ProjectId>, client: &[u8]) -> u128 {
        let [high, low] = self.hash.each_ref().map(|seeded| {
            let mut hasher = seeded.clone();
            (endpoint, project, client).hash(&mut hasher);
            hasher.finish()
        });
        u128::from(high) << 64 | u128::from(low)
    }

    fn shard(&self, key: u128) -> MutexGuard<'_, HashMap<u128, Window>> {
        let shard = &self.shards[usize::try_from(key % SHARDS as u128).unwrap_or(0)];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops expired windows; under a flood of live ones, those that end soonest.
fn make_room(windows: &mut HashMap<u128, Window>, now: Duration) {
    windows.retain(|_, window| window.ends > now);
    if windows.len() >= WINDOWS_PER_SHARD {
        let mut ends: Vec<Duration> = windows.values().map(|window| window.ends).collect();
        let (_, cut, _) = ends.select_nth_unstable(WINDOWS_PER_SHARD / 4);
        let cut = *cut;
        windows.retain(|_, window| window.ends > cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit::per_5_minutes(3);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(1000 + seconds)
    }

    #[test]
    fn a_window_begins_with_its_first_request_and_ends_after_its_length() {
        let limiter = Limiter::new(Scale::Times(1.0), b"secret");
        let count = |second| limiter.count(LIMIT, "POST /a", None, b"ip", at(second));
        assert_eq!(count(0).unwrap(), Some(WindowState { limit: 3, remaining: 2, reset: 300 }));
        assert!(count(10).is_ok());
        assert_eq!(count(20).unwrap().unwrap().remaining, 0);
        assert_eq!(
            count(30).unwrap_err().window,
            WindowState { limit: 3, remaining: 0, reset: 270 }
        );
        assert!(count(299).is_err());
        assert!(count(300).is_ok());
    }

    #[test]
    fn endpoints_projects_and_clients_do_not_share_a_window() {
        let limiter = Limiter::new(Scale::Times(1.0), b"secret");
        let project = Some(ProjectId(uuid::Uuid::from_u128(1)));
        for (endpoint, project, client) in
            [("a", None, b"1"), ("b", None, b"1"), ("a", project, b"1"), ("a", None, b"2")]
        {
            let window = limiter.count(LIMIT, endpoint, project, client, at(0)).unwrap().unwrap();
            assert_eq!(window.remaining, 2);
        }
    }

    #[test]
    fn what_is_taken_back_was_not_counted() {
        let limiter = Limiter::new(Scale::Times(1.0), b"secret");
        for _ in 0..10 {
            limiter.count(LIMIT, "a", None, b"", at(0)).unwrap();
            limiter.uncount("a", None, b"");
        }
        let window = limiter.count(LIMIT, "a", None, b"", at(1)).unwrap().unwrap();
        assert_eq!(window, WindowState { limit: 3, remaining: 2, reset: 299 });
        limiter.uncount("b", None, b"");
    }

    #[test]
    fn the_switch_multiplies_or_disables() {
        let double = Limiter::new(Scale::Times(2.0), b"secret");
        assert_eq!(double.count(LIMIT, "a", None, b"", at(0)).unwrap().unwrap().limit, 6);
        let off = Limiter::new(Scale::Off, b"secret");
        for _ in 0..10 {
            assert_eq!(off.count(LIMIT, "a", None, b"", at(0)), Ok(None));
        }
    }

    #[test]
    fn memory_stays_bounded_under_a_flood_of_addresses() {
        let limiter = Limiter::new(Scale::Times(1.0), b"secret");
        for address in 0..1_000_000_u32 {
            let now = at(u64::from(address / 10_000));
            limiter.count(LIMIT, "a", None, &address.to_be_bytes(), now).unwrap();
        }
        for shard in &limiter.shards {
            assert!(shard.lock().unwrap().len() <= WINDOWS_PER_SHARD);
        }
    }
}
