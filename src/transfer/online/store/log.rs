//! A log for each table of the source: triggers write the keys of rows that are inserted, updated or deleted.
//!
//! A transaction writes its rows and the log together, so a snapshot that sees the one sees the other.

use std::collections::HashMap;

use db::{Conn, Db, Engine, Query, TableName, Value};

use super::{LOG, NAME, patiently, quoted};
use crate::transfer::Result;
use crate::transfer::rows::Row;
use crate::transfer::tables::Part;

/// SQLite: before the number in the name of the trigger that each logged table has; two more end differently.
const INSERTED: &str = "online_copy_insert_";
/// PostgreSQL: the trigger of every logged table.
const TRIGGER: &str = "online_copy_log";
/// SQLite has a limit on the parts of one statement.
const AT_ONCE: usize = 200;

/// The numbers of the logs, by table.
pub type Logged = HashMap<TableName, i64>;

/// The tables whose changes are logged. One that was dropped, or made anew, is not among them.
pub fn logged(c: &Conn<'_>) -> Result<Logged> {
    let text = match c.engine() {
        Engine::Sqlite => format!(
            "SELECT NULL, tbl_name, CAST(substr(name, {}) AS INTEGER) FROM sqlite_schema
             WHERE type = 'trigger' AND substr(name, 1, {}) = '{INSERTED}'",
            INSERTED.len() + 1,
            INSERTED.len(),
        ),
        Engine::Postgres => format!(
            "SELECT nullif(n.nspname::text, current_schema()::text), c.relname::text,
                substr(p.proname::text, {})::bigint
             FROM pg_trigger g
             JOIN pg_class c ON c.oid = g.tgrelid
             JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_proc p ON p.oid = g.tgfoid
             WHERE g.tgname = '{TRIGGER}'",
            LOG.len() + 1,
        ),
    };
    let rows: Vec<(Option<String>, String, i64)> = c.all(&Query::built(NAME, text), &[])?;
    Ok(rows
        .into_iter()
        .map(|(schema, name, number)| (TableName { schema, name }, number))
        .collect())
}

/// Logs the changes of these tables from now on, too.
pub fn add_logs<'p>(source: &Db, parts: impl IntoIterator<Item = &'p Part>) -> Result<()> {
    let parts: Vec<&Part> = parts.into_iter().collect();
    if parts.is_empty() {
        return Ok(());
    }
    let (last, schema) = source.snapshot(|c| Ok::<_, db::Error>((last_number(c)?, schema(c)?)))?;
    let script = |(number, part)| match &schema {
        None => sqlite(part, number),
        Some(schema) => postgres(part, number, schema),
    };
    let scripts: Vec<String> = (last + 1..).zip(parts).map(script).collect();
    // On SQLite all connections read the schema again whenever it has changed: once for all tables. PostgreSQL locks each
    // table until the transaction ends.
    if schema.is_none() {
        match patiently(source, &scripts.join("; ")) {
            Err(db::Error::Missing { .. }) => {}
            done => return Ok(done?),
        }
    }
    for script in scripts {
        match patiently(source, &script) {
            // A custom table that was dropped meanwhile: the next snapshot is without it.
            Err(db::Error::Missing { .. }) => {}
            done => done?,
        }
    }
    Ok(())
}

/// The highest number of a log. The log of a table that was dropped is still there, though nothing is written to it.
fn last_number(c: &Conn<'_>) -> Result<i64, db::Error> {
    let tables = c.tables()?;
    let numbers = tables.iter().filter_map(|table| table.name.strip_prefix(LOG)?.parse().ok());
    Ok(numbers.max().unwrap_or(0))
}

/// PostgreSQL: where the logs are.
fn schema(c: &Conn<'_>) -> Result<Option<String>, db::Error> {
    if c.engine() == Engine::Sqlite {
        return Ok(None);
    }
    let text = "SELECT current_schema()::text".to_owned();
    Ok(Some(c.one(&Query::built(NAME, text), &[])?))
}

fn sqlite(part: &Part, number: i64) -> String {
    let (table, log) = (part.table.quoted(), log_of(number));
    let columns = columns(part);
    let of = |row: &str| listed(part, |name| format!("{row}.{}", quoted(name)));
    let changed: Vec<String> =
        part.shape.key.iter().map(|name| format!("old.{0} IS NOT new.{0}", quoted(name))).collect();
    let (old, new, changed) = (of("old"), of("new"), changed.join(" OR "));
    format!(
        "CREATE TABLE {log} (seq INTEGER PRIMARY KEY, {columns});
         CREATE TRIGGER {INSERTED}{number} AFTER INSERT ON {table} BEGIN
            INSERT INTO {log} ({columns}) VALUES ({new});
         END;
         CREATE TRIGGER online_copy_update_{number} AFTER UPDATE ON {table} BEGIN
            INSERT INTO {log} ({columns}) VALUES ({new});
            INSERT INTO {log} ({columns}) SELECT {old} WHERE {changed};
         END;
         CREATE TRIGGER online_copy_delete_{number} AFTER DELETE ON {table} BEGIN
            INSERT INTO {log} ({columns}) VALUES ({old});
         END"
    )
}

/// The log is named with its schema: the writer's search path may be another one.
fn postgres(part: &Part, number: i64, schema: &str) -> String {
    let (table, log, columns) = (part.table.quoted(), log_of(number), columns(part));
    let mut place = 0;
    let typed = listed(part, |name| {
        place += 1;
        format!("{} AS k{place}", quoted(name))
    });
    let of = |row: &str| listed(part, |name| format!("{row}.{}", quoted(name)));
    let (old, new) = (of("OLD"), of("NEW"));
    let insert = format!("INSERT INTO {}.{log} ({columns}) VALUES", quoted(schema));
    format!(
        "CREATE TABLE {log} AS SELECT {typed} FROM {table} LIMIT 0;
         ALTER TABLE {log} ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();
         CREATE FUNCTION {log}() RETURNS trigger LANGUAGE plpgsql AS $log$ BEGIN
            IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND ROW({old}) IS DISTINCT FROM ROW({new}) THEN
                {insert} ({old});
            END IF;
            IF TG_OP <> 'DELETE' THEN {insert} ({new}); END IF;
            RETURN NULL;
         END $log$;
         CREATE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE ON {table}
            FOR EACH ROW EXECUTE FUNCTION {log}()"
    )
}

/// The condition for what the log holds in this snapshot.
pub fn mark(c: &Conn<'_>, number: i64) -> Result<String> {
    let log = log_of(number);
    match c.engine() {
        Engine::Sqlite => {
            let text = format!("SELECT coalesce(max(seq), 0) FROM {log}");
            let last: i64 = c.one(&Query::built(NAME, text), &[])?;
            Ok(format!("seq <= {last}"))
        }
        Engine::Postgres => {
            let text = "SELECT pg_current_snapshot()::text".to_owned();
            let snapshot: String = c.one(&Query::built(NAME, text), &[])?;
            Ok(format!("pg_visible_in_snapshot(xid, '{snapshot}')"))
        }
    }
}

/// Removes what was applied, by the marks of each log.
pub fn discard(source: &Db, marks: &[(i64, String)]) -> Result<()> {
    if marks.is_empty() {
        return Ok(());
    }
    let each =
        |(number, mark): &(i64, String)| format!("DELETE FROM {} WHERE {mark}", log_of(*number));
    let script: Vec<String> = marks.iter().map(each).collect();
    Ok(patiently(source, &script.join(";"))?)
}

/// Which of the logs hold anything.
pub fn filled(c: &Conn<'_>, numbers: &[i64]) -> Result<Vec<i64>> {
    let mut found = Vec::new();
    for numbers in numbers.chunks(AT_ONCE) {
        let each = |number: &i64| {
            format!(
                "SELECT CAST({number} AS BIGINT) WHERE EXISTS (SELECT 1 FROM {})",
                log_of(*number)
            )
        };
        let text: Vec<String> = numbers.iter().map(each).collect();
        found.extend(c.all(&Query::<i64>::built(NAME, text.join(" UNION ALL ")), &[])?);
    }
    Ok(found)
}

/// Passes on the keys of changed rows, each once.
pub fn changed_keys(
    c: &Conn<'_>,
    part: &Part,
    number: i64,
    take: &mut dyn FnMut(Row) -> Result<(), db::Error>,
) -> Result<(), db::Error> {
    let text = format!("SELECT DISTINCT {} FROM {}", columns(part), log_of(number));
    c.each_while(&Query::<Vec<Value<'static>>>::built(NAME, text), &[], take)
}

/// Passes on the changed rows that there are still.
pub fn changed_rows(
    c: &Conn<'_>,
    part: &Part,
    number: i64,
    take: &mut dyn FnMut(Row) -> Result<(), db::Error>,
) -> Result<(), db::Error> {
    let mut place = 0;
    let on = part.shape.key.iter().map(|name| {
        place += 1;
        format!("t.{} = l.k{place}", quoted(name))
    });
    let on = on.collect::<Vec<String>>().join(" AND ");
    let text = format!(
        "SELECT {} FROM (SELECT DISTINCT {} FROM {}) AS l JOIN {} AS t ON {on}",
        part.shape.selection("t"),
        columns(part),
        log_of(number),
        part.table.quoted(),
    );
    c.each_while(&Query::<Vec<Value<'static>>>::built(NAME, text), &[], take)
}

/// Ends all logging. One table after the other: each waits for those who use it.
pub fn remove_logs(source: &Db) -> Result<()> {
    let triggers = match source.engine() {
        Engine::Sqlite => "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema
             WHERE type = 'trigger' AND name GLOB 'online_copy_*' AND name NOT GLOB 'online_copy_fence_*'"
            .to_owned(),
        Engine::Postgres => format!(
            "SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger
             WHERE tgname = '{TRIGGER}'"
        ),
    };
    let drops: Vec<String> = source.snapshot(|c| c.all(&Query::built(NAME, triggers), &[]))?;
    let tables = source.snapshot(|c| c.tables())?;
    let logs = tables.iter().filter(|table| table.name.starts_with(LOG));
    let logs = logs.map(|table| match source.engine() {
        Engine::Sqlite => format!("DROP TABLE {}", table.name),
        Engine::Postgres => format!("DROP TABLE {0}; DROP FUNCTION IF EXISTS {0}()", table.name),
    });
    let steps: Vec<String> = drops.into_iter().chain(logs).collect();
    match source.engine() {
        Engine::Sqlite => Ok(patiently(source, &steps.join(";"))?),
        Engine::Postgres => Ok(steps.iter().try_for_each(|step| patiently(source, step))?),
    }
}

fn log_of(number: i64) -> String {
    format!("{LOG}{number}")
}

/// The columns of a log: those of the key, by their places.
fn columns(part: &Part) -> String {
    let mut place = 0;
    listed(part, |_| {
        place += 1;
        format!("k{place}")
    })
}

fn listed(part: &Part, spell: impl FnMut(&String) -> String) -> String {
    part.shape.key.iter().map(spell).collect::<Vec<String>>().join(", ")
}
