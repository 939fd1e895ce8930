//! The binary as an operator runs it: a data directory, a database, commands, a running server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use db::testing::Cluster;
use db::{Db, Engine, Options};
use serde_json::Value;
use uuid::Uuid;

use super::app::fresh_directory;

#[derive(Debug)]
pub struct Installation {
    pub data_dir: PathBuf,
    pub database_url: String,
    engine: Engine,
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
        let database_url = match engine {
            Engine::Sqlite => format!("sqlite://{}/townhall.db", data_dir.display()),
            Engine::Postgres => Cluster::shared().create_database(),
        };
        Installation { data_dir, database_url, engine }
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

    pub fn is_sqlite(&self) -> bool {
        self.engine == Engine::Sqlite
    }

    /// A server on a free port, ready to answer.
    pub fn serve(&self) -> Running {
        self.start(self.command())
    }

    /// The same, of a process that may not open more files than this.
    pub fn serve_with_open_files(&self, most: u32) -> Running {
        let own = self.command();
        let mut limited = Command::new("/bin/sh");
        let script = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
        limited.args(["-c", &script]).arg(own.get_program()).env_clear().stdin(Stdio::null());
        limited.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.start(limited)
    }

    fn start(&self, mut command: Command) -> Running {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        command.args(["serve", "--listen", &free.to_string()]);
        command.env("TOWNHALL_LOG", "json").env("TOWNHALL_RATE_LIMITS", "off");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("townhall is ready") {
            line.clear();
            assert_ne!(
                log.read_line(&mut line).unwrap(),
                0,
                "the server ended before it was ready"
            );
        }
        // Somebody has to read on, or the server's log would fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Running { child, address: free }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if self.engine == Engine::Postgres {
            Cluster::shared().drop_database(&self.database_url);
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

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
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
