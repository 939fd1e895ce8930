//! The server inside this process, to count what one request asks of the database. It is never part of a timed
//! measurement.

use std::net::SocketAddr;

use db::{Db, Options};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use townhall::app::{self, Dependencies};
use townhall::config::{Config, Flags};
use townhall::features::search::index;
use townhall::state::App;
use townhall::values::ids::ProjectId;

use crate::client::Connection;
use crate::fixture::text;
use crate::scenario::Scenario;
use crate::server::SECRET;
use crate::store::{Engine, Store};

use super::bare::{Recorder, Statement};
use super::median::median;
use super::proxy::Proxy;
use super::wire::Log;

/// Requests before those that count: connections have prepared their statements after them.
const WARM_UP: usize = 24;
/// Requests that count, and that the bare client sends again.
pub const COUNTED: usize = 1000;
/// Few connections, so that each of them soon knows all statements.
const POOL: usize = 2;

#[derive(Debug)]
pub struct InProcess {
    app: App,
    address: SocketAddr,
    serving: JoinHandle<()>,
    /// SQLite.
    recorder: Recorder,
    /// PostgreSQL.
    proxy: Option<Proxy>,
}

/// What one request asks of the database: medians of some requests.
#[derive(Debug)]
pub struct Counted {
    pub statements: f64,
    /// Round trips; SQLite has none.
    pub flights: Option<f64>,
    pub requests: Requests,
}

/// What each of some requests has sent.
#[derive(Debug)]
pub enum Requests {
    Sqlite(Vec<Vec<Statement>>),
    Postgres(Vec<Log>),
}

impl InProcess {
    pub async fn start(engine: Engine, store: &Store) -> Result<Self, String> {
        let (mut url, mut proxy) = (store.url.clone(), None);
        if let (Engine::Postgres, Some(cluster)) = (engine, &store.cluster) {
            let started = Proxy::start(cluster.port()).await?;
            let (old, new) = (cluster.port().to_string(), started.address.port().to_string());
            url = format!("{}?sslmode=disable", url.replacen(&old, &new, 1));
            proxy = Some(started);
        }
        let directory = store.directory.display().to_string();
        let find = |name: &str| match name {
            "TOWNHALL_DATA_DIR" => Some(directory.clone()),
            "TOWNHALL_DATABASE_URL" => Some(url.clone()),
            "TOWNHALL_RATE_LIMITS" => Some("off".to_owned()),
            _ => None,
        };
        let config = Config::from_sources(&Flags::default(), &find)?;
        let recorder = Recorder::default();
        let options =
            Options { pool: POOL, on_statement: Some(recorder.hook()), ..Options::default() };
        let opened = tokio::task::spawn_blocking(move || Db::open(&url, options));
        let opened = opened.await.map_err(|error| error.to_string())?;
        let db = opened.map_err(|error| error.to_string())?;
        let app = app::build(config, SECRET.as_bytes(), db, Dependencies::real())?;
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let router = townhall::features::router()?;
        let serving = tokio::spawn(townhall::server::serve(app.clone(), router, listener));
        Ok(InProcess { app, address, serving, recorder, proxy })
    }

    /// Indexes what was written for search: it would take a part of the machine from what is measured.
    pub async fn index(&self, projects: [ProjectId; 4]) -> Result<(), String> {
        for project in projects {
            index::catch_up(&self.app, project).await.map_err(text)?;
        }
        Ok(())
    }

    /// Sends requests one after the other; the last so many count.
    pub async fn count(
        &self,
        scenario: &Scenario,
        requests: &[Vec<u8>],
        counted: usize,
    ) -> Result<Counted, String> {
        let mut connection = Connection::open(self.address).await.map_err(|e| e.to_string())?;
        let (mut recorded, mut logs) = (Vec::new(), Vec::new());
        // The first list by a keyword asks how common it is; all others know.
        let is_read = requests.first().is_some_and(|request| request.starts_with(b"GET "));
        let warm_up = if is_read { requests.len().max(WARM_UP) } else { WARM_UP };
        for (number, request) in requests.iter().cycle().take(warm_up + counted).enumerate() {
            match &self.proxy {
                None => self.recorder.begin(),
                Some(proxy) => drop(proxy.take()),
            }
            let status = connection.exchange(request).await.map_err(|error| error.to_string())?;
            if !scenario.expected_status.contains(&status) {
                let body = String::from_utf8_lossy(connection.body());
                return Err(format!("{}: status {status}: {body}", scenario.name));
            }
            if number < warm_up {
                continue;
            }
            match &self.proxy {
                None => recorded.push(self.recorder.end()),
                Some(proxy) => logs.push(proxy.take()),
            }
        }
        let median_of = |counts: Vec<usize>| {
            median(&counts.into_iter().map(|count| count as f64).collect::<Vec<_>>())
        };
        let statements = match &self.proxy {
            None => recorded.iter().map(Vec::len).collect(),
            Some(_) => logs.iter().map(Log::statements).collect(),
        };
        Ok(Counted {
            statements: median_of(statements).unwrap_or_default(),
            flights: median_of(logs.iter().map(|log| log.flights.len()).collect()),
            requests: match &self.proxy {
                None => Requests::Sqlite(recorded),
                Some(_) => Requests::Postgres(logs),
            },
        })
    }

    pub async fn stop(self) {
        self.app.drain();
        let _ = self.serving.await;
        self.app.db.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat;
    use crate::fixture::{Fixture, Scale};
    use crate::table::rows::ROWS;

    /// More entities than a list would sort, so that common keywords and rare ones have different plans.
    const SCALE: Scale = Scale {
        users: 500,
        entities: 3000,
        comments: 100,
        spread_comments: 100,
        rows: 10,
        chat: chat::Size { messages: 10, group_members: 4 },
        page: 1,
    };

    /// The most statements and round trips of each scenario on PostgreSQL; COMMIT is part of the last one.
    const MOST: &[(&str, [f64; 2])] = &[
        ("fetch-entity", [1.0, 1.0]),
        ("feed-new-user", [2.0, 1.0]),
        ("feed-new-user-shared", [2.0, 1.0]),
        ("feed-hot-keyword", [2.0, 1.0]),
        ("feed-top-keyword", [2.0, 1.0]),
        ("v6-hot-keyword", [3.0, 2.0]),
        ("v6-top-keyword", [3.0, 2.0]),
        ("comments-new", [2.0, 1.0]),
        ("comments-new-shared", [2.0, 1.0]),
        ("feed-page-500", [2.0, 1.0]),
        ("create-entity", [4.0, 2.0]),
        ("create-comment", [4.0, 2.0]),
        ("add-reaction", [4.0, 2.0]),
        // Of an entity in a space, which costs one more.
        ("react-one", [6.0, 3.0]),
        ("v6-upvote", [5.0, 2.0]),
        ("create-without-webhook", [4.0, 2.0]),
        // The delivery is one statement more, in the same round trip.
        ("create-with-dead-webhook", [5.0, 2.0]),
    ];

    #[tokio::test(flavor = "multi_thread")]
    async fn each_row_of_the_table_asks_postgresql_as_little_as_this() {
        let store = tokio::task::spawn_blocking(|| Store::create(Engine::Postgres));
        let store = store.await.unwrap().unwrap();
        let db = store.open().unwrap();
        let fixture = Fixture::seed(&db, SCALE).await.unwrap();
        db.close().await;
        let server = InProcess::start(Engine::Postgres, &store).await.unwrap();
        let mut rows = MOST.iter();
        for scenario in ROWS.iter().filter_map(|row| row.scenario()) {
            let mut requests = (scenario.requests)(&fixture);
            requests.truncate(64);
            let asked = server.count(scenario, &requests, 32).await.unwrap();
            let (name, [statements, flights]) = rows.next().unwrap();
            assert_eq!(*name, scenario.name);
            assert!(
                asked.statements <= *statements && asked.flights.unwrap() <= *flights,
                "{name}: {} statements, {:?} round trips",
                asked.statements,
                asked.flights
            );
        }
        server.stop().await;
    }
}
