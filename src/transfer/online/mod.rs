//! `copy --online`: a server writes to the source meanwhile.
//!
//! Triggers on the source log the keys of changed rows. All tables are copied from a snapshot; then, round by round, the rows
//! with logged keys are replaced by what a newer snapshot holds. A round replaces whole rows, so one that is
//! interrupted is simply repeated. When little is left the source is fenced: nobody can write to it any more, and the
//! last round makes both sides equal.
//!
//! The log belongs to one target, by a token that both sides note. After a crash the same command goes on with it.

mod apply;
mod read;
mod round;
mod store;

use std::collections::BTreeMap;
use std::time::Duration;

use db::{Db, Engine, TableName};

use super::load::{self, Filled};
use super::store::{self as notes, Note};
use super::tables;
use super::{Checksum, Part, Progress, Result, copy};
use crate::features::tables::sql::Dialect;
use crate::schema::MIGRATIONS;
use crate::values::clock::Clock;
use apply::Held;
use read::Watched;
use round::Rounds;
pub use store::is_own;

/// Checksums of tables, by name.
type Sums = BTreeMap<String, Checksum>;

/// So few changed rows take no time.
const FEW: u64 = 500;
/// If the source changes faster than that is caught up with, the pause gets longer.
const MAX_ROUNDS: usize = 20;

#[derive(Debug, Clone, Copy)]
pub struct Online<'a> {
    pub source: &'a Db,
    pub target: &'a Db,
    pub clock: &'a Clock,
    /// Random, without quotes.
    pub token: &'a str,
}

#[derive(Debug)]
pub struct Copied {
    pub tables: Vec<Filled>,
    /// How long nobody could write to the source before the target was complete.
    pub pause: Duration,
}

/// Whether the database was moved, and is read-only since.
pub fn is_fenced(db: &Db) -> Result<bool> {
    Ok(db.snapshot(store::state)?.is_some_and(|state| state.is_fenced))
}

/// Removes everything that an online copy has left in its source: all can write to it again.
pub fn reopen(source: &Db) -> Result<()> {
    if source.snapshot(store::state)?.is_some() {
        store::unfence(source)?;
        store::remove_logs(source)?;
        store::forget(source)?;
    }
    Ok(())
}

/// The same for a copy that was killed, unless another one goes on with it. On SQLite the caller makes sure of that.
pub fn remove_leftovers(source: &Db) -> Result<()> {
    if source.snapshot(store::state)?.is_none() {
        return Ok(());
    }
    match source.engine() {
        Engine::Sqlite => reopen(source),
        Engine::Postgres => {
            source.bulk(|bulk| if store::claim(bulk)? { reopen(source) } else { Ok(()) })
        }
    }
}

impl Online<'_> {
    /// On SQLite the caller makes sure that nobody else copies the same source.
    pub fn run(&self, progress: Progress<'_>) -> Result<Copied> {
        if self.source.engine() == Engine::Sqlite {
            return self.copy_or_clean_up(progress);
        }
        self.source.bulk(|bulk| {
            if !store::claim(bulk)? {
                return Err("the source is being copied already".into());
            }
            self.copy_or_clean_up(progress)
        })
    }

    fn copy_or_clean_up(&self, progress: Progress<'_>) -> Result<Copied> {
        let schema = self.check()?;
        let done = self.begin(schema)?;
        // After an error nothing is left in the source; after a crash the log is.
        self.copy(schema, &done, progress).inspect_err(|_| drop(reopen(self.source)))
    }

    /// The schema of the source.
    fn check(&self) -> Result<usize> {
        let schema = schema_of(self.source)?;
        if schema == 0 {
            return Err("the source holds nothing".into());
        }
        if load::is_unfinished(self.source)? {
            return Err("the source is itself the target of an unfinished transfer".into());
        }
        for db in [self.source, self.target] {
            if db.snapshot(|c| c.is_distributed())? {
                return Err("a cluster cannot be copied online: stop the server first".into());
            }
        }
        Ok(schema)
    }

    /// The tables that are done already, if this goes on with an interrupted copy.
    fn begin(&self, schema: usize) -> Result<BTreeMap<String, Checksum>> {
        let state = self.source.snapshot(store::state)?;
        let done = load::prepare(self.target, schema, self.clock.now())?;
        let noted = self.target.bulk(|bulk| {
            load::mark(bulk)?;
            Ok::<_, super::Failure>(notes::notes(bulk, Note::Token)?.pop())
        })?;
        let noted = noted.map(|(_, token)| token);
        match state {
            Some(state) if noted.as_ref() == Some(&state.token) => {
                if state.is_fenced {
                    store::unfence(self.source)?;
                }
                return Ok(done);
            }
            Some(state) if state.is_fenced => {
                return Err(
                    "the source was moved before, and is read-only since: townhall copy --reopen"
                        .into(),
                );
            }
            _ => reopen(self.source)?,
        }
        self.target.bulk(|bulk| {
            notes::forget_all(bulk, Note::Done)?;
            notes::forget_all(bulk, Note::Token)?;
            notes::note(bulk, Note::Token, vec![(String::new(), self.token.to_owned())])
        })?;
        store::begin(self.source, self.token)?;
        Ok(BTreeMap::new())
    }

    fn copy(
        &self,
        schema: usize,
        done: &BTreeMap<String, Checksum>,
        progress: Progress<'_>,
    ) -> Result<Copied> {
        let parts = self.source.snapshot(tables::program)?;
        self.log_all(&parts)?;
        self.fill(&parts, done, progress)?;
        load::create_indexes(self.target, progress)?;
        let mut rounds = self.rounds(parts)?;
        self.catch_up(&mut rounds, progress)?;
        rounds.compare(progress)?;
        // Both sides are equal, so that the source's foreign keys hold on the target. To check them again takes long, and
        // nobody shall wait for it: it is done before the fence and after it.
        load::check_references(self.target)?;
        self.catch_up(&mut rounds, progress)?;
        if schema_of(self.source)? != schema {
            return Err(
                "the schema of the source has changed meanwhile: run the command again".into()
            );
        }
        let began = self.clock.uptime();
        self.fence(&rounds)?;
        rounds.last(progress)?;
        load::create_references_unchecked(self.target)?;
        let pause = self.clock.uptime() - began;
        store::remove_logs(self.source)?;
        load::validate_references(self.target, progress)?;
        Ok(Copied { tables: rounds.into_filled(), pause })
    }

    /// Before the snapshot that is copied, so that no change falls between the two.
    fn log_all(&self, parts: &[Part]) -> Result<()> {
        let logged = self.source.snapshot(store::logged)?;
        let missing = parts.iter().filter(|part| !logged.contains_key(&part.table));
        store::add_logs(self.source, missing)
    }

    /// The tables of the program; those of projects come and go, and are copied by the rounds.
    fn fill(
        &self,
        parts: &[Part],
        done: &BTreeMap<String, Checksum>,
        progress: Progress<'_>,
    ) -> Result<()> {
        let missing: Vec<&Part> =
            parts.iter().filter(|part| !done.contains_key(&part.name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        copy::fill(self.source, self.target, progress, |c, sender| {
            missing.iter().try_for_each(|part| copy::send(c, part, sender))?;
            Ok(Vec::new())
        })?;
        Ok(())
    }

    fn rounds(&self, parts: Vec<Part>) -> Result<Rounds<'_>> {
        let logged = self.source.snapshot(store::logged)?;
        let there = self.target.snapshot(tables::program)?;
        let done = self.target.bulk(|bulk| {
            let done = load::finished(bulk)?;
            // Custom tables of an interrupted copy may be gone from the source since: they are copied again.
            for (project, table) in done.keys().filter_map(|name| Part::custom(name)) {
                let place = Dialect(self.target.engine()).table_name(project, table);
                store::drop_table(bulk, &place, &tables::custom_name(project, table))?;
            }
            Ok::<_, super::Failure>(done)
        })?;
        let (mut watched, mut held) = (BTreeMap::new(), BTreeMap::new());
        for part in parts {
            let name = part.name.clone();
            let to = there.iter().find(|to| to.name == name);
            let (Some(to), Some(number), Some(sum)) =
                (to, logged.get(&part.table), done.get(&name))
            else {
                return Err(format!("{name} was not copied").into());
            };
            let one = Held::new(to.clone(), &part, *sum)?;
            watched.insert(name.clone(), Watched::program(part, *number, one.json.clone()));
            held.insert(name, one);
        }
        Ok(Rounds::new(self.source, self.target, watched, held))
    }

    /// Until little is left.
    fn catch_up(&self, rounds: &mut Rounds<'_>, progress: Progress<'_>) -> Result<()> {
        for _ in 0..MAX_ROUNDS {
            let round = rounds.next(progress)?;
            if round.changed <= FEW && !round.has_new_tables {
                break;
            }
        }
        Ok(())
    }

    /// A custom table may be created while the others are being fenced, but not after that.
    fn fence(&self, rounds: &Rounds<'_>) -> Result<()> {
        let dialect = Dialect(self.source.engine());
        let mut fenced: Vec<TableName> = Vec::new();
        loop {
            let mut tables = rounds.program_tables();
            for table in self.source.snapshot(tables::custom)? {
                tables.push(dialect.table_name(table.project, &table.name));
            }
            tables.retain(|table| !fenced.contains(table));
            if tables.is_empty() {
                return Ok(());
            }
            match store::fence(self.source, &tables, fenced.len()) {
                // SQLite fences all or none: a table was dropped since they were listed.
                Err(db::Error::Missing { .. }) => continue,
                done => done?,
            }
            fenced.extend(tables);
        }
    }
}

fn schema_of(db: &Db) -> Result<usize> {
    Ok(MIGRATIONS.len() - db.pending_migrations(MIGRATIONS)?)
}
