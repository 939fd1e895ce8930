//! The blocks of postings that a transaction changes.

use std::collections::{BTreeSet, HashMap};

use db::Tx;
use text_index::postings::{self, BLOCK, Collected, Posting};

use crate::error::{Error, Result};
use crate::features::search::store;
use crate::features::search::store::postings::{BlockRow, TAIL};
use crate::values::ids::ProjectId;

#[derive(Debug, Default)]
pub struct Blocks {
    /// Those that lost postings, by term, class and `last`.
    fewer: HashMap<(String, i64, i64), Vec<Posting>>,
    new: Vec<BlockRow>,
    changed: Vec<BlockRow>,
    /// Keys of blocks that are empty now.
    empty: Vec<(String, i64, i64)>,
}

impl Blocks {
    /// Takes documents out of a term.
    pub fn remove(
        &mut self,
        tx: &Tx<'_>,
        project: ProjectId,
        term: &str,
        class: i64,
        numbers: &BTreeSet<i64>,
    ) -> Result<()> {
        let mut next = numbers.first().copied();
        while let Some(number) = next {
            let found = store::postings::holding(tx, project, term, class, number)?;
            let Some(BlockRow { term, last, bytes, .. }) = found else { return Ok(()) };
            let stays = |one: &Posting| !numbers.contains(&one.number);
            let left = postings::decode(&bytes).filter(stays).collect();
            self.fewer.insert((term, class, last), left);
            next = last.checked_add(1).and_then(|after| numbers.range(after..).next().copied());
        }
        Ok(())
    }

    /// Adds documents behind all others of the term, whose tail is given as it is stored.
    pub fn add(
        &mut self,
        term: &str,
        class: i64,
        tail: Option<BlockRow>,
        added: &Collected,
    ) -> Result<()> {
        let is_stored = tail.is_some();
        let changed = match self.fewer.is_empty() {
            true => None,
            false => self.fewer.remove(&(term.to_owned(), class, TAIL)),
        };
        let stored = || tail.map_or_else(Vec::new, |row| postings::decode(&row.bytes).collect());
        let mut postings: Vec<Posting> = changed.unwrap_or_else(stored);
        postings.extend(added.postings());
        let mut blocks = postings.chunks_exact(BLOCK);
        for full in blocks.by_ref() {
            let Some(last) = full.last() else { continue };
            self.new.push(row(term, class, last.number, full)?);
        }
        match blocks.remainder() {
            [] if is_stored => self.empty.push((term.to_owned(), class, TAIL)),
            [] => {}
            rest if is_stored => self.changed.push(row(term, class, TAIL, rest)?),
            rest => self.new.push(row(term, class, TAIL, rest)?),
        }
        Ok(())
    }

    pub fn write(&self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        let mut fewer = Vec::new();
        for ((term, class, last), left) in &self.fewer {
            match left.as_slice() {
                [] => store::postings::delete(tx, project, term, *class, *last)?,
                left => fewer.push(row(term, *class, *last, left)?),
            }
        }
        for (term, class, last) in &self.empty {
            store::postings::delete(tx, project, term, *class, *last)?;
        }
        store::postings::replace(tx, project, &fewer)?;
        store::postings::replace(tx, project, &self.changed)?;
        store::postings::add(tx, project, &self.new)
    }
}

fn row(term: &str, class: i64, last: i64, postings: &[Posting]) -> Result<BlockRow> {
    let count = i64::try_from(postings.len()).map_err(Error::internal)?;
    Ok(BlockRow { term: term.to_owned(), class, last, count, bytes: postings::encode(postings) })
}
