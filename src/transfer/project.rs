//! One project out of an archive, of it alone or of a whole installation, into an installation that may have others. Under
//! another id it is a copy.
//!
//! The rows are put aside first, because foreign keys need another order than the archive has. While they are inserted the
//! project has the state `migrating`, so that nobody uses half of it.

mod aside;

use std::collections::BTreeMap;
use std::path::Path;

use db::{Conn, Db, Engine, Value};

use self::aside::{Aside, each_piece};
use super::archive::{self, Manifest, TableHead};
use super::files::Store;
use super::load::Filled;
use super::rows::Row;
use super::tables::{self, Part};
use super::{Checksum, Progress, Result, store};
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

    /// From now on it can be used.
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
