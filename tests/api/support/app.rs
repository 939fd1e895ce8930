//! What one test works with: a server, two fresh projects on it and actors that speak to them.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use db::Engine;
use db::testing::Cluster;
use serde_json::{Value, json};
use townhall::auth::store::suspensions::{self, NewSuspension};
use townhall::features::entities::views::view_buffer;
use townhall::features::projects::admin::{self, NewProject, ProjectSecrets};
use townhall::features::search::index;
use townhall::jobs;
use townhall::state::App;
use townhall::tenancy::store::{self as projects, Settings};
use townhall::tenancy::{Bundle, registry};
use townhall::values::ids::{ProjectId, SuspensionId, UserId, new_id};
use townhall::values::time::Timestamp;

use super::actors::{Actor, Client, User};
use super::server::{self, Server, Template, TestConfig};
use super::watched::Watched;

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
    pub statements: Watched,
    pub(super) client: Client,
    pub(super) users: AtomicU32,
    requests: AtomicUsize,
    is_on_one_node: AtomicBool,
    server: Option<Server>,
    /// Whether another test may have the server afterwards.
    is_pooled: bool,
}

impl TestApp {
    /// Two fresh projects on a server that no other test uses meanwhile, but earlier ones did. Rate limits
    /// are off, and no list is stopped for being slow. What the test draws at random follows from its name,
    /// which is to be its own: two tests of one name would make the same ids.
    pub async fn start(engine: Engine, test: &str) -> TestApp {
        Self::on(server::take(engine, test).await, true).await
    }

    /// A server with a database and data directory that no test has used before. For tests that look at
    /// everything in the server (all projects, query plans, counters of the process), that damage it, or that
    /// write thousands of rows, by which PostgreSQL would plan for all later tests.
    pub async fn own_server(self) -> TestApp {
        self.restart_with(|_| {}).await
    }

    /// An own server whose database has thousands of rows of other projects in every table, with statistics:
    /// enough that an engine prefers an index wherever there is one that helps.
    pub async fn server_with_many_rows(self) -> TestApp {
        self.restart_with(|config| config.template = Template::ManyRows).await
    }

    /// An own server on the same engine with other settings.
    pub async fn restart_with(self, change: impl FnOnce(&mut TestConfig)) -> TestApp {
        let mut config = self.server().settings.clone();
        change(&mut config);
        let engine = self.engine();
        drop(self);
        Self::on(Server::launch(engine, config).await, false).await
    }

    /// With rate limits, and believing the address that a client claims to have; see [`Actor::at_address`].
    pub async fn with_networks(self) -> TestApp {
        self.restart_with(|config| {
            config.set("TOWNHALL_RATE_LIMITS", "on");
            config.set("TOWNHALL_TRUSTED_PROXIES", "127.0.0.0/8");
        })
        .await
    }

    /// A further server on the database of this one, with the same projects and the same clock. It goes
    /// away before this one does.
    pub async fn second_node(&self) -> TestApp {
        let node = self.server().second_node().await;
        Self::with_projects(node, false, self.project.clone(), self.other.clone())
    }

    async fn on(server: Server, is_pooled: bool) -> TestApp {
        let project = create_project(&server.app, Bundle::ALL.to_vec()).await;
        let other = create_project(&server.app, Bundle::ALL.to_vec()).await;
        Self::with_projects(server, is_pooled, project, other)
    }

    fn with_projects(
        server: Server,
        is_pooled: bool,
        project: TestProject,
        other: TestProject,
    ) -> TestApp {
        TestApp {
            app: server.app.clone(),
            project,
            other,
            address: server.address,
            statements: server.statements.clone(),
            client: Client::new(),
            users: AtomicU32::new(0),
            requests: AtomicUsize::new(0),
            is_on_one_node: AtomicBool::new(false),
            server: Some(server),
            is_pooled,
        }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Where a request goes: to each node in turn, except that one node has the session of a polling client.
    pub(super) fn address_for(&self, path: &str) -> std::net::SocketAddr {
        match &self.server().twin {
            Some(twin) if !self.is_on_one_node.load(Relaxed) && !path.contains("/socket.io") => {
                let is_odd = self.requests.fetch_add(1, Relaxed) % 2 == 1;
                if is_odd { twin.address } else { self.address }
            }
            _ => self.address,
        }
    }

    /// For tests of what one node remembers: from now on it gets all requests.
    pub fn stay_on_one_node(&self) {
        self.is_on_one_node.store(true, Relaxed);
    }

    /// Whether the tables are on the workers of a cluster; see `scripts/test-cluster`.
    pub fn is_distributed(&self) -> bool {
        self.engine() == Engine::Postgres && Cluster::shared().is_distributed()
    }

    /// Writes the views that the nodes have counted.
    pub async fn flush_views(&self) {
        for node in self.server().nodes() {
            view_buffer::flush(node).await.unwrap();
        }
    }

    /// Indexes what has changed in the projects of the test.
    pub async fn index(&self) {
        for project in [self.project.id, self.other.id] {
            index::catch_up(&self.app, project).await.unwrap();
            // A provider that is down changes nothing.
            let _ = index::vectors::catch_up(&self.app, project).await;
        }
    }

    pub fn engine(&self) -> Engine {
        self.server().engine
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

    /// A client that sends this bearer token.
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
        let Ok(entries) = std::fs::read_dir(self.data_dir().join("outbox")) else {
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
        std::fs::read_dir(self.data_dir().join("staging")).unwrap().count()
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

    /// How many rows of a table belong to a project.
    pub async fn rows_of(&self, project: ProjectId, table: &str) -> i64 {
        let text = format!("SELECT count(*) FROM {table} WHERE project_id = $1");
        let count = db::Query::<i64>::built("test::rows", text);
        let counted = self.app.db.read(move |c| c.one(&count, db::args![project]));
        counted.await.unwrap_or_else(|error: db::Error| panic!("{error}"))
    }

    /// The same for both projects of the test together.
    pub async fn rows(&self, table: &str) -> i64 {
        self.rows_of(self.project.id, table).await + self.rows_of(self.other.id, table).await
    }

    /// What a search of all projects found in the two projects of the test.
    pub fn own<T>(&self, mut found: Vec<(ProjectId, T)>) -> Vec<(ProjectId, T)> {
        found.retain(|(project, _)| [self.project.id, self.other.id].contains(project));
        found
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
        count(&self.data_dir().join("files"))
    }

    pub fn data_dir(&self) -> &std::path::Path {
        &self.server().data_dir
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        // A failed test may leave anything behind: its server goes.
        if self.is_pooled && !std::thread::panicking() {
            self.server.take().into_iter().for_each(server::give_back);
        }
    }
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
