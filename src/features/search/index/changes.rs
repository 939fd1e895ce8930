//! What documents that come and go change in the index, added up in memory so that each term and each word is written
//! once.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use db::Tx;
use text_index::Language;
use text_index::postings::Posting;

use crate::error::Result;
use crate::features::search::class::Section;
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::lexicon::{Lexicon, Read, Reading, at, class_of};
use crate::features::search::index::records::Found;
use crate::features::search::store::words::{self, ChangedWord};
use crate::features::search::store::{self, IndexedRow, StateRow};
use crate::values::ids::ProjectId;

/// Of a term, by class (mostly one), in the order of their numbers.
type Postings = Vec<(i64, Vec<Posting>)>;

#[derive(Debug)]
pub struct Changes {
    pub lexicon: Lexicon,
    /// By the place of a term, and class.
    removed: BTreeMap<(usize, i64), BTreeSet<i64>>,
    /// By the place of a term.
    added: Vec<Postings>,
    /// By how much the frequency of a word changes, by its place.
    words: BTreeMap<Section, Vec<i64>>,
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
    pub fn new(language: Language) -> Self {
        Changes {
            lexicon: Lexicon::new(language),
            removed: BTreeMap::new(),
            added: Vec::new(),
            words: BTreeMap::new(),
            counts: Counts::default(),
            size: 0,
        }
    }

    /// Takes out what is in the index of a document: not all of it, if it is of a load that has not come to its end.
    pub fn remove(&mut self, state: &StateRow, row: &IndexedRow, words: &[String]) -> Result<()> {
        let class = class_of(row.class)?;
        for word in words {
            let place = self.lexicon.place(word);
            let term = self.lexicon.term_of(place);
            if !state.lacks(row.number, self.lexicon.term(term)) {
                self.removed.entry((term, row.class)).or_default().insert(row.number);
            }
            if class.is_open() && !state.lacks(row.number, word) {
                self.change_word(class.section(), place, -1);
            }
        }
        self.counts.add(row.class, -1, -row.length)
    }

    /// Documents must come in the order of their numbers.
    pub fn add(&mut self, number: i64, found: &Found, reading: &Reading) -> Result<()> {
        self.add_words(number, found, reading)?;
        self.counts.add(found.doc.class, 1, i64::from(found.document.length))
    }

    /// The same without counting the document.
    pub fn add_words(&mut self, number: i64, found: &Found, reading: &Reading) -> Result<()> {
        let Read { class, section, words, .. } = reading.of(found)?;
        let terms = words.iter().map(|(word, count)| (self.lexicon.term_of(*word), *count));
        let mut terms: Vec<(usize, u32)> = terms.collect();
        terms.sort_unstable();
        for same in terms.chunk_by(|(a, _), (b, _)| a == b) {
            let count = same.iter().map(|(_, count)| count).sum();
            let posting = Posting::new(number, count, found.document.length);
            let by_class = at(&mut self.added, same[0].0);
            match by_class.iter_mut().find(|(of, _)| *of == class.number()) {
                Some((_, postings)) => postings.push(posting),
                None => by_class.push((class.number(), vec![posting])),
            }
            self.size += 1;
        }
        if let Some(section) = section {
            words.iter().for_each(|(word, _)| self.change_word(*section, *word, 1));
        }
        Ok(())
    }

    fn change_word(&mut self, section: Section, word: usize, by: i64) {
        *at(self.words.entry(section).or_default(), word) += by;
    }

    pub fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut blocks = Blocks::default();
        for ((term, class), numbers) in &self.removed {
            for number in numbers {
                blocks.remove(tx, project, self.lexicon.term(*term), *class, *number)?;
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
        let Changes { lexicon, added, words, .. } = self;
        let added = added.into_iter().enumerate().filter(|(_, postings)| !postings.is_empty());
        let mut added: Vec<(Arc<str>, Postings)> =
            added.map(|(term, postings)| (Arc::clone(lexicon.term(term)), postings)).collect();
        added.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let mut changed: Vec<(Section, ChangedWord)> = Vec::new();
        for (section, by) in words {
            let by = by.into_iter().enumerate().filter(|(_, by)| *by != 0);
            changed.extend(by.map(|(place, by)| {
                let word = Arc::clone(lexicon.word(place));
                (section, ChangedWord { word, number: lexicon.number(section, place), by })
            }));
        }
        changed.sort_unstable_by(|(_, a), (_, b)| a.word.cmp(&b.word));
        Sorted { added: added.into_iter().peekable(), words: changed.into_iter().peekable() }
    }
}

/// What is to be written, slice by slice.
#[derive(Debug)]
pub struct Sorted {
    added: Peekable<IntoIter<(Arc<str>, Postings)>>,
    words: Peekable<IntoIter<(Section, ChangedWord)>>,
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
        let terms: Vec<(Arc<str>, Postings)> = self.added.by_ref().take(terms).collect();
        // The last one takes all words that are left.
        let end = terms.last().filter(|_| self.added.peek().is_some());
        let end = end.map(|(term, _)| term.to_string());
        let mut words: BTreeMap<Section, Vec<ChangedWord>> = BTreeMap::new();
        let is_in =
            |(_, one): &(Section, ChangedWord)| end.as_deref().is_none_or(|end| &*one.word <= end);
        while let Some((section, word)) = self.words.next_if(is_in) {
            words.entry(section).or_default().push(word);
        }
        Some(Slice { terms, words, end })
    }
}

/// Neighbouring terms and words, written together.
#[derive(Debug)]
pub struct Slice {
    terms: Vec<(Arc<str>, Postings)>,
    words: BTreeMap<Section, Vec<ChangedWord>>,
    /// The last term of it; none if it is the last slice.
    pub end: Option<String>,
}

impl Slice {
    /// `blocks`: those that have changed already.
    pub fn write(&self, tx: &Tx<'_>, project: ProjectId, mut blocks: Blocks) -> Result<()> {
        let mut by_class: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (term, postings) in &self.terms {
            for (class, _) in postings {
                by_class.entry(*class).or_default().push(term.to_string());
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
    use text_index::{Analyzer, Document};
    use uuid::Uuid;

    use super::*;
    use crate::features::search::class::Class;
    use crate::features::search::store::DocRow;
    use crate::values::time::Timestamp;

    #[test]
    fn slices_hold_every_term_and_word_once_and_in_order() {
        let mut changes = Changes::new(Language::English);
        let analyzer = Analyzer::new(Language::English);
        for (number, text) in [(1, "gardens and gardening"), (2, "zebras garden"), (3, "apples")] {
            let doc = DocRow::new(Class::OpenEntity, Uuid::nil(), Timestamp::from_millis(0));
            let found = Found { doc, document: Document::new(&analyzer, &[(text, 1)]) };
            let reading = changes.lexicon.read([&found].into_iter()).unwrap();
            changes.add(number, &found, &reading).unwrap();
        }
        let mut sorted = changes.sorted();
        let slices: Vec<Slice> = std::iter::from_fn(|| sorted.next(2)).collect();
        let terms: Vec<&str> =
            slices.iter().flat_map(|one| one.terms.iter().map(|(term, _)| &**term)).collect();
        assert_eq!(terms, ["and", "appl", "garden", "zebra"]);
        let words: Vec<&str> = slices
            .iter()
            .flat_map(|one| one.words[&Section::Content].iter().map(|one| &*one.word))
            .collect();
        assert_eq!(words, ["and", "apples", "garden", "gardening", "gardens", "zebras"]);
        let ends: Vec<Option<&str>> = slices.iter().map(|one| one.end.as_deref()).collect();
        assert_eq!(ends, [Some("appl"), None]);
        assert_eq!(slices[0].words[&Section::Content].len(), 1, "`apples` is behind `appl`");
    }
}
