//! A wire between the database crate and PostgreSQL that can be cut at a chosen word.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use db::testing::Cluster;
use db::{Db, Options};

use crate::support::{TestDb, one_connection};

/// A database behind a wire.
pub(crate) struct Wired {
    pub(crate) test: TestDb,
    pub(crate) proxy: Proxy,
    pub(crate) db: Db,
}

pub(crate) fn wired(options: Options) -> Wired {
    let test = TestDb::postgres();
    drop(test.ready(one_connection()));
    let proxy = Proxy::start(Cluster::shared().port());
    let db = Db::open(&proxy.url(&test.url), options).unwrap();
    Wired { test, proxy, db }
}

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
    hush: Arc<Hush>,
}

/// What stops all traffic, as a stopped server does: connections are accepted and nothing is answered.
#[derive(Default)]
struct Hush {
    state: Mutex<Silence>,
    changed: Condvar,
}

#[derive(Default)]
struct Silence {
    is_silent: bool,
    /// Falls silent when the client sends this.
    word: Option<&'static [u8]>,
}

impl Hush {
    fn set(&self, is_silent: bool, word: Option<&'static [u8]>) {
        *self.state.lock().unwrap() = Silence { is_silent, word };
        self.changed.notify_all();
    }

    /// Buffers the bytes until traffic is let through.
    fn wait(&self, bytes: &[u8]) {
        let mut state = self.state.lock().unwrap();
        let word = state.word;
        if word.is_some_and(|word| bytes.windows(word.len()).any(|window| window == word)) {
            *state = Silence { is_silent: true, word: None };
        }
        drop(self.changed.wait_while(state, |state| state.is_silent).unwrap());
    }
}

impl Proxy {
    pub(crate) fn start(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(Mutex::new(None));
        let (seen, hush) = (Arc::clone(&cut), Arc::<Hush>::default());
        let hushed = Arc::clone(&hush);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (to_client, from_server) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                let seen = Arc::clone(&seen);
                let (there, back) = (Arc::clone(&hushed), Arc::clone(&hushed));
                std::thread::spawn(move || pass(from_server, to_client, &Mutex::new(None), &back));
                std::thread::spawn(move || pass(client, server, &seen, &there));
            }
        });
        Proxy { port, cut, hush }
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

impl Proxy {
    /// Nothing passes any more.
    pub(crate) fn silence(&self) {
        self.hush.set(true, None);
    }

    /// Nothing passes from the moment on when the client sends that word.
    pub(crate) fn silence_at(&self, word: &'static [u8]) {
        self.hush.set(false, Some(word));
    }

    /// The buffered bytes pass, and everything after them.
    pub(crate) fn speak(&self) {
        self.hush.set(false, None);
    }
}

/// Copies one direction. A message is written at once and is short, so it arrives in one piece.
fn pass(mut from: TcpStream, mut to: TcpStream, cut: &Mutex<Option<Cut>>, hush: &Hush) {
    let mut buffer = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..count];
        hush.wait(bytes);
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
