//! What documents that come and go change in the index, added up in memory so that each term and each word is written
//! once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::Peekable;
use std::vec::IntoIter;

use db::Tx;
use text_index::Analyzer;
use text_index::postings::Posting;

use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::records::Found;
use crate::features::search::store::{self, IndexedRow, StateRow, words};
use crate::values::ids::ProjectId;

/// The term and the class of postings.
type Key = (String, i64);
/// Of a term, by class (mostly one), in the order of their numbers.
type Postings = Vec<(i64, Vec<Posting>)>;

#[derive(Debug, Default)]
pub struct Changes {
    removed: BTreeMap<Key, BTreeSet<i64>>,
    added: HashMap<String, Postings>,
    words: BTreeMap<Section, HashMap<String, i64>>,
    counts: Counts,
    /// How many postings are added.
    pub size: usize,
}

/// Documents that anybody may read, and their length.
#[derive(Debug, Default)]
pub struct Counts(BTreeMap<Section, (i64, i64)>);

impl Counts {
    pub fn add(&mut self, class: i64, documents: i64, length: i64) -> Result<()> {
        let class = class_of(class)?;
        if class.is_open() {
            let counts = self.0.entry(class.section()).or_default();
            *counts = (counts.0 + documents, counts.1 + length);
        }
        Ok(())
    }

    pub fn write(&self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut changed = self.0.iter().filter(|(_, counts)| **counts != (0, 0));
        changed.try_for_each(|(section, (documents, length))| {
            store::count(tx, project, *section, *documents, *length)
        })
    }
}

impl Changes {
    /// Takes out what is in the index of a document: not all of it, if it is of a load that has not come to its end.
    pub fn remove(
        &mut self,
        analyzer: &Analyzer,
        state: &StateRow,
        row: &IndexedRow,
        words: Vec<String>,
    ) -> Result<()> {
        let class = class_of(row.class)?;
        for word in words {
            let term = analyzer.term(&word);
            if !state.lacks(row.number, &term) {
                self.removed.entry((term, row.class)).or_default().insert(row.number);
            }
            if class.is_open() && !state.lacks(row.number, &word) {
                *self.words.entry(class.section()).or_default().entry(word).or_default() -= 1;
            }
        }
        self.counts.add(row.class, -1, -row.length)
    }

    /// Documents must come in the order of their numbers.
    pub fn add(&mut self, number: i64, found: &Found) -> Result<()> {
        self.add_words(number, found)?;
        self.counts.add(found.doc.class, 1, i64::from(found.document.length))
    }

    /// The same without counting the document.
    pub fn add_words(&mut self, number: i64, found: &Found) -> Result<()> {
        let (document, class) = (&found.document, class_of(found.doc.class)?);
        self.size += document.terms.len();
        for (term, count) in &document.terms {
            let posting = Posting::new(number, *count, document.length);
            change(&mut self.added, term, |by_class: &mut Postings| {
                match by_class.iter_mut().find(|(class, _)| *class == found.doc.class) {
                    Some((_, postings)) => postings.push(posting),
                    None => by_class.push((found.doc.class, vec![posting])),
                }
            });
        }
        if class.is_open() {
            let known = self.words.entry(class.section()).or_default();
            for word in &document.words {
                change(known, word, |frequency| *frequency += 1);
            }
        }
        Ok(())
    }

    pub fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut blocks = Blocks::default();
        for ((term, class), numbers) in &self.removed {
            for number in numbers {
                blocks.remove(tx, project, term, *class, *number)?;
            }
        }
        self.counts.write(tx, project)?;
        match self.sorted().next(usize::MAX) {
            Some(slice) => slice.write(tx, project, blocks),
            None => blocks.write(tx, project),
        }
    }

    /// What is added and how words change, in the order of terms and words.
    pub fn sorted(self) -> Sorted {
        let mut added = Vec::from_iter(self.added);
        added.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let words = self.words.into_iter().flat_map(|(section, words)| {
            words.into_iter().map(move |(word, by)| (section, word, by))
        });
        let mut words: Vec<ChangedWord> = words.filter(|(.., by)| *by != 0).collect();
        words.sort_unstable_by(|(_, a, _), (_, b, _)| a.cmp(b));
        Sorted { added: added.into_iter().peekable(), words: words.into_iter().peekable() }
    }
}

/// A word, and by how much its frequency changes.
type ChangedWord = (Section, String, i64);

/// What is to be written, slice by slice.
#[derive(Debug)]
pub struct Sorted {
    added: Peekable<IntoIter<(String, Postings)>>,
    words: Peekable<IntoIter<ChangedWord>>,
}

impl Sorted {
    pub fn is_empty(&mut self) -> bool {
        self.added.peek().is_none() && self.words.peek().is_none()
    }

    /// The next terms, and the words up to them.
    pub fn next(&mut self, terms: usize) -> Option<Slice> {
        if self.is_empty() {
            return None;
        }
        let terms: Vec<(String, Postings)> = self.added.by_ref().take(terms).collect();
        // The last one takes all words that are left.
        let end = terms.last().filter(|_| self.added.peek().is_some());
        let end = end.map(|(term, _)| term.clone());
        let mut words: BTreeMap<Section, Vec<(String, i64)>> = BTreeMap::new();
        let is_in = |(_, word, _): &ChangedWord| end.as_ref().is_none_or(|end| word <= end);
        while let Some((section, word, by)) = self.words.next_if(is_in) {
            words.entry(section).or_default().push((word, by));
        }
        Some(Slice { terms, words, end })
    }
}

fn class_of(number: i64) -> Result<Class> {
    Class::from_number(number).ok_or_else(|| Error::internal("unknown class"))
}

/// Changes a value; the key is copied only if it is new.
fn change<T: Default>(map: &mut HashMap<String, T>, key: &str, by: impl FnOnce(&mut T)) {
    if let Some(value) = map.get_mut(key) {
        return by(value);
    }
    let mut value = T::default();
    by(&mut value);
    map.insert(key.to_owned(), value);
}

/// Neighbouring terms and words, written together.
#[derive(Debug)]
pub struct Slice {
    terms: Vec<(String, Postings)>,
    words: BTreeMap<Section, Vec<(String, i64)>>,
    /// The last term of it; none if it is the last slice.
    pub end: Option<String>,
}

impl Slice {
    /// `blocks`: those that have changed already.
    pub fn write(&self, tx: &Tx<'_>, project: ProjectId, mut blocks: Blocks) -> Result<()> {
        let mut by_class: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (term, postings) in &self.terms {
            for (class, _) in postings {
                by_class.entry(*class).or_default().push(term.clone());
            }
        }
        for (class, terms) in &by_class {
            for row in store::postings::tails(tx, project, terms, *class)? {
                blocks.load(row);
            }
        }
        for (term, by_class) in &self.terms {
            for (class, postings) in by_class {
                blocks.add(term, *class, postings);
            }
        }
        blocks.write(tx, project)?;
        for (section, changed) in &self.words {
            words::change(tx, project, *section, changed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use text_index::{Document, Language};
    use uuid::Uuid;

    use super::*;
    use crate::features::search::store::DocRow;
    use crate::values::time::Timestamp;

    #[test]
    fn slices_hold_every_term_and_word_once_and_in_order() {
        let mut changes = Changes::default();
        let analyzer = Analyzer::new(Language::English);
        for (number, text) in [(1, "gardens and gardening"), (2, "zebras garden"), (3, "apples")] {
            let doc = DocRow::new(Class::OpenEntity, Uuid::nil(), Timestamp::from_millis(0));
            let found = Found { doc, document: Document::new(&analyzer, &[(text, 1)]) };
            changes.add(number, &found).unwrap();
        }
        let mut sorted = changes.sorted();
        let slices: Vec<Slice> = std::iter::from_fn(|| sorted.next(2)).collect();
        let terms: Vec<&str> =
            slices.iter().flat_map(|one| one.terms.iter().map(|(term, _)| &**term)).collect();
        assert_eq!(terms, ["and", "appl", "garden", "zebra"]);
        let words: Vec<&str> = slices
            .iter()
            .flat_map(|one| one.words[&Section::Content].iter().map(|(word, _)| &**word))
            .collect();
        assert_eq!(words, ["and", "apples", "garden", "gardening", "gardens", "zebras"]);
        let ends: Vec<Option<&str>> = slices.iter().map(|one| one.end.as_deref()).collect();
        assert_eq!(ends, [Some("appl"), None]);
        assert_eq!(slices[0].words[&Section::Content].len(), 1, "`apples` is behind `appl`");
    }
}
