//! Custom tables and their rows, which have columns of their own.

mod look;
mod row;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use db::{Tx, Value};
use uuid::Uuid;

use self::look::{Looked, look};
pub(super) use self::row::Row;
use super::batch::Outcome;
use super::{Import, store};
use crate::error::{Error, Result};
use crate::features::tables::definitions::import::{import, preview};
use crate::features::tables::model::{Column, Table};
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::transfer::Result as Outcomes;
use crate::values::ids::{ProjectId, TableId, new_id};

#[derive(Debug, Default)]
pub(super) struct Custom {
    rows: Vec<(u64, Row)>,
    pretended: Arc<RwLock<Pretended>>,
    /// Whether the last table was created or got a column, even if it is not complete.
    pub(super) has_changed: bool,
}

/// What a dry run would have created: tables, also those that would have got columns, and rows.
#[derive(Debug, Default)]
struct Pretended {
    tables: BTreeMap<String, Table>,
    rows: HashSet<(String, Uuid)>,
}

impl Custom {
    pub(super) fn table(
        &mut self,
        import_of: &Import<'_>,
        definition: &serde_json::Value,
    ) -> Outcomes<Outcome> {
        let (project, now) = (import_of.project.id, import_of.now);
        self.has_changed = false;
        let id = TableId(new_id(now, import_of.random));
        if import_of.is_dry_run {
            return self.pretend(import_of, id, definition);
        }
        let dialect = Dialect(import_of.db.engine());
        let definition = definition.clone();
        let work = move |tx: &Tx<'_>| import(tx, project, id, &definition, dialect, now);
        match import_of.runtime.block_on(import_of.db.write(work)) {
            Ok(done) => {
                self.has_changed = done.has_changed;
                Ok(match (done.is_complete, done.has_changed) {
                    (true, true) => Outcome::Added(Vec::new()),
                    (true, false) => Outcome::Unchanged,
                    (false, _) => Outcome::Waits("a table that it refers to is not there".into()),
                })
            }
            Err(error) => refused(error),
        }
    }

    fn pretend(
        &mut self,
        import: &Import<'_>,
        id: TableId,
        definition: &serde_json::Value,
    ) -> Outcomes<Outcome> {
        let project = import.project.id;
        let wanted = match preview(project, id, definition) {
            Ok(wanted) => wanted,
            Err(error) => return refused(error),
        };
        let name = wanted.name.clone();
        let find = import.db.read(move |c| catalogue::find(c, project, &name));
        let there = import.runtime.block_on(find)?;
        let table = match there {
            None => wanted,
            Some(mut there) => {
                let columns = wanted.columns.into_iter();
                let new: Vec<Column> =
                    columns.filter(|column| there.column(&column.name).is_none()).collect();
                if new.is_empty() {
                    return Ok(Outcome::Unchanged);
                }
                there.columns.extend(new);
                there
            }
        };
        let mut pretended = self.pretended.write().unwrap_or_else(PoisonError::into_inner);
        pretended.tables.insert(table.name.clone(), table);
        Ok(Outcome::Added(Vec::new()))
    }

    pub(super) fn push(&mut self, number: u64, row: Row) {
        self.rows.push((number, row));
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The place, the label and the outcome of each row.
    pub(super) fn flush(&mut self, import: &Import<'_>) -> Outcomes<Vec<(u64, String, Outcome)>> {
        let (numbers, rows): (Vec<u64>, Vec<Row>) =
            std::mem::take(&mut self.rows).into_iter().unzip();
        let labels: Vec<String> = rows.iter().map(|row| row.label.clone()).collect();
        let outcomes = if import.is_dry_run {
            let (project, dialect) = (import.project.id, Dialect(import.db.engine()));
            let shared = Arc::clone(&self.pretended);
            let look = import.db.read(move |c| {
                let pretended = shared.read().unwrap_or_else(PoisonError::into_inner);
                look(c, project, dialect, &pretended, &rows)
            });
            let looked = import.runtime.block_on(look)?;
            let mut pretended = self.pretended.write().unwrap_or_else(PoisonError::into_inner);
            let remember = |one: Looked| {
                if let (Outcome::Added(_), Some(table)) = (&one.outcome, one.table) {
                    pretended.rows.insert((table.name.clone(), one.id));
                }
                one.outcome
            };
            looked.into_iter().map(remember).collect()
        } else {
            write_all(import, Arc::new(rows))?
        };
        Ok(numbers.into_iter().zip(labels).zip(outcomes).map(|((n, l), o)| (n, l, o)).collect())
    }
}

fn refused(error: Error) -> Outcomes<Outcome> {
    match error {
        Error::Refused(refusal) => {
            let fault = refusal.fault.message.to_owned();
            Ok(Outcome::LeftOut(refusal.message.unwrap_or(fault)))
        }
        error => Err(error.into()),
    }
}

/// In one transaction; if one of the rows is refused, each in its own.
fn write_all(import: &Import<'_>, rows: Arc<Vec<Row>>) -> Outcomes<Vec<Outcome>> {
    let (project, dialect) = (import.project.id, Dialect(import.db.engine()));
    let those = Arc::clone(&rows);
    let write = import.db.write(move |tx| write(tx, project, dialect, &those));
    match import.runtime.block_on(write) {
        Ok(outcomes) => Ok(outcomes),
        Err(Error::Busy(why)) => Err(why.into()),
        Err(error) if rows.len() == 1 => {
            Ok(vec![Outcome::LeftOut(error.chain().unwrap_or_else(|| error.to_string()))])
        }
        Err(_) => {
            let mut outcomes = Vec::with_capacity(rows.len());
            for row in rows.iter() {
                outcomes.extend(write_all(import, Arc::new(vec![row.clone()]))?);
            }
            Ok(outcomes)
        }
    }
}

fn write(tx: &Tx<'_>, project: ProjectId, dialect: Dialect, rows: &[Row]) -> Result<Vec<Outcome>> {
    let mut looked = look(tx, project, dialect, &Pretended::default(), rows)?;
    // Neighbours of one table go into one statement.
    for some in
        looked.chunk_by_mut(|a, b| a.table.as_ref().map(|t| t.id) == b.table.as_ref().map(|t| t.id))
    {
        let Some(table) = some[0].table.clone() else { continue };
        let new = some.iter().filter(|one| matches!(one.outcome, Outcome::Added(_)));
        let new: Vec<&[Value<'static>]> = new.map(|one| &*one.cells).collect();
        let inserted = store::insert_rows(tx, dialect, &table, &new)?;
        for one in some {
            if matches!(one.outcome, Outcome::Added(_)) && !inserted.contains(&one.id) {
                one.outcome = Outcome::Unchanged;
            }
        }
    }
    Ok(looked.into_iter().map(|one| one.outcome).collect())
}
