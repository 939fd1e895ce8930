//! The load: closed loop (each connection asks again as soon as it is answered) or open loop (a
//! fixed rate, each latency counted from the time the request was due, not from when it was sent,
//! so that a server that stalls cannot hide it).

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::client::Connection;
use crate::clock::{Window, now};
use crate::dice::Dice;
use crate::tally::Tally;

/// How long the last replies may take after the end.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReadMode {
    Closed,
    /// Requests per second.
    Open(f64),
}

#[derive(Debug, Clone)]
pub struct Load {
    pub address: SocketAddr,
    /// Whole requests; each time one of them is drawn.
    pub requests: Arc<[Vec<u8>]>,
    pub expected_status: &'static [u16],
    pub connections: usize,
    pub threads: usize,
    pub pace: ReadMode,
}

impl Load {
    /// Blocks until the window is over.
    pub fn run(&self, window: Window) -> Result<Tally, String> {
        let schedule = match self.pace {
            ReadMode::Closed => None,
            ReadMode::Open(rate) => Some(Arc::new(Schedule::new(window.start, rate))),
        };
        let mut total = Tally::new()?;
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for thread in 0..self.threads {
                let schedule = schedule.clone();
                threads.push(scope.spawn(move || self.thread(thread, window, schedule)));
            }
            if let Some(schedule) = &schedule {
                schedule.release_until(window.to);
            }
            for thread in threads {
                let tally = thread.join().map_err(|_| "a thread of the generator panicked")?;
                total.add(tally?)?;
            }
            Ok::<_, String>(())
        })?;
        total.unsent = schedule.map_or(0, |schedule| schedule.waiting());
        Ok(total)
    }

    /// One thread with its share of the connections, all on a runtime of its own: no request
    /// wakes another thread.
    fn thread(
        &self,
        number: usize,
        window: Window,
        schedule: Option<Arc<Schedule>>,
    ) -> Result<Tally, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let tally = Arc::new(Mutex::new(Tally::new()?));
        runtime.block_on(async {
            let mut connections = JoinSet::new();
            for connection in (number..self.connections).step_by(self.threads) {
                let asking = Asking {
                    load: self.clone(),
                    window,
                    dice: Dice::new(connection as u64),
                    tally: tally.clone(),
                };
                connections.spawn(asking.run(schedule.clone()));
            }
            let all = async { while connections.join_next().await.is_some() {} };
            let last = tokio::time::Instant::from_std(window.to + GRACE);
            if tokio::time::timeout_at(last, all).await.is_err() {
                lock(&tally).failed("no answer long after the end".to_owned());
            }
        });
        drop(runtime);
        let tally = Arc::into_inner(tally).ok_or("a connection outlived its thread")?;
        Ok(tally.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

fn lock(tally: &Mutex<Tally>) -> std::sync::MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection at work.
struct Asking {
    load: Load,
    window: Window,
    dice: Dice,
    /// Shared by the connections of one thread.
    tally: Arc<Mutex<Tally>>,
}

impl Asking {
    async fn run(mut self, schedule: Option<Arc<Schedule>>) {
        let asked = match schedule {
            None => self.closed().await,
            Some(schedule) => self.open(&schedule).await,
        };
        if let Err(error) = asked {
            lock(&self.tally).failed(format!("no connection: {error}"));
        }
    }

    async fn closed(&mut self) -> io::Result<()> {
        let mut connection = Connection::open(self.load.address).await?;
        let mut sent = now();
        while sent < self.window.to {
            let answer = self.ask(&mut connection).await;
            let answered = now();
            // A failure counts even if it comes after the end, as a request that took too long.
            let is_late = answered >= self.window.to && !self.is_expected(&answer);
            if self.window.holds(answered) || is_late {
                self.count(&answer, answered - sent);
            }
            if answer.is_err() {
                connection = Connection::open(self.load.address).await?;
            }
            sent = answered;
        }
        Ok(())
    }

    async fn open(&mut self, schedule: &Schedule) -> io::Result<()> {
        let mut connection = Connection::open(self.load.address).await?;
        while let Some(due) = schedule.next().await {
            let answer = self.ask(&mut connection).await;
            if self.window.holds(due) {
                self.count(&answer, now() - due);
            }
            if answer.is_err() {
                connection = Connection::open(self.load.address).await?;
            }
        }
        Ok(())
    }

    async fn ask(&mut self, connection: &mut Connection) -> io::Result<u16> {
        let request = self.dice.draw(self.load.requests.len());
        connection.exchange(&self.load.requests[request]).await
    }

    fn is_expected(&self, answer: &io::Result<u16>) -> bool {
        answer.as_ref().is_ok_and(|status| self.load.expected_status.contains(status))
    }

    fn count(&self, answer: &io::Result<u16>, latency: Duration) {
        let mut tally = lock(&self.tally);
        match answer {
            Ok(status) if self.load.expected_status.contains(status) => tally.answered(latency),
            Ok(status) => tally.failed(format!("status {status}")),
            Err(error) => tally.failed(error.to_string()),
        }
    }
}

/// When each request of an open loop is due. Requests that are due wait for a free connection.
#[derive(Debug)]
struct Schedule {
    start: Instant,
    rate: f64,
    due: Semaphore,
    taken: AtomicU64,
}

impl Schedule {
    fn new(start: Instant, rate: f64) -> Self {
        Schedule { start, rate, due: Semaphore::new(0), taken: AtomicU64::new(0) }
    }

    /// The time of the next request, once it has come; `None` after the end.
    async fn next(&self) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        Some(self.time_of(self.taken.fetch_add(1, Relaxed)))
    }

    /// Makes requests due as their time comes. A thread's sleep is finer than the runtime's
    /// timer, which counts in milliseconds.
    fn release_until(&self, end: Instant) {
        let mut released: u64 = 0;
        loop {
            let next = self.time_of(released);
            if next >= end {
                std::thread::sleep(end.saturating_duration_since(now()));
                break self.due.close();
            }
            std::thread::sleep(next.saturating_duration_since(now()));
            let until = now().min(end);
            let mut count = 0;
            while self.time_of(released) <= until {
                released += 1;
                count += 1;
            }
            self.due.add_permits(count);
        }
    }

    /// Requests that became due and were not sent.
    fn waiting(&self) -> u64 {
        self.due.available_permits() as u64
    }

    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 requests")]
    fn time_of(&self, request: u64) -> Instant {
        self.start + Duration::from_secs_f64(request as f64 / self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Span;
    use std::io::{Read as _, Write as _};

    /// Real time passes in these tests, because they measure time.
    ///
    /// A server of one connection that replies to `refused` requests with 503 and to the others with 200, and
    /// keeps the first one waiting for this long.
    fn server(stall: Duration, refused: usize) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut number = 0;
            while peer.read_exact(&mut [0; 4]).is_ok() {
                if number == 0 {
                    std::thread::sleep(stall);
                }
                let status = if number < refused { "503 Busy" } else { "200 OK" };
                number += 1;
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                if peer.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        });
        address
    }

    fn run(address: SocketAddr, pace: ReadMode, millis: u64) -> Tally {
        let load = Load {
            address,
            requests: vec![b"ping".to_vec()].into(),
            expected_status: &[200],
            connections: 1,
            threads: 1,
            pace,
        };
        let span = Span { warm_up: Duration::ZERO, duration: Duration::from_millis(millis) };
        load.run(Window::opening_now(span)).unwrap()
    }

    #[test]
    fn a_closed_loop_sees_a_stall_once_and_an_open_loop_in_every_request_that_was_due() {
        let stall = Duration::from_millis(200);
        let closed = run(server(stall, 0), ReadMode::Closed, 400);
        assert!(closed.requests() > 10);
        assert!(closed.quantile(0.5) < stall / 4, "{:?}", closed.quantile(0.5));
        let open = run(server(stall, 0), ReadMode::Open(500.0), 400);
        // Half of the requests were due during the stall; of those the median waited for half of it.
        assert!(open.quantile(0.75) > stall / 4, "{:?}", open.quantile(0.75));
        assert!(open.requests() + open.unsent >= 195, "{open:?}");
    }

    #[test]
    fn what_an_overloaded_connection_could_not_send_is_told() {
        let tally = run(server(Duration::from_millis(300), 0), ReadMode::Open(1000.0), 200);
        assert_eq!((tally.requests(), tally.errors), (1, 0));
        assert!(tally.unsent > 150, "{}", tally.unsent);
    }

    #[test]
    fn another_status_than_the_expected_one_is_an_error() {
        let tally = run(server(Duration::ZERO, 3), ReadMode::Closed, 100);
        assert_eq!((tally.errors, tally.first_error.as_deref()), (3, Some("status 503")));
        assert!(tally.requests() > 0);
    }
}
