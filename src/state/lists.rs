//! How lower modules reach higher ones without importing them. A lower module declares a small trait or a
//! struct of functions, higher modules provide elements of it, and `features/mod.rs` fills the list.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use db::{Conn, Tx};

use super::App;
use crate::config::Config;
use crate::error::Result;
use crate::values::ids::{ProjectId, QueueId};
use crate::values::time::Timestamp;

type Shared = Arc<dyn Any + Send + Sync>;

/// One list for each type of element.
#[derive(Default)]
pub struct Lists(HashMap<TypeId, Shared>);

impl Lists {
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, list: Vec<T>) -> Self {
        self.0.insert(TypeId::of::<T>(), Arc::new(list));
        self
    }

    /// The elements in the order of registration; empty if there are none.
    pub fn of<T: Send + Sync + 'static>(&self) -> &[T] {
        let list = self.0.get(&TypeId::of::<T>());
        list.and_then(|list| list.downcast_ref::<Vec<T>>()).map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Lists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lists({})", self.0.len())
    }
}

/// In-memory state of features for the lifetime of the server: caches and write buffers. One value for each
/// type, created on first use.
#[derive(Default)]
pub struct FeatureState(RwLock<HashMap<TypeId, Shared>>);

impl FeatureState {
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let key = TypeId::of::<T>();
        // One statement, so that the read lock is released before the write lock is taken.
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let shared = found.unwrap_or_else(|| {
            let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
            all.entry(key).or_insert_with(|| Arc::new(T::default())).clone()
        });
        // The key is the type, so the default is never taken.
        shared.downcast().unwrap_or_default()
    }
}

impl fmt::Debug for FeatureState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FeatureState")
    }
}

/// A kind of job: the name in its payload, and what runs it.
#[derive(Debug, Clone, Copy)]
pub struct JobKind {
    pub name: &'static str,
    /// With the payload, as it is stored.
    pub run: fn(App, ProjectId, &str) -> Running,
    /// Whether jobs that are done are kept for a while.
    pub is_kept: bool,
    /// Runs when a queue of such jobs is paused because they have failed for too long.
    pub paused: fn(App, ProjectId, QueueId) -> Running,
}

pub type Running = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Deletes up to a number of expired rows; returns how many.
#[derive(Debug, Clone, Copy)]
pub struct Sweep(pub fn(&Tx<'_>, Timestamp, i64) -> Result<u64>);

/// Rows that are kept for as long as a setting says: which one, and what drops those from before a time, up to about a
/// number; it returns how many.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    pub keep: fn(&Config) -> Option<Duration>,
    pub drop: fn(&Tx<'_>, &App, Timestamp, i64) -> Result<u64>,
}

/// Where secrets are stored that are sealed with the server's secret key, to seal them again after it has changed.
#[derive(Debug, Clone, Copy)]
pub struct SealedSecrets {
    pub list: fn(&Conn<'_>, ProjectId) -> Result<Vec<SealedSecret>>,
    /// Replaces the first by the second, unless it was set anew meanwhile.
    pub replace: ReplaceSecret,
}

type ReplaceSecret = fn(&Tx<'_>, ProjectId, &str, (&[u8], &[u8])) -> Result<()>;

#[derive(Debug)]
pub struct SealedSecret {
    /// Which one of the project's.
    pub name: String,
    /// What it is sealed for.
    pub place: String,
    pub sealed: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn state_is_created_on_first_use_and_then_shared() {
        let state = FeatureState::default();
        state.get::<Mutex<Vec<u8>>>().lock().unwrap().push(7);
        assert_eq!(*state.get::<Mutex<Vec<u8>>>().lock().unwrap(), [7]);
        assert!(state.get::<Mutex<String>>().lock().unwrap().is_empty());
    }

    #[test]
    fn a_list_holds_what_was_registered_for_its_type() {
        let lists = Lists::default().with(vec![1_u8, 2]).with(vec!["a"]);
        assert_eq!(lists.of::<u8>(), [1, 2]);
        assert_eq!(lists.of::<&str>(), ["a"]);
        assert_eq!(lists.of::<u16>(), [0_u16; 0]);
    }
}
