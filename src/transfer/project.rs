//! One project out of an archive, of it alone or of a whole installation, into an installation that may have others. Under
//! another id it is a copy.
//!
//! The rows are put aside first, because foreign keys need another order than the archive has. While they are inserted the
//! project has the state `migrating`, so that nobody uses half of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use db::{Conn, Db, Engine, Value};
use uuid::Uuid;

use super::archive::{self, FILES, Manifest, TABLE, TABLES, TableHead};
use super::files::Store;
use super::load::Filled;
use super::rows::{self, Row};
use super::tables::{self, Part};
use super::{Checksum, Progress, Result, store};
use crate::features::exports::document;
use crate::features::tables::sql::{Dialect, ddl};
use crate::features::tables::store::catalogue;
use crate::features::tables::store::remove::referrers_first;
use crate::schema::MIGRATIONS;
use crate::tenancy::ProjectState;
use crate::tenancy::store as projects;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// The table of projects themselves.
const PROJECTS: &str = "projects";
/// What a copy under another id does not take along: the original does its jobs, and its audit log is sealed under its id.
const OF_THE_ORIGINAL: [&str; 3] = ["jobs", "audit_log", "audit_seals"];
/// Columns with ids of custom tables.
const TABLE_IDS: &[(&str, &str)] =
    &[("custom_tables", "id"), ("custom_columns", "table_id"), ("custom_columns", "references_id")];
/// The column that every other table has.
const SCOPE: &str = "project_id";

#[derive(Debug)]
pub struct RestoreProject<'a> {
    pub db: &'a Db,
    pub store: Store<'a>,
    /// A folder for rows that wait for their turn.
    pub scratch: &'a Path,
    pub now: Timestamp,
    pub project: ProjectId,
    /// The id that it gets.
    pub id: ProjectId,
}

/// What was restored.
#[derive(Debug)]
pub struct Restored {
    pub tables: Vec<Filled>,
    pub files: u64,
}

/// Rows of a table that were put aside.
#[derive(Debug)]
struct Aside {
    head: TableHead,
    path: PathBuf,
}

impl RestoreProject<'_> {
    pub fn run(&self, path: &Path, progress: Progress<'_>) -> Result<Restored> {
        progress("verifying", 0);
        let manifest = archive::verify(path)?;
        self.check(&manifest)?;
        let (aside, files) = self.put_aside(path, progress)?;
        if !aside.iter().any(|one| one.head.name == PROJECTS) {
            return Err(format!("the archive has no project {}", self.project).into());
        }
        let id = self.id;
        let half =
            format!("the project {id} is only half there: townhall project delete {id} --yes");
        let tables = self.fill(aside, progress).map_err(|error| format!("{}; {half}", error.0))?;
        super::load::compare(&tables).map_err(|error| format!("{}; {half}", error.0))?;
        self.open()?;
        Ok(Restored { tables, files })
    }

    fn check(&self, manifest: &Manifest) -> Result<()> {
        if self.db.pending_migrations(MIGRATIONS)? > 0 {
            return Err("the schema is older than this program: townhall migrate up".into());
        }
        if manifest.schema != MIGRATIONS.len() {
            return Err("the archive has another schema: restore all of it into an empty installation with this \
                        program, and back the project up there"
                .into());
        }
        let id = self.id;
        let found = self.store.runtime.block_on(self.db.read(move |c| projects::find(c, id)))?;
        if found.is_some() {
            return Err(format!("there is a project {id} already; --as gives it another id").into());
        }
        Ok(())
    }

    /// The rows of the project, under its new id, in a file for each table; its files go into the storage at once.
    fn put_aside(&self, path: &Path, progress: Progress<'_>) -> Result<(Vec<Aside>, u64)> {
        let (mut aside, mut files): (Vec<Aside>, u64) = (Vec::new(), 0);
        let mut open: Option<BufWriter<File>> = None;
        let prefix = format!("{FILES}{}/", self.project);
        archive::each(path, &mut |name, content| {
            if let Some(below) = name.strip_prefix(&prefix) {
                self.store.put(&format!("{}/{below}", self.id), content)?;
                files += 1;
                progress("files", files);
                return Ok(());
            }
            if !name.starts_with(TABLES) {
                return Ok(());
            }
            if name.ends_with(TABLE) {
                finish(open.take())?;
                let head: TableHead = serde_json::from_reader(content)?;
                if self.takes(&head) {
                    let path = self.scratch.join(format!("{:04}", aside.len()));
                    open = Some(BufWriter::new(archive::create_private(&path)?));
                    aside.push(Aside { head: self.renamed(head), path });
                }
                return Ok(());
            }
            let (Some(file), Some(one)) = (&mut open, aside.last()) else { return Ok(()) };
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes)?;
            let found = rows::decode(&bytes, one.head.columns.len()).ok_or("these are no rows")?;
            let mut own = Vec::new();
            for row in found {
                if let Some(row) = self.own(&one.head, row) {
                    rows::encode(&row, &mut own);
                }
            }
            if !own.is_empty() {
                file.write_all(&(own.len() as u64).to_le_bytes())?;
                file.write_all(&own)?;
            }
            Ok(())
        })?;
        finish(open)?;
        aside.retain(|one| fs::metadata(&one.path).is_ok_and(|found| found.len() > 0));
        Ok((aside, files))
    }

    /// Whether the table may have rows of the project.
    fn takes(&self, head: &TableHead) -> bool {
        match Part::custom(&head.name) {
            Some((project, _)) => project == self.project,
            None if OF_THE_ORIGINAL.contains(&&*head.name) => self.id == self.project,
            None => head.name == PROJECTS || head.columns.iter().any(|column| column == SCOPE),
        }
    }

    /// A custom table has the project in its name.
    fn renamed(&self, head: TableHead) -> TableHead {
        match Part::custom(&head.name) {
            Some((_, name)) => TableHead { name: tables::custom_name(self.id, name), ..head },
            None => head,
        }
    }

    /// The row under the new id, if it is of the project.
    fn own(&self, head: &TableHead, mut row: Row) -> Option<Row> {
        if Part::custom(&head.name).is_some() {
            return Some(row);
        }
        let column = if head.name == PROJECTS { "id" } else { SCOPE };
        let at = head.columns.iter().position(|name| name == column)?;
        if document::uuid(&row[at]) != Some(self.project.0) {
            return None;
        }
        row[at] = blob(self.id.0);
        // SQLite names indexes of custom tables by the ids of the tables: those of a copy are others.
        for (_, column) in TABLE_IDS.iter().filter(|(table, _)| *table == head.name) {
            let at = head.columns.iter().position(|name| name == column)?;
            if let Some(id) = document::uuid(&row[at]) {
                row[at] = blob(self.table_id(id));
            }
        }
        Some(row)
    }

    /// Another id for each pair of projects, and the same one if the project keeps its id.
    fn table_id(&self, id: Uuid) -> Uuid {
        Uuid::from_u128(id.as_u128() ^ self.project.0.as_u128() ^ self.id.0.as_u128())
    }

    /// Inserts all rows, what others refer to first.
    fn fill(&self, aside: Vec<Aside>, progress: Progress<'_>) -> Result<Vec<Filled>> {
        let (custom, plain): (Vec<Aside>, Vec<Aside>) =
            aside.into_iter().partition(|one| Part::custom(&one.head.name).is_some());
        let ordered = self.db.snapshot(|c| ordered(c, plain))?;
        let mut filled = Vec::new();
        for one in ordered {
            filled.push(self.table(one, progress)?);
        }
        self.create_custom()?;
        for one in custom {
            filled.push(self.table(one, progress)?);
        }
        self.link_custom()?;
        Ok(filled)
    }

    fn table(&self, one: Aside, progress: Progress<'_>) -> Result<Filled> {
        let Aside { head, path } = one;
        let (name, project) = (head.name.clone(), self.id);
        self.db.bulk(|bulk| {
            let c = bulk.conn();
            let part = find_part(c, self.db.engine(), &name)?;
            let shape = part.shape_in_order_of(&head.columns)?;
            let places: Vec<String> = shape.columns.iter().map(|(name, _)| name.clone()).collect();
            let json = part.json_in_order_of(&head.columns, head.json.clone());
            let mut sent = Checksum::default();
            let mut waiting: Vec<Vec<Row>> = Vec::new();
            each_piece(&path, head.columns.len(), &mut |mut found| {
                if name == PROJECTS {
                    closed(&head, &mut found, &mut sent, &json);
                } else {
                    found.iter().for_each(|row| sent.add(row, &json));
                }
                // A row may refer to one of its own table that comes later.
                match bulk.insert(&part.table, &places, &found) {
                    Err(db::Error::ForeignKey) => waiting.push(found),
                    inserted => inserted?,
                }
                progress(&name, sent.rows);
                Ok(())
            })?;
            while !waiting.is_empty() {
                let before = waiting.len();
                let mut again = Vec::new();
                for some in waiting {
                    match bulk.insert(&part.table, &places, &some) {
                        Err(db::Error::ForeignKey) => again.push(some),
                        inserted => inserted?,
                    }
                }
                if again.len() == before {
                    return Err(format!("{name}: rows refer to rows that do not exist").into());
                }
                waiting = again;
            }
            let found = store::summed(c, &part, &shape, &json, project)?;
            Ok(Filled { name, sent, found })
        })
    }

    /// As the catalogue says, which was filled before.
    fn create_custom(&self) -> Result<()> {
        let (id, engine) = (self.id, self.db.engine());
        let work = move |tx: &db::Tx<'_>| {
            for table in catalogue::list(tx, id)? {
                ddl::distribute(tx)?;
                ddl::run(tx, Dialect(engine).create(&super::load::unlinked(&table, engine)))?;
            }
            Ok::<_, crate::error::Error>(())
        };
        self.store.runtime.block_on(self.db.write(work))?;
        Ok(())
    }

    fn link_custom(&self) -> Result<()> {
        let (id, engine) = (self.id, self.db.engine());
        if engine == Engine::Sqlite {
            return Ok(());
        }
        let work = move |tx: &db::Tx<'_>| {
            for table in catalogue::list(tx, id)? {
                let links = Dialect(engine).links(&table).into_iter();
                ddl::run(tx, links.map(|text| (text, Vec::new())).collect())?;
            }
            Ok::<_, crate::error::Error>(())
        };
        self.store.runtime.block_on(self.db.write(work))?;
        Ok(())
    }

    /// The state that it had.
    fn open(&self) -> Result<()> {
        let (id, now) = (self.id, self.now);
        let active = ProjectState::Active.name();
        let open = self.db.write(move |tx| projects::set_state(tx, id, active, now));
        self.store.runtime.block_on(open)?;
        Ok(())
    }
}

/// The row of the project itself is closed until everything is there; it counts as it was sent.
fn closed(head: &TableHead, found: &mut [Row], sent: &mut Checksum, json: &[bool]) {
    let state = head.columns.iter().position(|column| column == "state");
    for row in found {
        if let Some(at) = state {
            row[at] = Value::from(ProjectState::Migrating.name().to_owned());
        }
        sent.add(row, json);
    }
}

fn blob(id: Uuid) -> Value<'static> {
    Value::from(id.as_bytes().to_vec())
}

fn finish(open: Option<BufWriter<File>>) -> Result<()> {
    match open {
        Some(mut file) => Ok(file.flush()?),
        None => Ok(()),
    }
}

fn each_piece(
    path: &Path,
    width: usize,
    take: &mut dyn FnMut(Vec<Row>) -> Result<()>,
) -> Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut length = [0; 8];
    while file.read_exact(&mut length).is_ok() {
        let mut bytes = Vec::new();
        (&mut file).take(u64::from_le_bytes(length)).read_to_end(&mut bytes)?;
        take(rows::decode(&bytes, width).ok_or("rows that were put aside are damaged")?)?;
    }
    Ok(())
}

fn find_part(c: &Conn<'_>, engine: Engine, name: &str) -> Result<Part> {
    match Part::custom(name) {
        Some((project, custom)) => {
            let table = catalogue::find(c, project, custom)?;
            let table = table.ok_or_else(|| format!("{name} is not in the catalogue"))?;
            tables::of_project(c, Dialect(engine), &table)
        }
        None => {
            let known = c.tables()?.into_iter().find(|table| table.name == name);
            tables::of_program(c, known.ok_or_else(|| format!("there is no table {name} here"))?)
        }
    }
}

/// What others refer to first.
fn ordered(c: &Conn<'_>, aside: Vec<Aside>) -> Result<Vec<Aside>> {
    let mut targets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in &aside {
        let table = db::TableName::plain(one.head.name.clone());
        let foreign = c.foreign_columns(&table)?;
        let names = foreign.into_iter().map(|column| column.target);
        targets.insert(one.head.name.clone(), names.collect());
    }
    let refers = |a: &Aside, b: &Aside| {
        targets.get(&a.head.name).is_some_and(|targets| targets.contains(&b.head.name))
    };
    let mut sorted = referrers_first(aside, refers);
    sorted.reverse();
    Ok(sorted)
}
