//! Connection slots: a cap for all, a share for each network, and a small reserve beyond both, so that the
//! server never stops accepting.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Config;
use crate::network::client::{bucket, is_trusted};

/// Connections beyond the cap, or beyond a network's share, that are still accepted: long enough for a health
/// check, or to be refused.
const RESERVE: usize = 64;
/// One network's share of the reserve.
const RESERVE_PER_NETWORK: usize = 8;

#[derive(Debug, Default)]
pub struct Places {
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    regular: Count,
    reserve: Count,
    refused: u64,
}

/// Connections in total, and by network where a share applies.
#[derive(Debug, Default)]
struct Count {
    total: usize,
    networks: HashMap<u128, usize>,
}

/// Numbers for the operator.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    pub open: usize,
    /// Connections that got no regular slot: served from the reserve, or closed.
    pub refused: u64,
}

/// The slot of a connection. Clone it to keep the slot after the request.
#[derive(Debug, Clone)]
pub struct Place(Arc<Held>);

#[derive(Debug)]
struct Held {
    places: Arc<Places>,
    /// `None` for a trusted proxy, which has no share: it has many clients.
    network: Option<u128>,
    is_in_reserve: bool,
}

impl Places {
    /// A regular slot, else one in the reserve, else `None`.
    pub fn take(self: &Arc<Self>, peer: IpAddr, config: &Config) -> Option<Place> {
        let network = (!is_trusted(peer, &config.trusted_proxies)).then(|| bucket(peer));
        let mut taken = self.lock();
        let (most, share) = (config.max_connections, config.connections_per_network);
        let is_in_reserve = !taken.regular.add(network, most, share);
        if is_in_reserve {
            taken.refused += 1;
            if !taken.reserve.add(network, RESERVE, RESERVE_PER_NETWORK) {
                return None;
            }
        }
        drop(taken);
        Some(Place(Arc::new(Held { places: self.clone(), network, is_in_reserve })))
    }

    pub fn figures(&self) -> Figures {
        let taken = self.lock();
        Figures { open: taken.regular.total + taken.reserve.total, refused: taken.refused }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Count {
    /// Whether there was room.
    fn add(&mut self, network: Option<u128>, most: usize, share: usize) -> bool {
        let of_network = network.and_then(|network| self.networks.get(&network)).copied();
        if self.total >= most || of_network.unwrap_or(0) >= share {
            return false;
        }
        self.total += 1;
        if let Some(network) = network {
            *self.networks.entry(network).or_default() += 1;
        }
        true
    }

    fn remove(&mut self, network: Option<u128>) {
        self.total = self.total.saturating_sub(1);
        let Some(network) = network else { return };
        if let Some(count) = self.networks.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
    }
}

impl Place {
    pub fn is_in_reserve(&self) -> bool {
        self.0.is_in_reserve
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        let count = if self.is_in_reserve { &mut taken.reserve } else { &mut taken.regular };
        count.remove(self.network);
    }
}
