//! The binary as an operator runs it: a data directory, a database, commands, a running server.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use db::testing::Cluster;
use db::{Db, Engine, Options};
use serde_json::Value;
use uuid::Uuid;

use super::directories::fresh_directory;
use super::listening::address_of;
use super::server::Template;

#[derive(Debug)]
pub struct Installation {
    pub data_dir: PathBuf,
    pub database_url: String,
    engine: Engine,
    cluster: Option<&'static Cluster>,
}

/// What a command left behind.
#[derive(Debug)]
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Installation {
    pub fn new(engine: Engine) -> Self {
        let data_dir = fresh_directory();
        let copy = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(Template::Empty.copy(engine, &data_dir))
        };
        // On a thread of its own: the test may be asynchronous itself.
        let database_url = std::thread::scope(|scope| scope.spawn(copy).join().unwrap());
        let cluster = (engine == Engine::Postgres).then(Cluster::shared);
        Installation { data_dir, database_url, engine, cluster }
    }

    /// One on a cluster of its own, as it is before the program first runs.
    pub fn on(cluster: &'static Cluster) -> Self {
        let (data_dir, database_url) = (fresh_directory(), cluster.create_database());
        Installation { data_dir, database_url, engine: Engine::Postgres, cluster: Some(cluster) }
    }

    /// Another one, as it is before the program first runs: nothing in its directory, no schema.
    pub fn untouched(&self) -> Self {
        if let Some(cluster) = self.cluster {
            return Self::on(cluster);
        }
        let data_dir = fresh_directory();
        let database_url = format!("sqlite://{}/townhall.db", data_dir.display());
        Installation { data_dir, database_url, engine: self.engine, cluster: None }
    }

    /// Another one with a copy of this one's database, to which nobody may be connected. On a cluster, from whose databases
    /// the extension's own connections never go for long, it is untouched.
    pub fn copied(&self) -> Self {
        match self.cluster {
            Some(cluster) if !cluster.is_distributed() => {
                let database_url = cluster.create_database_from(&self.database_url);
                let (data_dir, engine, cluster) = (fresh_directory(), self.engine, self.cluster);
                Installation { data_dir, database_url, engine, cluster }
            }
            Some(_) => self.untouched(),
            None => {
                let copy = self.untouched();
                std::fs::copy(self.file(), copy.file()).unwrap();
                copy
            }
        }
    }

    /// The file of a SQLite database.
    fn file(&self) -> PathBuf {
        self.data_dir.join("townhall.db")
    }

    /// The binary with this installation's settings and nothing else of the environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_townhall"));
        command.env_clear().stdin(Stdio::null());
        command.env("TOWNHALL_DATA_DIR", &self.data_dir);
        command.env("TOWNHALL_DATABASE_URL", &self.database_url);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Outcome {
        outcome(self.command().args(arguments))
    }

    /// The one document that a command prints with `--json`.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let done = outcome(self.command().args(arguments).arg("--json"));
        assert_eq!(done.code, 0, "{arguments:?}: {}", done.stderr);
        serde_json::from_str(&done.stdout).unwrap()
    }

    /// The line that a command ends with when it fails.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str]) -> String {
        failure(self.command().args(arguments).arg("--json"))
    }

    pub fn db(&self) -> Db {
        Db::open(&self.database_url, Options { pool: 1, ..Options::default() }).unwrap()
    }

    /// An id as a script writes it on this engine.
    pub fn literal(&self, id: Uuid) -> String {
        if self.is_sqlite() { format!("x'{}'", id.simple()) } else { format!("'{id}'") }
    }

    /// Whether the database has the extension Citus.
    pub fn is_on_a_cluster(&self) -> bool {
        self.cluster.is_some_and(Cluster::is_distributed)
    }

    pub fn is_sqlite(&self) -> bool {
        self.engine == Engine::Sqlite
    }

    /// A server on a free port, ready to answer.
    pub fn serve(&self) -> Running {
        self.launch(&["serve"], &[])
    }

    /// The same, of a process that may not open more files than this.
    pub fn serve_with_open_files(&self, most: u32) -> Running {
        let own = self.command();
        let mut limited = Command::new("/bin/sh");
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(own.get_program()).env_clear().stdin(Stdio::null());
        limited.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.start(limited, &["serve"], &[])
    }

    /// The same for a command that serves, with further settings.
    pub fn launch(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Running {
        self.start(self.command(), arguments, settings)
    }

    fn start(
        &self,
        mut command: Command,
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Running {
        command.args(arguments).env("TOWNHALL_LISTEN", "127.0.0.1:0");
        command.env("TOWNHALL_LOG", "json").env("TOWNHALL_RATE_LIMITS", "off");
        command.envs(settings.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (address, log) = address_of(&mut child, |line| {
            let ready = line.contains("townhall is ready").then(|| serde_json::from_str(line));
            let ready: Value = ready?.unwrap();
            Some(ready["listen"].as_str().unwrap().parse().unwrap())
        });
        let stdout = child.stdout.take().unwrap();
        Running { child, address, log, stdout }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if let Some(cluster) = self.cluster {
            cluster.drop_database(&self.database_url);
        }
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

pub fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The one line on standard error of a command that exits with 1 and prints nothing.
#[track_caller]
pub fn failure(command: &mut Command) -> String {
    let done = outcome(command);
    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{}", done.stderr);
    let line = done.stderr.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    line.strip_prefix("townhall: ").unwrap().to_owned()
}

/// A running server; it is ended by force if the test does not stop it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pub address: SocketAddr,
    /// What it logged until it was ready.
    pub log: String,
    stdout: ChildStdout,
}

impl Running {
    /// Status and body of a reply.
    pub fn request(&self, method: &str, path: &str, bearer: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {bearer}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// The most memory that the process has had so far.
    pub fn peak_mebibytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() / 1024
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// How it ended, and what it printed since it was last looked at.
    pub fn finish(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().unwrap();
        (status, self.printed())
    }

    /// What is on standard output by now. A ready server has printed what it had to: the pipe is read
    /// without waiting for more.
    pub fn printed(&mut self) -> String {
        rustix::io::ioctl_fionbio(&self.stdout, true).unwrap();
        let mut printed = Vec::new();
        // Fails when there is nothing more, and keeps what there was.
        let _ = self.stdout.read_to_end(&mut printed);
        String::from_utf8(printed).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file of the installation.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
