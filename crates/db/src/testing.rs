//! A throw-away PostgreSQL cluster for tests, one per test process. A small shell holds the server as its child
//! and stops it when the pipe from the test process closes, however that process ends.
//!
//! With [`WORKERS`] set it is a coordinator with that many workers, which need the extension Citus.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that has no cluster can only fail")]

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::{Db, Options};

const SUPERVISOR: &str = r#"
bin=$1 dir=$2 port=$3 settings=$4 primary=$5
trap '' PIPE # nobody may be left to read "ready", and the server must be stopped all the same
cd "$dir" || exit 1
finish() { rm -rf "$dir"; exit "$1"; }
if [ -n "$primary" ]; then
    "$bin/pg_basebackup" -D data -R -X stream -c fast --no-sync -h 127.0.0.1 -p "$primary" -U postgres >log 2>&1
else
    "$bin/initdb" -D data -U postgres -A trust -E UTF8 --locale=C --no-sync >log 2>&1
fi || { cat log >&2; finish 1; }
cat >>data/postgresql.conf <<END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 300
$settings
END
start() {
    "$bin/postgres" -D data </dev/null >>log 2>&1 &
    server=$!
    until "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" -U postgres; do
        kill -0 "$server" 2>/dev/null || { cat log >&2; finish 1; }
        sleep 0.05
    done
    echo ready
}
start
while read -r _; do start; done # each line asks for a server in place of one that was killed
kill -QUIT "$server"
wait "$server"
finish 0
"#;

/// Tests need no durability. Without autovacuum no plan changes in the middle of a test; tests of plans run VACUUM ANALYZE
/// themselves. With hundreds of databases it would also start a process every second.
const FORGETFUL: &str = "fsync = off
autovacuum = off
full_page_writes = off
synchronous_commit = off
wal_level = minimal
max_wal_senders = 0
checkpoint_timeout = 1h";

/// The variable that says how many workers the cluster of the tests has.
pub const WORKERS: &str = "TEST_CLUSTER_WORKERS";
/// Few shards, because every test has tables of its own. Nothing is left prepared by a lost server.
const DISTRIBUTED: &str = "shared_preload_libraries = 'citus'
max_connections = 1000
max_prepared_transactions = 500
max_worker_processes = 300
citus.node_conninfo = 'sslmode=disable'
citus.shard_count = 4
citus.recover_2pc_interval = -1";

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    port: u16,
    data: PathBuf,
    /// Servers that hold the shards of this one's tables.
    workers: Vec<Cluster>,
    databases: AtomicU32,
    /// Makes and drops databases.
    keeper: OnceLock<Db>,
    /// Its standard input is the pipe whose end stops the server.
    supervisor: Child,
    /// Where it says that a server is ready.
    said: Mutex<BufReader<ChildStdout>>,
}

impl Cluster {
    /// The cluster of this process, started when first asked for.
    pub fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| match workers() {
            0 => Self::started("tests", FORGETFUL),
            workers => Self::distributed(workers),
        })
    }

    /// A coordinator and its workers.
    pub fn distributed(workers: usize) -> Cluster {
        let settings = format!("{FORGETFUL}\n{DISTRIBUTED}");
        let mut coordinator = Self::started("coordinator", &settings);
        let start = |number| Self::started(&format!("worker-{number}"), &settings);
        coordinator.workers = (0..workers).map(start).collect();
        coordinator
    }

    /// Whether the extension for [`distributed`](Cluster::distributed) clusters is installed.
    pub fn can_be_distributed() -> bool {
        let shared = output("pg_config", &["--sharedir"]);
        Path::new(&shared).join("extension/citus.control").exists()
    }

    /// Whether its tables are on workers.
    pub fn is_distributed(&self) -> bool {
        !self.workers.is_empty()
    }

    /// A cluster that others can replicate, and a replica of it. Neither is durable.
    pub fn replicated() -> (Cluster, Cluster) {
        let settings = "fsync = off\nwal_level = replica";
        let primary = Self::started("primary", settings);
        let start = |attempt| {
            Self::start(&format!("replica-{attempt}"), settings, &primary.port.to_string())
        };
        let replica = (0..3).find_map(start).expect("a replica starts");
        (primary, replica)
    }

    /// The address here of the database at that URL of another cluster.
    pub fn address_of(&self, url: &str) -> String {
        self.url(database(url))
    }

    /// Stops the server at once.
    pub fn stop(mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }

    /// A cluster with durable commits, as in production; for measurements. Removed on drop.
    pub fn durable() -> Cluster {
        Self::started("durable", "")
    }

    fn started(purpose: &str, settings: &str) -> Cluster {
        // Another process may take the free port first.
        let start = |attempt| Self::start(&format!("{purpose}-{attempt}"), settings, "");
        (0..3).find_map(start).expect("a PostgreSQL cluster starts")
    }

    /// `primary`: the port of the server that this one replicates.
    fn start(name: &str, settings: &str, primary: &str) -> Option<Cluster> {
        // A test may start clusters of its own, at the same time as others.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("db-cluster-{}-{number}-{name}", std::process::id());
        let is_forgetful = settings.starts_with(FORGETFUL);
        let dir = if is_forgetful { in_memory_if_there_is_room() } else { None };
        let dir = dir.unwrap_or_else(std::env::temp_dir).join(name);
        // Left over from a machine that was switched off.
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).expect("a directory for the cluster");
        let port = free_port();
        let mut command = unprivileged(&dir);
        command.args(["sh", "-c", SUPERVISOR, "cluster"]);
        command.arg(binaries()).arg(&dir).arg(port.to_string()).arg(settings).arg(primary);
        // Shielded from the terminal's signals: only the pipe stops it.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut supervisor = command.spawn().expect("sh starts");
        let stdout = supervisor.stdout.take().expect("stdout is a pipe");
        let mut said = BufReader::new(stdout);
        is_ready(&mut said).then(|| Cluster {
            port,
            data: dir.join("data"),
            workers: Vec::new(),
            databases: AtomicU32::new(0),
            keeper: OnceLock::new(),
            supervisor,
            said: Mutex::new(said),
        })
    }

    /// A coordinator and its workers with durable commits. A transaction that a lost worker had prepared is ended
    /// within a second.
    pub fn distributed_and_durable(workers: usize) -> Cluster {
        let settings = format!("{DISTRIBUTED}\ncitus.recover_2pc_interval = 1s");
        let mut coordinator = Self::started("durable-coordinator", &settings);
        let start = |number| Self::started(&format!("durable-worker-{number}"), &settings);
        coordinator.workers = (0..workers).map(start).collect();
        coordinator
    }

    /// The worker that listens at this port.
    pub fn worker(&self, port: u16) -> &Cluster {
        self.workers.iter().find(|worker| worker.port == port).expect("a worker at this port")
    }

    /// Ends the server and all its processes with SIGKILL.
    pub fn kill(&self) {
        let processes: Vec<String> = self.processes().iter().map(ToString::to_string).collect();
        let killed = Command::new("kill").arg("-9").args(processes).status();
        assert!(killed.is_ok_and(|status| status.success()), "the server is killed");
    }

    /// Starts the server again after [`kill`](Cluster::kill).
    pub fn revive(&self) {
        let mut pipe = self.supervisor.stdin.as_ref().expect("the pipe is open");
        pipe.write_all(b"\n").expect("the supervisor listens");
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(is_ready(&mut *said), "the server starts again");
    }

    /// The port on the loopback address.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server and the processes that it has started for connections and its own work.
    pub fn processes(&self) -> Vec<u32> {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        let first = |text: String| text.lines().next().and_then(|line| line.trim().parse().ok());
        let server: Option<u32> = first(read(self.data.join("postmaster.pid")));
        let Some(server) = server else { return Vec::new() };
        let children = read(format!("/proc/{server}/task/{server}/children").into());
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        std::iter::once(server).chain(children).collect()
    }

    /// A new empty database; its URL. The workers have one of the same name.
    pub fn create_database(&self) -> String {
        let name = self.create("template1");
        if self.is_distributed() {
            self.on_every_server(|server| server.run_in(&name, "CREATE EXTENSION citus"));
            // Two at once would change the same rows of the workers' catalogue.
            static ADDING: Mutex<()> = Mutex::new(());
            let _one = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
            let add = |function: &str, port| {
                self.run_in(&name, &format!("SELECT {function}('127.0.0.1', {port})"));
            };
            add("citus_set_coordinator_host", self.port);
            self.workers.iter().for_each(|worker| add("citus_add_node", worker.port));
        }
        self.url(&name)
    }

    /// A copy of the database at that URL, to which nobody may be connected.
    pub fn create_database_from(&self, template: &str) -> String {
        let template = database(template);
        if self.is_distributed() {
            // The extension has a process of its own in each database.
            self.on_every_server(|server| {
                server.run(&format!("ALTER DATABASE {template} ALLOW_CONNECTIONS false"));
                server.run(&format!(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{template}'"
                ));
            });
        }
        self.url(&self.create(template))
    }

    pub fn drop_database(&self, url: &str) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", database(url));
        self.on_every_server(|server| server.run(&drop));
    }

    /// The name of a new database on every server.
    fn create(&self, template: &str) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Relaxed));
        self.on_every_server(|server| server.copy(template, &name));
        name
    }

    /// On the coordinator and on all workers at the same time.
    fn on_every_server(&self, work: impl Fn(&Cluster) + Sync) {
        std::thread::scope(|scope| {
            self.workers.iter().for_each(|worker| drop(scope.spawn(|| work(worker))));
            work(self);
        });
    }

    fn copy(&self, template: &str, name: &str) {
        // Copying files is quicker than writing them to the log; the choice came with version 15.
        let is_old = binaries().ends_with("14/bin") || binaries().ends_with("13/bin");
        let strategy = if is_old { "" } else { "STRATEGY file_copy" };
        self.run(&format!("CREATE DATABASE {name} TEMPLATE {template} {strategy}"));
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn run(&self, sql: &str) {
        let keeper = self.keeper.get_or_init(|| {
            let options = Options { pool: 1, ..Options::default() };
            Db::open(&self.url("postgres"), options).expect("the cluster answers")
        });
        // The connection is lost if the server was killed meanwhile.
        let ran = keeper.execute_script(sql).or_else(|_| keeper.execute_script(sql));
        if let Err(error) = ran {
            panic!("{sql}: {error}");
        }
    }

    fn run_in(&self, database: &str, sql: &str) {
        let options = Options { pool: 1, ..Options::default() };
        let db = Db::open(&self.url(database), options).expect("the database answers");
        if let Err(error) = db.execute_script(sql) {
            panic!("{sql}: {error}");
        }
    }
}

fn is_ready(said: &mut impl BufRead) -> bool {
    let mut line = String::new();
    said.read_line(&mut line).is_ok() && line == "ready\n"
}

/// How many workers the tests ask for.
fn workers() -> usize {
    std::env::var(WORKERS).ok().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A directory in memory (tmpfs), unless it is small as in most containers. A database is hundreds of files,
/// which are created there in half the time.
pub fn in_memory_if_there_is_room() -> Option<PathBuf> {
    const KILOBYTES: u64 = 4 * 1024 * 1024;
    let told = output("df", &["--output=avail", "-k", "/dev/shm"]);
    let free = told.lines().last()?.trim().parse::<u64>().ok()?;
    (free >= KILOBYTES).then(|| PathBuf::from("/dev/shm"))
}

fn database(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(_, name)| name)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A wrapper command that drops root, which the server refuses.
fn unprivileged(dir: &Path) -> Command {
    if output("id", &["-u"]) != "0" {
        return Command::new("env");
    }
    let user = ["postgres", "nobody"]
        .into_iter()
        .find(|user| !output("id", &["-u", user]).is_empty())
        .expect("an unprivileged user");
    let (uid, gid) = (output("id", &["-u", user]), output("id", &["-g", user]));
    let owner = |id: &str| id.parse().ok();
    std::os::unix::fs::chown(dir, owner(&uid), owner(&gid)).expect("the directory changes hands");
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &uid, "--regid", &gid, "--clear-groups", "--"]);
    command
}

/// The directory of the server's programs.
pub fn binaries() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(find_binaries)
}

fn find_binaries() -> PathBuf {
    let told = PathBuf::from(output("pg_config", &["--bindir"]));
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> =
        installed.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    found.sort();
    found.push(told);
    found.into_iter().rfind(|bin| bin.join("initdb").exists()).expect("PostgreSQL is installed")
}

/// The output of a command; empty if it fails or does not exist.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => String::new(),
    }
}
