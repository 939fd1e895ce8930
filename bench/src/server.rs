//! The server under test: the real program as a child process on a free port of the loopback
//! address. It is stopped by its process id, also when a run fails.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::client::Connection;
use crate::clock::now;
use crate::store::{POOL, Store};

/// Known, so that the scenarios can make tokens of their own.
pub const SECRET: &str = "not a secret: only for measurements";

const START_LIMIT: Duration = Duration::from_secs(30);
/// A little longer than the server gives its last requests.
const STOP_LIMIT: Duration = Duration::from_secs(25);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    pub async fn start(program: &Path, store: &Store) -> Result<Server, String> {
        Self::start_with(program, store, &[]).await
    }

    /// With further settings, which win over those of a measurement.
    pub async fn start_with(
        program: &Path,
        store: &Store,
        settings: &[(&str, &str)],
    ) -> Result<Server, String> {
        let address = free_address()?;
        let mut command = Command::new(program);
        // Settings of the surrounding shell must not change what is measured.
        command.env_clear().arg("serve").stdin(Stdio::null()).stdout(Stdio::null());
        command.env("TOWNHALL_DATA_DIR", &store.directory);
        command.env("TOWNHALL_DATABASE_URL", &store.url);
        command.env("TOWNHALL_DATABASE_POOL", POOL.to_string());
        command.env("TOWNHALL_LISTEN", address.to_string());
        command.env("TOWNHALL_RATE_LIMITS", "off");
        // All clients of a measurement are one network.
        command.env("TOWNHALL_CONNECTIONS_PER_NETWORK", "10000");
        command.env("TOWNHALL_SECRET_KEY", SECRET);
        // Webhook endpoints are in this process.
        command.env("TOWNHALL_OUTBOUND_ALLOW", "127.0.0.1/32");
        command.env("RUST_LOG", "warn");
        command.envs(settings.iter().copied());
        let child = command.spawn().map_err(|error| {
            format!("{}: {error}; build it with `cargo build --release`", program.display())
        })?;
        let mut server = Server { child, address };
        server.wait_until_ready().await?;
        Ok(server)
    }

    async fn wait_until_ready(&mut self) -> Result<(), String> {
        let end = now() + START_LIMIT;
        let request = get("/readyz");
        while now() < end {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the server ended at its start: {status}"));
            }
            if let Ok(mut connection) = Connection::open(self.address).await
                && connection.exchange(&request).await.is_ok_and(|status| status == 200)
            {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err("the server did not get ready".to_owned())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Lets it finish, which is part of being a good server.
    pub async fn stop(mut self) -> Result<(), String> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).map_err(|error| format!("stopping: {error}"))?;
        let end = now() + STOP_LIMIT;
        while now() < end {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the server ended with {status}")),
                Ok(None) => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(format!("stopping: {error}")),
            }
        }
        Err("the server did not stop".to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After an orderly stop both are refused, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request without a body.
pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes()
}

/// So many that two requests of one caller are seldom under way at once.
const CALLERS: u32 = 5_000;

/// Requests for one page, each with a parameter that differs and that the server ignores. Without it, callers who ask at
/// once would share a read.
pub fn apart(path: &str) -> Vec<Vec<u8>> {
    (0..CALLERS).map(|caller| of_caller(path, caller)).collect()
}

/// The request of one caller, which is not quite that of another.
pub fn of_caller(path: &str, caller: u32) -> Vec<u8> {
    get(&format!("{path}&caller={caller}"))
}

/// A request with a user's token and a JSON body.
pub fn send(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener.and_then(|listener| listener.local_addr()).map_err(|error| error.to_string())
}
