//! The source's side of a round: which rows have changed since the last one.

use std::collections::BTreeMap;
use std::sync::mpsc::SyncSender;

use db::Conn;

use super::Sums;
use super::apply::Change;
use super::store::{self, Logged};
use crate::features::tables::model::Table;
use crate::features::tables::sql::Dialect;
use crate::transfer::Result;
use crate::transfer::copy::in_batches;
use crate::transfer::store as whole;
use crate::transfer::tables::{self, Part};

/// A table of the source that is logged and was copied.
#[derive(Debug, Clone)]
pub struct Watched {
    pub part: Part,
    log: i64,
    pub json: Vec<bool>,
    /// Of a custom table: as it was when it was copied.
    pub definition: Option<Table>,
}

impl Watched {
    pub fn program(part: Part, log: i64, json: Vec<bool>) -> Self {
        Watched { part, log, json, definition: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    CatchUp,
    /// Also reads every table of both sides.
    Compare,
    /// Nobody can write to the source: what is not logged does not change either.
    Last,
}

/// What a round has found in the source.
#[derive(Debug, Default)]
pub struct Seen {
    /// What it has read of each log.
    pub marks: Vec<(i64, String)>,
    /// Custom tables that are not logged yet.
    pub unlogged: Vec<Part>,
    pub copied: Vec<Watched>,
    pub gone: Vec<String>,
    /// Of all tables, if asked for.
    pub sums: Sums,
}

/// Reads what has changed in a snapshot.
pub fn read(
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
        in_batches(&self.to, Change::Rows, |take| c.table_rows(&part.table, &part.shape, take))?;
        self.send(Change::End)?;
        let (json, log) = (part.json(), log.unwrap_or_default());
        self.seen.copied.push(Watched { part, log, json, definition: Some(table) });
        Ok(())
    }
}
