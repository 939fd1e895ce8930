//! One round: the rows whose keys were logged, as a snapshot of the source holds them, replace those of the target. Custom
//! tables that are new, or were changed, are copied whole.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use db::{Bulk, Conn, Db, Shape, TableName};

use super::store::{self, Apply, Logged};
use crate::features::tables::model::Table;
use crate::features::tables::sql::Dialect;
use crate::transfer::copy::{AHEAD, in_batches};
use crate::transfer::load::{self, Filled, Filling};
use crate::transfer::rows::Row;
use crate::transfer::store::{self as whole, Note};
use crate::transfer::tables::{self, Part};
use crate::transfer::{Checksum, Failure, Progress, Result};

type Sums = BTreeMap<String, Checksum>;

/// A table of the source that is logged and was copied.
#[derive(Debug, Clone)]
pub struct Watched {
    part: Part,
    log: i64,
    json: Vec<bool>,
    /// Of a custom table: as it was when it was copied.
    definition: Option<Table>,
}

impl Watched {
    pub fn program(part: Part, log: i64, json: Vec<bool>) -> Self {
        Watched { part, log, json, definition: None }
    }
}

/// The same table of the target.
#[derive(Debug)]
pub struct Held {
    part: Part,
    /// In the order of the source.
    shape: Shape,
    json: Vec<bool>,
    sums: Filled,
}

impl Held {
    pub fn new(part: Part, source: &Part, sum: Checksum) -> Result<Self> {
        let shape = part.shape_in_order_of(&source.columns)?;
        let json = part.json_in_order_of(&source.columns, source.json());
        let sums = Filled { name: part.name.clone(), sent: sum, found: sum };
        Ok(Held { part, shape, json, sums })
    }

    pub fn json(&self) -> Vec<bool> {
        self.json.clone()
    }
}

/// What a round sends to the target.
enum Change {
    /// The source has this custom table no longer.
    Gone(String),
    /// A custom table from the first row on: `Rows`, then `End`.
    Whole(Part),
    /// Keys and rows of a table: `Keys`, `AllKeys`, `Rows`, `End`.
    Changed(String),
    Keys(Vec<Row>),
    /// All rows with these keys are deleted before the first is written: two rows may have exchanged what is unique.
    AllKeys,
    Rows(Vec<Row>),
    End,
}

/// What a round has found in the source.
#[derive(Default)]
struct Seen {
    /// What it has read of each log.
    marks: Vec<(i64, String)>,
    /// Custom tables that are not logged yet.
    unlogged: Vec<Part>,
    copied: Vec<Watched>,
    gone: Vec<String>,
    /// Of all tables, if asked for.
    sums: Sums,
}

#[derive(Debug, Clone, Copy)]
pub struct Round {
    pub changed: u64,
    /// The next round copies them.
    pub has_new_tables: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CatchUp,
    /// Also reads every table of both sides.
    Compare,
    /// Nobody can write to the source: what is not logged does not change either.
    Last,
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
        self.round(Kind::CatchUp, progress)
    }

    /// A round that ends with every row of both sides compared.
    pub fn compare(&mut self, progress: Progress<'_>) -> Result<Round> {
        self.round(Kind::Compare, progress)
    }

    /// The round after which both sides are equal, once nobody can write to the source.
    pub fn last(&mut self, progress: Progress<'_>) -> Result<Round> {
        self.round(Kind::Last, progress)
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
        // The target's error comes first: the source then only says that nobody takes its rows.
        let (changed, sums) = applied?;
        let seen = seen?;
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
        let logged = self.source.snapshot(store::logged)?;
        store::add_logs(self.source, &seen.unlogged, &logged)
    }
}

/// Reads what has changed in a snapshot.
fn read(
    c: &Conn<'_>,
    watched: &BTreeMap<String, Watched>,
    kind: Kind,
    to: SyncSender<Change>,
) -> Result<Seen> {
    store::look_up_keys(c)?;
    let mut reading =
        Reading { c, watched, kind, to, logged: store::logged(c)?, seen: Seen::default() };
    let filled = store::filled(c, &reading.logged.values().copied().collect::<Vec<_>>())?;
    for one in watched.values().filter(|one| one.definition.is_none()) {
        if filled.contains(&one.log) {
            reading.changed(one)?;
        }
    }
    reading.custom_tables(&filled)?;
    let Reading { to, mut seen, .. } = reading;
    // The target has everything.
    drop(to);
    if kind == Kind::Compare {
        for (name, one) in watched {
            let is_new = seen.copied.iter().any(|copied| copied.part.name == *name);
            if !is_new && !seen.gone.contains(name) {
                let sum = whole::sum_of(c, &one.part, &one.part.shape, &one.json)?;
                seen.sums.insert(name.clone(), sum);
            }
        }
    }
    Ok(seen)
}

struct Reading<'a, 'c> {
    c: &'a Conn<'c>,
    watched: &'a BTreeMap<String, Watched>,
    kind: Kind,
    to: SyncSender<Change>,
    logged: Logged,
    seen: Seen,
}

impl Reading<'_, '_> {
    fn send(&self, change: Change) -> Result<()> {
        Ok(self.to.send(change).map_err(|_| db::Error::Busy)?)
    }

    fn changed(&mut self, one: &Watched) -> Result<()> {
        let (c, part, log) = (self.c, &one.part, one.log);
        self.seen.marks.push((log, store::mark(c, log)?));
        self.send(Change::Changed(part.name.clone()))?;
        in_batches(&self.to, Change::Keys, |take| store::changed_keys(c, part, log, take))?;
        self.send(Change::AllKeys)?;
        in_batches(&self.to, Change::Rows, |take| store::changed_rows(c, part, log, take))?;
        self.send(Change::End)
    }

    fn custom_tables(&mut self, filled: &[i64]) -> Result<()> {
        let dialect = Dialect(self.c.engine());
        let tables = tables::custom(self.c)?;
        let names: Vec<String> =
            tables.iter().map(|table| tables::custom_name(table.project, &table.name)).collect();
        let watched = self.watched;
        for (name, _) in watched.iter().filter(|(_, one)| one.definition.is_some()) {
            if !names.contains(name) {
                self.send(Change::Gone(name.clone()))?;
                self.seen.gone.push(name.clone());
            }
        }
        for (table, name) in tables.into_iter().zip(names) {
            let log = self.logged.get(&dialect.table_name(table.project, &table.name)).copied();
            let known = watched.get(&name);
            match (known, log) {
                (Some(one), Some(log))
                    if one.log == log && one.definition.as_ref() == Some(&table) =>
                {
                    if filled.contains(&log) {
                        self.changed(one)?;
                    }
                }
                (_, None) if self.kind != Kind::Last => {
                    self.seen.unlogged.push(tables::of_project(self.c, dialect, &table)?);
                }
                (_, log) => self.whole(dialect, table, log)?,
            }
        }
        Ok(())
    }

    fn whole(&mut self, dialect: Dialect, table: Table, log: Option<i64>) -> Result<()> {
        let (c, part) = (self.c, tables::of_project(self.c, dialect, &table)?);
        if let Some(log) = log {
            self.seen.marks.push((log, store::mark(c, log)?));
        }
        self.send(Change::Whole(part.clone()))?;
        in_batches(&self.to, Change::Rows, |take| {
            c.table_rows(&part.table, &part.shape, &[], take)
        })?;
        self.send(Change::End)?;
        let (json, log) = (part.json(), log.unwrap_or_default());
        self.seen.copied.push(Watched { part, log, json, definition: Some(table) });
        Ok(())
    }
}

/// Takes the changes as they arrive; returns how many rows have changed.
fn apply_all(
    target: &Db,
    held: &mut BTreeMap<String, Held>,
    arriving: Receiver<Change>,
    progress: Progress<'_>,
) -> Result<u64> {
    target.bulk(move |bulk| {
        let mut changed = 0;
        while let Ok(change) = arriving.recv() {
            match change {
                Change::Gone(name) => drop_held(bulk, held, &name)?,
                Change::Whole(source) => changed += fill(bulk, held, &source, &arriving)?,
                Change::Changed(name) => {
                    let held = held.get_mut(&name).ok_or_else(|| format!("{name} is unknown"))?;
                    changed += replace(bulk, held, &arriving)?;
                }
                Change::Keys(_) | Change::AllKeys | Change::Rows(_) | Change::End => {
                    return Err("rows of no table".into());
                }
            }
            progress("changed rows", changed);
        }
        Ok(changed)
    })
}

fn drop_held(bulk: &Bulk<'_>, held: &mut BTreeMap<String, Held>, name: &str) -> Result<()> {
    match held.remove(name) {
        Some(gone) => store::drop_table(bulk, &gone.part.table, name),
        None => Ok(()),
    }
}

fn fill(
    bulk: &Bulk<'_>,
    held: &mut BTreeMap<String, Held>,
    source: &Part,
    arriving: &Receiver<Change>,
) -> Result<u64> {
    let name = source.name.clone();
    let (project, custom) = Part::custom(&name).ok_or("a table of no project")?;
    let table = Dialect(bulk.conn().engine()).table_name(project, custom);
    store::drop_table(bulk, &table, &name)?;
    let mut filling = Filling::begin(bulk, name.clone(), &source.columns, source.json())?;
    loop {
        match arriving.recv() {
            Ok(Change::Rows(rows)) => filling.take(&rows)?,
            Ok(Change::End) => break,
            _ => return Err(format!("{name}: the source ended too early").into()),
        }
    }
    let (part, filled) = filling.end()?;
    load::create_dropped(bulk, Note::Index, &|_, _| {})?;
    load::compare(std::slice::from_ref(&filled))?;
    held.insert(name, Held::new(part, source, filled.sent)?);
    Ok(filled.sent.rows)
}

/// Replaces the rows of a table that have changed, in one transaction; returns how many.
fn replace(bulk: &Bulk<'_>, held: &mut Held, arriving: &Receiver<Change>) -> Result<u64> {
    let Held { part, shape, json, sums } = held;
    let places: Vec<String> = shape.columns.iter().map(|(place, _)| place.clone()).collect();
    let (mut sent, mut found) = (sums.sent, sums.found);
    let apply = Apply::begin(bulk, part)?;
    let mut keys = 0;
    loop {
        match arriving.recv() {
            Ok(Change::Keys(batch)) => {
                keys += batch.len();
                apply.add_keys(&batch)?;
            }
            Ok(Change::AllKeys) => {
                apply.rows(shape, &mut |row| {
                    sent.remove(&row, json);
                    found.remove(&row, json);
                })?;
                apply.delete()?;
            }
            Ok(Change::Rows(rows)) => {
                rows.iter().for_each(|row| sent.add(row, json));
                apply.insert(&places, &rows)?;
            }
            Ok(Change::End) => break,
            _ => return Err(format!("{}: the source ended too early", part.name).into()),
        }
    }
    apply.rows(shape, &mut |row| found.add(&row, json))?;
    *sums = Filled { name: part.name.clone(), sent, found };
    load::compare(std::slice::from_ref(sums))?;
    apply.commit(sent)?;
    Ok(keys as u64)
}

/// What the target holds, read from the first row to the last.
fn sums_of(target: &Db, held: &BTreeMap<String, Held>) -> Result<Sums> {
    target.snapshot(|c| {
        let sum = |(name, held): (&String, &Held)| {
            Ok((name.clone(), whole::sum_of(c, &held.part, &held.shape, &held.json)?))
        };
        held.iter().map(sum).collect()
    })
}
