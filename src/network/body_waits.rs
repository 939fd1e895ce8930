//! Requests that wait for their body. They do no work, so they are limited by network instead of among the
//! running requests, and a body that arrives too slowly is given up.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::config::Config;
use crate::error::{Error, Result};

/// Maximum waiting requests of one network.
const MAX_PER_NETWORK: usize = 64;
/// Minimum bytes a second: a slower client only occupies a slot.
const SLOWEST: u64 = 1024;

#[derive(Debug, Default)]
pub struct BodyWaits {
    networks: Mutex<HashMap<u128, usize>>,
    total: AtomicI64,
}

/// One waiting request, released on drop.
#[derive(Debug)]
pub struct BodyWait<'a> {
    waits: &'a BodyWaits,
    network: u128,
    /// Extended by the bytes that arrive.
    pub deadline: Pin<Box<Sleep>>,
    /// The latest possible deadline.
    most: Duration,
    ends: Option<Instant>,
}

impl BodyWaits {
    /// Refused at once if the network has too many already. With `total`, the whole body must arrive within
    /// it.
    pub fn begin(
        &self,
        network: u128,
        config: &Config,
        total: Option<Duration>,
    ) -> Result<BodyWait<'_>> {
        let mut networks = self.lock();
        let count = networks.entry(network).or_default();
        if *count >= MAX_PER_NETWORK {
            return Err(Error::Busy("too many requests of this network wait for their body"));
        }
        *count += 1;
        drop(networks);
        self.total.fetch_add(1, Ordering::Relaxed);
        let most = config.body_timeout;
        let grace = config.body_grace.min(most);
        let deadline = Box::pin(tokio::time::sleep(grace));
        let ends = total.map(|total| deadline.deadline() + total.saturating_sub(grace));
        Ok(BodyWait { waits: self, network, deadline, most, ends })
    }

    pub fn total(&self) -> i64 {
        self.total.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u128, usize>> {
        self.networks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyWait<'_> {
    /// Extends the deadline by the bytes that arrived since the last one.
    pub fn pay(&mut self, bytes: u64) -> bool {
        let paid = Duration::from_millis(bytes.saturating_mul(1000) / SLOWEST).min(self.most);
        let (now, next) = (self.deadline.deadline(), self.deadline.deadline() + paid);
        let next = self.ends.map_or(next, |ends| next.min(ends));
        self.deadline.as_mut().reset(next);
        next > now
    }
}

impl Drop for BodyWait<'_> {
    fn drop(&mut self) {
        self.waits.total.fetch_sub(1, Ordering::Relaxed);
        let mut networks = self.waits.lock();
        if let Some(count) = networks.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                networks.remove(&self.network);
            }
        }
    }
}
