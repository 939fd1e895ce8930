//! The server inside this process, to count what one request asks of the database. It is never part of a timed
//! measurement.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

use super::median::median;
use super::proxy::Proxy;
use super::wire::Log;

/// Requests before those that count: connections have prepared their statements after them.
const WARM_UP: usize = 24;
/// Requests that count, and that pgbench sends again.
const COUNTED: usize = 32;
/// Few connections, so that each of them soon knows all statements.
const POOL: usize = 2;

#[derive(Debug)]
pub struct InProcess {
    app: App,
    address: SocketAddr,
    serving: JoinHandle<()>,
    /// SQLite: statements so far.
    statements: Arc<AtomicU64>,
    /// PostgreSQL.
    proxy: Option<Proxy>,
}

/// What one request asks of the database: medians of some requests.
#[derive(Debug, Default)]
pub struct Counted {
    pub statements: f64,
    /// Round trips; SQLite has none.
    pub flights: Option<f64>,
    /// PostgreSQL: what each of the requests has sent.
    pub requests: Vec<Log>,
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
        let statements = Arc::new(AtomicU64::new(0));
        let counter = statements.clone();
        let options = Options {
            pool: POOL,
            on_statement: Some(Arc::new(move |_, _| {
                counter.fetch_add(1, Relaxed);
            })),
            ..Options::default()
        };
        let opened = tokio::task::spawn_blocking(move || Db::open(&url, options));
        let opened = opened.await.map_err(|error| error.to_string())?;
        let db = opened.map_err(|error| error.to_string())?;
        let app = app::build(config, SECRET.as_bytes(), db, Dependencies::real())?;
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let router = townhall::features::router()?;
        let serving = tokio::spawn(townhall::server::serve(app.clone(), router, listener));
        Ok(InProcess { app, address, serving, statements, proxy })
    }

    /// Indexes what was written for search: it would take a part of the machine from what is measured.
    pub async fn index(&self, project: ProjectId) -> Result<(), String> {
        index::catch_up(&self.app, project).await.map(drop).map_err(text)
    }

    /// Sends requests one after the other.
    pub async fn count(
        &self,
        scenario: &Scenario,
        requests: &[Vec<u8>],
    ) -> Result<Counted, String> {
        let mut connection = Connection::open(self.address).await.map_err(|e| e.to_string())?;
        let (mut statements, mut flights, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for (number, request) in requests.iter().cycle().take(WARM_UP + COUNTED).enumerate() {
            let before = self.statements.load(Relaxed);
            self.proxy.as_ref().map(Proxy::take);
            let status = connection.exchange(request).await.map_err(|error| error.to_string())?;
            if !scenario.expected_status.contains(&status) {
                let body = String::from_utf8_lossy(connection.body());
                return Err(format!("{}: status {status}: {body}", scenario.name));
            }
            if number < WARM_UP {
                continue;
            }
            match &self.proxy {
                None => statements.push((self.statements.load(Relaxed) - before) as f64),
                Some(proxy) => {
                    let log = proxy.take();
                    statements.push(log.statements() as f64);
                    flights.push(log.flights.len() as f64);
                    logs.push(log);
                }
            }
        }
        Ok(Counted {
            statements: median(&statements).unwrap_or_default(),
            flights: median(&flights),
            requests: logs,
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

    /// The most statements and round trips of each scenario on PostgreSQL; COMMIT is part of the last one. The lists by
    /// keyword ask for many different ones, and the first request for a keyword does not know yet how common it is.
    const MOST: &[(&str, [f64; 2])] = &[
        ("fetch-entity", [1.0, 1.0]),
        ("feed-new-user", [4.0, 2.0]),
        ("feed-hot-keyword", [4.0, 4.0]),
        ("feed-top-keyword", [4.0, 4.0]),
        ("v6-hot-keyword", [6.0, 4.0]),
        ("v6-top-keyword", [6.0, 4.0]),
        ("comments-new", [4.0, 3.0]),
        ("feed-page-500", [3.0, 2.0]),
        ("create-entity", [4.0, 3.0]),
        ("create-comment", [4.0, 3.0]),
        ("add-reaction", [4.0, 3.0]),
        // Of an entity in a space, which costs one more.
        ("react-one", [6.0, 4.0]),
        ("v6-upvote", [5.0, 3.0]),
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
            let requests = (scenario.requests)(&fixture);
            let asked = server.count(scenario, &requests).await.unwrap();
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
