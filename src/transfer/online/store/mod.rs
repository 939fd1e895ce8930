//! The SQL of an online copy. On the source: triggers that log the keys of changed rows, and the fence that makes it read-only.
//! On the target: the rows with those keys.

mod fence;
mod log;
mod target;

use std::collections::HashMap;

use db::{Bulk, Conn, Db, Engine, Query, TableName};

use crate::transfer::Result;

pub use fence::{fence, unfence};
pub use log::{
    Logged, add_logs, changed_keys, changed_rows, discard, filled, logged, mark, remove_logs,
};
pub use target::{Apply, drop_table};

const NAME: &str = "transfer::online";
/// What the source knows of the copy.
const STATE: &str = "online_copy";
/// Before the numbers of the logs, which are tables, and on PostgreSQL functions.
const LOG: &str = "online_copy_log_";
/// Writing statements wait behind a lock that is waited for: not for long, but longer than it takes PostgreSQL to stop an
/// automatic vacuum for it (`deadlock_timeout`).
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '3s'";
const ATTEMPTS: usize = 30;

/// Whether a table belongs to an online copy, and not to the installation.
pub fn is_own(table: &str) -> bool {
    table == STATE || table.starts_with(LOG)
}

/// An online copy of the source that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The same as in the target that is being filled.
    pub token: String,
    pub is_fenced: bool,
}

pub fn state(c: &Conn<'_>) -> Result<Option<State>, db::Error> {
    if !c.tables()?.iter().any(|table| table.name == STATE) {
        return Ok(None);
    }
    let text = format!("SELECT kind, value FROM {STATE}");
    let rows: Vec<(String, String)> = c.all(&Query::built(NAME, text), &[])?;
    let mut rows: HashMap<String, String> = rows.into_iter().collect();
    let token = rows.remove("token").unwrap_or_default();
    Ok(Some(State { token, is_fenced: rows.contains_key("fence") }))
}

/// `token` holds no quotes.
pub fn begin(source: &Db, token: &str) -> Result<()> {
    source.execute_script(&format!(
        "CREATE TABLE {STATE} (kind TEXT PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO {STATE} (kind, value) VALUES ('token', '{token}')"
    ))?;
    Ok(())
}

/// The last trace of an online copy.
pub fn forget(source: &Db) -> Result<()> {
    Ok(source.execute_script(&format!("DROP TABLE IF EXISTS {STATE}"))?)
}

/// PostgreSQL: nobody else copies this source until the connection is closed. That of a process that was killed may be
/// there for a moment.
pub fn claim(bulk: &Bulk<'_>) -> Result<bool> {
    let lock = format!("SELECT pg_advisory_lock(hashtextextended('{STATE}', 0))");
    match bulk.execute(&format!("SET lock_timeout = '5s'; {lock}; RESET lock_timeout")) {
        Err(db::Error::Busy) => Ok(false),
        done => Ok(done.map(|()| true)?),
    }
}

/// The rows of a few keys are looked up one by one: the planner knows too little about a log to choose.
pub fn look_up_keys(c: &Conn<'_>) -> Result<()> {
    if c.engine() == Engine::Postgres {
        let text = "SELECT set_config('enable_hashjoin', 'off', TRUE), set_config('enable_mergejoin', 'off', TRUE)";
        c.one(&Query::<(String, String)>::built(NAME, text.to_owned()), &[])?;
    }
    Ok(())
}

/// Runs a script in one transaction, again as long as others are in the way.
fn patiently(db: &Db, script: &str) -> Result<(), db::Error> {
    let script = match db.engine() {
        Engine::Sqlite => script.to_owned(),
        Engine::Postgres => format!("BEGIN; {LOCK_WAIT}; {script}; COMMIT"),
    };
    for _ in 1..ATTEMPTS {
        match db.execute_script(&script) {
            Err(db::Error::Busy) => {}
            done => return done,
        }
    }
    db.execute_script(&script)
}

fn quoted(name: &str) -> String {
    TableName::plain(name).quoted()
}
