//! The statistics that SQLite plans by: every database has the same, made up from its indexes.
//!
//! Without any, SQLite takes each further column of an index for hardly better than the first. All keys begin with the
//! tenant, so it would walk everything of a tenant where another index is a little handier. Measured ones (`ANALYZE`)
//! are those of a moment: an index that was empty then is thought to be empty for ever. With these, plans are the same in
//! a test, in a new database and in a large one.

use rusqlite::{Connection as Raw, TransactionBehavior, params};

use crate::Error;

use super::{Connection, errors};

/// Rows that a table is thought to have, and how many of them each further column of an index leaves.
const ROWS: u64 = 1_000_000;
const SELECTIVITY: u64 = 200;
/// The column of the tenant leaves more. Tables without it keep SQLite's own guesses.
const TENANTS: u64 = 4;
/// An index with a condition has fewer rows.
const PARTIAL_ROWS: u64 = 100_000;

/// Name of the index as statistics have it; a table without row ids is its own primary key.
const INDEXES: &str = "SELECT t.name,
        CASE WHEN t.wr AND i.origin = 'pk' THEN t.name ELSE i.name END,
        (SELECT count(*) FROM pragma_index_info(i.name)), i.\"unique\", i.partial,
        (SELECT c.name = 'project_id' FROM pragma_index_info(i.name) c WHERE c.seqno = 0)
     FROM pragma_table_list t, pragma_table_info(t.name) p, pragma_index_list(t.name) i
     WHERE t.schema = 'main' AND t.type = 'table' AND p.name = 'project_id'";

/// Table, index, and rows in it followed by rows for one value of its first column, of its first two, and so on.
type Row = (String, String, String);

impl Connection {
    /// Writes the statistics, unless they are there.
    pub(crate) fn write_statistics(&mut self) -> Result<(), Error> {
        let failed = |raw: &Raw, error| errors::failed(raw, "statistics", error).error;
        let raw = self.raw_mut();
        let wanted = wanted(raw).map_err(|error| failed(raw, error))?;
        if present(raw).is_ok_and(|present| present == wanted) {
            return Ok(());
        }
        let write = |raw: &mut Raw| {
            let transaction = raw.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Creates the table of statistics. The other table makes connections that are open read it again.
            transaction.execute_batch(
                "CREATE TABLE new_statistics (n INTEGER); ANALYZE new_statistics;
                 DROP TABLE new_statistics; DELETE FROM sqlite_stat1;",
            )?;
            let mut insert = transaction
                .prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, ?2, ?3)")?;
            for (table, index, stat) in &wanted {
                insert.execute(params![table, index, stat])?;
            }
            drop(insert);
            transaction.commit()
        };
        write(raw).map_err(|error| failed(raw, error))
    }
}

fn present(raw: &Raw) -> rusqlite::Result<Vec<Row>> {
    let mut all = raw.prepare("SELECT tbl, idx, stat FROM sqlite_stat1")?;
    let mut rows: Vec<Row> = all
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    rows.sort();
    Ok(rows)
}

fn wanted(raw: &Raw) -> rusqlite::Result<Vec<Row>> {
    let mut all = raw.prepare(INDEXES)?;
    let found = all.query_map([], |row| {
        let stat = stat(row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?);
        Ok((row.get(0)?, row.get(1)?, stat))
    })?;
    let mut rows: Vec<Row> = found.collect::<Result<_, _>>()?;
    rows.sort();
    Ok(rows)
}

fn stat(columns: u32, is_unique: bool, is_partial: bool, is_by_tenant: bool) -> String {
    let mut rows = if is_partial { PARTIAL_ROWS } else { ROWS };
    let mut numbers = vec![rows];
    for column in 1..=columns {
        rows = match column {
            _ if is_unique && column == columns => 1,
            1 if is_by_tenant => rows / TENANTS,
            _ => (rows / SELECTIVITY).max(2),
        };
        numbers.push(rows);
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_of_an_index_leaves_fewer_rows() {
        assert_eq!(stat(2, true, false, true), "1000000 250000 1");
        assert_eq!(stat(4, false, false, true), "1000000 250000 1250 6 2");
        assert_eq!(stat(2, false, true, true), "100000 25000 125");
        assert_eq!(stat(1, true, false, true), "1000000 1");
        assert_eq!(stat(2, false, false, false), "1000000 5000 25");
    }
}
