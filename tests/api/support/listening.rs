//! Waits for a program that chooses its own port until it says which.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::Child;

/// The address in the line of its log that `find` knows, and what it logged until then.
pub(super) fn address_of(
    child: &mut Child,
    find: impl Fn(&str) -> Option<SocketAddr>,
) -> (SocketAddr, String) {
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut log = String::new();
    let address = loop {
        let start = log.len();
        let read = reader.read_line(&mut log).unwrap();
        assert_ne!(read, 0, "the program ended before it listened: {log}");
        if let Some(address) = find(&log[start..]) {
            break address;
        }
    };
    // Somebody has to read on, or the log would fill the pipe.
    std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
    (address, log)
}
