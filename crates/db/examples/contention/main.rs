//! Measures both engines under many concurrent tasks; prints the tables of docs/decisions/0001-database-engines.md.
//! `cargo run --release -p db --example contention [reads|writes|postgres]`
#![expect(clippy::unwrap_used, reason = "a measurement that fails is thrown away")]

mod sync_client;

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use db::testing::Cluster;
use db::{Db, Error, Options, args};
use futures_util::FutureExt;
use sync_client::{Op, SyncPool};
use tokio::sync::oneshot;

const TASKS: usize = 64;
const ROWS: i64 = 100_000;
const WARM_UP: Duration = Duration::from_millis(300);
const MEASURE: Duration = Duration::from_secs(3);
const SCHEMA: &str = "
    CREATE TABLE notes (id {int} PRIMARY KEY, box_id {int} NOT NULL, body {text} NOT NULL) {strict};
    CREATE INDEX notes_box ON notes (box_id, id);
    INSERT INTO notes (id, box_id, body)
        WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000)
        SELECT n, n % 1000, 'a note of about a hundred bytes, the size of a short message that somebody wrote to some box ' || n FROM c;";

db::row! {
    #[derive(Debug)]
    struct NoteRow { id: i64, body: String }
}

db::statements! {
    query POINT -> NoteRow = "SELECT id, body FROM notes WHERE id = $1";
    query LIST -> NoteRow = "SELECT id, body FROM notes WHERE box_id = $1 ORDER BY id LIMIT 20";
    command INSERT = "INSERT INTO notes (id, box_id, body) VALUES ($1, $2, $3)";
}

static NEXT_ID: AtomicI64 = AtomicI64::new(ROWS + 1);

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        println!("{} statements, {TASKS} tasks, {ROWS} rows", ALL.len());
        let dir = Path::new("contention-data");
        std::fs::create_dir_all(dir).unwrap();
        let only = std::env::args().nth(1);
        let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
        if wanted("reads") {
            sqlite_reads(dir).await;
        }
        if wanted("writes") {
            sqlite_writes(dir).await;
        }
        std::fs::remove_dir_all(dir).unwrap();
        if wanted("postgres") {
            postgres().await;
        }
    });
}

fn open_sqlite(dir: &Path, name: &str, batch: usize) -> Db {
    let url = format!("sqlite://{}/{name}", dir.display());
    let options = Options { batch, ..Options::default() };
    let db = Db::open(&url, options).unwrap();
    db.execute_script(SCHEMA).unwrap();
    db.execute_script("{analyze}").unwrap();
    db
}

async fn sqlite_reads(dir: &Path) {
    let db = open_sqlite(dir, "reads.db", 256);
    let channels = ReaderThreads::start(&db, 4);
    let inline = |db: &Db| db.clone();
    for list in [false, true] {
        let kind = if list { "list of 20" } else { "point read" };
        let name = |how: &str| format!("SQLite {kind}, {how}");
        let d = inline(&db);
        run(&name("inline on the worker"), TASKS, move |n| {
            let db = d.clone();
            async move { db.read(move |conn| read(conn, list, n)).await.unwrap() }
        })
        .await;
        let d = inline(&db);
        run(&name("blocking pool"), TASKS, move |n| {
            let db = d.clone();
            async move { db.read_slow(move |conn| read(conn, list, n)).await.unwrap() }
        })
        .await;
        let threads = channels.clone();
        run(&name("4 reader threads"), TASKS, move |n| {
            let threads = threads.clone();
            async move { threads.read(list, n).await }
        })
        .await;
    }
}

fn read(conn: &db::Conn<'_>, list: bool, n: i64) -> Result<usize, Error> {
    if list {
        return Ok(conn.all(&LIST, args![n % 1000])?.len());
    }
    let note = conn.one(&POINT, args![n % ROWS + 1])?;
    Ok(note.body.len() + usize::from(note.id == 0))
}

async fn sqlite_writes(dir: &Path) {
    for (batch, tasks) in [
        (1, TASKS),
        (8, TASKS),
        (64, TASKS),
        (256, TASKS),
        (1024, TASKS),
        (256, 1024),
        (1024, 1024),
    ] {
        let db = open_sqlite(dir, &format!("writes-{batch}-{tasks}.db"), batch);
        let d = db.clone();
        let name = format!("SQLite durable insert, batches up to {batch}");
        run(&name, tasks, move |n| insert(d.clone(), n)).await;
        db.close().await;
    }
}

async fn insert(db: Db, n: i64) -> usize {
    let id = NEXT_ID.fetch_add(1, Relaxed);
    let body = "a note of about a hundred bytes, the size of a short message that somebody wrote to some box";
    let written: Result<u64, Error> =
        db.write(move |tx| tx.execute(&INSERT, args![id, n % 1000, body])).await;
    usize::try_from(written.unwrap()).unwrap()
}

async fn postgres() {
    let url = Cluster::shared().create_database();
    let options = Options::default();
    let threads = options.pool;
    let db = Db::open(&url, options).unwrap();
    db.execute_script(SCHEMA).unwrap();
    db.execute_script("{analyze}").unwrap();
    // The cluster of the tests does not wait for the disk; a measurement must.
    db.execute_script("ALTER SYSTEM SET fsync = on").unwrap();
    db.execute_script("ALTER SYSTEM SET full_page_writes = on").unwrap();
    db.execute_script("SELECT pg_reload_conf()").unwrap();
    let sync = SyncPool::start(&url, threads);
    for kind in ["point read", "list of 20", "durable insert"] {
        let s = sync.clone();
        run(&format!("PostgreSQL {kind}, synchronous client"), TASKS, move |n| {
            let sync = s.clone();
            async move {
                let op = match kind {
                    "point read" => Op::Point(n % ROWS + 1),
                    "list of 20" => Op::List(n % 1000),
                    _ => Op::Insert(NEXT_ID.fetch_add(1, Relaxed), n % 1000),
                };
                sync.run(op).await
            }
        })
        .await;
        let d = db.clone();
        run(&format!("PostgreSQL {kind}, this crate"), TASKS, move |n| {
            let db = d.clone();
            async move {
                match kind {
                    "durable insert" => insert(db, n).await,
                    _ => {
                        let list = kind == "list of 20";
                        db.read(move |conn| read(conn, list, n)).await.unwrap()
                    }
                }
            }
        })
        .await;
    }
}

/// Runs the operation in every task until the time is over; prints a line of the table.
async fn run<F, O>(name: &str, tasks: usize, operation: F)
where
    F: Fn(i64) -> O + Clone + Send + 'static,
    O: Future<Output = usize> + Send,
{
    let start = now() + WARM_UP;
    let cpu_start = tokio::spawn(async move {
        tokio::time::sleep_until(start.into()).await;
        cpu_seconds()
    });
    let task = |task: usize| {
        let operation = operation.clone();
        async move {
            let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(task as u64 + 1);
            let mut taken = Vec::new();
            loop {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let before = now();
                if before >= start + MEASURE {
                    return taken;
                }
                let answer = operation((random >> 33) as i64).await;
                assert!(answer > 0);
                if before >= start {
                    taken.push(now() - before);
                }
                // An inline operation never waits; without this a worker would serve one task for ever.
                tokio::task::yield_now().await;
            }
        }
    };
    let tasks_running: Vec<_> = (0..tasks).map(|number| tokio::spawn(task(number))).collect();
    let mut taken = Vec::new();
    for task in tasks_running {
        taken.extend(task.await.unwrap());
    }
    let cpu = cpu_seconds() - cpu_start.await.unwrap();
    taken.sort_unstable();
    let per_second = taken.len() as f64 / MEASURE.as_secs_f64();
    let at =
        |part: usize| taken[(taken.len() * part / 100).min(taken.len() - 1)].as_secs_f64() * 1e3;
    let cpu_each = cpu * 1e6 / taken.len() as f64;
    println!(
        "| {name} | {tasks} | {per_second:.0} | {:.3} | {:.3} | {cpu_each:.1} |",
        at(50),
        at(99)
    );
}

/// Processor time of this process, which a busy neighbour does not change. In hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split(' ').collect();
    let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
    (ticks(12) + ticks(13)) / 100.0
}

#[expect(clippy::disallowed_methods, reason = "a measurement measures real time")]
fn now() -> Instant {
    Instant::now()
}

type Request = (bool, i64, oneshot::Sender<usize>);

/// The alternative to reading inline: threads of their own, fed through a channel.
#[derive(Clone)]
struct ReaderThreads(mpsc::Sender<Request>);

impl ReaderThreads {
    fn start(db: &Db, count: usize) -> Self {
        let (sender, receiver) = mpsc::channel::<Request>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..count {
            let (db, receiver) = (db.clone(), Arc::clone(&receiver));
            std::thread::spawn(move || {
                loop {
                    let request = receiver.lock().unwrap().recv();
                    let Ok((list, n, answer)) = request else {
                        return;
                    };
                    // On SQLite a read never waits for anything.
                    let reading = db.read(move |conn| read(conn, list, n));
                    let _ = answer.send(reading.now_or_never().unwrap().unwrap());
                }
            });
        }
        ReaderThreads(sender)
    }

    async fn read(&self, list: bool, n: i64) -> usize {
        let (answer, receiver) = oneshot::channel();
        self.0.send((list, n, answer)).unwrap();
        receiver.await.unwrap()
    }
}
