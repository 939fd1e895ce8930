//! The nodes that are alive. Each announces a heartbeat, in order behind everything that was committed before it was
//! sent: a node that has received its own has received all of that.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use db::{Db, Engine};
use tokio::time::MissedTickBehavior;

use crate::values::clock::Clock;
use crate::values::random::Random;

pub(crate) const TOPIC: &str = "nodes";
const INTERVAL: Duration = Duration::from_millis(200);
/// A node that was not heard of for this long is gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// Maximum nodes that are remembered.
const MAX_NODES: usize = 1000;

#[derive(Debug)]
pub struct Nodes {
    own: String,
    others: Mutex<HashMap<String, Duration>>,
    /// Whether the log says already that clients are not sent to their node.
    has_warned: AtomicBool,
}

impl Nodes {
    pub fn new(random: &Random) -> Self {
        let own = BASE64.encode(random.bytes::<6>());
        Nodes { own, others: Mutex::default(), has_warned: AtomicBool::new(false) }
    }

    /// The name of this node.
    pub(crate) fn own(&self) -> &str {
        &self.own
    }

    /// Announces heartbeats, for ever. On SQLite there is one node.
    pub(crate) async fn beat(&self, db: &Db, clock: &Clock) {
        if db.engine() == Engine::Sqlite {
            return pending().await;
        }
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let text = format!("{} {}", self.own, clock.uptime().as_millis());
            // Without a heartbeat copies are used for a short time only; that is all that follows.
            let _ = db.write(move |tx| tx.announce(TOPIC, &text)).await;
        }
    }

    /// Takes in a heartbeat. When it was sent, if it is this node's own.
    pub(crate) fn heard(&self, text: &str, now: Duration) -> Option<Duration> {
        let (node, sent) = text.split_once(' ')?;
        if node == self.own {
            return sent.parse().ok().map(Duration::from_millis);
        }
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if others.len() >= MAX_NODES {
            others.retain(|_, heard| now < *heard + GONE_AFTER);
        }
        if others.len() < MAX_NODES {
            others.insert(node.to_owned(), now);
        }
        None
    }

    /// Whether a connection's secret, which begins with the name of its node, is that of another that is alive.
    pub fn is_elsewhere(&self, sid: &str, now: Duration) -> bool {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let heard = sid.get(..self.own.len()).and_then(|node| others.get(node));
        heard.is_some_and(|heard| now < *heard + GONE_AFTER)
    }

    /// How many others are alive.
    pub fn others(&self, now: Duration) -> usize {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.values().filter(|heard| now < **heard + GONE_AFTER).count()
    }

    /// True once.
    pub(crate) fn warns(&self) -> bool {
        !self.has_warned.swap(true, Relaxed)
    }
}
