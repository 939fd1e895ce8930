//! What a server under systemd says over the socket that it was started with.

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use db::Engine;

use crate::support::{Installation, fresh_directory};

/// The socket as systemd would hold it.
struct Supervisor(UnixDatagram);

impl Supervisor {
    fn at(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Supervisor(socket)
    }

    fn next(&self) -> String {
        let mut state = [0; 64];
        let length = self.0.recv(&mut state).unwrap();
        String::from_utf8(state[..length].to_vec()).unwrap()
    }
}

#[test]
fn a_supervisor_hears_when_the_server_is_ready_responds_and_stops() {
    let path = fresh_directory().join("notify");
    let supervisor = Supervisor::at(&path);
    let town = Installation::new(Engine::Sqlite);
    let settings = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "20000")];
    let running = town.launch(&["serve"], &settings);
    assert_eq!(supervisor.next(), "READY=1");
    assert_eq!(running.request("GET", "/readyz", "", "").0, 200);
    assert_eq!(supervisor.next(), "WATCHDOG=1");
    running.signal("TERM");
    while supervisor.next() != "STOPPING=1" {}
    assert!(running.wait().success());
}

#[test]
fn a_watchdog_of_another_process_and_a_socket_that_is_gone_change_nothing() {
    let directory = fresh_directory();
    let path = directory.join("notify");
    let supervisor = Supervisor::at(&path);
    let town = Installation::new(Engine::Sqlite);
    let notify = ("NOTIFY_SOCKET", path.to_str().unwrap());
    let running =
        town.launch(&["serve"], &[notify, ("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")]);
    assert_eq!(supervisor.next(), "READY=1");
    running.signal("TERM");
    assert_eq!(supervisor.next(), "STOPPING=1");
    assert!(running.wait().success());
    drop(supervisor);
    std::fs::remove_file(&path).unwrap();
    let running = town.launch(&["serve"], &[notify]);
    running.signal("TERM");
    assert!(running.wait().success());
}
