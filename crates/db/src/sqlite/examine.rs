//! Integrity checks: trees, indexes, constraints and foreign keys by SQLite itself; UTF-8 here, because
//! SQLite accepts invalid bytes, and a damaged page often shows in nothing else.

use rusqlite::types::ValueRef;

use super::Connection;

/// Maximum findings of one kind.
const MAX_FINDINGS: usize = 20;

impl Connection {
    /// Problems. Reads the whole file, without a deadline.
    pub(crate) fn examine(&self) -> Vec<String> {
        let mut findings = self.integrity();
        // Damage at the lower level makes further checks pointless.
        if findings.is_empty() {
            findings = self.foreign_keys();
            findings.extend(self.texts());
        }
        findings
    }

    fn integrity(&self) -> Vec<String> {
        let check = format!("PRAGMA integrity_check({MAX_FINDINGS})");
        let found = self.strings(&check, 0);
        found.into_iter().filter(|line| line != "ok").collect()
    }

    fn foreign_keys(&self) -> Vec<String> {
        let broken = self.strings(
            "SELECT \"table\" || ' without its row in ' || parent || ': ' || count(*)
             FROM pragma_foreign_key_check GROUP BY \"table\", parent",
            0,
        );
        broken.into_iter().map(|line| format!("foreign key: rows of {line}")).collect()
    }

    fn texts(&self) -> Vec<String> {
        let tables = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'";
        let mut findings = Vec::new();
        for table in self.strings(tables, 0) {
            match self.unreadable_rows(&table) {
                Ok(0) => {}
                Ok(rows) => {
                    findings.push(format!("{table}: {rows} rows hold bytes that are no text"))
                }
                Err(error) => findings.push(format!("{table}: {error}")),
            }
        }
        findings
    }

    fn unreadable_rows(&self, table: &str) -> rusqlite::Result<u64> {
        let quoted = table.replace('"', "\"\"");
        let mut statement = self.raw().prepare(&format!("SELECT * FROM \"{quoted}\""))?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut unreadable = 0;
        while let Some(row) = rows.next()? {
            let is_text = |at| match row.get_ref(at) {
                Ok(ValueRef::Text(bytes)) => std::str::from_utf8(bytes).is_ok(),
                other => other.is_ok(),
            };
            unreadable += u64::from(!(0..columns).all(is_text));
        }
        Ok(unreadable)
    }

    /// One column of each row; an error is one more line, because here it is a finding.
    fn strings(&self, sql: &str, column: usize) -> Vec<String> {
        let read = |lines: &mut Vec<String>| -> rusqlite::Result<()> {
            let mut statement = self.raw().prepare(sql)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                lines.push(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned());
            }
            Ok(())
        };
        let mut lines = Vec::new();
        if let Err(error) = read(&mut lines) {
            lines.push(error.to_string());
        }
        lines
    }
}
