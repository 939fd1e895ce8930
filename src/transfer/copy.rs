//! From one database to another, of either engine.

use std::sync::mpsc::{SyncSender, sync_channel};

use db::{Conn, Db, Engine};

use super::load::{self, Filled, Message};
use super::rows::Row;
use super::tables::{self, Part};
use super::{Checksum, Failure, Progress, Result, store};
use crate::schema::MIGRATIONS;
use crate::values::time::Timestamp;

/// Rows that travel together, and about how many bytes they may have.
const BATCH_ROWS: usize = 2_000;
const BATCH_BYTES: usize = 4 << 20;
/// Batches that wait for the target.
pub const AHEAD: usize = 4;

/// How many rows there are to copy.
pub fn count(source: &Db) -> Result<u64> {
    source.snapshot(|c| {
        let mut sum = 0;
        for part in tables::all(c, source.engine())? {
            sum += store::count(c, &part.table)?;
        }
        Ok(sum)
    })
}

/// Copies everything while nobody can write to the source: a lock on all tables lets others read them. SQLite is locked by
/// its data directory.
pub fn run(
    source: &Db,
    target: &Db,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Vec<Filled>> {
    if source.engine() == Engine::Sqlite {
        return of_snapshot(source, target, now, progress);
    }
    source.bulk(|bulk| {
        let parts = tables::all(bulk.conn(), source.engine())?;
        store::lock_against_writes(bulk, &parts).map_err(|error| {
            format!("somebody is writing to the source ({}): stop the server first", error.0)
        })?;
        let copied = of_snapshot(source, target, now, progress);
        store::unlock(bulk)?;
        copied
    })
}

/// Copies everything as of one instant, with the schema that the source has; others may write to the source meanwhile. Goes on
/// where an interrupted copy of the same source has ended.
pub fn of_snapshot(
    source: &Db,
    target: &Db,
    now: Timestamp,
    progress: Progress<'_>,
) -> Result<Vec<Filled>> {
    let schema = MIGRATIONS.len() - source.pending_migrations(MIGRATIONS)?;
    if schema == 0 {
        return Err("the source holds nothing".into());
    }
    if load::is_unfinished(source)? {
        return Err("the source is itself the target of an unfinished transfer".into());
    }
    let done = load::prepare(target, schema, now)?;
    let known = target.snapshot(|c| tables::all(c, target.engine()))?;
    let mut filled = fill(source, target, progress, |c, sender| {
        let mut earlier = Vec::new();
        for part in tables::all(c, source.engine())? {
            match done.get(&part.name) {
                Some(sent) if summed(c, &part, &known)? == *sent => {
                    earlier.push(Filled { name: part.name, sent: *sent, found: *sent });
                }
                _ => send(c, &part, sender)?,
            }
        }
        Ok(earlier)
    })?;
    filled.sort_by(|a, b| a.name.cmp(&b.name));
    load::finish(target, progress)?;
    Ok(filled)
}

/// Sends tables of a snapshot of the source, while the target takes them; returns those that were filled before, too.
pub fn fill(
    source: &Db,
    target: &Db,
    progress: Progress<'_>,
    read: impl FnOnce(&Conn<'_>, &SyncSender<Message>) -> Result<Vec<Filled>> + Send,
) -> Result<Vec<Filled>> {
    let (sender, receiver) = sync_channel(AHEAD);
    let (read, filled) = std::thread::scope(|scope| {
        let reading = scope.spawn(move || source.snapshot(|c| read(c, &sender)));
        let filled = load::run(target, receiver, progress);
        (reading.join().unwrap_or_else(|_| Err(Failure("the source failed".into()))), filled)
    });
    let (read, mut filled) = both(read, filled)?;
    filled.extend(read);
    Ok(filled)
}

/// The results of both sides. If one fails the other one only says that nobody sends or takes rows.
pub fn both<R, W>(read: Result<R>, written: Result<W>) -> Result<(R, W)> {
    match (read, written) {
        (Ok(read), Ok(written)) => Ok((read, written)),
        (Err(Failure(text)), Err(failure)) if text == db::Error::Busy.to_string() => Err(failure),
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    }
}

/// As it was noted when it was sent: JSON by its value where either side knows of it.
fn summed(c: &Conn<'_>, part: &Part, known: &[Part]) -> Result<Checksum> {
    let mut json = part.json();
    if let Some(there) = known.iter().find(|there| there.name == part.name) {
        json = there.json_in_order_of(&part.columns, json);
    }
    store::sum_of(c, part, &part.shape, &json)
}

pub fn send(c: &Conn<'_>, part: &Part, to: &SyncSender<Message>) -> Result<()> {
    let gone = |_| db::Error::Busy;
    let (columns, json) = (part.columns.clone(), part.json());
    to.send(Message::Table { name: part.name.clone(), columns, json }).map_err(gone)?;
    in_batches(to, Message::Rows, |take| c.table_rows(&part.table, &part.shape, take))?;
    to.send(Message::End).map_err(gone)?;
    Ok(())
}

/// Sends the rows that `read` passes on.
pub fn in_batches<M>(
    to: &SyncSender<M>,
    message: fn(Vec<Row>) -> M,
    read: impl FnOnce(&mut dyn FnMut(Row) -> Result<(), db::Error>) -> Result<(), db::Error>,
) -> Result<(), db::Error> {
    let gone = |_| db::Error::Busy;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    read(&mut |row| {
        bytes += size(&row);
        batch.push(row);
        if batch.len() >= BATCH_ROWS || bytes >= BATCH_BYTES {
            bytes = 0;
            to.send(message(std::mem::take(&mut batch))).map_err(gone)?;
        }
        Ok(())
    })?;
    if batch.is_empty() { Ok(()) } else { to.send(message(batch)).map_err(gone) }
}

fn size(row: &Row) -> usize {
    row.iter()
        .map(|value| match value {
            db::Value::Text(text) | db::Value::Json(text) => text.len(),
            db::Value::Blob(blob) => blob.len(),
            _ => 16,
        })
        .sum()
}
