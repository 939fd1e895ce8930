//! One SQLite connection: its settings, and how it runs a statement under a deadline.

use std::cell::Cell;
use std::fmt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSql, ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{ErrorCode, OpenFlags};

use crate::conn::{Failed, Sink};
use crate::row::Source;
use crate::statement::{MAX_CACHED_ARGUMENTS, Text};
use crate::{ColumnRef, Columns, Engine, Error, Options, Ran, Value, Watch, stats};

use super::{errors, functions};

/// Before this version a reset of the WAL could corrupt the database.
const OLDEST: (i32, &str) = (3_051_003, "3.51.3");
/// Another process (the command line) may hold the write lock for a moment.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer LIKE patterns can keep a core busy for a minute inside one row, where no deadline applies.
const LIKE_PATTERN_BYTES: i32 = 256;
/// More than a program has static statements, so that only texts built at run time are ever evicted.
const CACHED_STATEMENTS: usize = 1024;
/// How much of the file readers map with [`Options::mmap`]; SQLite maps no more than this. They read the rest as ever.
const MAPPED_BYTES: u64 = (1 << 31) - (1 << 16);
/// Virtual machine steps between two checks of the clock: about a tenth of a millisecond.
const STEPS: i32 = 2_000;
const NEVER: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

pub(crate) struct Connection {
    raw: rusqlite::Connection,
    access: Access,
    limit: Duration,
    /// The deadline of the running closure, if it set one.
    pub(crate) until: Cell<Option<Instant>>,
    timer: Timer,
    on_statement: Option<Watch>,
}

impl Connection {
    pub(crate) fn open(path: &Path, access: Access, options: &Options) -> Result<Self, Error> {
        if rusqlite::version_number() < OLDEST.0 {
            let found = rusqlite::version();
            let message = format!("SQLite {found} is too old: {} or later", OLDEST.1);
            return Err(Error::Unreachable(message));
        }
        let connection = Self::prepared(path, access, options)
            .map_err(|error| Error::unreachable(format!("{}: {error}", path.display())))?;
        Ok(connection)
    }

    fn prepared(path: &Path, access: Access, options: &Options) -> rusqlite::Result<Self> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if access == Access::Write {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let mut raw = rusqlite::Connection::open_with_flags(path, flags)?;
        raw.busy_timeout(BUSY_TIMEOUT)?;
        raw.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
        raw.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LIKE_PATTERN_BYTES)?;
        // Query planner stability: without it, and with the statistics of ANALYZE, the bundled library plans
        // a statement again for its bound values: 2 to 8 times slower.
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // An unknown quoted name is an error, not a text.
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
        rusqlite::vtab::array::load_module(&raw)?;
        let timer = Timer::default();
        functions::add(&raw, &timer)?;
        let mode = write_ahead(&raw)?;
        if mode != "wal" {
            let message = format!("journal mode is {mode}, not WAL");
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN),
                Some(message),
            ));
        }
        let synchronous = if options.durable { "FULL" } else { "NORMAL" };
        // Connections share the system's page cache, so their own hold little more than the upper pages of the trees. A
        // larger one of the writer would cost time: SQLite looks through all of it at most commits, as long as the file
        // is smaller than 1 GiB. In kilobytes.
        let cache = if access == Access::Write { 8192 } else { 4096 };
        // Checkpoints have a thread of their own.
        raw.execute_batch(&format!(
            "PRAGMA synchronous = {synchronous};
             PRAGMA wal_autocheckpoint = 0;
             PRAGMA cache_size = -{cache};
             PRAGMA temp_store = MEMORY;"
        ))?;
        if access == Access::Write {
            // Deleted data is overwritten, on freed pages, too: a deleted user's profile must not be found in
            // the file.
            raw.execute_batch("PRAGMA secure_delete = ON")?;
        }
        if access == Access::Read {
            let mapped = if options.mmap { MAPPED_BYTES } else { 0 };
            raw.execute_batch(&format!("PRAGMA query_only = ON; PRAGMA mmap_size = {mapped};"))?;
        }
        let seen = timer.clone();
        raw.progress_handler(STEPS, Some(move || seen.is_over()))?;
        Ok(Connection {
            raw,
            access,
            limit: options.statement_deadline,
            until: Cell::new(None),
            timer,
            on_statement: options.on_statement.clone(),
        })
    }

    pub(crate) fn raw(&self) -> &rusqlite::Connection {
        &self.raw
    }

    pub(crate) fn raw_mut(&mut self) -> &mut rusqlite::Connection {
        &mut self.raw
    }

    pub(crate) fn into_raw(self) -> rusqlite::Connection {
        self.raw
    }

    /// Runs one statement to its end and returns the number of affected rows.
    pub(crate) fn run(
        &self,
        text: &Text,
        args: &[Value<'_>],
        sink: Sink<'_>,
    ) -> Result<u64, Failed> {
        let sql = text.on(Engine::Sqlite)?;
        if let Some(watch) = &self.on_statement {
            watch(Ran { name: text.name, sql, args, is_on_writer: self.access == Access::Write });
        }
        let failed = |error| errors::failed(&self.raw, text.name, error);
        let (mut kept, mut single);
        // A long list of arguments is rarely repeated: it would only evict reusable statements.
        let statement: &mut rusqlite::Statement<'_> = if args.len() <= MAX_CACHED_ARGUMENTS {
            kept = self.raw.prepare_cached(sql).map_err(failed)?;
            &mut kept
        } else {
            single = self.raw.prepare(sql).map_err(failed)?;
            &mut single
        };
        text.check(Engine::Sqlite, statement.column_count(), statement.column_names())?;
        expect_arguments(text.name, statement.parameter_count(), args.len())?;
        for (index, value) in args.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value).map_err(failed)?;
        }
        let _armed = self.arm();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            sink(&mut Columns::new(text.name, &SqliteRow(row)))?;
        }
        drop(rows);
        Ok(if text.writes() { self.raw.changes() } else { 0 })
    }

    /// Prepares the statement and compares its columns; a query must not write.
    pub(crate) fn check(&self, text: &Text) -> Result<(), Error> {
        let failed = |error| errors::failed(&self.raw, text.name, error).error;
        let statement = self.raw.prepare(text.on(Engine::Sqlite)?).map_err(failed)?;
        if !text.writes() && !statement.readonly() {
            return Err(Error::statement(text.name, "a query that writes"));
        }
        text.compare(statement.column_names())
    }

    /// The deadline of one statement, lifted when dropped: COMMIT and ROLLBACK must not be interrupted.
    fn arm(&self) -> Armed<'_> {
        self.timer.set(self.until.get().or_else(|| stats::now().checked_add(self.limit)));
        Armed(&self.timer)
    }
}

/// Switches the file to WAL mode; returns the resulting mode. SQLite does not wait for locks here: two
/// processes that do this to a new file could deadlock.
fn write_ahead(raw: &rusqlite::Connection) -> rusqlite::Result<String> {
    let patience = stats::now() + BUSY_TIMEOUT;
    loop {
        let mode = raw.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0));
        let code = mode.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        if code != Some(ErrorCode::DatabaseBusy) || stats::now() >= patience {
            return mode;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

struct Armed<'a>(&'a Timer);

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// The deadline of the running statement. Clones share it: functions called by the statement check it.
#[derive(Debug, Clone)]
pub(super) struct Timer {
    epoch: Instant,
    /// Microseconds after `epoch`.
    at: Arc<AtomicU64>,
}

impl Default for Timer {
    fn default() -> Self {
        Timer { epoch: stats::now(), at: Arc::new(AtomicU64::new(NEVER)) }
    }
}

impl Timer {
    fn set(&self, end: Option<Instant>) {
        let after = |end: Instant| micros(end.saturating_duration_since(self.epoch));
        self.at.store(end.map_or(NEVER, after), Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        let at = self.at.load(Relaxed);
        at != NEVER && micros(stats::now() - self.epoch) >= at
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(NEVER - 1)
}

/// Both engines refuse a wrong number of arguments with the same text.
pub(crate) fn expect_arguments(
    statement: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    let message = format!("expects {expected} arguments, got {found}");
    Err(Error::Statement { statement, message })
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Owned(Owned::Null),
            Value::Bool(value) => ToSqlOutput::Owned(Owned::Integer((*value).into())),
            Value::Int(value) => ToSqlOutput::Owned(Owned::Integer(*value)),
            Value::Real(value) => ToSqlOutput::Owned(Owned::Real(*value)),
            Value::Text(text) | Value::Json(text) => {
                ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
            }
            Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            Value::Uuid(uuid) => ToSqlOutput::Borrowed(ValueRef::Blob(uuid.as_bytes())),
            Value::Uuids(list) => {
                let list = list.iter().map(|uuid| Owned::Blob(uuid.as_bytes().to_vec()));
                ToSqlOutput::from_rc(Rc::new(list.collect::<Vec<_>>()), c"rarray")
            }
            Value::Texts(list) => {
                let list = list.iter().map(|text| Owned::Text(text.clone()));
                ToSqlOutput::from_rc(Rc::new(list.collect::<Vec<_>>()), c"rarray")
            }
            Value::Ints(list) => {
                let list = list.iter().map(|value| Owned::Integer(*value));
                ToSqlOutput::from_rc(Rc::new(list.collect::<Vec<_>>()), c"rarray")
            }
        })
    }
}

struct SqliteRow<'a>(&'a rusqlite::Row<'a>);

impl fmt::Debug for SqliteRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SqliteRow")
    }
}

impl Source for SqliteRow<'_> {
    fn value(&self, index: usize) -> Result<ColumnRef<'_>, String> {
        let value = self.0.get_ref(index).map_err(|_| "no column".to_owned())?;
        Ok(match value {
            ValueRef::Null => ColumnRef::Null,
            ValueRef::Integer(value) => ColumnRef::Int(value),
            ValueRef::Real(value) => ColumnRef::Real(value),
            ValueRef::Text(bytes) => ColumnRef::Text(
                std::str::from_utf8(bytes).map_err(|_| "text that is not UTF-8".to_owned())?,
            ),
            ValueRef::Blob(bytes) => ColumnRef::Blob(bytes),
        })
    }

    fn name(&self, index: usize) -> String {
        let name = self.0.as_ref().column_name(index);
        name.map_or_else(|_| format!("#{}", index + 1), str::to_owned)
    }

    fn width(&self) -> usize {
        self.0.as_ref().column_count()
    }
}
