//! The SQL of imports, made from the declared types of documents. Identifiers come from there, values are bound.

use std::collections::{HashMap, HashSet};

use db::{Builder, Command, Conn, Query, TableName, Tx, Value, args};
use uuid::Uuid;

use super::draft::{Draft, FOREIGN_ID};
use crate::error::Result;
use crate::features::exports::kinds::Kind;
use crate::features::tables::model::Table;
use crate::features::tables::sql::Dialect;
use crate::values::ids::ProjectId;

const NAME: &str = "transfer::import";
/// Rows of one statement: it stays below the number of arguments that an engine takes.
const ROWS: usize = 50;

/// Which of the documents are there, by their keys.
pub(super) fn existing(
    c: &Conn<'_>,
    project: ProjectId,
    kind: &Kind,
    drafts: &[Draft],
) -> Result<HashSet<String>> {
    let columns: Vec<&str> = kind.key.iter().map(|at| kind.fields[*at].column).collect();
    let mut found = HashSet::new();
    for some in drafts.chunks(ROWS) {
        let mut any = Builder::any([project.into()]);
        for draft in some {
            let mut all = Vec::new();
            for (at, column) in kind.key.iter().zip(&columns) {
                let place = any.bind(draft.values[*at].clone());
                all.push(format!("\"{column}\" = {place}"));
            }
            any.add(format!("({})", all.join(" AND ")));
        }
        let text = format!(
            "SELECT {} FROM {} WHERE project_id = $1 AND ({any})",
            quoted(&columns),
            kind.table
        );
        let query = Query::<Vec<Value<'static>>>::built(NAME, text);
        found.extend(c.all(&query, any.args())?.into_iter().map(|row| key(kind, row)));
    }
    Ok(found)
}

/// As [`Draft::key`] spells it.
fn key(kind: &Kind, row: Vec<Value<'static>>) -> String {
    let cells = kind.key.iter().zip(row);
    let cells = cells
        .map(|(at, value)| crate::features::exports::document::cell(&kind.fields[*at], &value));
    cells.collect::<Vec<_>>().join(" ")
}

/// The ids of documents by their foreign ids; of several with the same one the oldest.
pub(super) fn by_foreign_id(
    c: &Conn<'_>,
    project: ProjectId,
    table: &str,
    foreign_ids: Vec<String>,
) -> Result<HashMap<String, Uuid>> {
    if foreign_ids.is_empty() {
        return Ok(HashMap::new());
    }
    let live = if table == "users" { "" } else { "AND deleted_at IS NULL" };
    let text = format!(
        "SELECT {FOREIGN_ID}, id FROM {table}
         WHERE project_id = $1 AND {FOREIGN_ID} {{any}}($2) {live} ORDER BY id DESC"
    );
    let query = Query::<(String, Uuid)>::built(NAME, text);
    Ok(c.all(&query, args![project, foreign_ids])?.into_iter().collect())
}

/// Which of the ids a table has.
pub(super) fn existing_ids(
    c: &Conn<'_>,
    project: ProjectId,
    table: &str,
    ids: Vec<Uuid>,
) -> Result<HashSet<Uuid>> {
    let text = format!("SELECT id FROM {table} WHERE project_id = $1 AND id {{any}}($2)");
    Ok(c.all(&Query::<Uuid>::built(NAME, text), args![project, ids])?.into_iter().collect())
}

/// Which of the texts stand in a column already.
pub(super) fn taken(
    c: &Conn<'_>,
    project: ProjectId,
    table: &str,
    column: &str,
    texts: Vec<String>,
) -> Result<HashSet<String>> {
    if texts.is_empty() {
        return Ok(HashSet::new());
    }
    let text =
        format!("SELECT {column} FROM {table} WHERE project_id = $1 AND {column} {{any}}($2)");
    Ok(c.all(&Query::<String>::built(NAME, text), args![project, texts])?.into_iter().collect())
}

/// Inserts the documents that no constraint refuses; their keys.
pub(super) fn insert(
    tx: &Tx<'_>,
    project: ProjectId,
    kind: &Kind,
    drafts: &[&Draft],
) -> Result<HashSet<String>> {
    let own = kind.body.map_or(kind.fields.len(), |(_, first)| first);
    let columns: Vec<&str> = kind.fields[..own].iter().map(|field| field.column).collect();
    let returned: Vec<&str> = kind.key.iter().map(|at| kind.fields[*at].column).collect();
    let mut inserted = HashSet::new();
    for some in drafts.chunks(ROWS) {
        let rows = some.iter().map(|draft| draft.values[..own].to_vec());
        let rows = values(project, rows);
        let text = format!(
            "INSERT INTO {} (project_id, {}) VALUES {rows} ON CONFLICT DO NOTHING RETURNING {}",
            kind.table,
            quoted(&columns),
            quoted(&returned)
        );
        let insert = Command::<Vec<Value<'static>>>::built(NAME, text);
        inserted.extend(tx.all(&insert, rows.args())?.into_iter().map(|row| key(kind, row)));
        let Some((body, first)) = kind.body else { continue };
        let there: Vec<&&Draft> =
            some.iter().filter(|draft| inserted.contains(&draft.key())).collect();
        if there.is_empty() {
            continue;
        }
        let columns: Vec<&str> = kind.fields[first..].iter().map(|field| field.column).collect();
        let rows = there.iter().map(|draft| {
            let id = kind.key.iter().map(|at| draft.values[*at].clone());
            id.chain(draft.values[first..].iter().cloned()).collect()
        });
        let rows = values(project, rows);
        let text =
            format!("INSERT INTO {body} (project_id, id, {}) VALUES {rows}", quoted(&columns));
        tx.execute(&Command::built(NAME, text), rows.args())?;
    }
    Ok(inserted)
}

/// The rows with the project before each.
fn values(project: ProjectId, rows: impl Iterator<Item = Vec<Value<'static>>>) -> Builder<'static> {
    let mut list = Builder::list([project.into()]);
    for row in rows {
        let row = list.bind_all(row);
        list.add(format_args!("($1, {row})"));
    }
    list
}

fn quoted(columns: &[&str]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| format!("\"{column}\"")).collect();
    columns.join(", ")
}

/// Which of the ids a custom table has.
pub(super) fn existing_rows(
    c: &Conn<'_>,
    table: &TableName,
    ids: Vec<Uuid>,
) -> Result<HashSet<Uuid>> {
    let text = format!("SELECT \"id\" FROM {} WHERE \"id\" {{any}}($1)", table.quoted());
    Ok(c.all(&Query::<Uuid>::built(NAME, text), args![ids])?.into_iter().collect())
}

/// Inserts rows of a custom table; the ids of those that were not there.
pub(super) fn insert_rows(
    tx: &Tx<'_>,
    dialect: Dialect,
    table: &Table,
    rows: &[&[Value<'static>]],
) -> Result<HashSet<Uuid>> {
    let mut inserted = HashSet::new();
    for some in rows.chunks(ROWS) {
        let insert = dialect.insert(table, some.len());
        let text = format!("{insert} ON CONFLICT DO NOTHING RETURNING \"id\"");
        let insert = Command::<Uuid>::built(NAME, text);
        inserted.extend(tx.all(&insert, &some.concat())?);
    }
    Ok(inserted)
}
