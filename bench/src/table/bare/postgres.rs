//! The statements of recorded requests on PostgreSQL: connections that send the messages of the server again, in the same
//! flights and formats, each on a thread of its own. Replies are read and dropped.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};

use uuid::Uuid;

use crate::clock::{Window, now};
use crate::dice::Dice;
use crate::entities::Entities;
use crate::table::wire::{Log, Parameter, Sent};

use super::ids::{Ids, Kinds};

/// The object ids of types, which never change.
const UUID: u32 = 2950;
const UUIDS: u32 = 2951;
/// What the server sets on its connections. The limit of a statement is not: it costs nothing unless it is changed.
const SETTINGS: &str = "SET jit = off; SET plan_cache_mode = force_generic_plan";
/// Deadlocks, which the server runs again, too.
const DEADLOCK: &str = "40P01";

#[derive(Debug)]
pub struct Replay {
    /// The texts of all statements.
    texts: Vec<String>,
    requests: Vec<Request>,
    entities: Option<Entities>,
}

#[derive(Debug)]
struct Request {
    flights: Vec<Vec<Message>>,
    ids: Ids,
}

#[derive(Debug)]
enum Message {
    Simple(String),
    Execute { text: usize, arguments: Vec<Argument> },
}

/// A parameter in binary format.
#[derive(Debug)]
struct Argument {
    /// `None`: NULL.
    bytes: Option<Vec<u8>>,
    /// Where UUIDs begin.
    ids: Vec<usize>,
}

impl Replay {
    /// `entities`: their ids are drawn anew each time. `known`: ids that stay as they are.
    pub fn new(
        recorded: Vec<Log>,
        entities: Option<Entities>,
        known: &HashSet<Uuid>,
    ) -> Result<Self, String> {
        let kinds = Kinds::new(recorded.iter().map(ids), entities, known);
        let mut texts = Texts::default();
        let requests = recorded.iter().map(|log| {
            let messages = |flight: &Vec<Sent>| {
                let sent = flight.iter().filter(|sent| !sent.is_setting());
                sent.map(|sent| Message::of(sent, &mut texts)).collect()
            };
            let flights: Result<Vec<Vec<Message>>, String> =
                log.flights.iter().map(messages).collect();
            let flights = flights?.into_iter().filter(|flight| !flight.is_empty()).collect();
            Ok(Request { flights, ids: kinds.of(ids(log), log.writes()) })
        });
        let requests = requests.collect::<Result<Vec<_>, String>>()?;
        Ok(Replay { texts: texts.all, requests, entities })
    }

    /// Requests per second on so many connections to this port and database. Blocks.
    pub fn rate(
        &self,
        database: (u16, &str),
        connections: usize,
        window: Window,
    ) -> Result<f64, String> {
        let counted = std::thread::scope(|scope| {
            let run = |number| scope.spawn(move || self.run(database, number, window));
            let threads: Vec<_> = (0..connections).map(run).collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(io::Error::other("a connection panicked")))
            });
            joined.sum::<io::Result<u64>>()
        });
        Ok(counted.map_err(|error| error.to_string())? as f64 / window.seconds())
    }

    /// How many requests one connection has sent within the window.
    fn run(&self, database: (u16, &str), number: usize, window: Window) -> io::Result<u64> {
        let mut connection = Connection::open(database, self.texts.len())?;
        let (mut dice, mut counted) = (Dice::new(number as u64), 0);
        while now() < window.to {
            let Some(request) = self.requests.get(dice.draw(self.requests.len())) else { break };
            let ids = request.ids.others(self.entities, &mut dice);
            let is_done = connection.send(&self.texts, request, &ids)?;
            counted += u64::from(is_done && window.holds(now()));
        }
        Ok(counted)
    }
}

/// The text of each statement once.
#[derive(Debug, Default)]
struct Texts {
    all: Vec<String>,
    places: HashMap<String, usize>,
}

impl Texts {
    fn place(&mut self, sql: &str) -> usize {
        if let Some(place) = self.places.get(sql) {
            return *place;
        }
        self.places.insert(sql.to_owned(), self.all.len());
        self.all.push(sql.to_owned());
        self.all.len() - 1
    }
}

impl Message {
    fn of(sent: &Sent, texts: &mut Texts) -> Result<Self, String> {
        Ok(match sent {
            Sent::Simple(sql) => Message::Simple(sql.clone()),
            Sent::Prepared { sql, parameters } => {
                if parameters.iter().any(|parameter| !parameter.is_binary) {
                    return Err("a parameter was sent as text".to_owned());
                }
                let argument = |parameter: &Parameter| Argument {
                    bytes: parameter.bytes.clone(),
                    ids: places_of_ids(parameter),
                };
                let arguments = parameters.iter().map(argument).collect();
                Message::Execute { text: texts.place(sql), arguments }
            }
        })
    }
}

/// Where the UUIDs of a parameter begin: one, or the elements of an array of one dimension.
fn places_of_ids(parameter: &Parameter) -> Vec<usize> {
    /// Dimensions, whether there are NULLs, type, length, first index.
    const HEAD: usize = 20;
    /// The length of an element, and the element.
    const ELEMENT: usize = 4 + 16;
    let length = parameter.bytes.as_ref().map_or(0, Vec::len);
    match parameter.type_id {
        UUID if length == 16 => vec![0],
        UUIDS => (HEAD..length).step_by(ELEMENT).map(|place| place + 4).collect(),
        _ => Vec::new(),
    }
}

fn id_at(bytes: &[u8], place: usize) -> Option<Uuid> {
    Uuid::from_slice(bytes.get(place..place + 16)?).ok()
}

/// All ids that a request names.
fn ids(log: &Log) -> HashSet<Uuid> {
    let parameters = log.flights.iter().flatten().flat_map(|sent| match sent {
        Sent::Prepared { parameters, .. } => parameters.as_slice(),
        Sent::Simple(_) => &[],
    });
    let ids = parameters.flat_map(|parameter| {
        let bytes = parameter.bytes.as_deref().unwrap_or_default();
        places_of_ids(parameter).into_iter().filter_map(move |place| id_at(bytes, place))
    });
    ids.collect()
}

#[derive(Debug)]
struct Connection {
    stream: BufReader<TcpStream>,
    /// Which statements are prepared.
    prepared: Vec<bool>,
    out: Vec<u8>,
}

/// How a flight ended.
#[derive(Debug)]
struct Outcome {
    /// The first error: its code and its text.
    error: Option<(String, String)>,
    is_in_transaction: bool,
}

impl Connection {
    fn open((port, database): (u16, &str), texts: usize) -> io::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        let prepared = vec![false; texts];
        let mut connection =
            Connection { stream: BufReader::new(stream), prepared, out: Vec::new() };
        let start = format!("user\0postgres\0database\0{database}\0\0");
        let version = 3_u32 << 16;
        connection.out.extend(length(start.len() + 8));
        connection.out.extend(version.to_be_bytes());
        connection.out.extend(start.as_bytes());
        connection.exchange(1)?.expect_success()?;
        connection.simple(SETTINGS)?.expect_success()?;
        Ok(connection)
    }

    /// Whether the request succeeded; not if it was the victim of a deadlock.
    fn send(
        &mut self,
        texts: &[String],
        request: &Request,
        ids: &HashMap<Uuid, Uuid>,
    ) -> io::Result<bool> {
        for flight in &request.flights {
            for message in flight {
                if let Message::Execute { text, .. } = message {
                    self.prepare(*text, texts)?;
                }
            }
            for message in flight {
                match message {
                    Message::Simple(sql) => self.add(b'Q', &[sql.as_bytes(), b"\0"]),
                    Message::Execute { text, arguments } => self.execute(*text, arguments, ids),
                }
            }
            let outcome = self.exchange(flight.len())?;
            if outcome.error.as_ref().is_some_and(|(code, _)| code == DEADLOCK) {
                if outcome.is_in_transaction {
                    self.simple("ROLLBACK")?.expect_success()?;
                }
                return Ok(false);
            }
            outcome.expect_success()?;
        }
        Ok(true)
    }

    fn simple(&mut self, sql: &str) -> io::Result<Outcome> {
        self.add(b'Q', &[sql.as_bytes(), b"\0"]);
        self.exchange(1)
    }

    fn prepare(&mut self, text: usize, texts: &[String]) -> io::Result<()> {
        if self.prepared[text] {
            return Ok(());
        }
        self.prepared[text] = true;
        let name = name(text);
        self.add(b'P', &[name.as_bytes(), texts[text].as_bytes(), b"\0\0\0"]);
        self.add(b'S', &[]);
        self.exchange(1)?.expect_success()
    }

    fn execute(&mut self, text: usize, arguments: &[Argument], ids: &HashMap<Uuid, Uuid>) {
        const BINARY: [u8; 4] = [0, 1, 0, 1];
        let mut values = Vec::new();
        for Argument { bytes, ids: places } in arguments {
            let Some(bytes) = bytes else {
                values.extend((-1_i32).to_be_bytes());
                continue;
            };
            values.extend(length(bytes.len()));
            let begin = values.len();
            values.extend(bytes);
            for place in places {
                let other = id_at(bytes, *place).and_then(|id| ids.get(&id));
                if let Some(other) = other {
                    values[begin + place..][..16].copy_from_slice(other.as_bytes());
                }
            }
        }
        let count = u16::try_from(arguments.len()).unwrap_or(u16::MAX).to_be_bytes();
        self.add(b'B', &[b"\0", name(text).as_bytes(), &BINARY, &count, &values, &BINARY]);
        self.add(b'E', &[b"\0", &[0; 4]]);
        self.add(b'S', &[]);
    }

    /// Adds a message to the flight.
    fn add(&mut self, kind: u8, body: &[&[u8]]) {
        let size: usize = body.iter().map(|part| part.len()).sum();
        self.out.push(kind);
        self.out.extend(length(size + 4));
        body.iter().for_each(|part| self.out.extend(*part));
    }

    /// Sends the flight and reads until the server has been ready so many times.
    fn exchange(&mut self, times: usize) -> io::Result<Outcome> {
        self.stream.get_ref().write_all(&self.out)?;
        self.out.clear();
        let mut outcome = Outcome { error: None, is_in_transaction: false };
        let (mut ready, mut body) = (0, Vec::new());
        while ready < times {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let [kind, length @ ..] = head;
            let size = u32::from_be_bytes(length).saturating_sub(4);
            body.resize(usize::try_from(size).unwrap_or_default(), 0);
            self.stream.read_exact(&mut body)?;
            match kind {
                b'Z' => {
                    ready += 1;
                    outcome.is_in_transaction = body != b"I";
                }
                b'E' if outcome.error.is_none() => {
                    outcome.error = Some((field(&body, b'C'), field(&body, b'M')));
                }
                _ => {}
            }
        }
        Ok(outcome)
    }
}

impl Outcome {
    fn expect_success(self) -> io::Result<()> {
        let failed = |(code, text)| io::Error::other(format!("{code}: {text}"));
        self.error.map_or(Ok(()), |error| Err(failed(error)))
    }
}

/// Of a prepared statement.
fn name(text: usize) -> String {
    format!("s{text}\0")
}

fn length(size: usize) -> [u8; 4] {
    u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes()
}

/// A field of an error.
fn field(body: &[u8], wanted: u8) -> String {
    let found = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&wanted));
    found.map_or(String::new(), |field| String::from_utf8_lossy(&field[1..]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use db::testing::Cluster;
    use db::{Conn, Db, Options, Query};

    fn binary(type_id: u32, bytes: &[u8]) -> Parameter {
        Parameter { type_id, is_binary: true, bytes: Some(bytes.to_vec()) }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_recorded_write_is_another_row_each_time() {
        let created = tokio::task::spawn_blocking(|| {
            let cluster = Cluster::shared();
            (cluster.port(), cluster.create_database())
        });
        let (port, url) = created.await.unwrap();
        let db = Db::open(&url, Options { pool: 1, ..Options::default() }).unwrap();
        db.execute_script("CREATE TABLE t (id uuid PRIMARY KEY, ids uuid[] NOT NULL)").unwrap();

        let (author, id) = (Uuid::from_u128(7), Uuid::from_u128(0xabc << 80));
        let head = [1, 0, UUID, 2, 1].map(u32::to_be_bytes).concat();
        let list = [&head[..], &length(16), author.as_bytes(), &length(16), id.as_bytes()].concat();
        let insert = Sent::Prepared {
            sql: "INSERT INTO t VALUES ($1, $2)".to_owned(),
            parameters: vec![binary(UUID, id.as_bytes()), binary(UUIDS, &list)],
        };
        let simple = |sql: &str| Sent::Simple(sql.to_owned());
        let flights = vec![
            vec![simple("SET statement_timeout = 5"), simple("BEGIN"), insert],
            vec![simple("COMMIT")],
        ];
        let recorded = vec![Log { flights }];
        let replay = Replay::new(recorded, None, &HashSet::from([author])).unwrap();
        let request = &replay.requests[0];
        let database = (port, url.rsplit('/').next().unwrap());
        let mut connection = Connection::open(database, replay.texts.len()).unwrap();
        let mut dice = Dice::new(1);
        for _ in 0..3 {
            let ids = request.ids.others(None, &mut dice);
            assert!(connection.send(&replay.texts, request, &ids).unwrap());
        }
        let count = Query::<(i64, i64)>::built(
            "test::count",
            "SELECT count(*), count(DISTINCT ids[1]) FROM t WHERE ids[2] = id".to_owned(),
        );
        let counted = db.read(move |c: &Conn<'_>| c.one(&count, &[])).await;
        assert_eq!(counted, Ok::<_, db::Error>((3, 1)));

        // With the recorded ids it is the same row, and the error is not swallowed.
        let mut again = || connection.send(&replay.texts, request, &HashMap::new());
        assert!(again().unwrap());
        let refused = again().unwrap_err().to_string();
        assert!(refused.starts_with("23505"), "{refused}");
        db.close().await;
    }
}
