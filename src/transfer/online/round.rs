//! One round: the rows whose keys were logged, as a snapshot of the source holds them, replace those of the target. Custom
//! tables that are new, or were changed, are copied whole.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

use db::{Db, TableName};

use super::apply::{Held, apply_all, sums_of};
use super::read::{Kind, Seen, Watched, read};
use super::{Sums, store};
use crate::transfer::copy::{AHEAD, both};
use crate::transfer::load::Filled;
use crate::transfer::{Failure, Progress, Result};

const TRIES: usize = 5;

#[derive(Debug, Clone, Copy)]
pub struct Round {
    pub changed: u64,
    /// The next round copies them.
    pub has_new_tables: bool,
}

#[derive(Debug)]
pub struct Rounds<'a> {
    source: &'a Db,
    target: &'a Db,
    watched: BTreeMap<String, Watched>,
    held: BTreeMap<String, Held>,
}

impl<'a> Rounds<'a> {
    pub fn new(
        source: &'a Db,
        target: &'a Db,
        watched: BTreeMap<String, Watched>,
        held: BTreeMap<String, Held>,
    ) -> Self {
        Rounds { source, target, watched, held }
    }

    pub fn program_tables(&self) -> Vec<TableName> {
        let program = self.watched.values().filter(|one| one.definition.is_none());
        program.map(|one| one.part.table.clone()).collect()
    }

    pub fn into_filled(self) -> Vec<Filled> {
        self.held.into_values().map(|held| held.sums).collect()
    }

    pub fn next(&mut self, progress: Progress<'_>) -> Result<Round> {
        self.patiently(Kind::CatchUp, progress)
    }

    /// A round that ends with every row of both sides compared.
    pub fn compare(&mut self, progress: Progress<'_>) -> Result<Round> {
        self.patiently(Kind::Compare, progress)
    }

    /// The round after which both sides are equal, once nobody can write to the source.
    pub fn last(&mut self, progress: Progress<'_>) -> Result<Round> {
        self.round(Kind::Last, progress)
    }

    /// PostgreSQL cannot read a custom table that is dropped after the snapshot was taken: the next snapshot is without it.
    fn patiently(&mut self, kind: Kind, progress: Progress<'_>) -> Result<Round> {
        for _ in 1..TRIES {
            if let Ok(done) = self.round(kind, progress) {
                return Ok(done);
            }
        }
        self.round(kind, progress)
    }

    fn round(&mut self, kind: Kind, progress: Progress<'_>) -> Result<Round> {
        let (sender, receiver) = sync_channel(AHEAD);
        let (source, target, watched) = (self.source, self.target, &self.watched);
        let held = &mut self.held;
        let (seen, applied) = std::thread::scope(|scope| {
            let reading = scope.spawn(move || source.snapshot(|c| read(c, watched, kind, sender)));
            let applied = apply_all(target, held, receiver, progress);
            let sums = applied.and_then(|changed| match kind {
                Kind::Compare => Ok((changed, sums_of(target, held)?)),
                Kind::CatchUp | Kind::Last => Ok((changed, Sums::new())),
            });
            (reading.join().unwrap_or_else(|_| Err(Failure("the source failed".into()))), sums)
        });
        let (seen, (changed, sums)) = both(seen, applied)?;
        for (name, found) in sums {
            let known = self.held.get(&name).map(|held| held.sums.sent);
            if known != Some(found) || seen.sums.get(&name).is_some_and(|sent| *sent != found) {
                return Err(format!("{name} differs from the source").into());
            }
        }
        let has_new_tables = !seen.unlogged.is_empty();
        self.remember(seen)?;
        Ok(Round { changed, has_new_tables })
    }

    fn remember(&mut self, seen: Seen) -> Result<()> {
        store::discard(self.source, &seen.marks)?;
        for name in seen.gone {
            self.watched.remove(&name);
        }
        for mut one in seen.copied {
            if let Some(held) = self.held.get(&one.part.name) {
                one.json.clone_from(&held.json);
            }
            self.watched.insert(one.part.name.clone(), one);
        }
        store::add_logs(self.source, &seen.unlogged)
    }
}
