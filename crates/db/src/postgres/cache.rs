//! Prepared statements of one connection (LRU). Static statements all fit; texts built at run time evict the
//! least recently used one, which is then closed on the server.

use std::collections::HashMap;

use tokio_postgres::Statement;

const MAX_STATEMENTS: usize = 1024;

#[derive(Default)]
pub(super) struct Cache {
    entries: HashMap<Box<str>, (Statement, u64)>,
    uses: u64,
}

impl Cache {
    pub(super) fn get(&mut self, sql: &str) -> Option<Statement> {
        self.uses += 1;
        let (statement, last_used) = self.entries.get_mut(sql)?;
        *last_used = self.uses;
        Some(statement.clone())
    }

    pub(super) fn put(&mut self, sql: &str, statement: Statement) {
        if self.entries.len() >= MAX_STATEMENTS {
            let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(sql) = oldest.map(|(sql, _)| sql.clone()) {
                self.entries.remove(&sql);
            }
        }
        self.entries.insert(sql.into(), (statement, self.uses));
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
