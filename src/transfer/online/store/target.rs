//! The rows with changed keys, on the target, in one transaction for each table.

use db::{Bulk, Engine, Query, Shape, TableName, Value};

use super::{NAME, quoted};
use crate::transfer::rows::Row;
use crate::transfer::store::{self as notes, Note};
use crate::transfer::tables::Part;
use crate::transfer::{Checksum, Result};

/// The keys that are being applied.
const KEYS: &str = "online_copy_keys";

/// A transaction that replaces the rows with some keys. After an error the connection is closed, which undoes it.
#[derive(Debug)]
pub struct Apply<'a> {
    bulk: &'a Bulk<'a>,
    part: &'a Part,
    keys: Vec<String>,
}

impl<'a> Apply<'a> {
    pub fn begin(bulk: &'a Bulk<'a>, part: &'a Part) -> Result<Self> {
        let keys: Vec<String> =
            (1..=part.shape.key.len()).map(|place| format!("k{place}")).collect();
        let create = match bulk.conn().engine() {
            Engine::Sqlite => format!("CREATE TEMP TABLE {KEYS} ({})", keys.join(", ")),
            Engine::Postgres => {
                let typed: Vec<String> = (part.shape.key.iter().zip(&keys))
                    .map(|(name, key)| format!("{} AS {key}", quoted(name)))
                    .collect();
                let (typed, table) = (typed.join(", "), part.table.quoted());
                format!("CREATE TEMP TABLE {KEYS} AS SELECT {typed} FROM {table} LIMIT 0")
            }
        };
        bulk.execute("BEGIN")?;
        bulk.execute(&create)?;
        super::look_up_keys(bulk.conn())?;
        Ok(Apply { bulk, part, keys })
    }

    pub fn add_keys(&self, keys: &[Row]) -> Result<(), db::Error> {
        self.bulk.append(&TableName::plain(KEYS), &self.keys, keys)
    }

    /// The rows with the keys, with the columns of `shape`.
    pub fn rows(&self, shape: &Shape, take: &mut dyn FnMut(Row)) -> Result<()> {
        let text = format!(
            "SELECT {} FROM {} AS t WHERE {}",
            shape.selection("t"),
            self.part.table.quoted(),
            self.with_keys()
        );
        Ok(self.bulk.conn().each(&Query::<Vec<Value<'static>>>::built(NAME, text), &[], take)?)
    }

    pub fn delete(&self) -> Result<()> {
        let text =
            format!("DELETE FROM {} AS t WHERE {}", self.part.table.quoted(), self.with_keys());
        Ok(self.bulk.execute(&text)?)
    }

    pub fn insert(&self, columns: &[String], rows: &[Row]) -> Result<(), db::Error> {
        self.bulk.append(&self.part.table, columns, rows)
    }

    /// Notes what the table holds now.
    pub fn commit(self, sum: Checksum) -> Result<()> {
        notes::forget(self.bulk, Note::Done, &self.part.name)?;
        notes::note_in(self.bulk, Note::Done, &self.part.name, &sum.noted())?;
        Ok(self.bulk.execute(&format!("DROP TABLE {KEYS}; COMMIT"))?)
    }

    fn with_keys(&self) -> String {
        let names: Vec<String> =
            self.part.shape.key.iter().map(|name| format!("t.{}", quoted(name))).collect();
        format!("({}) IN (SELECT {} FROM {KEYS})", names.join(", "), self.keys.join(", "))
    }
}

/// A custom table that the source has no longer, or no longer in this form, and the foreign keys that it would get.
pub fn drop_table(bulk: &Bulk<'_>, table: &TableName, name: &str) -> Result<()> {
    let quoted = table.quoted();
    bulk.execute(&format!("DROP TABLE IF EXISTS {quoted}"))?;
    notes::forget(bulk, Note::Done, name)?;
    notes::forget_beginning(bulk, Note::ForeignKey, &format!("ALTER TABLE {quoted} "))
}
