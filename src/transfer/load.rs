//! Into an empty database: its schema, then table after table. Indexes and foreign keys are dropped before a
//! table is filled and created again at the end, which is many times faster and checks every row.
//!
//! What is done is noted in the target, in a table that goes away with the last step: an interrupted transfer
//! goes on after the last table that was finished, and a server refuses to start on half of one.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use db::{Bulk, Db, Definition, Engine, Shape};

use super::rows::Row;
use super::store::{self, Note};
use super::tables::{self, Part};
use super::{Checksum, Failure, Progress, Result};
use crate::features::tables::model::{Column, Table};
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::schema::MIGRATIONS;
use crate::values::time::Timestamp;

/// What a source sends, in this order for each table.
#[derive(Debug)]
pub enum Message {
    Table {
        name: String,
        columns: Vec<String>,
        json: Vec<bool>,
    },
    Rows(Vec<Row>),
    /// All rows of the table were sent.
    End,
}

/// A table that was filled: the checksums of what was sent and of what is there now.
#[derive(Debug, Clone)]
pub struct Filled {
    pub name: String,
    pub sent: Checksum,
    pub found: Checksum,
}

/// Whether a transfer into the database was interrupted.
pub fn is_unfinished(db: &Db) -> Result<bool, db::Error> {
    db.snapshot(store::has_marker)
}

/// From now on a transfer into the database has begun.
pub fn mark(bulk: &Bulk<'_>) -> Result<()> {
    if store::has_marker(bulk.conn())? { Ok(()) } else { store::create_marker(bulk) }
}

/// The tables that an interrupted transfer has finished, with what was sent. Refuses a target that holds data.
pub fn prepare(target: &Db, schema: usize, now: Timestamp) -> Result<BTreeMap<String, Checksum>> {
    if is_unfinished(target)? {
        return target.bulk(finished);
    }
    let is_new =
        target.migration_status(MIGRATIONS)?.iter().all(|state| state.applied_at.is_none());
    if is_new {
        let known = MIGRATIONS.get(..schema).ok_or("the source is newer than this program")?;
        target.migrate(known, now.millis())?;
    }
    let held = target.snapshot(|c| {
        let mut held = Vec::new();
        for part in tables::all(c, target.engine())? {
            if !store::is_empty(c, &part.table)? {
                held.push(part.name);
            }
        }
        Ok::<_, Failure>(held)
    })?;
    if !held.is_empty() {
        return Err(format!("the target is not empty: it has {}", held.join(", ")).into());
    }
    if target.pending_migrations(&MIGRATIONS[..schema])? > 0 {
        return Err("the target has an older schema: use an empty database".into());
    }
    Ok(BTreeMap::new())
}

/// The tables that are noted as done, with what was sent.
pub fn finished(bulk: &Bulk<'_>) -> Result<BTreeMap<String, Checksum>> {
    let mut done = BTreeMap::new();
    for (name, text) in store::notes(bulk, Note::Done)? {
        let sum = Checksum::parse_noted(&text);
        done.insert(name, sum.ok_or("the notes of the interrupted transfer are damaged")?);
    }
    Ok(done)
}

/// Fills the target with what arrives, creates the indexes and foreign keys, and compares.
pub fn run(
    target: &Db,
    arriving: Receiver<Message>,
    progress: Progress<'_>,
) -> Result<Vec<Filled>> {
    target.bulk(move |bulk| {
        let loader = Loader { bulk, engine: target.engine(), progress };
        loader.start()?;
        let mut filled = Vec::new();
        while let Ok(message) = arriving.recv() {
            let Message::Table { name, columns, json } = message else {
                return Err("rows of no table".into());
            };
            filled.push(loader.table(name, &columns, json, &arriving)?);
        }
        Ok(filled)
    })
}

/// Refuses tables that do not hold what was sent.
pub fn compare(filled: &[Filled]) -> Result<()> {
    let wrong = filled.iter().filter(|one| one.sent != one.found);
    let wrong: Vec<&str> = wrong.map(|one| &*one.name).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("these tables differ: {}", wrong.join(", ")).into())
}

/// Creates what was dropped, checks foreign keys where nothing else does, and removes the notes.
pub fn finish(target: &Db, progress: Progress<'_>) -> Result<()> {
    create_indexes(target, progress)?;
    create_references(target, progress)
}

/// With statistics for the planner.
pub fn create_indexes(target: &Db, progress: Progress<'_>) -> Result<()> {
    target.bulk(|bulk| {
        create_dropped(bulk, Note::Index, progress)?;
        Ok(bulk.analyze()?)
    })
}

/// The last step. Foreign keys need the unique indexes.
pub fn create_references(target: &Db, progress: Progress<'_>) -> Result<()> {
    target.bulk(|bulk| {
        create_dropped(bulk, Note::ForeignKey, progress)?;
        refuse_dangling(bulk)?;
        store::remove_marker(bulk)
    })
}

/// The last step where everybody waits for it: foreign keys hold for what is written from now on, and no row is read.
/// [`validate_references`] checks the rows.
pub fn create_references_unchecked(target: &Db) -> Result<()> {
    target.bulk(|bulk| {
        for (name, create) in store::notes(bulk, Note::ForeignKey)? {
            store::carry_out(bulk, Note::ForeignKey, &name, &format!("{create} NOT VALID"))?;
        }
        store::remove_marker(bulk)
    })
}

/// After [`create_references_unchecked`].
pub fn validate_references(target: &Db, progress: Progress<'_>) -> Result<()> {
    target.bulk(|bulk| {
        for (at, statement) in (1..).zip(bulk.validations()?) {
            progress("foreign keys", at);
            bulk.execute(&statement)?;
        }
        Ok(())
    })
}

/// On SQLite, where nothing else checks foreign keys.
pub fn check_references(target: &Db) -> Result<()> {
    target.bulk(refuse_dangling)
}

fn refuse_dangling(bulk: &Bulk<'_>) -> Result<()> {
    let dangling = bulk.dangling()?;
    if dangling.is_empty() {
        return Ok(());
    }
    Err(format!("rows refer to rows that do not exist: {}", dangling.join("; ")).into())
}

/// Creates what is noted, and removes the notes.
pub fn create_dropped(bulk: &Bulk<'_>, kind: Note, progress: Progress<'_>) -> Result<()> {
    for (at, (name, create)) in (1..).zip(store::notes(bulk, kind)?) {
        progress("indexes", at);
        store::carry_out(bulk, kind, &name, &create)?;
    }
    Ok(())
}

struct Loader<'a> {
    bulk: &'a Bulk<'a>,
    engine: Engine,
    progress: Progress<'a>,
}

impl Loader<'_> {
    fn start(&self) -> Result<()> {
        mark(self.bulk)?;
        drop_definitions(self.bulk, &tables::all(self.bulk.conn(), self.engine)?)
    }

    fn table(
        &self,
        name: String,
        columns: &[String],
        json: Vec<bool>,
        arriving: &Receiver<Message>,
    ) -> Result<Filled> {
        let mut filling = Filling::begin(self.bulk, name, columns, json)?;
        loop {
            match arriving.recv() {
                Ok(Message::Rows(rows)) => {
                    filling.take(&rows)?;
                    (self.progress)(&filling.part.name, filling.sent.rows);
                }
                Ok(Message::End) => return Ok(filling.end()?.1),
                Ok(Message::Table { .. }) | Err(_) => {
                    return Err(format!("{}: the source ended too early", filling.part.name).into());
                }
            }
        }
    }
}

/// A table that is being filled, from the first row on.
#[derive(Debug)]
pub struct Filling<'a> {
    bulk: &'a Bulk<'a>,
    part: Part,
    /// In the order of the source.
    shape: Shape,
    places: Vec<String>,
    json: Vec<bool>,
    sent: Checksum,
}

impl<'a> Filling<'a> {
    /// `columns` and `json` are those of the source.
    pub fn begin(
        bulk: &'a Bulk<'a>,
        name: String,
        columns: &[String],
        json: Vec<bool>,
    ) -> Result<Self> {
        let part = part(bulk, &name)?;
        let shape = part.shape_in_order_of(columns)?;
        let places = shape.columns.iter().map(|(place, _)| place.clone()).collect();
        let json = part.json_in_order_of(columns, json);
        // Left by an interrupted transfer, or by a change of the source since.
        store::empty(bulk, &part.table, &name)?;
        Ok(Filling { bulk, part, shape, places, json, sent: Checksum::default() })
    }

    pub fn take(&mut self, rows: &[Row]) -> Result<()> {
        rows.iter().for_each(|row| self.sent.add(row, &self.json));
        Ok(self.bulk.insert(&self.part.table, &self.places, rows)?)
    }

    /// Reads the table again, and notes that it is done if it holds what was sent.
    pub fn end(self) -> Result<(Part, Filled)> {
        let Filling { bulk, part, shape, json, sent, .. } = self;
        let found = store::sum_of(bulk.conn(), &part, &shape, &json)?;
        let filled = Filled { name: part.name.clone(), sent, found };
        compare(std::slice::from_ref(&filled))?;
        store::note(bulk, Note::Done, vec![(part.name.clone(), sent.noted())])?;
        Ok((part, filled))
    }
}

/// The table of this name; a custom table is created as the catalogue, which was filled before, says.
fn part(bulk: &Bulk<'_>, name: &str) -> Result<Part> {
    let c = bulk.conn();
    let Some((project, custom)) = Part::custom(name) else {
        let known = c.tables()?.into_iter().find(|table| table.name == name);
        let known = known.ok_or_else(|| format!("there is no table {name} here"))?;
        return tables::of_program(c, known);
    };
    let dialect = Dialect(c.engine());
    let table = catalogue::find(c, project, custom)?;
    let table = table.ok_or_else(|| format!("{name} is not in the catalogue"))?;
    if c.shape(&dialect.table_name(project, custom))?.columns.is_empty() {
        for (statement, _) in dialect.create(&unlinked(&table, c.engine())) {
            bulk.execute(&statement)?;
        }
        if c.engine() == Engine::Postgres {
            let links = dialect.links(&table).into_iter().map(|create| (create.clone(), create));
            store::note(bulk, Note::ForeignKey, links.collect())?;
        }
    }
    let part = tables::of_project(c, dialect, &table)?;
    drop_definitions(bulk, std::slice::from_ref(&part))?;
    Ok(part)
}

/// Foreign keys first: they need the unique indexes of other tables. Every definition is noted before the first is dropped.
fn drop_definitions(bulk: &Bulk<'_>, parts: &[Part]) -> Result<()> {
    let mut found = Vec::new();
    for part in parts {
        found.extend(bulk.definitions(&part.table)?);
    }
    let (keys, indexes): (Vec<Definition>, Vec<Definition>) =
        found.into_iter().partition(|one| one.is_foreign_key);
    for (kind, definitions) in [(Note::ForeignKey, &keys), (Note::Index, &indexes)] {
        let values = definitions.iter().map(|one| (one.drop.clone(), one.create.clone()));
        store::note(bulk, kind, values.collect())?;
    }
    for Definition { drop, .. } in keys.into_iter().chain(indexes) {
        bulk.execute(&drop)?;
    }
    Ok(())
}

/// PostgreSQL creates no reference to a table that does not exist yet: references come last.
pub fn unlinked(table: &Table, engine: Engine) -> Table {
    if engine == Engine::Sqlite {
        return table.clone();
    }
    let plain = |column: &Column| Column {
        indexed: column.has_index(),
        references: None,
        ..column.clone()
    };
    Table { columns: table.columns.iter().map(plain).collect(), ..table.clone() }
}
