//! A wire between the database crate and PostgreSQL that can be cut at a chosen word.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Where the next cuts are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Bytes from the client to cut at.
    pub(crate) word: &'static [u8],
    /// Whether the server still gets them.
    pub(crate) delivered: bool,
    pub(crate) times: usize,
}

pub(crate) struct Proxy {
    port: u16,
    cut: Arc<Mutex<Option<Cut>>>,
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&cut);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (to_client, from_server) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                let seen = Arc::clone(&seen);
                std::thread::spawn(move || pass(from_server, to_client, &Mutex::new(None)));
                std::thread::spawn(move || pass(client, server, &seen));
            }
        });
        Proxy { port, cut }
    }

    /// The URL of the same database through the wire.
    pub(crate) fn url(&self, url: &str) -> String {
        let database = url.rsplit_once('/').unwrap().1;
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    pub(crate) fn cut(&self, cut: Cut) {
        *self.cut.lock().unwrap() = Some(cut);
    }
}

/// Copies one direction. A message is written at once and is short, so it arrives in one piece.
fn pass(mut from: TcpStream, mut to: TcpStream, cut: &Mutex<Option<Cut>>) {
    let mut buffer = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..count];
        let here = due(cut, bytes);
        if here.is_some_and(|cut| cut.delivered) {
            // Nothing comes back, though the server does its part: wait until it closed.
            from.shutdown(Shutdown::Both).unwrap();
            to.write_all(bytes).unwrap();
            to.shutdown(Shutdown::Write).unwrap();
            return;
        }
        if here.is_some() || to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn due(cut: &Mutex<Option<Cut>>, bytes: &[u8]) -> Option<Cut> {
    let mut next = cut.lock().unwrap();
    let here = next.filter(|cut| bytes.windows(cut.word.len()).any(|window| window == cut.word))?;
    *next = (here.times > 1).then_some(Cut { times: here.times - 1, ..here });
    Some(here)
}
