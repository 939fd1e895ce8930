//! PostgreSQL: a pool of threads, each with a connection of its own, fed from one bounded queue.

mod address;
mod admin;
mod announcer;
mod batch;
mod breaker;
mod bulk;
mod cache;
mod distribution;
mod errors;
mod examine;
mod listener;
mod order;
mod replica;
mod sending;
mod session;
mod tls;
mod transaction;
mod types;

pub(crate) use replica::Replica;
pub(crate) use sending::{Prefetched, Take};
pub(crate) use session::Session;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::announce::Broadcast;
use crate::job::{self, Job};
use crate::queue::Queue;
use crate::{Announcement, Announcements, Error, Options, PoolStats, stats};
use address::Address;
use announcer::{Announcer, Loose};
use breaker::Breaker;
use transaction::{Attempt, Shared};

/// Maximum runs of a job after serialization failures and deadlocks.
const MAX_RUNS: u32 = 3;
/// Backoff before a job runs again.
const BACK_OFF: Duration = Duration::from_millis(10);
/// Connections a job may lose before COMMIT and still run again.
const MAX_LOST: usize = 2;

/// An open PostgreSQL database.
#[derive(Debug)]
pub(crate) struct Postgres {
    address: Arc<Address>,
    queue: Arc<Queue<Job>>,
    /// Threads, each with a connection of its own.
    size: usize,
    breaker: Arc<Breaker>,
    board: Arc<Broadcast>,
    announcer: Loose,
    /// Closes when the last thread has ended.
    ended: watch::Receiver<()>,
    /// A reused connection for blocking calls.
    spare: Mutex<Option<Session>>,
}

impl Postgres {
    pub(crate) fn check_url(url: &str) -> Result<(), Error> {
        Address::parse(url, &Options::default()).map(drop)
    }

    pub(crate) fn open(url: &str, options: &Options) -> Result<Postgres, Error> {
        let postgres = Self::unconnected(url, options)?;
        // Connects now, so that errors are reported at the start and not by the first request.
        postgres.alone(|_| Ok(()))?;
        Ok(postgres)
    }

    /// Connects with its first job.
    fn unconnected(url: &str, options: &Options) -> Result<Postgres, Error> {
        let address = Arc::new(Address::parse(url, options)?);
        let queue = Arc::new(Queue::<Job>::keyed(options.queue, |job| job.key));
        let breaker = Arc::new(Breaker::new(Arc::clone(&address), Arc::clone(&queue)));
        let (alive, ended) = watch::channel(());
        let alive = Arc::new(alive);
        let announcer = Announcer::start(Arc::clone(&address), Arc::clone(&alive))?;
        let size = options.pool.max(1);
        for number in 0..size {
            let (queue, address, alive) = (queue.clone(), address.clone(), alive.clone());
            let (breaker, announcer) = (Arc::clone(&breaker), announcer.clone());
            let serve = move || {
                serve(&queue, &address, &breaker, &announcer);
                drop(alive);
            };
            std::thread::Builder::new()
                .name(format!("db-{number}"))
                .spawn(serve)
                .map_err(Error::unreachable)?;
        }
        let (board, spare) = (Arc::default(), Mutex::new(None));
        let announcer = Loose::new(announcer);
        Ok(Postgres { address, queue, size, breaker, board, announcer, ended, spare })
    }

    pub(crate) fn pool(&self) -> PoolStats {
        PoolStats { busy: self.size.saturating_sub(self.queue.idle()), size: self.size }
    }

    /// Runs blocking work on a connection outside the pool. On a thread of its own, because the caller may be
    /// inside an async runtime, where another one can be neither driven nor dropped.
    pub(crate) fn alone<T: Send>(
        &self,
        work: impl FnOnce(&Session) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let run = || {
            let spare = self.spare().take();
            let session = match spare {
                Some(session) => session,
                None => Session::connect(&self.address)?,
            };
            let result = work(&session);
            // After an error it may be broken, or in the middle of something.
            if result.is_ok() {
                *self.spare() = Some(session);
            }
            result
        };
        std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or(Err(Error::Panic))
    }

    /// The same, on a new connection that is closed afterwards: for what takes long or changes its settings.
    pub(crate) fn separately<T: Send, E: From<Error> + Send>(
        &self,
        work: impl FnOnce(&Session) -> Result<T, E> + Send,
    ) -> Result<T, E> {
        let run = || {
            let session = Session::connect(&self.address)?;
            session.execute_plain("SET statement_timeout = 0")?;
            let result = work(&session);
            session.close();
            result
        };
        std::thread::scope(|scope| scope.spawn(run).join())
            .unwrap_or_else(|_| Err(Error::Panic.into()))
    }

    fn spare(&self) -> MutexGuard<'_, Option<Session>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses work while the breaker is open.
    pub(crate) fn admit(&self) -> Result<(), Error> {
        if self.is_silent() { Err(Breaker::refusal()) } else { Ok(()) }
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), Error> {
        self.admit()?;
        self.queue.push(job).map_err(|_| Error::Busy)
    }

    /// The same, but a job that is refused is answered.
    pub(crate) fn offer(&self, job: Job) {
        if let Err(job) = self.queue.push(job) {
            job.answer(Some(Error::Busy));
        }
    }

    /// Refuses jobs that have waited too long. They never ran and never will.
    pub(crate) fn expire(&self) {
        job::expire(&self.queue);
        self.breaker.suspect();
    }

    pub(crate) fn is_full(&self) -> bool {
        self.breaker.is_full()
    }

    /// Whether the server does not respond.
    pub(crate) fn is_silent(&self) -> bool {
        self.breaker.is_open()
    }

    pub(crate) fn announcements(&self) -> Result<Option<Announcements>, Error> {
        let reader = self.board.reader();
        if reader.is_some() {
            listener::start(Arc::clone(&self.address), Arc::clone(&self.board))?;
        }
        Ok(reader)
    }

    /// Announces without a transaction.
    pub(crate) fn announce(&self, announcement: Announcement) {
        self.announcer.send(announcement);
    }

    pub(crate) fn queue_depth(&self) -> usize {
        self.queue.len()
    }

    /// Closes the queue. The threads finish queued jobs and end.
    pub(crate) fn shut(&self) {
        self.queue.close();
        self.announcer.close();
        self.board.close();
        if let Some(session) = self.spare().take() {
            // Not here: this may be inside an async runtime.
            std::thread::spawn(move || session.close());
        }
    }

    pub(crate) fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.shut();
    }
}

fn serve(queue: &Queue<Job>, address: &Address, breaker: &Arc<Breaker>, announcer: &Announcer) {
    let mut session = None;
    let (mut jobs, mut key) = (Vec::new(), None);
    while queue.pop_after(key, 1, &mut jobs) {
        key = jobs.first().and_then(|job| job.key);
        if jobs.len() > 1 {
            run_shared(&mut session, breaker, announcer, &mut jobs);
        }
        for job in jobs.drain(..) {
            // Closures are guarded deeper down; a panic here is a bug of this crate, and costs only the
            // connection.
            let run = || run(&mut session, address, (breaker, announcer), job);
            if catch_unwind(AssertUnwindSafe(run)).is_err() {
                session = None;
            }
        }
    }
    if let Some(session) = session {
        session.close();
    }
}

/// Runs the jobs in one transaction and answers them; leaves them to be run alone if that fails.
fn run_shared(
    slot: &mut Option<Session>,
    breaker: &Breaker,
    announcer: &Announcer,
    jobs: &mut Vec<Job>,
) {
    slot.take_if(|session| session.is_stale());
    let Some(session) = slot.as_ref().filter(|_| !breaker.is_open()) else { return };
    let shared = catch_unwind(AssertUnwindSafe(|| session.attempt_shared(jobs)));
    session.outgoing.take().into_iter().for_each(|outgoing| announcer.send(outgoing));
    match shared {
        Ok(Shared::Done) => jobs.drain(..).for_each(|job| job.answer(None)),
        Ok(Shared::Apart) => {}
        Ok(Shared::Unknown) => {
            *slot = None;
            jobs.drain(..).for_each(|job| job.answer(Some(Error::OutcomeUnknown)));
        }
        Err(_) => *slot = None,
    }
}

/// Runs a job until it is done, on a new connection when there is none or it was lost.
fn run(
    slot: &mut Option<Session>,
    address: &Address,
    (breaker, announcer): (&Arc<Breaker>, &Announcer),
    mut job: Job,
) {
    let (mut runs, mut lost) = (0, 0);
    loop {
        if breaker.is_open() {
            return job.answer(Some(Breaker::refusal()));
        }
        slot.take_if(|session| session.is_stale());
        let session = match slot {
            Some(session) => session,
            None => match Session::pooled(address, breaker, job.until) {
                Ok(session) => slot.insert(session),
                Err(error) => return job.answer(Some(error)),
            },
        };
        let attempt = session.attempt(&mut job);
        session.outgoing.take().into_iter().for_each(|outgoing| announcer.send(outgoing));
        match attempt {
            Attempt::Done(instead) => return job.answer(instead),
            Attempt::Retry => {
                runs += 1;
                if runs >= MAX_RUNS {
                    return job.answer(Some(Error::Conflict));
                }
                // Without a pause it could take the lock that the other side of a deadlock was just given.
                std::thread::sleep(BACK_OFF * runs);
            }
            Attempt::Lost(error) => {
                *slot = None;
                lost += 1;
                if lost > MAX_LOST || stats::now() >= job.until {
                    return job.answer(Some(error));
                }
            }
            Attempt::Unknown => {
                *slot = None;
                return job.answer(Some(Error::OutcomeUnknown));
            }
        }
    }
}
