//! The scheduler of image work. Pictures are sorted into lanes by cost, so that a small one never waits for a
//! large one; within a lane one owner takes at most half of the slots, so that nobody waits for all uploads
//! of somebody else. Both bound memory and threads.
//!
//! At its peak a picture takes up to 12 bytes for each of its pixels, or 28 if it is transparent: the
//! picture, the decoder's input, and the encoder's output. A photo of 12 megapixels was measured at 110 MB,
//! the worst case of 100 megapixels at 1.7 GB.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a picture may wait for its turn: longer than the largest takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// The capacity of one slot for medium pictures.
const BYTES_PER_PLACE: u64 = 300_000_000;
/// Slots of the other lanes for each slot for large pictures.
const PER_LARGE_PLACE: usize = 8;

/// By the pixels read and written in total. The original is encoded again, so a photo counts at least twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Up to 8 megapixels without variants.
    Small,
    /// Up to 32 megapixels: photos of cameras and phones.
    Medium,
    Large,
}

impl Class {
    pub(super) fn of(pixels: u64) -> Class {
        match pixels {
            ..=16_000_000 => Class::Small,
            16_000_001..=64_000_000 => Class::Medium,
            _ => Class::Large,
        }
    }
}

#[derive(Debug)]
pub(super) struct Pool {
    small: Lane,
    medium: Lane,
    large: Lane,
    patience: Duration,
}

impl Pool {
    pub(super) fn new(at_once: usize) -> Self {
        let at_once = at_once.clamp(1, 1024);
        Pool {
            small: Lane::new(at_once),
            medium: Lane::new(at_once),
            large: Lane::new(at_once.div_ceil(PER_LARGE_PLACE)),
            patience: PATIENCE,
        }
    }

    /// A slot for work of this many pixels and about this many bytes; `None` on timeout.
    pub(super) async fn turn(&self, pixels: u64, bytes: u64, owner: u128) -> Option<Turn> {
        let class = Class::of(pixels);
        let lane = self.lane(class);
        let places = match class {
            Class::Small | Class::Large => 1,
            Class::Medium => (bytes.div_ceil(BYTES_PER_PLACE) as usize).clamp(1, lane.size),
        };
        tokio::time::timeout(self.patience, lane.turn(places as u32, owner)).await.ok().flatten()
    }

    pub(super) fn lane(&self, class: Class) -> &Lane {
        match class {
            Class::Small => &self.small,
            Class::Medium => &self.medium,
            Class::Large => &self.large,
        }
    }
}

#[derive(Debug)]
pub(super) struct Lane {
    places: Arc<Semaphore>,
    size: usize,
    /// For each owner with running or waiting work: how many more may queue for a slot.
    shares: Mutex<HashMap<u128, Weak<Semaphore>>>,
}

/// Slots in a lane, released on drop.
#[derive(Debug)]
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}

impl Lane {
    fn new(size: usize) -> Self {
        Lane { places: Arc::new(Semaphore::new(size)), size, shares: Mutex::default() }
    }

    async fn turn(&self, places: u32, owner: u128) -> Option<Turn> {
        // The owner's share first, so that a waiting owner does not block others.
        let share = self.share(owner).acquire_owned().await.ok()?;
        let place = self.places.clone().acquire_many_owned(places).await.ok()?;
        Some(Turn { _place: place, _share: share })
    }

    fn share(&self, owner: u128) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|_, share| share.strong_count() > 0);
        if let Some(share) = shares.get(&owner).and_then(Weak::upgrade) {
            return share;
        }
        let share = Arc::new(Semaphore::new(self.size.div_ceil(2)));
        shares.insert(owner, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
impl Pool {
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        Pool { patience, ..self }
    }
}

#[cfg(test)]
impl Lane {
    pub(super) fn places(&self) -> &Semaphore {
        &self.places
    }

    pub(super) fn owners(&self) -> usize {
        self.shares.lock().unwrap().len()
    }
}
