//! The target's side of a round: rows replace those with the same keys.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use db::{Bulk, Db, Shape};

use super::Sums;
use super::store::{self, Apply};
use crate::features::tables::sql::Dialect;
use crate::transfer::load::{self, Filled, Filling};
use crate::transfer::rows::Row;
use crate::transfer::store::{self as whole, Note};
use crate::transfer::tables::Part;
use crate::transfer::{Checksum, Progress, Result};

/// The same table of the target.
#[derive(Debug)]
pub struct Held {
    part: Part,
    /// In the order of the source.
    shape: Shape,
    pub json: Vec<bool>,
    pub sums: Filled,
}

impl Held {
    pub fn new(part: Part, source: &Part, sum: Checksum) -> Result<Self> {
        let shape = part.shape_in_order_of(&source.columns)?;
        let json = part.json_in_order_of(&source.columns, source.json());
        let sums = Filled { name: part.name.clone(), sent: sum, found: sum };
        Ok(Held { part, shape, json, sums })
    }
}

/// What a round sends to the target.
#[derive(Debug)]
pub enum Change {
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

/// Takes the changes as they arrive; returns how many rows have changed.
pub fn apply_all(
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
    let replaced = Filled { name: part.name.clone(), sent, found };
    load::compare(std::slice::from_ref(&replaced))?;
    apply.commit(sent)?;
    *sums = replaced;
    Ok(keys as u64)
}

/// What the target holds, read from the first row to the last.
pub fn sums_of(target: &Db, held: &BTreeMap<String, Held>) -> Result<Sums> {
    target.snapshot(|c| {
        let sum = |(name, held): (&String, &Held)| {
            Ok((name.clone(), whole::sum_of(c, &held.part, &held.shape, &held.json)?))
        };
        held.iter().map(sum).collect()
    })
}
