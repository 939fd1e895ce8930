//! A cache of OpenAPI documents, bounded in number and bytes, least recently used first out. Concurrent
//! requests build a document once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OnceCell, Semaphore};

use crate::features::tables::handle::Audience;
use crate::http::prepared::Prepared;
use crate::http::version::Version;
use crate::values::ids::ProjectId;

const MAX_DOCUMENTS: usize = 64;
const MAX_BYTES: usize = 32 << 20;

/// Identifies a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The server's, of one version or of all.
    Server(Option<Version>),
    /// A project's, with the tables that these callers may see.
    Project(ProjectId, Audience),
}

/// A document once it is built; `None` if that failed.
pub type Cell = Arc<OnceCell<Option<Arc<Prepared>>>>;

#[derive(Debug)]
pub struct Documents {
    kept: Mutex<Kept>,
    /// Documents are built one at a time, which bounds the memory.
    pub turn: Semaphore,
}

impl Default for Documents {
    fn default() -> Self {
        Documents { kept: Mutex::default(), turn: Semaphore::new(1) }
    }
}

#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<Which, Slot>,
    /// A counter of requests; serves as the time of last use.
    asked: u64,
}

#[derive(Debug)]
struct Slot {
    version: i64,
    cell: Cell,
    used: u64,
}

impl Documents {
    /// The slot of a document at this version of its catalogue, empty until it is built.
    pub fn cell(&self, which: Which, version: i64) -> Cell {
        let mut kept = self.lock();
        kept.asked += 1;
        let used = kept.asked;
        let fresh = || Slot { version, cell: Cell::default(), used };
        let slot = kept.slots.entry(which).or_insert_with(fresh);
        // Any other version, not only an older one: a restored database goes back.
        if slot.version != version {
            *slot = fresh();
        }
        slot.used = used;
        let cell = slot.cell.clone();
        kept.make_room();
        cell
    }

    /// After a build: a failure is removed, so that the next request tries again.
    pub fn settle(&self, which: Which, cell: &Cell) {
        let mut kept = self.lock();
        let is_same = |slot: &Slot| Arc::ptr_eq(&slot.cell, cell);
        if matches!(cell.get(), Some(None)) && kept.slots.get(&which).is_some_and(is_same) {
            kept.slots.remove(&which);
        }
        kept.make_room();
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        self.cell.get().and_then(Option::as_ref).map_or(0, |document| document.size())
    }
}

impl Kept {
    fn make_room(&mut self) {
        let is_over = |slots: &HashMap<Which, Slot>| {
            let bytes: usize = slots.values().map(Slot::bytes).sum();
            slots.len() > MAX_DOCUMENTS || (bytes > MAX_BYTES && slots.len() > 1)
        };
        while is_over(&self.slots) {
            let oldest = self.slots.iter().min_by_key(|(_, slot)| slot.used);
            let Some((which, _)) = oldest else { return };
            let which = *which;
            self.slots.remove(&which);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn of(project: u128) -> Which {
        Which::Project(ProjectId(Uuid::from_u128(project)), Audience::Anonymous)
    }

    fn fill(documents: &Documents, which: Which, bytes: usize) {
        let cell = documents.cell(which, 1);
        cell.set(Some(Arc::new(Prepared::json(vec![b' '; bytes]).unwrap()))).unwrap();
        documents.settle(which, &cell);
    }

    fn has(documents: &Documents, which: Which) -> bool {
        documents.lock().slots.get(&which).is_some_and(|slot| slot.cell.initialized())
    }

    #[test]
    fn the_least_recently_used_goes_when_there_are_too_many() {
        let documents = Documents::default();
        for project in 0..MAX_DOCUMENTS as u128 {
            fill(&documents, of(project), 1);
        }
        documents.cell(of(0), 1);
        fill(&documents, of(1000), 1);
        assert!(has(&documents, of(0)) && has(&documents, of(1000)) && !has(&documents, of(1)));
        assert_eq!(documents.lock().slots.len(), MAX_DOCUMENTS);
    }

    #[test]
    fn bytes_are_bounded_too() {
        let documents = Documents::default();
        for project in 0..4 {
            fill(&documents, of(project), MAX_BYTES / 2 - 64 * 1024);
        }
        assert!(!has(&documents, of(1)) && has(&documents, of(2)) && has(&documents, of(3)));
        fill(&documents, of(9), MAX_BYTES * 2);
        assert!(has(&documents, of(9)), "one alone is kept whatever its size");
        assert_eq!(documents.lock().slots.len(), 1);
    }

    #[test]
    fn another_version_begins_anew_and_a_failure_is_forgotten() {
        let documents = Documents::default();
        fill(&documents, of(1), 1);
        assert!(documents.cell(of(1), 1).initialized());
        assert!(!documents.cell(of(1), 2).initialized());
        let failed = documents.cell(of(1), 2);
        failed.set(None).unwrap();
        documents.settle(of(1), &failed);
        assert!(!documents.cell(of(1), 2).initialized());
    }
}
