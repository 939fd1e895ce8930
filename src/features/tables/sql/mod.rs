//! The SQL of custom tables, built at run time. The only caller input that becomes text are names from the
//! catalogue, through `quoted`; every value is an argument.

pub mod conditions;
pub mod ddl;
pub mod rows;

use db::{Engine, TableName};

use crate::features::tables::model::{Column, DataType, Table};
use crate::values::ids::ProjectId;

/// Names that PostgreSQL reserves in every table.
const SYSTEM_COLUMNS: [&str; 6] = ["cmax", "cmin", "ctid", "tableoid", "xmax", "xmin"];

/// The SQL dialect of this server's engine.
#[derive(Debug, Clone, Copy)]
pub struct Dialect(pub Engine);

impl Dialect {
    /// `custom_` and the project's name for it, in the schema of the project. SQLite has no schemas, so there
    /// the two form one name; its names may be of any length.
    pub fn table_name(self, project: ProjectId, name: &str) -> TableName {
        let schema = schema(project);
        match self.0 {
            Engine::Postgres => TableName { schema: Some(schema), name: format!("custom_{name}") },
            Engine::Sqlite => TableName::plain(format!("{schema}.custom_{}", self.spelt(name))),
        }
    }

    pub fn table(self, project: ProjectId, name: &str) -> String {
        self.table_name(project, name).quoted()
    }

    pub fn column(self, name: &str) -> String {
        quoted(&self.spelt(name))
    }

    /// SQLite ignores case in names, so upper case is escaped: `createdAt` is `created^at`.
    pub fn spelt(self, name: &str) -> String {
        match self.0 {
            Engine::Postgres if SYSTEM_COLUMNS.contains(&name) => format!("^{name}"),
            Engine::Postgres => name.to_owned(),
            Engine::Sqlite => {
                let mut spelt = String::with_capacity(name.len() + 4);
                for character in name.chars() {
                    if character.is_ascii_uppercase() {
                        spelt.push('^');
                    }
                    spelt.push(character.to_ascii_lowercase());
                }
                spelt
            }
        }
    }

    /// The placeholder of an argument for this column.
    fn argument(self, column: &Column, number: usize) -> String {
        if self.0 == Engine::Sqlite {
            return format!("${number}");
        }
        // Has a cast, so that a column re-created with another type makes another statement.
        let cast = match column.data_type {
            DataType::Text => "text",
            DataType::Integer => "bigint",
            DataType::Float => "float8",
            // PostgreSQL's wire format for decimals is its own; as text they keep every digit.
            DataType::Decimal => "text::numeric",
            DataType::Boolean => "boolean",
            DataType::Date => "date",
            DataType::Timestamp => "timestamptz",
            DataType::Uuid => "uuid",
            DataType::Json => "jsonb",
        };
        format!("${number}::{cast}")
    }

    /// The column as rows are read.
    fn shown(self, column: &Column) -> String {
        let name = self.column(&column.name);
        match (self.0, column.data_type) {
            (Engine::Postgres, DataType::Decimal) => format!("{name}::text"),
            _ => name,
        }
    }

    fn all_shown(self, table: &Table) -> String {
        let columns: Vec<String> = table.columns.iter().map(|column| self.shown(column)).collect();
        columns.join(", ")
    }
}

/// The schema of a project's tables.
pub fn schema(project: ProjectId) -> String {
    format!("project_{}", project.0.simple())
}

/// The only place where a name becomes SQL.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
