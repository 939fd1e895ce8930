//! Tells systemd how the server is (sd_notify): when it is ready, that it stops, and that it still responds. One datagram for
//! each, to the socket that `NOTIFY_SOCKET` names; without the variable nothing is sent.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// Who started the server and waits for news; nobody, as a rule.
#[derive(Debug, Default)]
pub struct Supervisor {
    socket: Option<UnixDatagram>,
    /// How often to say that the server responds.
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// A socket that cannot be used is logged: the server itself is all right.
    pub fn from_env() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else { return Self::default() };
        Self::at(&name).unwrap_or_else(|error| {
            tracing::warn!(%error, socket = ?name, "NOTIFY_SOCKET cannot be used");
            Self::default()
        })
    }

    fn at(name: &OsStr) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(name)?)?;
        // A supervisor that does not read must not block the server.
        socket.set_nonblocking(true)?;
        let number = |name: &str| env::var(name).ok()?.parse::<u64>().ok();
        let is_meant =
            number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        // Twice in that time, so that one may be late.
        let watchdog = number("WATCHDOG_USEC").filter(|time| is_meant && *time > 0);
        Ok(Supervisor {
            socket: Some(socket),
            watchdog: watchdog.map(|time| Duration::from_micros(time / 2)),
        })
    }

    pub fn ready(&self) {
        self.send("READY=1");
    }

    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// Runs among the requests as long as the server does: if they hang, so does this.
    pub async fn keep_alive(self: Arc<Self>) {
        let Some(time) = self.watchdog else { return };
        loop {
            tokio::time::sleep(time).await;
            self.send("WATCHDOG=1");
        }
    }

    fn send(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = socket.send(state.as_bytes()) {
            tracing::warn!(%error, state, "the supervisor could not be notified");
        }
    }
}

/// A path, or after `@` a name in the abstract namespace.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}
