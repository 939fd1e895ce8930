//! The SQL of transfers: the notes that an unfinished one keeps in its target, and whole tables.

use db::{Bulk, Conn, Query, TableName};

use super::Result;
use super::rows::Row;

/// The table with the notes of an unfinished transfer.
pub const MARKER: &str = "unfinished_transfer";

/// What is noted: the statement that creates an index or a foreign key again, or a table that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    Index,
    ForeignKey,
    Done,
}

impl Note {
    fn name(self) -> &'static str {
        match self {
            Note::Index => "index",
            Note::ForeignKey => "foreign key",
            Note::Done => "done",
        }
    }
}

pub fn has_marker(c: &Conn<'_>) -> Result<bool, db::Error> {
    Ok(c.tables()?.iter().any(|table| table.name == MARKER))
}

pub fn create_marker(bulk: &Bulk<'_>) -> Result<()> {
    Ok(bulk.execute(&format!(
        "CREATE TABLE {MARKER} (kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
            PRIMARY KEY (kind, name))"
    ))?)
}

/// After the last step, with statistics for the planner.
pub fn remove_marker(bulk: &Bulk<'_>) -> Result<()> {
    bulk.execute(&format!("DROP TABLE {MARKER}"))?;
    Ok(bulk.execute("ANALYZE")?)
}

/// Names and values of one kind.
pub fn notes(bulk: &Bulk<'_>, kind: Note) -> Result<Vec<(String, String)>> {
    let text = format!("SELECT name, value FROM {MARKER} WHERE kind = $1 ORDER BY name");
    Ok(bulk.conn().all(&Query::built("transfer", text), db::args![kind.name()])?)
}

/// Keeps an earlier note of the same name.
pub fn note(bulk: &Bulk<'_>, kind: Note, values: Vec<(String, String)>) -> Result<()> {
    let known = notes(bulk, kind)?;
    let is_new = |(name, _): &(String, String)| !known.iter().any(|(noted, _)| noted == name);
    let rows: Vec<Row> = values
        .into_iter()
        .filter(is_new)
        .map(|(name, value)| vec![kind.name().to_owned().into(), name.into(), value.into()])
        .collect();
    let columns = ["kind", "name", "value"].map(str::to_owned);
    Ok(bulk.insert(&TableName::plain(MARKER), &columns, &rows)?)
}

/// Removes the rows of a table, and the note that it is done. Names of tables hold no quotes.
pub fn empty(bulk: &Bulk<'_>, table: &TableName, name: &str) -> Result<()> {
    let done = Note::Done.name();
    bulk.execute(&format!("DELETE FROM {MARKER} WHERE kind = '{done}' AND name = '{name}'"))?;
    Ok(bulk.execute(&format!("DELETE FROM {}", table.quoted()))?)
}

pub fn is_empty(c: &Conn<'_>, table: &TableName) -> Result<bool> {
    let text = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1) AS first", table.quoted());
    Ok(c.one(&Query::<i64>::built("transfer", text), &[])? == 0)
}
