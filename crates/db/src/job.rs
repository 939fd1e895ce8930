//! A closure on its way to a connection, with the channel for its result. A job whose caller has gone still
//! runs. One that waited too long in a queue is removed from it and refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::queue::Queue;
use crate::{Conn, Error, Tx, stats};

/// A unit of work of any type. It may run more than once; only the last run counts.
pub(crate) trait Job: Send {
    fn writes(&self) -> bool;
    /// Writes with the same key lock the same row.
    fn key(&self) -> Option<Uuid>;
    /// How long it may wait to start, or to restart after a lost connection.
    fn until(&self) -> Instant;
    /// Runs the closure and keeps its result. `false`: its writes must be rolled back.
    fn run(&mut self, tx: &Tx<'_>) -> bool;
    /// Sends the result of the last run, or the error that took its place.
    fn answer(self: Box<Self>, instead: Option<Error>);
}

type Answer<T, E> = oneshot::Sender<Result<T, E>>;

struct Unit<T, E, F> {
    work: F,
    writes: bool,
    key: Option<Uuid>,
    until: Instant,
    result: Option<Result<T, E>>,
    answer: Answer<T, E>,
}

pub(crate) fn read<T, E, F>(
    until: Instant,
    work: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, E>>)
where
    F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    unit(false, None, until, move |tx: &Tx<'_>| work(tx))
}

pub(crate) fn write<T, E, F>(
    key: Option<Uuid>,
    until: Instant,
    work: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, E>>)
where
    F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    unit(true, key, until, work)
}

fn unit<T, E, F>(
    writes: bool,
    key: Option<Uuid>,
    until: Instant,
    work: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, E>>)
where
    F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (answer, receiver) = oneshot::channel();
    (Box::new(Unit { work, writes, key, until, result: None, answer }), receiver)
}

/// The result of the closure; a panic is an error like another.
pub(crate) fn guarded<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::Panic.into()))
}

/// Refuses the jobs that waited too long. Once out of the queue, none can start them.
pub(crate) fn expire(queue: &Queue<Box<dyn Job>>) {
    let now = stats::now();
    for job in queue.take(|job| job.until() <= now) {
        job.answer(Some(Error::Busy));
    }
}

fn send<T, E: From<Error>>(
    channel: Answer<T, E>,
    result: Option<Result<T, E>>,
    instead: Option<Error>,
) {
    let result = match (instead, result) {
        (Some(error), _) => Err(error.into()),
        (None, Some(result)) => result,
        (None, None) => Err(Error::Busy.into()),
    };
    // The caller may have gone; the work is done nevertheless.
    drop(channel.send(result));
}

impl<T, E, F> Job for Unit<T, E, F>
where
    F: Fn(&Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<Error> + Send,
{
    fn writes(&self) -> bool {
        self.writes
    }

    fn key(&self) -> Option<Uuid> {
        self.key
    }

    fn until(&self) -> Instant {
        self.until
    }

    fn run(&mut self, tx: &Tx<'_>) -> bool {
        let mut result = guarded(|| (self.work)(tx));
        if result.is_ok() && tx.is_lost() {
            result = Err(Error::Aborted.into());
        }
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn answer(self: Box<Self>, instead: Option<Error>) {
        send(self.answer, self.result, instead);
    }
}
