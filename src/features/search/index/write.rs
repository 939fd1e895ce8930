//! Writes a batch of prepared records into the index, in one transaction: what was indexed of them goes, posting by
//! posting, and what they are now gets a new number. So the index always says exactly what the records said.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use db::Tx;
use text_index::postings::{self, BLOCK, Posting};
use text_index::{Analyzer, unpack_words};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::index::records::{Found, Prepared};
use crate::features::search::store::postings::{BlockRow, TAIL};
use crate::features::search::store::{self, DocRow, IndexedRow, fill, words};
use crate::search_queue::Kind;
use crate::values::ids::ProjectId;

/// The term and the class of postings.
type Key = (String, i64);

/// Everything that a batch changes.
#[derive(Debug, Default)]
struct Changes {
    removed: BTreeMap<Key, BTreeSet<i64>>,
    /// In the order of their numbers.
    added: BTreeMap<Key, Vec<Posting>>,
    words: BTreeMap<Section, BTreeMap<String, i64>>,
    /// Documents and their length.
    counts: BTreeMap<Section, (i64, i64)>,
}

/// Records that changed since they were prepared stay in the queue, and all of them if the index is of another language
/// by now.
pub fn apply(
    tx: &Tx<'_>,
    project: ProjectId,
    analyzer: &Analyzer,
    batch: &[Prepared],
) -> Result<()> {
    let Some(state) = store::lock_state(tx, project)? else { return Ok(()) };
    if state.language != analyzer.language().name() {
        return Ok(());
    }
    let ids: Vec<Uuid> = batch.iter().map(|one| one.todo.record_id).collect();
    // Another node may have been faster.
    let left: HashSet<(Uuid, i64)> = store::still_todo(tx, project, ids)?
        .into_iter()
        .map(|row| (row.record_id, row.stamp))
        .collect();
    let batch: Vec<&Prepared> =
        batch.iter().filter(|one| left.contains(&(one.todo.record_id, one.todo.stamp))).collect();
    let ids: Vec<Uuid> = batch.iter().map(|one| one.todo.record_id).collect();
    let mut changes = Changes::default();
    let old = store::indexed(tx, project, ids.clone())?;
    for row in &old {
        changes.remove(analyzer, row)?;
    }
    if state.vector_model.is_some() {
        let gone: Vec<(i64, i64)> = old.iter().map(|row| (row.class, row.number)).collect();
        store::vectors::remove(tx, project, &gone)?;
    }
    store::remove(tx, project, ids)?;
    let before: HashSet<Uuid> = old.iter().map(|row| row.record_id).collect();
    let mut next = state.next_number;
    for one in &batch {
        if let Some(found) = &one.found {
            let doc = DocRow { number: next, ..found.doc.clone() };
            next += 1;
            changes.add(&doc, found)?;
            let length = i64::from(found.document.length);
            store::add(tx, project, &doc, length, found.document.packed_words())?;
        }
    }
    store::set_next(tx, project, next)?;
    changes.write(tx, project)?;
    for one in batch {
        note_dependants(tx, project, one, before.contains(&one.todo.record_id))?;
        store::done(tx, project, &one.todo)?;
    }
    Ok(())
}

/// What has to be looked at again because a record came, went, or changed who may read it.
fn note_dependants(tx: &Tx<'_>, project: ProjectId, one: &Prepared, was_there: bool) -> Result<()> {
    let id = one.todo.record_id;
    match (one.kind, one.found.is_some()) {
        (Kind::Entity, false) => store::note_below(tx, project, id, Class::OpenComment),
        (Kind::Entity, true) if !was_there => fill::queue_comments_of(tx, project, id),
        (Kind::User, _) if one.is_open.is_none() => {
            use Class::{ClosedComment, ClosedEntity, Message, OpenComment, OpenEntity};
            let all = [OpenEntity, OpenComment, ClosedEntity, ClosedComment, Message];
            all.into_iter().try_for_each(|class| store::note_by(tx, project, id, class))
        }
        (Kind::Space, _) => {
            let wrong: &[Class] = match one.is_open {
                Some(true) => &[Class::ClosedEntity, Class::ClosedComment],
                Some(false) => &[Class::OpenEntity, Class::OpenComment],
                None => &[
                    Class::OpenEntity,
                    Class::OpenComment,
                    Class::ClosedEntity,
                    Class::ClosedComment,
                    Class::Message,
                ],
            };
            wrong.iter().try_for_each(|class| store::note_in_space(tx, project, id, *class))
        }
        _ => Ok(()),
    }
}

impl Changes {
    fn remove(&mut self, analyzer: &Analyzer, row: &IndexedRow) -> Result<()> {
        let words = unpack_words(&row.words)
            .ok_or_else(|| Error::internal(format!("damaged words of {}", row.record_id)))?;
        for word in &words {
            let key = (analyzer.term(word), row.class);
            self.removed.entry(key).or_default().insert(row.number);
        }
        self.count(row.class, -1, -row.length, words)
    }

    fn add(&mut self, doc: &DocRow, found: &Found) -> Result<()> {
        let document = &found.document;
        for (term, count) in &document.terms {
            let posting = Posting::new(doc.number, *count, document.length);
            self.added.entry((term.clone(), doc.class)).or_default().push(posting);
        }
        let words = document.words.iter().cloned();
        self.count(doc.class, 1, i64::from(document.length), words)
    }

    /// Only what anybody may read is counted.
    fn count(
        &mut self,
        class: i64,
        documents: i64,
        length: i64,
        words: impl IntoIterator<Item = String>,
    ) -> Result<()> {
        let class = Class::from_number(class).ok_or_else(|| Error::internal("unknown class"))?;
        if !class.is_open() {
            return Ok(());
        }
        let counts = self.counts.entry(class.section()).or_default();
        *counts = (counts.0 + documents, counts.1 + length);
        let known = self.words.entry(class.section()).or_default();
        for word in words {
            *known.entry(word).or_default() += documents;
        }
        Ok(())
    }

    fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut blocks = Blocks::default();
        for ((term, class), numbers) in &self.removed {
            for number in numbers {
                blocks.remove(tx, project, term, *class, *number)?;
            }
        }
        let terms: BTreeSet<&String> = self.added.keys().map(|(term, _)| term).collect();
        let terms: Vec<String> = terms.into_iter().cloned().collect();
        for row in store::postings::tails(tx, project, &terms)? {
            blocks.load(row);
        }
        for (key, postings) in self.added {
            blocks.add(key, postings);
        }
        blocks.write(tx, project)?;
        for (section, known) in &self.words {
            words::change(tx, project, *section, known)?;
        }
        for (section, (documents, length)) in self.counts {
            if (documents, length) != (0, 0) {
                store::count(tx, project, section, documents, length)?;
            }
        }
        Ok(())
    }
}

/// The blocks that a batch changes, by term, class and `last`.
#[derive(Debug, Default)]
struct Blocks(HashMap<(String, i64, i64), Block>);

#[derive(Debug)]
struct Block {
    postings: Vec<Posting>,
    is_changed: bool,
}

impl Blocks {
    /// Unless it is loaded already, and perhaps changed.
    fn load(&mut self, row: BlockRow) {
        let key = (row.term, row.class, row.last);
        self.0.entry(key).or_insert_with(|| Block {
            postings: postings::decode(&row.bytes).collect(),
            is_changed: false,
        });
    }

    fn remove(
        &mut self,
        tx: &Tx<'_>,
        project: ProjectId,
        term: &str,
        class: i64,
        number: i64,
    ) -> Result<()> {
        let found = store::postings::holding(tx, project, term, class, number)?;
        let Some(row) = found else { return Ok(()) };
        let key = (row.term.clone(), row.class, row.last);
        self.load(row);
        if let Some(block) = self.0.get_mut(&key) {
            block.postings.retain(|posting| posting.number != number);
            block.is_changed = true;
        }
        Ok(())
    }

    fn add(&mut self, (term, class): Key, added: Vec<Posting>) {
        let key = (term, class, TAIL);
        let tail = self
            .0
            .entry(key.clone())
            .or_insert_with(|| Block { postings: Vec::new(), is_changed: false });
        tail.postings.extend(added);
        tail.is_changed = true;
        let full = tail.postings.len() / BLOCK * BLOCK;
        let sealed: Vec<Posting> = tail.postings.drain(..full).collect();
        for some in sealed.chunks(BLOCK) {
            let Some(last) = some.last() else { continue };
            let key = (key.0.clone(), class, last.number);
            self.0.insert(key, Block { postings: some.to_vec(), is_changed: true });
        }
    }

    fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let changed = self.0.into_iter().filter(|(_, block)| block.is_changed);
        let mut rows = Vec::new();
        for ((term, class, last), Block { postings, .. }) in changed {
            if postings.is_empty() {
                store::postings::delete(tx, project, &term, class, last)?;
                continue;
            }
            let count = i64::try_from(postings.len()).map_err(Error::internal)?;
            rows.push(BlockRow { term, class, last, count, bytes: postings::encode(&postings) });
        }
        // In the order of the keys, as they lie on disk.
        rows.sort_unstable_by(|a, b| (&a.term, a.class, a.last).cmp(&(&b.term, b.class, b.last)));
        store::postings::write(tx, project, &rows)
    }
}
