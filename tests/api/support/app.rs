//! A server for one test: its own database, data directory, port, clock and randomness.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use db::testing::Cluster;
use db::{Db, Engine, Options};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use townhall::app::{self, Dependencies};
use townhall::auth::passwords::Cost;
use townhall::auth::store::suspensions::{self, NewSuspension};
use townhall::config::{Config, Flags};
use townhall::features::projects::admin::{self, NewProject, ProjectSecrets};
use townhall::outbound::Resolver;
use townhall::schema::MIGRATIONS;
use townhall::state::App;
use townhall::tenancy::store::{self as projects, Settings};
use townhall::tenancy::{Bundle, registry};
use townhall::values::clock::Clock;
use townhall::values::ids::{ProjectId, SuspensionId, UserId, new_id};
use townhall::values::random::Random;
use townhall::values::time::Timestamp;
use townhall::{jobs, server};

use super::actors::{Actor, Client, User};
use super::watched::Watched;

/// Every test begins here: the first of August 2026, noon.
pub const START: Timestamp = Timestamp::from_millis(1_785_585_600_000);

/// A project with its keys.
#[derive(Debug, Clone)]
pub struct TestProject {
    pub id: ProjectId,
    pub service_key: String,
    pub master_key: String,
    pub private_key: String,
}

#[derive(Debug)]
pub struct TestApp {
    pub app: App,
    pub project: TestProject,
    /// A second project on the same server: nothing of it may ever show in the first.
    pub other: TestProject,
    pub address: std::net::SocketAddr,
    pub(super) client: Client,
    pub(super) users: AtomicU32,
    engine: Engine,
    settings: TestConfig,
    data_dir: PathBuf,
    database: Option<String>,
    pub statements: Watched,
}

/// What a test changes before its server starts.
#[derive(Debug, Clone, Default)]
pub struct TestConfig {
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

impl TestApp {
    /// Rate limits are off unless a test switches them on, and no list is stopped for being slow.
    pub async fn start(engine: Engine) -> TestApp {
        let mut config = TestConfig::default();
        config.set("TOWNHALL_RATE_LIMITS", "off");
        config.set("TOWNHALL_TABLE_QUERY_DEADLINE", "60s");
        config.set("TOWNHALL_DATABASE_WAIT", "60s");
        Self::launch(engine, config).await
    }

    /// The same engine, another server with other settings. The first one goes away.
    pub async fn restart_with(self, change: impl FnOnce(&mut TestConfig)) -> TestApp {
        let mut config = self.settings.clone();
        change(&mut config);
        let engine = self.engine;
        drop(self);
        Self::launch(engine, config).await
    }

    /// With rate limits, and believing the address that a client claims to have; see [`Actor::at_address`].
    pub async fn with_networks(self) -> TestApp {
        self.restart_with(|config| {
            config.set("TOWNHALL_RATE_LIMITS", "on");
            config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.0/8");
        })
        .await
    }

    async fn launch(engine: Engine, settings: TestConfig) -> TestApp {
        let data_dir = fresh_directory();
        let (url, database) = match engine {
            Engine::Sqlite => {
                let file = data_dir.join("townhall.db");
                std::fs::write(&file, migrated_file().await).unwrap();
                (format!("sqlite://{}", file.display()), None)
            }
            Engine::Postgres => {
                let url = Cluster::shared().create_database_from(&template().await);
                (url.clone(), Some(url))
            }
        };
        Self::serve(engine, settings, data_dir, (url, database), Clock::manual(START), None).await
    }

    /// A further server on the database of this one, with the same projects and the same clock. It goes
    /// away before this one does.
    pub async fn second_node(&self) -> TestApp {
        assert_eq!(self.engine, Engine::Postgres, "one server has a SQLite database for itself");
        let url = (self.database.clone().unwrap(), None);
        let (settings, clock) = (self.settings.clone(), self.app.clock.clone());
        let projects = Some((self.project.clone(), self.other.clone()));
        Self::serve(self.engine, settings, fresh_directory(), url, clock, projects).await
    }

    async fn serve(
        engine: Engine,
        settings: TestConfig,
        data_dir: PathBuf,
        (url, database): (String, Option<String>),
        clock: Clock,
        projects: Option<(TestProject, TestProject)>,
    ) -> TestApp {
        let config = configure(&settings, &data_dir, &url);
        let dependencies = Dependencies {
            clock,
            random: Random::seeded(if projects.is_some() { 2 } else { 1 }),
            password_cost: Cost::Least,
            resolver: Resolver::scripted(),
            membership: super::sockets::is_member,
        };
        let statements = Watched::default();
        let options = Options {
            pool: 8.min(config.database_pool),
            durable: false,
            // On a busy machine 64 writers of one row take their time.
            statement_deadline: Duration::from_secs(60),
            wait: config.database_wait,
            on_statement: Some(statements.hook()),
            ..Options::default()
        };
        let db = open(&url, options).await;
        let listener = TcpListener::bind(config.listen).await.unwrap();
        let address = listener.local_addr().unwrap();
        let app =
            app::build(config, b"a secret of at least 32 characters", db, dependencies).unwrap();
        townhall::start::claim_storage(&app).await.unwrap();
        tokio::spawn(server::serve(app.clone(), townhall::features::router().unwrap(), listener));
        let (project, other) = match projects {
            Some(projects) => projects,
            None => {
                let project = create_project(&app, Bundle::ALL.to_vec()).await;
                (project, create_project(&app, Bundle::ALL.to_vec()).await)
            }
        };
        TestApp {
            app,
            project,
            other,
            address,
            client: Client::new(),
            users: AtomicU32::new(0),
            engine,
            settings,
            data_dir,
            database,
            statements,
        }
    }

    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// A further project with just these bundles.
    pub async fn project_with(&self, bundles: &[Bundle]) -> TestProject {
        create_project(&self.app, bundles.to_vec()).await
    }

    pub fn anonymous(&self) -> Actor<'_> {
        Actor::new(self, self.project.id, None)
    }

    pub fn service(&self) -> Actor<'_> {
        Actor::new(self, self.project.id, Some(self.project.service_key.clone()))
    }

    pub fn master(&self) -> Actor<'_> {
        Actor::new(self, self.project.id, Some(self.project.master_key.clone()))
    }

    /// Whoever holds this bearer value.
    pub fn bearer(&self, value: &str) -> Actor<'_> {
        Actor::new(self, self.project.id, Some(value.to_owned()))
    }

    /// A new user, signed up with an address and a password of their own.
    pub async fn user(&self) -> User<'_> {
        User::sign_up(self, self.project.id).await
    }

    /// A user of the other project.
    pub async fn stranger(&self) -> User<'_> {
        User::sign_up(self, self.other.id).await
    }

    /// Changes settings of a project; by the time this returns every node knows.
    pub async fn change_settings(&self, id: ProjectId, change: impl FnOnce(&mut Settings)) {
        let project = self.app.db.read(move |c| registry::load(c, id)).await.unwrap().unwrap();
        let (mut settings, now) = (project.settings(), self.now());
        change(&mut settings);
        let set = self.app.db.write(move |tx| projects::set_settings(tx, id, settings, now));
        assert!(set.await.unwrap());
        self.advance(Duration::from_secs(1));
    }

    /// Sets the list of origins of the first project; by the time this returns every node knows.
    pub async fn allow_origins(&self, origins: &[&str]) {
        let (project, now, origins) = (self.project.id, self.now(), json!(origins).to_string());
        let set = self.app.db.write(move |tx| projects::set_origins(tx, project, &origins, now));
        assert!(set.await.unwrap());
        self.advance(Duration::from_secs(1));
    }

    pub fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    pub fn advance(&self, by: Duration) {
        self.app.clock.advance(by);
    }

    /// Suspends a user from now on.
    pub async fn suspend(&self, user: UserId) {
        let (project, now) = (self.project.id, self.now());
        let new = NewSuspension {
            id: SuspensionId(new_id(now, &self.app.random)),
            user,
            reason: None,
            end_date: None,
            created_by: "test",
        };
        let inserted = self.app.db.write(move |tx| suspensions::insert(tx, project, &new, now));
        inserted.await.unwrap();
    }

    /// What the project's own backend says about a user: these claims, with the issuer it must
    /// name unless the test names another, signed by the project's private key.
    pub fn vouch_for(&self, mut claims: Value) -> String {
        if claims.get("iss").is_none() {
            claims["iss"] = self.project.id.to_string().into();
        }
        if claims.get("exp").is_none() {
            claims["exp"] = (self.now().seconds() + 300).into();
        }
        townhall::auth::rs256::sign(&self.project.private_key, &claims).unwrap()
    }

    /// Does everything that is due in the job queue.
    pub async fn run_jobs(&self) -> usize {
        jobs::run_due(&self.app).await.unwrap()
    }

    /// The text of every mail sent so far, oldest first.
    pub fn mails(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.data_dir.join("outbox")) else {
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
        paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// Does what is due and hands over the one mail that it sent.
    pub async fn next_mail(&self) -> String {
        let before = self.mails();
        self.run_jobs().await;
        let mut sent: Vec<String> =
            self.mails().into_iter().filter(|mail| !before.contains(mail)).collect();
        assert_eq!(sent.len(), 1, "{sent:#?}");
        sent.remove(0)
    }

    /// How many requests have files in the staging directory.
    pub fn staged(&self) -> usize {
        std::fs::read_dir(self.data_dir.join("staging")).unwrap().count()
    }

    /// A request is answered before its staged files are gone; they are soon.
    pub async fn nothing_stays_staged(&self) {
        self.until(|app| app.staged() == 0).await;
    }

    /// Waits for what happens by itself in a moment.
    pub async fn until(&self, holds: impl Fn(&TestApp) -> bool) {
        let waiting = async {
            while !holds(self) {
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        assert!(in_time.is_ok(), "it did not happen");
    }

    /// How many objects are stored for all projects.
    pub fn stored(&self) -> usize {
        fn count(path: &std::path::Path) -> usize {
            if path.is_file() {
                return usize::from(!path.ends_with(".townhall"));
            }
            let entries = std::fs::read_dir(path).unwrap();
            entries.map(|entry| count(&entry.unwrap().path())).sum()
        }
        count(&self.data_dir.join("files"))
    }

    pub fn data_dir(&self) -> &std::path::Path {
        &self.data_dir
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.app.drain();
        if let Some(url) = &self.database {
            Cluster::shared().drop_database(url);
        }
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

fn configure(settings: &TestConfig, data_dir: &std::path::Path, url: &str) -> Config {
    let data_dir = data_dir.display().to_string();
    let find = |name: &str| match name {
        "TOWNHALL_DATA_DIR" => Some(data_dir.clone()),
        "TOWNHALL_DATABASE_URL" => Some(url.to_owned()),
        "TOWNHALL_LISTEN" => Some("127.0.0.1:0".to_owned()),
        "TOWNHALL_PUBLIC_URL" => Some("https://community.example".to_owned()),
        other => {
            let set = settings.variables.iter().rev().find(|(key, _)| key == other);
            set.map(|(_, value)| value.clone())
        }
    };
    let mut config = Config::from_sources(&Flags::default(), &find).unwrap();
    // The clock of a test stands still; what it moves past is to be noticed soon.
    config.realtime.sweep = Duration::from_millis(10);
    settings.adjustments.iter().for_each(|adjust| adjust(&mut config));
    config
}

async fn create_project(app: &App, bundles: Vec<Bundle>) -> TestProject {
    let now = app.clock.now();
    let id = ProjectId(new_id(now, &app.random));
    let mut secrets = ProjectSecrets {
        service: admin::new_key(townhall::tenancy::keys::KeyKind::Service, now, &app.random),
        master: admin::new_key(townhall::tenancy::keys::KeyKind::Master, now, &app.random),
        jwt: key_pair().clone(),
    };
    secrets.jwt.private = String::new();
    let new = NewProject { id, name: "Test".to_owned(), bundles };
    let written = secrets.clone();
    app.db.write(move |tx| admin::create_project(tx, &new, &written, now)).await.unwrap();
    TestProject {
        id,
        service_key: secrets.service.secret,
        master_key: secrets.master.secret,
        private_key: key_pair().private.clone(),
    }
}

/// One RSA pair for all tests: making one takes longer than most tests.
fn key_pair() -> &'static townhall::auth::rs256::KeyPair {
    static PAIR: OnceLock<townhall::auth::rs256::KeyPair> = OnceLock::new();
    PAIR.get_or_init(|| townhall::auth::rs256::generate().unwrap())
}

/// Opened and migrated, off the test's own runtime threads.
async fn open(url: &str, options: Options) -> Db {
    let url = url.to_owned();
    let opened = tokio::task::spawn_blocking(move || {
        let db = Db::open(&url, options).unwrap();
        db.migrate(MIGRATIONS, START.millis()).unwrap();
        db
    });
    opened.await.unwrap()
}

/// A migrated PostgreSQL database that every test's own is copied from.
async fn template() -> String {
    static TEMPLATE: tokio::sync::OnceCell<String> = tokio::sync::OnceCell::const_new();
    let url = TEMPLATE.get_or_init(|| async {
        let made =
            tokio::task::spawn_blocking(|| Cluster::shared().create_database()).await.unwrap();
        let db = open(&made, Options { pool: 1, ..Options::default() }).await;
        db.close().await;
        made
    });
    url.await.clone()
}

/// A migrated SQLite database that every test's own begins as.
async fn migrated_file() -> &'static [u8] {
    static MIGRATED: tokio::sync::OnceCell<Vec<u8>> = tokio::sync::OnceCell::const_new();
    let bytes = MIGRATED.get_or_init(|| async {
        let (directory, options) = (fresh_directory(), Options { pool: 1, ..Options::default() });
        let file = directory.join("townhall.db");
        open(&format!("sqlite://{}", file.display()), options).await.close().await;
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        bytes
    });
    bytes.await
}

pub(super) fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("townhall-test-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}
