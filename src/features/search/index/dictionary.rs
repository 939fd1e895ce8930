//! The numbers of words, as documents that anybody may read are stored with. What others wrote is stored with the words
//! themselves: the dictionary holds none of theirs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use db::Tx;
use text_index::pack_numbers;

use crate::error::{Error, Result};
use crate::features::search::class::{Class, Section};
use crate::features::search::index::records::Found;
use crate::features::search::store::words;
use crate::values::ids::ProjectId;

/// Words read by one statement.
const READ: usize = 2000;

/// A part of a project's dictionary, in memory.
#[derive(Debug, Default)]
pub struct Dictionary(BTreeMap<Section, HashMap<String, i64>>);

impl Dictionary {
    fn number(&self, section: Section, word: &str) -> Option<i64> {
        self.0.get(&section)?.get(word).copied()
    }

    /// The words of the documents that it lacks. New ones get numbers from `next` on; also the number after them.
    pub fn learn<'a>(
        &self,
        tx: &Tx<'_>,
        project: ProjectId,
        documents: impl Iterator<Item = &'a Found>,
        mut next: i64,
    ) -> Result<(Dictionary, i64)> {
        let mut lacking: BTreeMap<Section, BTreeSet<&str>> = BTreeMap::new();
        for found in documents {
            let Some(section) = open_section(found)? else { continue };
            let words = found.document.words.iter().map(String::as_str);
            let lacked = words.filter(|word| self.number(section, word).is_none());
            lacking.entry(section).or_default().extend(lacked);
        }
        let mut learned = Dictionary::default();
        for (section, lacking) in lacking {
            let known = learned.0.entry(section).or_default();
            let words = Vec::from_iter(lacking);
            for some in words.chunks(READ) {
                let some = some.iter().copied().map(String::from).collect();
                known.extend(words::numbers(tx, project, section, some)?);
            }
            let new = words.into_iter().filter(|word| !known.contains_key(*word));
            let new: Vec<(String, i64)> = new.map(String::from).zip(next..).collect();
            words::add(tx, project, section, &new)?;
            next = new.last().map_or(next, |(_, number)| number + 1);
            known.extend(new);
        }
        Ok((learned, next))
    }

    pub fn add(&mut self, learned: Dictionary) {
        for (section, words) in learned.0 {
            self.0.entry(section).or_default().extend(words);
        }
    }

    /// The words of a document in a few bytes. This dictionary or what it has just learned must know them.
    pub fn pack(&self, learned: &Dictionary, found: &Found) -> Result<Vec<u8>> {
        let Some(section) = open_section(found)? else { return Ok(found.document.packed_words()) };
        let number =
            |word: &String| self.number(section, word).or_else(|| learned.number(section, word));
        let numbers: Option<Vec<i64>> = found.document.words.iter().map(number).collect();
        numbers.map(pack_numbers).ok_or_else(|| Error::internal("a word has no number"))
    }
}

/// Where the words of a document belong, if anybody may read it.
fn open_section(found: &Found) -> Result<Option<Section>> {
    let class =
        Class::from_number(found.doc.class).ok_or_else(|| Error::internal("unknown class"))?;
    Ok(class.is_open().then(|| class.section()))
}
