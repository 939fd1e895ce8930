//! The SQL of transfers: the notes that an unfinished one keeps in its target, and whole tables.

use db::{Bulk, Conn, Query, Shape, TableName, Value, args};

use super::rows::Row;
use super::tables::Part;
use super::{Checksum, Result};
use crate::values::ids::ProjectId;

/// The table with the notes of an unfinished transfer.
pub const MARKER: &str = "unfinished_transfer";

/// What is noted: the statement that creates an index or a foreign key again, a table that is done, or the token of
/// the online copy that fills the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    Index,
    ForeignKey,
    Done,
    Token,
}

impl Note {
    fn name(self) -> &'static str {
        match self {
            Note::Index => "index",
            Note::ForeignKey => "foreign key",
            Note::Done => "done",
            Note::Token => "token",
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

/// After the last step.
pub fn remove_marker(bulk: &Bulk<'_>) -> Result<()> {
    Ok(bulk.execute(&format!("DROP TABLE {MARKER}"))?)
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

/// In a transaction that has begun, where there is no such note.
pub fn note_in(bulk: &Bulk<'_>, kind: Note, name: &str, value: &str) -> Result<()> {
    let columns = ["kind", "name", "value"].map(str::to_owned);
    let row: Row =
        vec![kind.name().to_owned().into(), name.to_owned().into(), value.to_owned().into()];
    Ok(bulk.append(&TableName::plain(MARKER), &columns, &[row])?)
}

pub fn forget(bulk: &Bulk<'_>, kind: Note, name: &str) -> Result<()> {
    Ok(bulk.execute(&forget_text(kind, name))?)
}

fn forget_text(kind: Note, name: &str) -> String {
    let (kind, name) = (kind.name(), literal(name));
    format!("DELETE FROM {MARKER} WHERE kind = '{kind}' AND name = {name}")
}

/// The notes whose names begin so.
pub fn forget_beginning(bulk: &Bulk<'_>, kind: Note, first: &str) -> Result<()> {
    let (kind, length, first) = (kind.name(), first.chars().count(), literal(first));
    Ok(bulk.execute(&format!(
        "DELETE FROM {MARKER} WHERE kind = '{kind}' AND substr(name, 1, {length}) = {first}"
    ))?)
}

pub fn forget_all(bulk: &Bulk<'_>, kind: Note) -> Result<()> {
    Ok(bulk.execute(&format!("DELETE FROM {MARKER} WHERE kind = '{}'", kind.name()))?)
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Runs a statement that was noted, and removes the note.
pub fn carry_out(bulk: &Bulk<'_>, kind: Note, name: &str, statement: &str) -> Result<()> {
    let script = format!("BEGIN; {statement}; {}; COMMIT", forget_text(kind, name));
    Ok(bulk.execute(&script).inspect_err(|_| drop(bulk.execute("ROLLBACK")))?)
}

/// Removes the rows of a table, and the note that it is done.
pub fn empty(bulk: &Bulk<'_>, table: &TableName, name: &str) -> Result<()> {
    forget(bulk, Note::Done, name)?;
    Ok(bulk.execute(&format!("DELETE FROM {}", table.quoted()))?)
}

pub fn is_empty(c: &Conn<'_>, table: &TableName) -> Result<bool> {
    let text = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1) AS first", table.quoted());
    Ok(c.one(&Query::<i64>::built("transfer", text), &[])? == 0)
}

/// Passes on the rows of a table: those of a project, or all.
pub fn each(
    c: &Conn<'_>,
    part: &Part,
    shape: &Shape,
    project: Option<ProjectId>,
    take: &mut dyn FnMut(Row) -> Result<(), db::Error>,
) -> Result<(), db::Error> {
    let (Some(scope), Some(project)) = (part.scope(), project) else {
        return c.table_rows(&part.table, shape, take);
    };
    let columns: Vec<String> =
        shape.columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let key: Vec<String> = shape.key.iter().map(|name| format!("\"{name}\"")).collect();
    let (columns, key) = (columns.join(", "), key.join(", "));
    let table = part.table.quoted();
    let text = format!("SELECT {columns} FROM {table} WHERE {scope} = $1 ORDER BY {key}");
    let query = Query::<Vec<Value<'static>>>::built("transfer", text);
    let mut failure = None;
    c.each(&query, args![project], |row| {
        if failure.is_none() {
            failure = take(row).err();
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// The checksum of a project's rows in a table.
pub fn summed(
    c: &Conn<'_>,
    part: &Part,
    shape: &Shape,
    json: &[bool],
    project: ProjectId,
) -> Result<Checksum> {
    let mut sum = Checksum::default();
    each(c, part, shape, Some(project), &mut |row| {
        sum.add(&row, json);
        Ok(())
    })?;
    Ok(sum)
}

/// The checksum of all rows of a table.
pub fn sum_of(c: &Conn<'_>, part: &Part, shape: &Shape, json: &[bool]) -> Result<Checksum> {
    let mut sum = Checksum::default();
    c.table_values(&part.table, shape, &mut |row| {
        sum.add(row, json);
        Ok(())
    })?;
    Ok(sum)
}

pub fn count(c: &Conn<'_>, table: &TableName) -> Result<u64> {
    let text = format!("SELECT count(*) FROM {}", table.quoted());
    let count = c.one(&Query::<i64>::built("transfer", text), &[])?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// PostgreSQL: until [`unlock`] others can read the tables and nobody can write to them. Fails when somebody is writing.
pub fn lock_against_writes(bulk: &Bulk<'_>, parts: &[Part]) -> Result<()> {
    let names: Vec<String> = parts.iter().map(|part| part.table.quoted()).collect();
    let names = names.join(", ");
    bulk.execute(&format!(
        "BEGIN; SET LOCAL lock_timeout = '3s'; LOCK TABLE {names} IN SHARE MODE"
    ))
    .inspect_err(|_| drop(bulk.execute("ROLLBACK")))?;
    Ok(())
}

pub fn unlock(bulk: &Bulk<'_>) -> Result<()> {
    Ok(bulk.execute("COMMIT")?)
}
