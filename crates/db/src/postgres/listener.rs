//! The connection that receives announcements (LISTEN), on a thread of its own and outside the pool. A text
//! longer than the server's limit is sent in parts; the server keeps those of a transaction together.

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{AsyncMessage, Connection};

use crate::Error;
use crate::announce::{Announced, Announcement, Broadcast};
use crate::stats;

use super::address::Address;
use super::announcer::FIRST_POSITION;
use super::order::Order;

const LISTEN: &str = "LISTEN announcements";
/// The last position that was drawn.
const LAST_POSITION: &str = "SELECT last_value - (NOT is_called)::int FROM announcement_positions";
/// The server accepts less than 8000 bytes; the remainder is for the numbers of a part.
const PART_BYTES: usize = 7900;
/// First and longest backoff before reconnecting.
pub(super) const BACK_OFF: (Duration, Duration) =
    (Duration::from_millis(50), Duration::from_secs(5));
/// How long announcements that were on their way when a listener connected may take to arrive.
const SETTLING: Duration = Duration::from_millis(100);
/// Keepalive interval of a silent connection.
const PROBE: Duration = Duration::from_secs(20);

pub(super) fn start(address: Arc<Address>, board: Arc<Broadcast>) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::unreachable)?;
    std::thread::Builder::new()
        .name("db-listener".to_owned())
        .spawn(move || runtime.block_on(serve(&address, &board)))
        .map_err(Error::unreachable)?;
    Ok(())
}

/// Listens until there is no reader any more, reconnecting as needed.
async fn serve(address: &Address, board: &Arc<Broadcast>) {
    let listening = async {
        let mut rest = BACK_OFF.0;
        loop {
            // The cause does not matter: the pool reports the same failure to its callers soon enough.
            if listen(address, board).await.is_ok() {
                rest = BACK_OFF.0;
            }
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(BACK_OFF.1);
        }
    };
    tokio::select! {
        () = listening => {}
        () = board.deserted() => {}
    }
}

/// `Ok` if a listening connection was lost.
async fn listen(address: &Address, board: &Arc<Broadcast>) -> Result<(), Error> {
    let connecting = address.config.connect(address.tls.clone());
    let (client, connection) = address.within(connecting).await?;
    let (order, early) = (RefCell::new(None), RefCell::default());
    let hearing = hear(connection, board, &order, &early);
    let staying = async {
        address.within(client.batch_execute(LISTEN)).await?;
        let last: i64 = address.within(client.query_one(LAST_POSITION, &[])).await?.get(0);
        let last = u64::try_from(last).unwrap_or(FIRST_POSITION);
        // What came before belongs to the gap, also what was committed and is still on its way.
        let mut ordered = Order::after(last, address.announcement_wait);
        for (position, announcement) in early.take() {
            post(board, ordered.take(position, announcement, stats::now()));
        }
        order.replace(Some(ordered));
        tokio::time::sleep(SETTLING).await;
        if let Some(order) = order.borrow_mut().as_mut() {
            order.begun();
        }
        board.gap();
        loop {
            tokio::time::sleep(PROBE).await;
            if address.within(client.batch_execute("SELECT 1")).await.is_err() {
                return Ok(());
            }
        }
    };
    tokio::select! {
        () = hearing => Ok(()),
        ended = staying => ended,
    }
}

/// Hands over what arrives, in its order, until the connection ends.
async fn hear<S, T>(
    mut connection: Connection<S, T>,
    board: &Broadcast,
    order: &RefCell<Option<Order>>,
    early: &RefCell<Vec<(u64, Option<Announcement>)>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut parts = Parts::default();
    loop {
        let arrived = poll_fn(|context| connection.poll_message(context));
        let deadline = order.borrow().as_ref().and_then(Order::deadline);
        let arrived = match deadline {
            None => arrived.await,
            Some(deadline) => match tokio::time::timeout_at(deadline.into(), arrived).await {
                Ok(arrived) => arrived,
                Err(_) => {
                    let rest = order.borrow_mut().as_mut().map(|order| order.give_up(stats::now()));
                    post(board, rest.unwrap_or_default());
                    continue;
                }
            },
        };
        let Some(Ok(message)) = arrived else { return };
        let AsyncMessage::Notification(heard) = message else { continue };
        let (number, announcement) = match parts.take(heard.process_id(), heard.payload()) {
            Some(Taken::Whole(number, announcement)) => (number, announcement),
            Some(Taken::Part) => continue,
            None => {
                board.gap();
                continue;
            }
        };
        if number < FIRST_POSITION {
            board.post([announcement]);
            continue;
        }
        // Without a topic: there is nothing at this position.
        let announcement = Some(announcement).filter(|whole| !whole.topic.is_empty());
        match order.borrow_mut().as_mut() {
            Some(order) => post(board, order.take(number, announcement, stats::now())),
            // It may be above the last position, whose reply is here but not read yet.
            None => early.borrow_mut().push((number, announcement)),
        }
    }
}

fn post(board: &Broadcast, ready: Vec<Announced>) {
    for announced in ready {
        match announced {
            Announced::Gap => board.gap(),
            Announced::Heard(announcement) => board.post([announcement]),
        }
    }
}

/// The texts to notify for one announcement. The server merges equal texts of a transaction, so each carries
/// a number: its position.
pub(super) fn split(number: u64, topic: &str, text: &str) -> Vec<String> {
    let whole = format!("{topic}\n{text}");
    let mut chunks = Vec::new();
    let mut rest = whole.as_str();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        chunks.push(chunk);
        rest = after;
    }
    let last = chunks.len() - 1;
    let part = |(index, chunk)| format!("{number}.{} {chunk}", last - index);
    chunks.into_iter().enumerate().map(part).collect()
}

/// Joins what was split.
#[derive(Debug, Default)]
struct Parts {
    /// Process and number of the current announcement, and how many parts are missing.
    expected: Option<(i32, u64, usize)>,
    joined: String,
}

enum Taken {
    Whole(u64, Announcement),
    Part,
}

impl Parts {
    /// `None` for an unexpected part.
    fn take(&mut self, process: i32, payload: &str) -> Option<Taken> {
        let expected = self.expected.take();
        let (numbers, chunk) = payload.split_once(' ')?;
        let (number, left) = numbers.split_once('.')?;
        let (number, left): (u64, usize) = (number.parse().ok()?, left.parse().ok()?);
        match expected {
            Some(expected) if expected != (process, number, left) => return None,
            Some(_) => {}
            None => self.joined.clear(),
        }
        self.joined.push_str(chunk);
        if left > 0 {
            self.expected = Some((process, number, left - 1));
            return Some(Taken::Part);
        }
        let (topic, text) = self.joined.split_once('\n')?;
        let (topic, text) = (topic.to_owned(), text.to_owned());
        Some(Taken::Whole(number, Announcement { topic, text }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &mut Parts, payloads: &[String]) -> Option<Announcement> {
        let mut whole = None;
        for payload in payloads {
            assert!(payload.len() < 8000 && whole.is_none());
            if let Taken::Whole(_, announcement) = parts.take(7, payload)? {
                whole = Some(announcement);
            }
        }
        whole
    }

    #[test]
    fn what_is_split_is_joined_again() {
        let mut parts = Parts::default();
        for text in ["", "short", "a\nb", &"ü".repeat(10_000), &"x".repeat(PART_BYTES)] {
            let announcement = joined(&mut parts, &split(3, "topic", text)).unwrap();
            assert_eq!((announcement.topic.as_str(), announcement.text.as_str()), ("topic", text));
        }
    }

    #[test]
    fn a_missing_part_is_noticed_and_costs_nothing_else() {
        let mut parts = Parts::default();
        let mut payloads = split(3, "topic", &"x".repeat(30_000));
        payloads.remove(1);
        assert_eq!(joined(&mut parts, &payloads[..2]), None);
        assert!(joined(&mut parts, &split(4, "topic", "next")).is_some());
        assert!(parts.take(7, "of somebody else").is_none());
    }
}
