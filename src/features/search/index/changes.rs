//! What documents that come and go change in the index, added up in memory so that each term and each word is written
//! once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::Peekable;
use std::vec::IntoIter;

use db::{Conn, Tx};
use text_index::Language;
use text_index::postings::{Collected, Posting};

use crate::error::Result;
use crate::features::search::class::Section;
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::lexicon::{Lexicon, Read, Reading, at, class_of};
use crate::features::search::index::records::Found;
use crate::features::search::store::words::{self, ChangedWord};
use crate::features::search::store::{self, IndexedRow, StateRow};
use crate::values::ids::ProjectId;

/// A term with what is added to it in a class.
type Added = (String, i64, Collected);

#[derive(Debug)]
pub struct Changes {
    pub lexicon: Lexicon,
    /// By the place of a term, and class.
    removed: BTreeMap<(usize, i64), BTreeSet<i64>>,
    /// By class, and the place of a term.
    added: BTreeMap<i64, Vec<Collected>>,
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
            added: BTreeMap::new(),
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

    /// The numbers must be above all that were added before.
    pub fn add(&mut self, documents: &[(i64, &Found)], reading: &Reading) -> Result<()> {
        self.add_words(documents, reading)?;
        documents.iter().try_for_each(|(_, found)| {
            self.counts.add(found.doc.class, 1, i64::from(found.document.length))
        })
    }

    /// The same without counting the documents. Sorted by term first, so that each term's postings are appended together: jumping
    /// between terms misses the processor's cache.
    pub fn add_words(&mut self, documents: &[(i64, &Found)], reading: &Reading) -> Result<()> {
        let mut by_class: BTreeMap<i64, Vec<(usize, Posting)>> = BTreeMap::new();
        for (number, found) in documents {
            let Read { class, section, words, .. } = reading.of(found)?;
            let posting = Posting::new(*number, 0, found.document.length);
            let terms = words.iter().map(|(word, count)| {
                (
                    self.lexicon.term_of(*word),
                    Posting { count: u8::try_from(*count).unwrap_or(u8::MAX), ..posting },
                )
            });
            by_class.entry(class.number()).or_default().extend(terms);
            if let Some(section) = section {
                words.iter().for_each(|(word, _)| self.change_word(*section, *word, 1));
            }
        }
        for (class, mut terms) in by_class {
            terms.sort_unstable_by_key(|(term, posting)| (*term, posting.number));
            let added = self.added.entry(class).or_default();
            for same in terms.chunk_by(|(a, x), (b, y)| (a, x.number) == (b, y.number)) {
                let (term, posting) = same[0];
                let count = same.iter().fold(0_u8, |sum, (_, one)| sum.saturating_add(one.count));
                at(added, term).push(Posting { count, ..posting });
                self.size += 1;
            }
        }
        Ok(())
    }

    fn change_word(&mut self, section: Section, word: usize, by: i64) {
        *at(self.words.entry(section).or_default(), word) += by;
    }

    pub fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut blocks = Blocks::default();
        for ((term, class), numbers) in &self.removed {
            blocks.remove(tx, project, self.lexicon.term(*term), *class, numbers)?;
        }
        self.counts.write(tx, project)?;
        let Some(slice) = self.sorted().next(usize::MAX) else { return blocks.write(tx, project) };
        slice.blocks(tx, project, blocks)?.write(tx, project)?;
        slice.change_words(tx, project)
    }

    /// What is added and how words change, in the order of terms and words.
    pub fn sorted(self) -> Sorted {
        let Changes { lexicon, added, words, .. } = self;
        let added = added.into_iter().flat_map(|(class, of)| {
            let some = of.into_iter().enumerate().filter(|(_, postings)| !postings.is_empty());
            some.map(move |(term, postings)| (term, class, postings))
        });
        let mut added: Vec<Added> = added
            .map(|(term, class, postings)| (lexicon.term(term).to_owned(), class, postings))
            .collect();
        added.sort_unstable_by(|(a, x, _), (b, y, _)| (a, x).cmp(&(b, y)));
        let mut changed: Vec<(Section, ChangedWord)> = Vec::new();
        for (section, by) in words {
            let by = by.into_iter().enumerate().filter(|(_, by)| *by != 0);
            changed.extend(by.map(|(place, by)| {
                let word = lexicon.word(place).to_owned();
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
    added: Peekable<IntoIter<Added>>,
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
        let mut terms: Vec<Added> = self.added.by_ref().take(terms).collect();
        let last = terms.last().map(|(term, ..)| term.clone());
        let is_last = |(term, ..): &Added| last.as_ref() == Some(term);
        terms.extend(std::iter::from_fn(|| self.added.next_if(is_last)));
        // The last slice takes all words that are left.
        let end = last.filter(|_| self.added.peek().is_some());
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
    terms: Vec<Added>,
    words: BTreeMap<Section, Vec<ChangedWord>>,
    /// The last term of it; none if it is the last slice.
    pub end: Option<String>,
}

impl Slice {
    /// The blocks with what is added. `blocks`: those that have changed already.
    pub fn blocks(&self, c: &Conn<'_>, project: ProjectId, mut blocks: Blocks) -> Result<Blocks> {
        let mut by_class: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (term, class, _) in &self.terms {
            by_class.entry(*class).or_default().push(term.clone());
        }
        let mut tails = HashMap::new();
        for (class, terms) in by_class {
            let found = store::postings::tails(c, project, &terms, class)?;
            tails.extend(found.into_iter().map(|row| ((row.term.clone(), class), row)));
        }
        for (term, class, added) in &self.terms {
            let tail = tails.remove(&(term.clone(), *class));
            blocks.add(term, *class, tail, added)?;
        }
        Ok(blocks)
    }

    pub fn change_words(&self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut words = self.words.iter();
        words.try_for_each(|(section, changed)| words::change(tx, project, *section, changed))
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
            changes.add(&[(number, &found)], &reading).unwrap();
        }
        let mut sorted = changes.sorted();
        let slices: Vec<Slice> = std::iter::from_fn(|| sorted.next(2)).collect();
        let terms: Vec<&str> =
            slices.iter().flat_map(|one| one.terms.iter().map(|(term, ..)| &**term)).collect();
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
