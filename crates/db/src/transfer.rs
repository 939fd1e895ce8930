//! Whole tables, for backups and for moving from one database to another: all rows of a consistent snapshot,
//! and rows written in bulk. What was read on one engine can be written on the other.

mod bulk;

use std::path::Path;
use std::time::Duration;

use crate::conn::Link;
use crate::db::Db;
use crate::inner::Backend;
use crate::{Conn, Engine, Error, Query, Value};

pub use bulk::Bulk;

const NAME: &str = "transfer";
/// Statements over a whole table have no deadline that anybody would wait for.
const NO_DEADLINE: Duration = Duration::from_secs(20 * 24 * 3600);

/// A table; on PostgreSQL it may be in a schema of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    pub schema: Option<String>,
    pub name: String,
}

impl TableName {
    pub fn plain(name: impl Into<String>) -> Self {
        TableName { schema: None, name: name.into() }
    }

    /// As SQL names it.
    pub fn quoted(&self) -> String {
        let name = quoted(&self.name);
        self.schema.as_ref().map_or(name.clone(), |schema| format!("{}.{name}", quoted(schema)))
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What has to be known of a column to read and write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// PostgreSQL keeps the value, not the spelling.
    Json,
    /// A decimal, read as text.
    Decimal,
    /// SQLite: anything, JSON too.
    Other,
}

/// The columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// In the order of the definition.
    pub columns: Vec<(String, ColumnKind)>,
    /// The primary key.
    pub key: Vec<String>,
}

impl Shape {
    /// The columns as a statement selects them: `alias` is the table's.
    pub fn selection(&self, alias: &str) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|(name, kind)| match kind {
                ColumnKind::Decimal => format!("{alias}.{}::text", quoted(name)),
                ColumnKind::Json | ColumnKind::Other => format!("{alias}.{}", quoted(name)),
            })
            .collect();
        columns.join(", ")
    }

    fn select(&self, table: &TableName) -> String {
        format!("SELECT {} FROM {} AS t", self.selection("t"), table.quoted())
    }
}

crate::row! {
    /// An index or a foreign key that is dropped while rows are written in bulk.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Definition {
        pub is_foreign_key: bool,
        pub drop: String,
        pub create: String,
    }
}

crate::row! {
    /// A column of a foreign key, and the column that it refers to.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ForeignColumn {
        /// The same for all columns of one foreign key.
        pub foreign_key: String,
        pub column_name: String,
        pub target: String,
        pub target_column: String,
    }
}

impl Db {
    /// Reads a consistent snapshot of everything on a connection of its own, however long it takes. Blocks.
    pub fn snapshot<T, E>(
        &self,
        work: impl FnOnce(&Conn<'_>) -> Result<T, E> + Send,
    ) -> Result<T, E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        match self.backend() {
            Backend::Sqlite(sqlite) => {
                let connection = sqlite.connect()?;
                connection.begin_snapshot()?;
                work(&patient(Link::Sqlite(&connection)))
            }
            Backend::Postgres(postgres) => postgres.separately(|session| {
                session.begin_snapshot()?;
                work(&patient(Link::Postgres(session)))
            }),
        }
    }

    /// Writes in bulk on a connection of its own, which checks no foreign keys on SQLite. Blocks.
    pub fn bulk<T, E>(&self, work: impl FnOnce(&Bulk<'_>) -> Result<T, E> + Send) -> Result<T, E>
    where
        T: Send,
        E: From<Error> + Send,
    {
        match self.backend() {
            Backend::Sqlite(sqlite) => {
                let connection = sqlite.connect()?;
                connection.begin_bulk()?;
                let done = work(&Bulk::new(patient(Link::Sqlite(&connection))))?;
                connection.end_bulk()?;
                Ok(done)
            }
            Backend::Postgres(postgres) => postgres.separately(|session| {
                session.begin_bulk()?;
                let done = work(&Bulk::new(patient(Link::Postgres(session))))?;
                session.end_bulk()?;
                Ok(done)
            }),
        }
    }
}

impl Db {
    /// SQLite: a copy of the whole database in a new file. Blocks.
    pub fn copy_file(&self, target: &Path) -> Result<(), Error> {
        let target = target.display().to_string().replace('\'', "''");
        self.bulk(|bulk| bulk.execute(&format!("VACUUM INTO '{target}'")))
    }
}

fn patient(link: Link<'_>) -> Conn<'_> {
    let conn = Conn::new(link);
    conn.within(NO_DEADLINE);
    conn
}

impl Conn<'_> {
    pub fn engine(&self) -> Engine {
        match self.link() {
            Link::Sqlite(_) => Engine::Sqlite,
            Link::Postgres(_) => Engine::Postgres,
        }
    }

    /// Measures tables for the planner: a tenth of the rows that PostgreSQL looks at by itself, which is enough to see how
    /// large they are. It plans anew then what it had planned by older measurements. Nothing on SQLite, whose statistics are
    /// always there.
    pub fn analyze(&self, tables: &[&str]) -> Result<(), Error> {
        match self.link() {
            Link::Sqlite(_) => Ok(()),
            Link::Postgres(session) => session.execute_plain(&format!(
                "SET LOCAL default_statistics_target = 10; ANALYZE {}",
                tables.join(", ")
            )),
        }
    }

    /// The tables of the program itself, by name: on PostgreSQL those of the schema in use.
    pub fn tables(&self) -> Result<Vec<TableName>, Error> {
        let text = match self.engine() {
            Engine::Sqlite => {
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
            }
            Engine::Postgres => {
                "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()
                 ORDER BY tablename::text COLLATE \"C\""
            }
        };
        let names: Vec<String> = self.all(&Query::built(NAME, text.to_owned()), &[])?;
        Ok(names.into_iter().map(TableName::plain).collect())
    }

    pub fn shape(&self, table: &TableName) -> Result<Shape, Error> {
        let text = match self.engine() {
            Engine::Sqlite => {
                "SELECT name, type, pk FROM pragma_table_info($1) WHERE $2 IS NULL ORDER BY cid"
            }
            Engine::Postgres => {
                "SELECT a.attname::text, a.atttypid::regtype::text,
                    coalesce(array_position(i.indkey::int2[], a.attnum), -1)::bigint + 1
                 FROM pg_attribute a
                 JOIN pg_class c ON c.oid = a.attrelid
                 JOIN pg_namespace n ON n.oid = c.relnamespace
                 LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
                 WHERE c.relname = $1::text AND n.nspname = coalesce($2::text, current_schema())
                    AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
                 ORDER BY a.attnum"
            }
        };
        let query = Query::<Vec<Value<'static>>>::built(NAME, text.to_owned());
        let rows = self.all(&query, crate::args![&table.name, &table.schema])?;
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        for row in rows {
            let [Value::Text(name), Value::Text(kind), Value::Int(place)] = &row[..] else {
                return Err(Error::statement(NAME, "an unexpected catalogue"));
            };
            let column_kind = match &**kind {
                "json" | "jsonb" => ColumnKind::Json,
                "numeric" => ColumnKind::Decimal,
                _ => ColumnKind::Other,
            };
            if *place > 0 {
                key.push((*place, name.to_string()));
            }
            columns.push((name.to_string(), column_kind));
        }
        key.sort();
        Ok(Shape { columns, key: key.into_iter().map(|(_, name)| name).collect() })
    }

    /// The foreign keys of a table, column by column.
    pub fn foreign_columns(&self, table: &TableName) -> Result<Vec<ForeignColumn>, Error> {
        let text = match self.engine() {
            Engine::Sqlite => {
                "SELECT CAST(id AS TEXT) AS foreign_key, \"from\" AS column_name, \"table\" AS target,
                    coalesce(\"to\", \"from\") AS target_column
                 FROM pragma_foreign_key_list($1) WHERE $2 IS NULL ORDER BY id, seq"
            }
            Engine::Postgres => {
                "SELECT k.conname::text AS foreign_key, a.attname::text AS column_name,
                    t.relname::text AS target, b.attname::text AS target_column
                 FROM pg_constraint k
                 JOIN pg_class c ON c.oid = k.conrelid
                 JOIN pg_namespace n ON n.oid = c.relnamespace
                 JOIN pg_class t ON t.oid = k.confrelid
                 CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair (own, other)
                 JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.own
                 JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.other
                 WHERE k.contype = 'f' AND c.relname = $1::text
                    AND n.nspname = coalesce($2::text, current_schema())
                 ORDER BY k.conname, pair.own"
            }
        };
        let query = Query::<ForeignColumn>::built(NAME, text.to_owned());
        self.all(&query, crate::args![&table.name, &table.schema])
    }

    /// Passes on every row, as it lies in the table, as long as `take` succeeds.
    pub fn table_rows(
        &self,
        table: &TableName,
        shape: &Shape,
        take: &mut dyn FnMut(Vec<Value<'static>>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let query = Query::<Vec<Value<'static>>>::built(NAME, shape.select(table));
        self.each_while(&query, &[], take)
    }

    /// The same in the order of the key.
    pub fn table_rows_in_order(
        &self,
        table: &TableName,
        shape: &Shape,
        take: &mut dyn FnMut(Vec<Value<'static>>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let key: Vec<String> = shape.key.iter().map(|name| quoted(name)).collect();
        let text = format!("{} ORDER BY {}", shape.select(table), key.join(", "));
        let query = Query::<Vec<Value<'static>>>::built(NAME, text);
        self.each_while(&query, &[], take)
    }

    /// Passes on every row without copying its values.
    pub fn table_values(
        &self,
        table: &TableName,
        shape: &Shape,
        take: &mut dyn FnMut(&[Value<'_>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let query = Query::<Vec<Value<'static>>>::built(NAME, shape.select(table));
        self.each_borrowed(&query, &[], take)
    }
}
