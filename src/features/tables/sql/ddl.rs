//! Creating, changing and dropping the tables themselves. A definition holds no value: the default of a new
//! column is bound as an argument when existing rows are filled, never written into the text.

use db::{Command, Engine, Tx, Value};

use super::{Dialect, quoted, schema};
use crate::error::Result;
use crate::features::tables::model::{
    CREATED_AT, Column, DELETED_AT, DataType, ID, OnDelete, Reference, Table,
};
use crate::features::tables::values;
use crate::values::ids::ProjectId;

/// A setting that passes a value into a definition, which cannot hold one. It lasts until the transaction
/// ends.
const SETTING: &str = "townhall.default_value";
/// Characters of a text in its index: PostgreSQL bounds the size of entries.
pub const INDEXED_CHARACTERS: usize = 256;

/// A statement, and what is bound in it.
pub type Step = (String, Vec<Value<'static>>);

pub fn run(tx: &Tx<'_>, steps: Vec<Step>) -> Result<()> {
    for (text, args) in steps {
        tx.all(&Command::<Vec<Value<'static>>>::built("tables::sql::ddl", text), &args)?;
    }
    Ok(())
}

/// On a cluster all tables of a project are on one worker, as a distributed schema. To be called before the
/// schema is created.
pub fn distribute(tx: &Tx<'_>) -> Result<()> {
    if tx.is_distributed()? {
        run(tx, plain(["SET LOCAL citus.enable_schema_based_sharding = on".to_owned()]))?;
    }
    Ok(())
}

impl Dialect {
    pub fn create(self, table: &Table) -> Vec<Step> {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "" } else { " NOT NULL" };
                let key = if column.name == ID { " PRIMARY KEY" } else { "" };
                format!("{}{null}{key}", self.definition(table.project, column))
            })
            .collect();
        let name = self.table(table.project, &table.name);
        let strict = if self.0 == Engine::Sqlite { " STRICT" } else { "" };
        let mut steps = Vec::new();
        if self.0 == Engine::Postgres {
            let schema = quoted(&schema(table.project));
            steps.push(format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
        }
        steps.push(format!("CREATE TABLE {name} ({}){strict}", columns.join(", ")));
        let indexed = table.columns.iter().filter(|column| column.has_index());
        steps.extend(indexed.map(|column| self.index(table, column)));
        plain(steps)
    }

    pub fn drop(self, table: &Table) -> Vec<Step> {
        plain([format!("DROP TABLE {}", self.table(table.project, &table.name))])
    }

    /// The new definition of the table includes the column already. `distributed`: the table is on a worker,
    /// which does not know the settings of this connection.
    pub fn add_column(self, table: &Table, column: &Column, distributed: bool) -> Vec<Step> {
        let name = self.table(table.project, &table.name);
        let definition = self.definition(table.project, column);
        let mut steps = match (self.0, column.default()) {
            (Engine::Postgres, Some(default)) if distributed => {
                let (value, column_name) = (self.argument(column, 1), self.column(&column.name));
                let mut steps = plain([format!("ALTER TABLE {name} ADD COLUMN {definition}")]);
                steps.push((format!("UPDATE {name} SET {column_name} = {value}"), vec![default]));
                if !column.nullable {
                    let alter =
                        format!("ALTER TABLE {name} ALTER COLUMN {column_name} SET NOT NULL");
                    steps.extend(plain([alter]));
                }
                steps
            }
            (Engine::Postgres, default) => {
                let null = if column.nullable { "" } else { " NOT NULL" };
                add_with_default(&name, &definition, null, column, default, self)
            }
            // SQLite can add a NOT NULL column only with a default in its definition. The server itself makes
            // sure that it is never null.
            (Engine::Sqlite, default) => {
                let mut steps = plain([format!("ALTER TABLE {name} ADD COLUMN {definition}")]);
                if let Some(default) = default {
                    let column = self.column(&column.name);
                    steps.push((format!("UPDATE {name} SET {column} = $1"), vec![default]));
                }
                steps
            }
        };
        if column.has_index() {
            steps.extend(plain([self.index(table, column)]));
        }
        steps
    }

    pub fn drop_column(self, table: &Table, column: &Column) -> Vec<Step> {
        let mut steps = Vec::new();
        if column.has_index() {
            steps.push(self.drop_index(table, column));
        }
        let name = self.table(table.project, &table.name);
        steps.push(format!("ALTER TABLE {name} DROP COLUMN {}", self.column(&column.name)));
        plain(steps)
    }

    /// Removes the foreign key of a column whose rows refer to nothing any more.
    pub fn unlink(self, table: &Table, column: &Column) -> Vec<Step> {
        let name = self.table(table.project, &table.name);
        if self.0 == Engine::Postgres {
            let constraint = quoted(&constraint(column));
            return plain([format!("ALTER TABLE {name} DROP CONSTRAINT {constraint}")]);
        }
        let plain_column = Column { references: None, default_value: None, ..column.clone() };
        let mut steps = self.drop_column(table, column);
        let definition = self.definition(table.project, &plain_column);
        steps.extend(plain([
            format!("ALTER TABLE {name} ADD COLUMN {definition}"),
            self.index(table, column),
        ]));
        steps
    }

    fn definition(self, project: ProjectId, column: &Column) -> String {
        let name = self.column(&column.name);
        let mut text = format!("{name} {}", self.type_of(column.data_type));
        if let Some(reference) = &column.references {
            let constraint = quoted(&constraint(column));
            text += &format!(" CONSTRAINT {constraint} {}", self.references(project, reference));
        }
        text
    }

    fn references(self, project: ProjectId, reference: &Reference) -> String {
        let Reference { name, on_delete, .. } = reference;
        let action = match on_delete {
            // Checked at the end of the statement, so that rows that refer to each other can be deleted
            // together.
            OnDelete::Restrict => "NO ACTION",
            OnDelete::Cascade => "CASCADE",
            OnDelete::SetNull => "SET NULL",
        };
        let (target, id) = (self.table(project, name), self.column(ID));
        format!("REFERENCES {target} ({id}) ON DELETE {action}")
    }

    /// PostgreSQL: the foreign keys of a table that was created without them.
    pub fn links(self, table: &Table) -> Vec<String> {
        let name = self.table(table.project, &table.name);
        let link = |column: &Column| {
            let references = self.references(table.project, column.references.as_ref()?);
            let (constraint, column) = (quoted(&constraint(column)), self.column(&column.name));
            Some(format!(
                "ALTER TABLE {name} ADD CONSTRAINT {constraint} FOREIGN KEY ({column}) {references}"
            ))
        };
        table.columns.iter().filter_map(link).collect()
    }

    fn type_of(self, data_type: DataType) -> &'static str {
        let (sqlite, postgres) = match data_type {
            DataType::Text => ("TEXT", "TEXT COLLATE \"C\""),
            DataType::Integer => ("INTEGER", "BIGINT"),
            DataType::Float => ("REAL", "DOUBLE PRECISION"),
            DataType::Decimal => ("TEXT COLLATE decimal", "NUMERIC"),
            DataType::Boolean => ("INTEGER", "BOOLEAN"),
            DataType::Date => ("INTEGER", "DATE"),
            DataType::Timestamp => ("INTEGER", "TIMESTAMPTZ"),
            DataType::Uuid => ("BLOB", "UUID"),
            DataType::Json => ("TEXT", "JSONB"),
        };
        if self.0 == Engine::Sqlite { sqlite } else { postgres }
    }

    /// Rows with the same value come in the order of a list without `sortBy`; `deletedAt` is in the index, so
    /// that counting need not read rows.
    fn index(self, table: &Table, column: &Column) -> String {
        let mut keys = vec![match column.position {
            Some(_) => self.index_key(column),
            None => format!("{} DESC", self.column(&column.name)),
        }];
        if table.timestamps && column.position.is_some() {
            keys.push(format!("{} DESC", self.column(CREATED_AT)));
        }
        keys.push(self.column(ID));
        if table.paranoid && column.name != DELETED_AT {
            keys.push(self.column(DELETED_AT));
        }
        let (name, on) = (index_name(table, column), self.table(table.project, &table.name));
        format!("CREATE INDEX {} ON {on} ({})", quoted(&name), keys.join(", "))
    }

    /// The column as its index knows it.
    pub fn index_key(self, column: &Column) -> String {
        let name = self.column(&column.name);
        match (self.0, column.data_type) {
            (Engine::Postgres, DataType::Text) => format!("left({name}, {INDEXED_CHARACTERS})"),
            _ => name,
        }
    }

    fn drop_index(self, table: &Table, column: &Column) -> String {
        let name = quoted(&index_name(table, column));
        match self.0 {
            Engine::Postgres => {
                format!("DROP INDEX {}.{name}", quoted(&schema(table.project)))
            }
            Engine::Sqlite => format!("DROP INDEX {name}"),
        }
    }
}

/// PostgreSQL evaluates the default once, from the setting, and keeps it for existing rows: no row is
/// written. Afterwards the column has no default of its own.
fn add_with_default(
    table: &str,
    definition: &str,
    null: &str,
    column: &Column,
    default: Option<Value<'static>>,
    dialect: Dialect,
) -> Vec<Step> {
    let add = format!("ALTER TABLE {table} ADD COLUMN {definition}{null}");
    let Some(default) = default else { return plain([add]) };
    let setting = format!("current_setting('{SETTING}')");
    let cast = dialect.type_of(column.data_type).split(' ').next().unwrap_or_default();
    let cast = if column.data_type == DataType::Float { "float8" } else { cast };
    let name = dialect.column(&column.name);
    let bound = vec![values::text(column.data_type, &default).into()];
    let mut steps = vec![(format!("SELECT set_config('{SETTING}', $1, true)"), bound)];
    steps.extend(plain([
        format!("{add} DEFAULT {setting}::{cast}"),
        format!("ALTER TABLE {table} ALTER COLUMN {name} DROP DEFAULT"),
    ]));
    steps
}

fn plain(texts: impl IntoIterator<Item = String>) -> Vec<Step> {
    texts.into_iter().map(|text| (text, Vec::new())).collect()
}

/// Short whatever the names are, and unique.
fn index_name(table: &Table, column: &Column) -> String {
    let which = column.position.map_or(column.name.clone(), |position| position.to_string());
    format!("index_{}_{which}", table.id.0.simple())
}

fn constraint(column: &Column) -> String {
    format!("reference_{}", column.position.unwrap_or_default())
}
