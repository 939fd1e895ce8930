//! Custom tables and their rows, which have columns of their own.

use std::collections::{BTreeMap, HashSet};

use db::{Tx, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::batch::Outcome;
use super::{Import, store};
use crate::error::{Error, Result};
use crate::features::exports::document;
use crate::features::tables::definitions::import::import;
use crate::features::tables::model::{ID, Table};
use crate::features::tables::rows::json::value;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::transfer::Result as Outcomes;
use crate::values::ids::{ProjectId, TableId, new_id};

/// A row of an export.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Row {
    table: String,
    row: BTreeMap<String, Box<RawValue>>,
}

impl Row {
    pub(super) fn read(text: &str) -> Outcomes<Row, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }
}

#[derive(Debug, Default)]
pub(super) struct Custom {
    rows: Vec<(u64, Row)>,
    /// Tables that a dry run would have created.
    pretended: HashSet<String>,
    /// Whether the last table was created or got a column, even if it is not complete.
    pub(super) has_changed: bool,
}

impl Custom {
    pub(super) fn table(
        &mut self,
        import_of: &Import<'_>,
        definition: &serde_json::Value,
    ) -> Outcomes<Outcome> {
        let (project, now) = (import_of.project.id, import_of.now);
        let name = definition["tableName"].as_str().unwrap_or_default().to_owned();
        self.has_changed = false;
        if import_of.is_dry_run {
            let wanted = name.clone();
            let find = import_of.db.read(move |c| catalogue::find(c, project, &wanted));
            let is_there = import_of.runtime.block_on(find)?.is_some();
            if is_there || !self.pretended.insert(name) {
                return Ok(Outcome::Unchanged);
            }
            return Ok(Outcome::Added(Vec::new()));
        }
        let (id, dialect) =
            (TableId(new_id(now, import_of.random)), Dialect(import_of.db.engine()));
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
            Err(Error::Refused(refusal)) => {
                let fault = refusal.fault.message.to_owned();
                Ok(Outcome::LeftOut(refusal.message.unwrap_or(fault)))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn push(&mut self, number: u64, row: Row) {
        self.rows.push((number, row));
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The place, the table and the outcome of each row.
    pub(super) fn flush(&mut self, import: &Import<'_>) -> Outcomes<Vec<(u64, String, Outcome)>> {
        let rows = std::mem::take(&mut self.rows);
        let (project, is_dry_run) = (import.project.id, import.is_dry_run);
        let dialect = Dialect(import.db.engine());
        let (pretended, those) = (self.pretended.clone(), rows.clone());
        let outcomes = if is_dry_run {
            let look = import.db.read(move |c| {
                let mut outcomes = Vec::new();
                for (_, row) in &those {
                    outcomes.push(match catalogue::find(c, project, &row.table)? {
                        None if pretended.contains(&row.table) => Outcome::Added(Vec::new()),
                        found => look(c, dialect, found.as_ref(), row)?.1,
                    });
                }
                Ok::<_, Error>(outcomes)
            });
            import.runtime.block_on(look)?
        } else {
            let write = import.db.write(move |tx| write(tx, project, dialect, &those));
            import.runtime.block_on(write)?
        };
        let placed = rows.into_iter().zip(outcomes);
        Ok(placed.map(|((number, row), outcome)| (number, row.table, outcome)).collect())
    }
}

fn write(
    tx: &Tx<'_>,
    project: ProjectId,
    dialect: Dialect,
    rows: &[(u64, Row)],
) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(rows.len());
    let mut tables: BTreeMap<&str, Option<Table>> = BTreeMap::new();
    for (_, row) in rows {
        if !tables.contains_key(&*row.table) {
            tables.insert(&row.table, catalogue::find(tx, project, &row.table)?);
        }
        let table = tables.get(&*row.table).and_then(Option::as_ref);
        let (cells, mut outcome) = look(tx, dialect, table, row)?;
        if let (Outcome::Added(_), Some(table)) = (&outcome, table)
            && !store::insert_row(tx, dialect, table, &cells)?
        {
            outcome = Outcome::Unchanged;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The cells of a row, and whether it can be inserted.
fn look(
    c: &db::Conn<'_>,
    dialect: Dialect,
    table: Option<&Table>,
    row: &Row,
) -> Result<(Vec<Value<'static>>, Outcome)> {
    let waits = |why: String| Ok((Vec::new(), Outcome::Waits(why)));
    let Some(table) = table else { return waits(format!("there is no table {}", row.table)) };
    if let Some(name) = row.row.keys().find(|name| table.column(name).is_none()) {
        return waits(format!("the table has no column {name}"));
    }
    let mut cells = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        let cell = match row.row.get(&column.name) {
            Some(raw) => match value(column, raw) {
                Ok(cell) => cell,
                Err(error) => return Ok((Vec::new(), Outcome::LeftOut(error.to_string()))),
            },
            None => column.default().unwrap_or(Value::Null),
        };
        cells.push(cell);
    }
    let id = table.columns.iter().zip(&cells).find(|(column, _)| column.name == ID);
    let id: Option<Uuid> = id.and_then(|(_, cell)| document::uuid(cell));
    let Some(id) = id else {
        return Ok((Vec::new(), Outcome::LeftOut("a row needs an id".to_owned())));
    };
    let place = dialect.table_name(table.project, &table.name);
    if !store::existing_rows(c, &place, vec![id])?.is_empty() {
        return Ok((cells, Outcome::Unchanged));
    }
    for (column, cell) in table.columns.iter().zip(&cells) {
        let (Some(reference), Some(id)) = (&column.references, document::uuid(cell)) else {
            continue;
        };
        let place = dialect.table_name(table.project, &reference.name);
        if store::existing_rows(c, &place, vec![id])?.is_empty() {
            return waits(format!("{id} of {} is not there", reference.name));
        }
    }
    Ok((cells, Outcome::Added(Vec::new())))
}
