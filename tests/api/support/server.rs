//! The servers of the tests. Most tests take one from a pool, have it for themselves and make projects of
//! their own on it; tests that need other settings or an untouched database launch one.

use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use db::testing::Cluster;
use db::{Command, Db, Engine, Options, args};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use townhall::app::{self, Dependencies};
use townhall::auth::passwords::Cost;
use townhall::config::{Config, Flags};
use townhall::features::entities::views::view_buffer;
use townhall::outbound::Resolver;
use townhall::schema::{DISTRIBUTION, MIGRATIONS};
use townhall::state::App;
use townhall::values::clock::Clock;
use townhall::values::random::Random;
use townhall::values::time::Timestamp;

use super::directories::{empty, fresh_directory};
use super::many_rows;
use super::watched::Watched;

/// Every test begins here: the first of August 2026, noon.
const START: Timestamp = Timestamp::from_millis(1_785_585_600_000);

/// What a server's database is copied from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Template {
    /// The schema and no rows.
    #[default]
    Empty,
    /// Thousands of rows of other projects in every table, with statistics.
    ManyRows,
}

/// What a test changes before its server starts.
#[derive(Debug, Clone, Default)]
pub struct TestConfig {
    pub(super) template: Template,
    variables: Vec<(String, String)>,
    adjustments: Vec<fn(&mut Config)>,
}

impl TestConfig {
    pub fn set(&mut self, variable: &str, value: &str) {
        self.variables.push((variable.to_owned(), value.to_owned()));
    }

    /// For what no variable sets, such as the time a client may take.
    pub fn adjust(&mut self, change: fn(&mut Config)) {
        self.adjustments.push(change);
    }
}

/// A running server with a database, data directory, port, clock and randomness of its own.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) app: App,
    pub(super) address: SocketAddr,
    pub(super) engine: Engine,
    pub(super) settings: TestConfig,
    pub(super) data_dir: PathBuf,
    pub(super) statements: Watched,
    /// On a cluster: a second node, to which every other request goes.
    pub(super) twin: Option<Box<Server>>,
    database: Database,
    /// Not the test's: the server may outlive it.
    runtime: Option<Runtime>,
}

#[derive(Debug, Clone)]
struct Database {
    url: String,
    /// Whether it goes away together with the server.
    is_owned: bool,
}

static IDLE: Mutex<Vec<Server>> = Mutex::new(Vec::new());

/// A server on this engine that nobody else uses: one that an earlier test gave back, or a new one.
pub(super) async fn take(engine: Engine, test: &str) -> Server {
    let idle = {
        let mut idle = IDLE.lock().unwrap();
        let place = idle.iter().position(|server| server.engine == engine);
        place.map(|place| idle.swap_remove(place))
    };
    let server = match idle {
        Some(server) => {
            server.clear().await;
            server
        }
        None => {
            let mut config = TestConfig::default();
            config.set("TOWNHALL_RATE_LIMITS", "off");
            config.set("TOWNHALL_TABLE_QUERY_DEADLINE", "60s");
            config.set("TOWNHALL_DATABASE_WAIT", "60s");
            let mut server = Server::launch(engine, config).await;
            if engine == Engine::Postgres && Cluster::shared().is_distributed() {
                server.twin = Some(Box::new(server.start_twin().await));
            }
            server
        }
    };
    server.nodes().for_each(|app| app.random.jump(first_block(test)));
    server
}

/// Where a test begins to draw: ids of two tests must differ, and no test draws four thousand million blocks.
fn first_block(test: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    test.hash(&mut hasher);
    hasher.finish() << 32
}

/// Lets a later test have the server.
pub(super) fn give_back(server: Server) {
    IDLE.lock().unwrap().push(server);
}

impl Server {
    pub(super) async fn launch(engine: Engine, settings: TestConfig) -> Server {
        let data_dir = fresh_directory();
        let url = settings.template.copy(engine, &data_dir).await;
        let database = Database { url, is_owned: true };
        let statements = Watched::default();
        Self::serve(engine, settings, data_dir, database, Clock::manual(START), (1, statements))
            .await
    }

    /// The application of each node.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &App> {
        std::iter::once(&self.app).chain(self.twin.iter().map(|twin| &twin.app))
    }

    /// A node that shares everything with this one but its memory.
    async fn start_twin(&self) -> Server {
        let database = Database { is_owned: false, ..self.database.clone() };
        let (mut settings, clock) = (self.settings.clone(), self.app.clock.clone());
        settings.set("TOWNHALL_STORAGE", &self.app.config.storage);
        let own = (2, self.statements.clone());
        Self::serve(self.engine, settings, fresh_directory(), database, clock, own).await
    }

    pub(super) async fn second_node(&self) -> Server {
        assert_eq!(self.engine, Engine::Postgres, "one server has a SQLite database for itself");
        let database = Database { is_owned: false, ..self.database.clone() };
        let (settings, clock) = (self.settings.clone(), self.app.clock.clone());
        let own = (2, Watched::default());
        Self::serve(self.engine, settings, fresh_directory(), database, clock, own).await
    }

    async fn serve(
        engine: Engine,
        settings: TestConfig,
        data_dir: PathBuf,
        database: Database,
        clock: Clock,
        (seed, statements): (u64, Watched),
    ) -> Server {
        let config = configure(&settings, &data_dir, &database.url);
        let dependencies = Dependencies {
            clock,
            random: Random::seeded(seed),
            password_cost: Cost::Least,
            resolver: Resolver::scripted(),
            membership: super::sockets::is_member,
        };
        let options = Options {
            pool: 8.min(config.database_pool),
            durable: false,
            // On a busy machine 64 writers of one row take their time.
            statement_deadline: Duration::from_secs(60),
            wait: config.database_wait,
            // A busy machine is no dead node.
            announcement_wait: Duration::from_secs(30),
            on_statement: Some(statements.hook(engine)),
            ..Options::default()
        };
        let runtime = runtime();
        let url = database.url.clone();
        let started = runtime.spawn(async move {
            let db = open(&url, options).await;
            let listener = TcpListener::bind(config.listen).await.unwrap();
            let address = listener.local_addr().unwrap();
            let app = app::build(config, b"a secret of at least 32 characters", db, dependencies)
                .unwrap();
            townhall::start::claim_storage(&app).await.unwrap();
            tokio::spawn(townhall::server::serve(
                app.clone(),
                townhall::features::router().unwrap(),
                listener,
            ));
            (app, address)
        });
        let (app, address) = started.await.unwrap();
        let runtime = Some(runtime);
        let twin = None;
        Server { app, address, engine, settings, data_dir, statements, twin, database, runtime }
    }

    /// Takes away what an earlier test left behind that is not in its own projects, and sets the clock back.
    async fn clear(&self) {
        self.app.clock.set(START);
        for node in self.nodes() {
            view_buffer::flush(node).await.unwrap();
            // Their age was measured by the other time.
            node.projects.forget_all();
        }
        let remove_jobs = Command::<()>::built("test::jobs", "DELETE FROM jobs".to_owned());
        let removed = self.app.db.write(move |tx| tx.execute(&remove_jobs, args![]));
        removed.await.unwrap();
        for directory in ["files", "outbox"] {
            empty(&self.data_dir.join(directory));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.twin = None;
        self.app.drain();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        if self.database.is_owned && self.engine == Engine::Postgres {
            Cluster::shared().drop_database(&self.database.url);
        }
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

fn configure(settings: &TestConfig, data_dir: &Path, url: &str) -> Config {
    let data_dir = data_dir.display().to_string();
    let find = |name: &str| {
        let set = settings.variables.iter().rev().find(|(key, _)| key == name);
        let set = set.map(|(_, value)| value.clone());
        match name {
            "TOWNHALL_DATA_DIR" => Some(data_dir.clone()),
            "TOWNHALL_DATABASE_URL" => Some(url.to_owned()),
            "TOWNHALL_LISTEN" => Some("127.0.0.1:0".to_owned()),
            "TOWNHALL_PUBLIC_URL" => set.or_else(|| Some("https://community.example".to_owned())),
            _ => set,
        }
    };
    let mut config = Config::from_sources(&Flags::default(), &find).unwrap();
    // The clock of a test stands still; what it moves past is to be noticed soon. Servers that wait for their next test look,
    // too.
    config.realtime.sweep = Duration::from_millis(50);
    settings.adjustments.iter().for_each(|adjust| adjust(&mut config));
    config
}

/// Opened and migrated, off the threads that serve.
async fn open(url: &str, options: Options) -> Db {
    let url = url.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        let db = Db::open(&url, options).unwrap();
        db.migrate(MIGRATIONS, START.millis()).unwrap();
        db
    });
    opened.await.unwrap()
}

impl Template {
    /// A database of its own for a server with this data directory; its URL.
    pub(super) async fn copy(self, engine: Engine, data_dir: &Path) -> String {
        match engine {
            Engine::Sqlite => {
                let file = data_dir.join("townhall.db");
                std::fs::write(&file, self.sqlite_file().await).unwrap();
                format!("sqlite://{}", file.display())
            }
            Engine::Postgres => self.copy_postgres_database().await,
        }
    }

    async fn copy_postgres_database(self) -> String {
        static EMPTY: OnceCell<String> = OnceCell::const_new();
        static MANY_ROWS: OnceCell<String> = OnceCell::const_new();
        let template = match self {
            Template::Empty => &EMPTY,
            Template::ManyRows => &MANY_ROWS,
        };
        let made = template.get_or_init(|| async {
            let create = || Cluster::shared().create_database();
            let url = tokio::task::spawn_blocking(create).await.unwrap();
            self.fill(&url).await;
            url
        });
        let template = made.await.clone();
        let copy = move || Cluster::shared().create_database_from(&template);
        tokio::task::spawn_blocking(copy).await.unwrap()
    }

    async fn sqlite_file(self) -> &'static [u8] {
        static EMPTY: OnceCell<Vec<u8>> = OnceCell::const_new();
        static MANY_ROWS: OnceCell<Vec<u8>> = OnceCell::const_new();
        let template = match self {
            Template::Empty => &EMPTY,
            Template::ManyRows => &MANY_ROWS,
        };
        let bytes = template.get_or_init(|| async {
            let directory = fresh_directory();
            let file = directory.join("townhall.db");
            self.fill(&format!("sqlite://{}", file.display())).await;
            let bytes = std::fs::read(&file).unwrap();
            std::fs::remove_dir_all(directory).unwrap();
            bytes
        });
        bytes.await
    }

    async fn fill(self, url: &str) {
        let db = open(url, Options { pool: 1, ..Options::default() }).await;
        if self == Template::ManyRows {
            let (writer, script) = (db.clone(), many_rows::script(db.engine()));
            let written = tokio::task::spawn_blocking(move || {
                writer.execute_script(&script)?;
                match writer.engine() {
                    Engine::Sqlite => Ok(()),
                    // Otherwise plans depend on whether PostgreSQL has done it by itself already.
                    Engine::Postgres => writer.execute_script("VACUUM ANALYZE"),
                }
            });
            written.await.unwrap().unwrap();
        }
        // Tests of plans, which are about one server, have the other one.
        let is_distributed = self == Template::Empty && db.engine() == Engine::Postgres;
        if is_distributed && Cluster::shared().is_distributed() {
            let db = db.clone();
            let distributed = tokio::task::spawn_blocking(move || db.distribute(&DISTRIBUTION));
            assert!(distributed.await.unwrap().unwrap().is_some());
        }
        db.close().await;
    }
}
