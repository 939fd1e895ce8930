//! The statements of recorded requests on SQLite, sent again by a loop in this process: how fast they are without a server
//! in front of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use db::{Command, Conn, Db, Query, Ran, Tx, Value};
use uuid::Uuid;

use crate::entities::Entities;
use crate::scenario::Bare;

use super::ids::{Ids, Kinds};

const NAME: &str = "bench::replay";

type Values = Vec<Value<'static>>;

/// One statement of a request.
#[derive(Debug, Clone)]
pub struct Statement {
    sql: String,
    args: Values,
    is_on_writer: bool,
}

impl Statement {
    fn ids(&self) -> impl Iterator<Item = Uuid> {
        self.args
            .iter()
            .flat_map(|value| match value {
                Value::Uuid(id) => std::slice::from_ref(id),
                Value::Uuids(ids) => ids,
                _ => &[],
            })
            .copied()
    }
}

/// Writes statements down while it is switched on.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Option<Vec<Statement>>>>);

impl Recorder {
    pub fn hook(&self) -> db::Watch {
        let recorder = self.clone();
        Arc::new(move |Ran { sql, args, is_on_writer, .. }| {
            if let Some(statements) = recorder.lock().as_mut() {
                let args = args.iter().cloned().map(Value::into_owned).collect();
                statements.push(Statement { sql: sql.to_owned(), args, is_on_writer });
            }
        })
    }

    pub fn begin(&self) {
        *self.lock() = Some(Vec::new());
    }

    pub fn end(&self) -> Vec<Statement> {
        self.lock().take().unwrap_or_default()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Vec<Statement>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that can be sent again and again.
#[derive(Debug)]
struct Request {
    reads: Vec<(Query<Values>, Values)>,
    writes: Vec<(Command<Values>, Values)>,
    ids: Ids,
}

/// Recorded requests of one scenario.
#[derive(Debug)]
pub struct Replay {
    requests: Arc<[Request]>,
    entities: Option<Entities>,
}

impl Replay {
    /// `entities`: their ids are drawn anew each time. `known`: ids that stay as they are.
    pub fn new(
        recorded: Vec<Vec<Statement>>,
        entities: Option<Entities>,
        known: &HashSet<Uuid>,
    ) -> Self {
        let ids = |request: &[Statement]| -> HashSet<Uuid> {
            request.iter().flat_map(Statement::ids).collect()
        };
        let kinds = Kinds::new(recorded.iter().map(|request| ids(request)), entities, known);
        let requests = recorded.into_iter().map(|request| {
            let ids = ids(&request);
            let (writes, reads): (Vec<Statement>, Vec<Statement>) =
                request.into_iter().partition(|statement| statement.is_on_writer);
            Request {
                ids: kinds.of(ids, !writes.is_empty()),
                reads: reads.into_iter().map(|s| (Query::built(NAME, s.sql), s.args)).collect(),
                writes: writes.into_iter().map(|s| (Command::built(NAME, s.sql), s.args)).collect(),
            }
        });
        Replay { requests: requests.collect(), entities }
    }

    pub fn work(&self, db: &Db) -> Bare {
        let (requests, entities, db) = (self.requests.clone(), self.entities, db.clone());
        Bare::new("statements", move |dice| {
            let (requests, db) = (requests.clone(), db.clone());
            let number = dice.draw(requests.len());
            let ids = requests.get(number).map(|request| request.ids.others(entities, dice));
            async move {
                let (Some(request), Some(ids)) = (requests.get(number), ids) else {
                    return Err("no request was recorded".to_owned());
                };
                if !request.reads.is_empty() {
                    let (requests, ids) = (requests.clone(), ids.clone());
                    let read = db.read(move |c: &Conn<'_>| {
                        for (query, args) in &requests[number].reads {
                            c.all(query, &with_ids(args, &ids))?;
                        }
                        Ok::<_, db::Error>(())
                    });
                    read.await.map_err(|error| error.to_string())?;
                }
                if !request.writes.is_empty() {
                    let requests = requests.clone();
                    let written = db.write(move |tx: &Tx<'_>| {
                        for (command, args) in &requests[number].writes {
                            tx.all(command, &with_ids(args, &ids))?;
                        }
                        Ok::<_, db::Error>(())
                    });
                    written.await.map_err(|error| error.to_string())?;
                }
                Ok(Vec::new())
            }
        })
    }
}

fn with_ids(args: &[Value<'static>], ids: &HashMap<Uuid, Uuid>) -> Values {
    let other = |id: &Uuid| *ids.get(id).unwrap_or(id);
    let value = |value: &Value<'static>| match value {
        Value::Uuid(id) => Value::Uuid(other(id)),
        Value::Uuids(list) => Value::Uuids(list.iter().map(other).collect()),
        value => value.clone(),
    };
    args.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Dice;
    use db::Options;

    fn statement(sql: &str, args: &[Value<'static>], is_on_writer: bool) -> Statement {
        Statement { sql: sql.to_owned(), args: args.to_vec(), is_on_writer }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_recorded_write_is_another_row_each_time() {
        let directory = format!("townhall-replay-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        std::fs::create_dir(&directory).unwrap();
        let url = format!("sqlite://{}", directory.join("replay.db").display());
        let recorder = Recorder::default();
        let options = Options { on_statement: Some(recorder.hook()), ..Options::default() };
        let db =
            tokio::task::spawn_blocking(move || Db::open(&url, options)).await.unwrap().unwrap();
        let table = "CREATE TABLE t (id BLOB PRIMARY KEY, author BLOB NOT NULL) STRICT";
        db.execute_script(table).unwrap();
        let (author, id) = (Uuid::from_u128(7), Uuid::from_u128(0xabc << 80));
        recorder.begin();
        let insert = Command::<()>::built("test::insert", "INSERT INTO t VALUES ($1, $2)");
        let written = db
            .write(move |tx: &Tx<'_>| tx.execute(&insert, &[Value::Uuid(id), Value::Uuid(author)]));
        written.await.unwrap();
        let recorded = recorder.end();
        assert_eq!(recorded.len(), 1);
        assert!(recorded[0].is_on_writer);
        let replay = Replay::new(vec![recorded], None, &HashSet::from([author]));
        let (work, mut dice) = (replay.work(&db), Dice::new(1));
        for _ in 0..3 {
            work.once(&mut dice).await.unwrap();
        }
        let count = Query::<(i64, i64)>::built(
            "test::count",
            "SELECT count(*), count(DISTINCT author) FROM t",
        );
        let counted = db.read(move |c: &Conn<'_>| c.one(&count, &[])).await.unwrap();
        assert_eq!(counted, (4, 1));
        db.close().await;
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_read_keeps_its_ids_and_no_statement_is_recorded_before_the_beginning() {
        let id = Uuid::from_u128(7);
        let read = vec![statement("SELECT ?1", &[Value::Uuid(id)], false)];
        let replay = Replay::new(vec![read], None, &HashSet::new());
        let ids = replay.requests[0].ids.others(None, &mut Dice::new(1));
        assert_eq!(with_ids(&[Value::Uuid(id)], &ids), [Value::Uuid(id)]);
        let recorder = Recorder::default();
        let ran = Ran { name: "test", sql: "SELECT 1", args: &[], is_on_writer: false };
        recorder.hook()(ran);
        assert!(recorder.end().is_empty());
    }
}
