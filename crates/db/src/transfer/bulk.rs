//! Rows written in bulk.

use super::{Definition, NAME, TableName};
use crate::conn::Link;
use crate::{Conn, Engine, Error, Query, Value};

/// A connection that writes whole tables. Nothing it writes is sure to be on disk before
/// [`Db::bulk`] has returned.
#[derive(Debug)]
pub struct Bulk<'a> {
    conn: Conn<'a>,
}

impl<'a> Bulk<'a> {
    pub(super) fn new(conn: Conn<'a>) -> Self {
        Bulk { conn }
    }

    /// For reading.
    pub fn conn(&self) -> &Conn<'a> {
        &self.conn
    }

    /// Inserts the rows, all or none.
    pub fn insert(
        &self,
        table: &TableName,
        columns: &[String],
        rows: &[Vec<Value<'static>>],
    ) -> Result<(), Error> {
        match self.conn.link() {
            Link::Sqlite(connection) => connection.insert_all(table, columns, rows),
            Link::Postgres(session) => session.insert_all(table, columns, rows),
        }
    }

    /// The same in a transaction that was begun by [`execute`](Bulk::execute).
    pub fn append(
        &self,
        table: &TableName,
        columns: &[String],
        rows: &[Vec<Value<'static>>],
    ) -> Result<(), Error> {
        match self.conn.link() {
            Link::Sqlite(connection) => connection.append_all(table, columns, rows),
            Link::Postgres(session) => session.insert_all(table, columns, rows),
        }
    }

    /// The indexes that no constraint needs, and the foreign keys of a table, those first. On SQLite foreign
    /// keys are no definitions of their own: none is checked here.
    pub fn definitions(&self, table: &TableName) -> Result<Vec<Definition>, Error> {
        let text = match self.conn.engine() {
            Engine::Sqlite => {
                "SELECT FALSE AS is_foreign_key, 'DROP INDEX IF EXISTS \"' || name || '\"' AS \"drop\",
                    sql AS \"create\" FROM sqlite_schema
                 WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL AND $2 IS NULL ORDER BY name"
            }
            Engine::Postgres => {
                "WITH this AS (
                    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                    WHERE c.relname = $1::text AND n.nspname = coalesce($2::text, current_schema()))
                 SELECT part = 1 AS is_foreign_key, drop_text AS \"drop\", create_text AS \"create\" FROM (
                    SELECT 1 AS part, conname::text AS name,
                        format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', conrelid::regclass, conname)
                            AS drop_text,
                        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
                            pg_get_constraintdef(oid)) AS create_text
                    FROM pg_constraint WHERE conrelid = (SELECT oid FROM this) AND contype = 'f'
                    UNION ALL
                    SELECT 2, x.relname::text, format('DROP INDEX IF EXISTS %s', i.indexrelid::regclass),
                        pg_get_indexdef(i.indexrelid)
                    FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
                    WHERE i.indrelid = (SELECT oid FROM this)
                        AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid
                            AND k.contype IN ('p', 'u', 'x'))) AS found
                 ORDER BY part, name"
            }
        };
        let query = Query::<Definition>::built(NAME, text.to_owned());
        self.conn.all(&query, crate::args![&table.name, &table.schema])
    }

    /// PostgreSQL: the statements that check foreign keys which were created as `NOT VALID`.
    pub fn validations(&self) -> Result<Vec<String>, Error> {
        if self.conn.engine() == Engine::Sqlite {
            return Ok(Vec::new());
        }
        let text =
            "SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', conrelid::regclass, conname)
             FROM pg_constraint WHERE contype = 'f' AND NOT convalidated ORDER BY conname";
        self.conn.all(&Query::built(NAME, text.to_owned()), &[])
    }

    /// Runs a statement that holds no value of a caller.
    pub fn execute(&self, sql: &str) -> Result<(), Error> {
        match self.conn.link() {
            Link::Sqlite(connection) => connection.execute_plain(sql),
            Link::Postgres(session) => session.execute_plain(sql),
        }
    }

    /// Measures all tables.
    pub fn analyze(&self) -> Result<(), Error> {
        match self.conn.link() {
            Link::Sqlite(_) => Ok(()),
            Link::Postgres(session) => session.execute_plain("ANALYZE"),
        }
    }

    /// Rows that refer to none, by table; only on SQLite, where nothing else has checked them.
    pub fn dangling(&self) -> Result<Vec<String>, Error> {
        match self.conn.link() {
            Link::Sqlite(connection) => connection.dangling(),
            Link::Postgres(_) => Ok(Vec::new()),
        }
    }
}
