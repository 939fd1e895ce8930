//! The blocks of postings that a transaction changes.

use std::collections::HashMap;

use db::Tx;
use text_index::postings::{self, BLOCK, Posting};

use crate::error::{Error, Result};
use crate::features::search::store;
use crate::features::search::store::postings::{BlockRow, TAIL};
use crate::values::ids::ProjectId;

/// By term, class and `last`.
#[derive(Debug, Default)]
pub struct Blocks(HashMap<(String, i64, i64), Block>);

#[derive(Debug)]
struct Block {
    postings: Vec<Posting>,
    is_changed: bool,
}

impl Blocks {
    /// Unless it is loaded already, and perhaps changed.
    pub fn load(&mut self, row: BlockRow) {
        let key = (row.term, row.class, row.last);
        self.0.entry(key).or_insert_with(|| Block {
            postings: postings::decode(&row.bytes).collect(),
            is_changed: false,
        });
    }

    pub fn remove(
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

    /// Adds documents behind all others of the term. Its tail must be loaded, if there is one.
    pub fn add(&mut self, term: &str, class: i64, added: &[Posting]) {
        let key = (term.to_owned(), class, TAIL);
        let tail =
            self.0.entry(key).or_insert_with(|| Block { postings: Vec::new(), is_changed: false });
        tail.postings.extend_from_slice(added);
        tail.is_changed = true;
        let full = tail.postings.len() / BLOCK * BLOCK;
        let sealed: Vec<Posting> = tail.postings.drain(..full).collect();
        for some in sealed.chunks(BLOCK) {
            let Some(last) = some.last() else { continue };
            let key = (term.to_owned(), class, last.number);
            self.0.insert(key, Block { postings: some.to_vec(), is_changed: true });
        }
    }

    pub fn write(self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
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
