//! The words of a batch or of a load, in memory. Each word of a document is looked up once; everything else about it goes by
//! its place here. The numbers are those of the project's dictionary, with which documents that anybody may read are stored.
//! Others are stored with the words themselves: the dictionary holds none of theirs.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use db::Tx;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use text_index::{Analyzer, Language, pack_numbers};
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::index::records::Found;
use crate::features::search::store::words;
use crate::values::ids::ProjectId;

#[derive(Debug)]
pub struct Lexicon {
    analyzer: Analyzer,
    words: Places,
    terms: Places,
    /// By the place of a word: the place of its term.
    term_of: Vec<usize>,
    /// By the place of a word.
    numbers: BTreeMap<Section, Vec<Option<i64>>>,
}

/// Every text once, one behind another in one string, so that a lookup touches few cache lines.
#[derive(Debug, Default)]
struct Places {
    of: HashTable<usize>,
    hasher: RandomState,
    /// One text behind another.
    texts: String,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Places {
    /// Its place, and whether it is new.
    fn put(&mut self, text: &str) -> (usize, bool) {
        let Places { of, hasher, texts, ends } = self;
        let get = |place: &usize| text_at(texts, ends, *place);
        let hash = hasher.hash_one(text);
        let entry = of.entry(hash, |place| get(place) == text, |place| hasher.hash_one(get(place)));
        let vacant = match entry {
            Entry::Occupied(found) => return (*found.get(), false),
            Entry::Vacant(vacant) => vacant,
        };
        let place = ends.len();
        vacant.insert(place);
        texts.push_str(text);
        ends.push(texts.len());
        (place, true)
    }

    fn get(&self, place: usize) -> &str {
        text_at(&self.texts, &self.ends, place)
    }
}

fn text_at<'t>(texts: &'t str, ends: &[usize], place: usize) -> &'t str {
    let start = if place == 0 { 0 } else { ends[place - 1] };
    &texts[start..ends[place]]
}

impl Lexicon {
    pub fn new(language: Language) -> Self {
        Lexicon {
            analyzer: Analyzer::new(language),
            words: Places::default(),
            terms: Places::default(),
            term_of: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// How many words it holds.
    pub fn size(&self) -> usize {
        self.words.ends.len()
    }

    pub fn place(&mut self, word: &str) -> usize {
        let (place, is_new) = self.words.put(word);
        if is_new {
            let (term, _) = self.terms.put(&self.analyzer.term(word));
            self.term_of.push(term);
        }
        place
    }

    pub fn term_of(&self, word: usize) -> usize {
        self.term_of[word]
    }

    pub fn word(&self, place: usize) -> &str {
        self.words.get(place)
    }

    pub fn term(&self, place: usize) -> &str {
        self.terms.get(place)
    }

    /// Of a word in the dictionary, if it is known here.
    pub fn number(&self, section: Section, word: usize) -> Option<i64> {
        self.numbers.get(&section)?.get(word).copied().flatten()
    }

    /// Looks up the numbers of words that leave documents.
    pub fn look_up(
        &mut self,
        tx: &Tx<'_>,
        project: ProjectId,
        section: Section,
        words: &[&str],
    ) -> Result<()> {
        for (word, number) in words::numbers(tx, project, section, words)? {
            let place = self.place(&word);
            self.set_number(section, place, number);
        }
        Ok(())
    }

    pub fn read<'a>(&mut self, documents: impl Iterator<Item = &'a Found>) -> Result<Reading> {
        let mut reading = Reading::default();
        for found in documents {
            let class = class_of(found.doc.class)?;
            let words = found.document.words().map(|(word, count)| (self.place(word), count));
            let words: Vec<(usize, u32)> = words.collect();
            let section = class.is_open().then(|| class.section());
            let mut numbers = Vec::new();
            if let Some(section) = section {
                let known = self.numbers.entry(section).or_default();
                for (place, _) in &words {
                    let number = known.get(*place).copied().flatten();
                    if number.is_none() {
                        reading.lacking.insert(*place, self.words.get(*place).to_owned());
                    }
                    numbers.push(number);
                }
            }
            let read = Read { class, section, words, numbers };
            reading.documents.insert(found.doc.record_id, read);
        }
        Ok(reading)
    }

    pub fn learn(&mut self, learned: Learned) {
        for ((section, place), number) in learned.0 {
            self.set_number(section, place, number);
        }
    }

    fn set_number(&mut self, section: Section, place: usize, number: i64) {
        *at(self.numbers.entry(section).or_default(), place) = Some(number);
    }
}

/// The value at a place, which is made if there is none yet.
pub fn at<T: Default>(list: &mut Vec<T>, place: usize) -> &mut T {
    if list.len() <= place {
        list.resize_with(place + 1, T::default);
    }
    &mut list[place]
}

pub fn class_of(number: i64) -> Result<Class> {
    Class::from_number(number).ok_or_else(|| Error::internal("unknown class"))
}

/// A document by the places of its words.
#[derive(Debug)]
pub struct Read {
    pub class: Class,
    /// Where its words belong, if anybody may read it.
    pub section: Option<Section>,
    /// Each with how often it occurs.
    pub words: Vec<(usize, u32)>,
    /// Of the words of an open document, as far as the lexicon knows them.
    numbers: Vec<Option<i64>>,
}

/// Documents as a lexicon has read them.
#[derive(Debug, Default)]
pub struct Reading {
    documents: HashMap<Uuid, Read>,
    /// Words without a number, by their places.
    lacking: HashMap<usize, String>,
}

/// Numbers of words that a lexicon lacks.
#[derive(Debug, Default)]
pub struct Learned(HashMap<(Section, usize), i64>);

impl Reading {
    pub fn of(&self, found: &Found) -> Result<&Read> {
        let read = self.documents.get(&found.doc.record_id);
        read.ok_or_else(|| Error::internal("a document was not read"))
    }

    /// What the lexicon lacks for some of the documents. New words get numbers from `next` on; also the number after them.
    pub fn look_up<'a>(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        documents: impl Iterator<Item = &'a Found>,
        mut next: i64,
    ) -> Result<(Learned, i64)> {
        let mut lacking: BTreeMap<Section, BTreeMap<&str, usize>> = BTreeMap::new();
        for found in documents {
            let read = self.of(found)?;
            let Some(section) = read.section else { continue };
            let unknown = read.words.iter().zip(&read.numbers).filter(|(_, n)| n.is_none());
            let unknown = unknown
                .filter_map(|((place, _), _)| Some((self.lacking.get(place)?.as_str(), *place)));
            lacking.entry(section).or_default().extend(unknown);
        }
        let mut learned = Learned::default();
        for (section, mut lacking) in lacking {
            let words: Vec<&str> = lacking.keys().copied().collect();
            for (word, number) in words::numbers(tx, project, section, &words)? {
                if let Some(place) = lacking.remove(&*word) {
                    learned.0.insert((section, place), number);
                }
            }
            let new: Vec<(&str, i64)> = lacking.keys().copied().zip(next..).collect();
            words::add(tx, project, section, &new)?;
            learned.0.extend(lacking.values().map(|place| (section, *place)).zip(next..));
            next = new.last().map_or(next, |(_, number)| number + 1);
        }
        Ok((learned, next))
    }

    /// The words of a document in a few bytes.
    pub fn pack(&self, learned: &Learned, found: &Found) -> Result<Vec<u8>> {
        let read = self.of(found)?;
        let Some(section) = read.section else { return Ok(found.document.packed_words()) };
        let numbers = read.words.iter().zip(&read.numbers);
        let numbers = numbers.map(|((place, _), number)| {
            number.or_else(|| learned.0.get(&(section, *place)).copied())
        });
        let numbers: Option<Vec<i64>> = numbers.collect();
        numbers.map(pack_numbers).ok_or_else(|| Error::internal("a word has no number"))
    }
}
