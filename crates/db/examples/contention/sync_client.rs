//! What this crate is measured against: the synchronous client library, a connection per thread.

use std::sync::{Arc, Mutex, mpsc};

use postgres::{Client, NoTls, Statement};
use tokio::sync::oneshot;

pub(crate) enum Op {
    Point(i64),
    List(i64),
    Insert(i64, i64),
}

type Request = (Op, oneshot::Sender<usize>);

#[derive(Clone)]
pub(crate) struct SyncPool(mpsc::Sender<Request>);

impl SyncPool {
    pub(crate) fn start(url: &str, threads: usize) -> Self {
        let (sender, receiver) = mpsc::channel::<Request>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..threads {
            let (url, receiver) = (url.to_owned(), Arc::clone(&receiver));
            std::thread::spawn(move || {
                let mut worker = Worker::connect(&url);
                loop {
                    let request = receiver.lock().unwrap().recv();
                    let Ok((op, answer)) = request else { return };
                    let _ = answer.send(worker.run(&op));
                }
            });
        }
        SyncPool(sender)
    }

    pub(crate) async fn run(&self, op: Op) -> usize {
        let (answer, receiver) = oneshot::channel();
        self.0.send((op, answer)).unwrap();
        receiver.await.unwrap()
    }
}

struct Worker {
    client: Client,
    point: Statement,
    list: Statement,
    insert: Statement,
}

impl Worker {
    fn connect(url: &str) -> Self {
        let mut client = Client::connect(url, NoTls).unwrap();
        let mut prepare = |sql| client.prepare(sql).unwrap();
        let point = prepare("SELECT id, body FROM notes WHERE id = $1");
        let list = prepare("SELECT id, body FROM notes WHERE box_id = $1 ORDER BY id LIMIT 20");
        let insert = prepare("INSERT INTO notes (id, box_id, body) VALUES ($1, $2, $3)");
        Worker { client, point, list, insert }
    }

    fn run(&mut self, op: &Op) -> usize {
        match op {
            Op::Point(id) => {
                self.client.query_one(&self.point, &[id]).unwrap().get::<_, String>(1).len()
            }
            Op::List(box_id) => {
                let rows = self.client.query(&self.list, &[box_id]).unwrap();
                let notes: Vec<(i64, String)> =
                    rows.iter().map(|row| (row.get(0), row.get(1))).collect();
                notes.len()
            }
            Op::Insert(id, box_id) => {
                let body = "a note of about a hundred bytes, the size of a short message that somebody wrote to some box";
                let mut transaction = self.client.transaction().unwrap();
                let written = transaction.execute(&self.insert, &[id, box_id, &body]).unwrap();
                transaction.commit().unwrap();
                usize::try_from(written).unwrap()
            }
        }
    }
}
