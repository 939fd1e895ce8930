//! Whose turn it is. Pictures are sorted into lanes by the work they are, so that a small one never
//! waits for a large one; within a lane those of one owner take at most half of the places, so
//! that nobody waits for all that somebody else has sent. Both bound memory and threads.
//!
//! A picture takes, at its peak, up to 12 bytes for each of its pixels, or 28 if it is transparent:
//! the picture, what a decoder collects before it, and what an encoder makes of it. A photo of 12
//! megapixels was measured at 110 MB, the worst that 100 megapixels can be at 1.7 GB.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long a picture may wait for its turn: longer than the largest takes.
const PATIENCE: Duration = Duration::from_secs(10);
/// What one place for medium pictures is good for.
const BYTES_PER_PLACE: u64 = 300_000_000;
/// Places of the other lanes for each one for large pictures.
const PER_LARGE_PLACE: usize = 8;

/// By the pixels that are read and written in all. The original is written anew, so a photo counts
/// at least twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Up to 8 megapixels without variants.
    Small,
    /// Up to 32: what cameras and phones make.
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

    /// A turn for work of so many pixels and about so many bytes; `None` if it did not come.
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
    /// Of each owner who works or waits: how many more may be in the queue for a place.
    shares: Mutex<HashMap<u128, Weak<Semaphore>>>,
}

/// Places in a lane, free again when this is dropped.
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
        // First the share: whoever has none stands in nobody's way.
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
