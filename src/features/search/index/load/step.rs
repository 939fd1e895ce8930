//! The transactions of a load: a chunk of documents, or a slice of postings and words.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use db::Tx;
use text_index::Language;
use uuid::Uuid;

use crate::error::Result;
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::changes::{Changes, Counts, Slice};
use crate::features::search::index::lexicon::{Learned, Reading};
use crate::features::search::index::records::Prepared;
use crate::features::search::index::write::{self, PutIn};
use crate::features::search::store;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// One transaction of a load.
#[derive(Debug)]
pub(super) struct Step {
    pub project: ProjectId,
    /// As in the state, or none before the first step.
    pub from: Option<i64>,
    /// The number behind the last document of the load.
    pub next: i64,
    /// The last term that is written.
    pub done: Option<String>,
    pub until: Timestamp,
}

/// Records to write, and their words.
#[derive(Debug)]
pub(super) struct Chunk {
    pub records: Vec<Prepared>,
    pub reading: Reading,
}

/// Documents that were written.
#[derive(Debug)]
pub(super) struct Added {
    chunk: Arc<Chunk>,
    /// The number of the load's first document.
    pub from: Option<i64>,
    /// The number behind the last document.
    pub next: i64,
    /// Records that are off the queue.
    pub records: usize,
    /// By record.
    numbers: HashMap<Uuid, i64>,
    learned: Learned,
}

impl Added {
    pub fn add_words(self, changes: &mut Changes) -> Result<()> {
        changes.lexicon.learn(self.learned);
        let Chunk { records, reading } = &*self.chunk;
        let found = records.iter().filter_map(|one| one.found.as_ref());
        let numbered = found.filter_map(|one| Some((*self.numbers.get(&one.doc.record_id)?, one)));
        changes.add_words(&Vec::from_iter(numbered), reading)
    }
}

/// A slice with its blocks as they will be: only the load writes the index meanwhile.
#[derive(Debug)]
pub struct Ready {
    pub(super) slice: Arc<Slice>,
    pub(super) blocks: Blocks,
}

impl Step {
    /// The state, if the index is as the last step has left it: neither has somebody else written it, nor has a crash undone
    /// the step, in which case all that it wrote waits again.
    fn lock(&self, tx: &Tx<'_>) -> Result<Option<store::StateRow>> {
        tx.commit_early()?;
        let is_as_left = |state: &store::StateRow| {
            let has_all = self.from.is_none() || state.next_number == self.next;
            has_all && state.load_from == self.from && state.load_term == self.done
        };
        Ok(store::state::lock(tx, self.project)?.filter(is_as_left))
    }

    /// Writes the documents of a chunk; none if the index is no longer for this load. Records that are in the index already
    /// stay in the queue.
    pub fn add(
        &self,
        tx: &Tx<'_>,
        language: Language,
        chunk: &Arc<Chunk>,
    ) -> Result<Option<Added>> {
        let (project, Chunk { records, reading }) = (self.project, &**chunk);
        let Some(state) = self.lock(tx)? else { return Ok(None) };
        if state.language != language.name() {
            return Ok(None);
        }
        let mut batch = write::waiting(tx, project, records)?;
        let old = store::indexed(tx, project, write::ids(&batch))?;
        let old: HashSet<Uuid> = old.into_iter().map(|row| row.record_id).collect();
        batch.retain(|one| !old.contains(&one.todo.record_id));
        let PutIn { documents, learned } = write::put_in(tx, project, &state, &batch, reading)?;
        let mut counts = Counts::default();
        for (_, found) in &documents {
            counts.add(found.doc.class, 1, i64::from(found.document.length))?;
        }
        counts.write(tx, project)?;
        write::finish(tx, project, &batch, &HashSet::new())?;
        let from = self.from.or_else(|| documents.first().map(|(number, _)| *number));
        if let Some(from) = from {
            store::state::continue_load(tx, project, from, None, self.until)?;
        }
        let next = documents.last().map_or(state.next_number, |(number, _)| number + 1);
        let numbers = documents.iter().map(|(number, found)| (found.doc.record_id, *number));
        let (chunk, numbers) = (Arc::clone(chunk), numbers.collect());
        Ok(Some(Added { chunk, from, next, records: batch.len(), numbers, learned }))
    }

    /// Writes postings and words; false if the index is no longer for this load.
    pub fn write(&self, tx: &Tx<'_>, Ready { slice, blocks }: &Ready) -> Result<bool> {
        let (Some(_), Some(from)) = (self.lock(tx)?, self.from) else { return Ok(false) };
        blocks.write(tx, self.project)?;
        slice.change_words(tx, self.project)?;
        match slice.end.as_deref() {
            Some(end) => {
                store::state::continue_load(tx, self.project, from, Some(end), self.until)?;
            }
            None => store::state::end_load(tx, self.project)?,
        }
        Ok(true)
    }
}
