//! The fence: triggers that refuse every write, so that nothing is written to a database that was moved. Reading goes on.

use db::{Db, Engine, Query, TableName};

use super::{NAME, STATE, patiently};
use crate::transfer::Result;

const FENCE: &str = "online_copy_fence";
/// Of one table SQLite refuses each kind of write by a trigger of its own.
const WRITES: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

/// Nobody can write to these tables from then on, and transactions that were writing have ended. `before`: how many tables are fenced
/// already.
pub fn fence(source: &Db, tables: &[TableName], before: usize) -> Result<(), db::Error> {
    let names: Vec<String> = tables.iter().map(TableName::quoted).collect();
    let mut steps = match source.engine() {
        Engine::Sqlite => sqlite(&names, before),
        Engine::Postgres => postgres(&names),
    };
    if before == 0 {
        steps.insert(0, format!("INSERT INTO {STATE} (kind, value) VALUES ('fence', '')"));
    }
    one_by_one(source, &steps)
}

/// On PostgreSQL each step is a transaction: it waits for those who write to one table and holds no other, so nobody waits in a
/// circle. A transaction that meets the first fence is rolled back as a whole. A custom table that was dropped needs none.
fn one_by_one(source: &Db, steps: &[String]) -> Result<(), db::Error> {
    match source.engine() {
        Engine::Sqlite => patiently(source, &steps.join(";")),
        Engine::Postgres => steps.iter().try_for_each(|step| match patiently(source, step) {
            Err(db::Error::Missing { .. }) => Ok(()),
            done => done,
        }),
    }
}

fn sqlite(names: &[String], before: usize) -> Vec<String> {
    let triggers = names.iter().zip(before..).flat_map(|(table, number)| {
        WRITES.map(|write| {
            let name = format!("{FENCE}_{}_{number}", write.to_ascii_lowercase());
            format!(
                "CREATE TRIGGER {name} BEFORE {write} ON {table} BEGIN
                    SELECT RAISE(ABORT, 'the database was moved');
                 END"
            )
        })
    });
    triggers.collect()
}

/// 55P03, as of a lock that is held: the server answers that it is busy.
fn postgres(names: &[String]) -> Vec<String> {
    let mut script = vec![format!(
        "CREATE OR REPLACE FUNCTION {FENCE}() RETURNS trigger LANGUAGE plpgsql AS $fence$ BEGIN
            RAISE EXCEPTION 'the database was moved' USING ERRCODE = '55P03';
         END $fence$"
    )];
    script.extend(names.iter().map(|table| {
        format!(
            "CREATE TRIGGER {FENCE} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION {FENCE}()"
        )
    }));
    script
}

/// All can write again.
pub fn unfence(source: &Db) -> Result<()> {
    let triggers = match source.engine() {
        Engine::Sqlite => format!(
            "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema
             WHERE type = 'trigger' AND name GLOB '{FENCE}_*'"
        ),
        Engine::Postgres => format!(
            "SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger
             WHERE tgname = '{FENCE}'"
        ),
    };
    let mut script: Vec<String> = source.snapshot(|c| c.all(&Query::built(NAME, triggers), &[]))?;
    if source.engine() == Engine::Postgres {
        script.push(format!("DROP FUNCTION IF EXISTS {FENCE}()"));
    }
    script.push(format!("DELETE FROM {STATE} WHERE kind = 'fence'"));
    Ok(one_by_one(source, &script)?)
}
