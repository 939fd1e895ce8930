//! Statements that empty every table of a project. They are made from the schema, so that no table is forgotten.

use db::{Command, Conn, ForeignColumn, TableName, Tx, args};

use crate::error::Result;
use crate::features::tables::store::remove::referrers_first;
use crate::values::ids::ProjectId;

const SCOPE: &str = "project_id";
const JOBS: &str = "jobs";

struct Owned {
    table: TableName,
    key: Vec<String>,
    foreign: Vec<ForeignColumn>,
}

/// One statement for each table with rows of projects, in an order that breaks no foreign key. It deletes a few rows
/// of the project, but no job of the kind that runs it.
pub fn plan(c: &Conn<'_>, kind: &str) -> Result<Vec<String>> {
    let mut owned = Vec::new();
    for table in c.tables()? {
        let shape = c.shape(&table)?;
        // A custom table of SQLite has a dot in its name, and columns of any name.
        if table.name.contains('.') || !shape.columns.iter().any(|(name, _)| name == SCOPE) {
            continue;
        }
        let foreign = c.foreign_columns(&table)?;
        owned.push(Owned { table, key: shape.key, foreign });
    }
    let refers = |a: &Owned, b: &Owned| a.foreign.iter().any(|one| one.target == b.table.name);
    let sorted = referrers_first(owned, refers);
    Ok(sorted.iter().map(|one| delete_text(one, kind)).collect())
}

fn delete_text(Owned { table, key, foreign }: &Owned, kind: &str) -> String {
    let name = table.quoted();
    let mut condition = format!("r.{SCOPE} = $1");
    // Rows that refer to others of the table go before them.
    let own: Vec<&ForeignColumn> = foreign.iter().filter(|one| one.target == table.name).collect();
    for group in own.chunk_by(|a, b| a.foreign_key == b.foreign_key) {
        let pairs: Vec<String> = group
            .iter()
            .map(|one| format!("below.{} = r.{}", one.column_name, one.target_column))
            .collect();
        let pairs = pairs.join(" AND ");
        condition += &format!(" AND NOT EXISTS (SELECT 1 FROM {name} below WHERE {pairs})");
    }
    if table.name == JOBS {
        condition += &format!(" AND r.payload ->> 'kind' <> '{kind}'");
    }
    let key: Vec<String> = key.iter().map(|column| format!("\"{column}\"")).collect();
    let key = key.join(", ");
    format!(
        "DELETE FROM {name} WHERE {SCOPE} = $1 AND ({key}) IN
            (SELECT {key} FROM {name} r WHERE {condition} LIMIT 500)"
    )
}

/// How many rows were deleted.
pub fn delete_some(tx: &Tx<'_>, project: ProjectId, text: &str) -> Result<u64> {
    Ok(tx.execute(&Command::built("project_deletion", text.to_owned()), args![project])?)
}
