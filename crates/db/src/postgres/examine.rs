//! Integrity checks: foreign keys by joining each table with its parents, indexes by the extension `amcheck`
//! if this user may use it.

use crate::{Error, Examination};

use super::Session;

const NAME: &str = "examine";

/// For each foreign key a statement that counts the rows without a parent.
const ORPHANS: &str = "SELECT format('%s of %s', c.conname, c.conrelid::regclass),
        format('SELECT count(*) FROM %s x WHERE %s AND NOT EXISTS (SELECT 1 FROM %s y WHERE %s)',
            c.conrelid::regclass,
            (SELECT string_agg(format('x.%I IS NOT NULL', a.attname), ' AND ')
             FROM unnest(c.conkey) k JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k),
            c.confrelid::regclass,
            (SELECT string_agg(format('x.%I = y.%I', a.attname, b.attname), ' AND ')
             FROM unnest(c.conkey, c.confkey) AS k (own, other)
                JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
                JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other))
    FROM pg_constraint c WHERE c.contype = 'f' AND c.conparentid = 0 ORDER BY 1";
const INDEXES: &str = "SELECT c.oid::regclass::text FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
        JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE m.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid AND c.relpersistence = 'p'
        AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') ORDER BY 1";

impl Session {
    /// Problems, and what could not be checked. Has no timeout.
    pub(crate) fn examine(&self) -> Result<Examination, Error> {
        self.say("BEGIN; SET LOCAL statement_timeout = 0")?;
        let mut findings = Vec::new();
        for (name, count) in self.pairs(ORPHANS)? {
            let orphans = self.patiently(NAME, self.client().query_one(&count, &[]))?;
            let orphans: i64 = orphans.try_get(0).map_err(|error| Error::statement(NAME, error))?;
            if orphans > 0 {
                findings
                    .push(format!("foreign key {name}: {orphans} rows without their row there"));
            }
        }
        let mut skipped = None;
        if self.distribution_column()?.is_some() {
            skipped = Some("indexes were not checked: they are on the workers");
        } else if self.say("SAVEPOINT amcheck; CREATE EXTENSION IF NOT EXISTS amcheck").is_ok() {
            // Rolled back with the transaction if it had to be created for this.
            findings.extend(self.indexes()?);
        } else {
            skipped = Some("indexes were not checked: the extension amcheck may not be used");
        }
        self.say("ROLLBACK")?;
        Ok(Examination { findings, skipped: skipped.map(str::to_owned) })
    }

    fn indexes(&self) -> Result<Vec<String>, Error> {
        let mut findings = Vec::new();
        for (index, _) in self.pairs(&format!("SELECT x, x FROM ({INDEXES}) AS i (x)"))? {
            self.say("SAVEPOINT index")?;
            let check = "SELECT bt_index_check(CAST($1 AS text)::regclass, true)";
            if let Err(error) = self.patiently(NAME, self.client().execute(check, &[&index])) {
                findings.push(format!("index {index}: {error}"));
                self.say("ROLLBACK TO index")?;
            }
        }
        Ok(findings)
    }

    fn say(&self, sql: &str) -> Result<(), Error> {
        self.patiently(NAME, self.client().batch_execute(sql))
    }

    /// Rows of two texts.
    fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>, Error> {
        let rows = self.patiently(NAME, self.client().query(sql, &[]))?;
        let text = |row: &tokio_postgres::Row, at| {
            row.try_get::<_, String>(at).map_err(|error| Error::statement(NAME, error))
        };
        rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
    }
}
