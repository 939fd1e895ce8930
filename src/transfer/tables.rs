//! All tables of a database, those of the projects too, under names that are the same on both engines.

use db::{ColumnKind, Conn, Engine, Shape, TableName};

use super::Result;
use super::online::is_own;
use super::store::MARKER;
use crate::features::tables::model::Table;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::values::ids::ProjectId;

/// Before the names of custom tables: `custom/<project>/<name>`.
const CUSTOM: &str = "custom/";
/// What a database knows of itself, not of the installation.
const OWN: [&str; 2] = ["schema_migrations", MARKER];

/// A table as one of the two databases has it.
#[derive(Debug, Clone)]
pub struct Part {
    /// The same on both engines.
    pub name: String,
    /// The names of the columns on both engines, in the order of `shape`.
    pub columns: Vec<String>,
    pub table: TableName,
    pub shape: Shape,
}

impl Part {
    /// Which columns are known to hold JSON.
    pub fn json(&self) -> Vec<bool> {
        self.shape.columns.iter().map(|(_, kind)| *kind == ColumnKind::Json).collect()
    }

    /// The column that tells whose rows they are; none if they are of one project anyway, or of none.
    pub fn scope(&self) -> Option<&'static str> {
        match &*self.name {
            "projects" => Some("id"),
            _ if Part::custom(&self.name).is_some() => None,
            _ => self.columns.iter().any(|column| column == "project_id").then_some("project_id"),
        }
    }

    /// Its columns in the order of the other side's.
    pub fn shape_in_order_of(&self, columns: &[String]) -> Result<Shape> {
        let mut shape = Shape { columns: Vec::new(), key: self.shape.key.clone() };
        for column in columns {
            let at = self.columns.iter().position(|known| known == column);
            let at = at.ok_or_else(|| format!("{} has no column {column} here", self.name))?;
            shape.columns.push(self.shape.columns[at].clone());
        }
        Ok(shape)
    }

    /// The same for columns of the other side, of which `json` is known there.
    pub fn json_in_order_of(&self, columns: &[String], mut json: Vec<bool>) -> Vec<bool> {
        for (name, is_json) in self.columns.iter().zip(self.json()) {
            if let Some(at) = columns.iter().position(|column| column == name) {
                json[at] |= is_json;
            }
        }
        json
    }

    /// The project and the name of a custom table.
    pub fn custom(name: &str) -> Option<(ProjectId, &str)> {
        let (project, name) = name.strip_prefix(CUSTOM)?.split_once('/')?;
        Some((project.parse().ok()?, name))
    }
}

/// The name of a custom table on both engines.
pub fn custom_name(project: ProjectId, name: &str) -> String {
    format!("{CUSTOM}{project}/{name}")
}

/// The tables with rows of one project.
pub fn of(c: &Conn<'_>, engine: Engine, project: ProjectId) -> Result<Vec<Part>> {
    let mut parts = all(c, engine)?;
    parts.retain(|part| match Part::custom(&part.name) {
        Some((of, _)) => of == project,
        None => part.scope().is_some(),
    });
    Ok(parts)
}

/// Every table: first those of the program, then those of the projects.
pub fn all(c: &Conn<'_>, engine: Engine) -> Result<Vec<Part>> {
    let mut parts = program(c)?;
    for table in custom(c)? {
        parts.push(of_project(c, Dialect(engine), &table)?);
    }
    Ok(parts)
}

/// The tables of the program.
pub fn program(c: &Conn<'_>) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for table in c.tables()? {
        // On SQLite custom tables are among the others: their names begin with the project's.
        if OWN.contains(&&*table.name) || is_own(&table.name) || table.name.contains('.') {
            continue;
        }
        parts.push(of_program(c, table)?);
    }
    Ok(parts)
}

/// Every custom table, as the catalogue says.
pub fn custom(c: &Conn<'_>) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for project in catalogue::projects(c)? {
        tables.extend(catalogue::list(c, project)?);
    }
    Ok(tables)
}

pub fn of_program(c: &Conn<'_>, table: TableName) -> Result<Part> {
    let shape = c.shape(&table)?;
    let columns = shape.columns.iter().map(|(name, _)| name.clone()).collect();
    Ok(Part { name: table.name.clone(), columns, table, shape })
}

/// Its columns have other names on SQLite.
pub fn of_project(c: &Conn<'_>, dialect: Dialect, table: &Table) -> Result<Part> {
    let name = custom_name(table.project, &table.name);
    let place = dialect.table_name(table.project, &table.name);
    let mut shape = c.shape(&place)?;
    let mut columns = Vec::new();
    shape.columns.retain(|(spelt, _)| {
        let column = table.columns.iter().find(|column| dialect.spelt(&column.name) == *spelt);
        columns.extend(column.map(|column| column.name.clone()));
        column.is_some()
    });
    if columns.len() != table.columns.len() {
        return Err(format!("{name} is not as the catalogue says: townhall doctor").into());
    }
    Ok(Part { name, columns, table: place, shape })
}
