//! Sends the announcements of committed transactions (NOTIFY), on a thread and a connection of its own. NOTIFY lets
//! one transaction commit at a time, so writers do not use it: they draw positions right before COMMIT, and what
//! piles up while one batch is sent is the next. After a lost connection everything that was not confirmed is sent
//! again; listeners recognise repeats by their position.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio_postgres::{Client, Statement};

use crate::announce::Announcement;
use crate::{Error, stats};

use super::address::Address;
use super::listener::{self, BACK_OFF};

/// Positions of announcements: drawn by a transaction while it holds its locks, so those of two transactions that
/// lock the same row are in the order of their commits. Smaller numbers have no order: they are of announcements
/// without a transaction, and of nodes from before there were positions.
pub(super) const FIRST_POSITION: u64 = 1 << 32;
pub(super) const SEQUENCE: &str = "announcement_positions";
pub(super) const DRAW: &str =
    "SELECT nextval('announcement_positions') FROM generate_series(1, $1::bigint)";
/// Positions must not be handed out in blocks: a connection would keep some for later.
pub(super) const CREATE_SEQUENCE: &str =
    "CREATE SEQUENCE announcement_positions START 4294967296 MINVALUE 4294967296 CACHE 1";

const NOTIFY: &str = "SELECT pg_notify('announcements', part) FROM unnest($1::text[]) AS part";
/// An announcement that is lost with the server is reported as a gap: no need to wait for the disk.
const SETTINGS: &str = "SET synchronous_commit = off";
/// Maximum bytes in one transaction, and waiting to be sent. More is dropped, and reported as a gap by those who miss
/// the position.
const BATCH: usize = 1024 * 1024;
const MAX_WAITING: usize = 64 * 1024 * 1024;

/// What is to be sent: at its position or without one. Nothing for a transaction that was rolled back.
pub(super) struct Outgoing {
    pub(super) position: Option<u64>,
    pub(super) announcement: Option<Announcement>,
}

impl Outgoing {
    fn bytes(&self) -> usize {
        self.announcement.as_ref().map_or(0, |whole| whole.topic.len() + whole.text.len()) + 64
    }
}

/// The way to the announcer's thread, which ends when all clones are gone and everything is sent.
#[derive(Debug, Clone)]
pub(super) struct Announcer {
    queue: UnboundedSender<Outgoing>,
    waiting: Arc<AtomicUsize>,
}

impl Announcer {
    /// `alive` is dropped when the thread ends.
    pub(super) fn start(
        address: Arc<Address>,
        alive: Arc<watch::Sender<()>>,
    ) -> Result<Announcer, Error> {
        let (queue, received) = unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::unreachable)?;
        let sender = Sender { address, waiting: Arc::clone(&waiting), connected: None, loose: 0 };
        let serve = move || {
            runtime.block_on(sender.serve(received));
            drop(alive);
        };
        std::thread::Builder::new()
            .name("db-announcer".to_owned())
            .spawn(serve)
            .map_err(Error::unreachable)?;
        Ok(Announcer { queue, waiting })
    }

    pub(super) fn send(&self, outgoing: Outgoing) {
        let bytes = outgoing.bytes();
        if self.waiting.fetch_add(bytes, Relaxed) > MAX_WAITING {
            self.waiting.fetch_sub(bytes, Relaxed);
            return;
        }
        // The thread ends only after the last sender.
        drop(self.queue.send(outgoing));
    }
}

/// An announcer that can be closed: what remains is sent, and its thread ends with the pool.
#[derive(Debug)]
pub(super) struct Loose(Mutex<Option<Announcer>>);

impl Loose {
    pub(super) fn new(announcer: Announcer) -> Loose {
        Loose(Mutex::new(Some(announcer)))
    }

    /// Announces without a position.
    pub(super) fn send(&self, announcement: Announcement) {
        let announcer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(announcer) = announcer.as_ref() {
            announcer.send(Outgoing { position: None, announcement: Some(announcement) });
        }
    }

    pub(super) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

struct Sender {
    address: Arc<Address>,
    waiting: Arc<AtomicUsize>,
    connected: Option<(Client, Statement)>,
    /// Numbers those without a position: the server merges equal texts of a transaction.
    loose: u32,
}

impl Sender {
    async fn serve(mut self, mut received: UnboundedReceiver<Outgoing>) {
        let mut unsent = VecDeque::new();
        loop {
            if unsent.is_empty() {
                let Some(first) = received.recv().await else { return };
                unsent.push_back(first);
            }
            while let Ok(more) = received.try_recv() {
                unsent.push_back(more);
            }
            if !self.send_all(&mut unsent).await && received.is_closed() {
                return;
            }
        }
    }

    /// False if it gave up, with the rest still unsent.
    async fn send_all(&mut self, unsent: &mut VecDeque<Outgoing>) -> bool {
        let start = stats::now();
        let mut rest = BACK_OFF.0;
        while !unsent.is_empty() {
            if self.send_batch(unsent).await.is_ok() {
                rest = BACK_OFF.0;
                continue;
            }
            self.connected = None;
            if start + self.address.patience() < stats::now() {
                return false;
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(BACK_OFF.1);
        }
        true
    }

    async fn send_batch(&mut self, unsent: &mut VecDeque<Outgoing>) -> Result<(), Error> {
        let (mut parts, mut count, mut bytes) = (Vec::new(), 0, 0);
        for outgoing in unsent.iter() {
            if count > 0 && bytes + outgoing.bytes() > BATCH {
                break;
            }
            let number = outgoing.position.unwrap_or_else(|| {
                self.loose = self.loose.wrapping_add(1);
                u64::from(self.loose)
            });
            let (topic, text) = match &outgoing.announcement {
                Some(whole) => (whole.topic.as_str(), whole.text.as_str()),
                None => ("", ""),
            };
            parts.extend(listener::split(number, topic, text));
            (count, bytes) = (count + 1, bytes + outgoing.bytes());
        }
        self.notify(&parts).await?;
        unsent.drain(..count);
        self.waiting.fetch_sub(bytes, Relaxed);
        Ok(())
    }

    async fn notify(&mut self, parts: &Vec<String>) -> Result<(), Error> {
        if self.connected.as_ref().is_none_or(|(client, _)| client.is_closed()) {
            self.connected = Some(self.connect().await?);
        }
        let Some((client, statement)) = &self.connected else { return Err(Error::Busy) };
        self.address.within(client.execute(statement, &[parts])).await.map(drop)
    }

    async fn connect(&self) -> Result<(Client, Statement), Error> {
        let connecting = self.address.config.connect(self.address.tls.clone());
        let (client, connection) = self.address.within(connecting).await?;
        // The next statement reports why the connection ended.
        tokio::spawn(async move { drop(connection.await) });
        self.address.within(client.batch_execute(SETTINGS)).await?;
        let statement = self.address.within(client.prepare(NOTIFY)).await?;
        Ok((client, statement))
    }
}
