//! A closure on its way to a connection, with the channel for its result. A job whose caller has gone still
//! runs. One that waited too long in a queue is removed from it and refused.
//!
//! Engines handle jobs whose types they do not know, so that little is compiled once for each closure: only
//! the caller knows the type of the result, and takes it out of the work that comes back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;
use uuid::Uuid;

use crate::companion::Companion;
use crate::queue::Queue;
use crate::signal::{Signal, Signals};
use crate::{Conn, Error, Tx, stats};

/// A closure and the result of its last run. It may run more than once.
pub(crate) trait Work: Send {
    /// Runs the closure and keeps its result. `false`: its writes must be rolled back.
    fn run(&mut self, tx: &Tx<'_>) -> bool;
    /// The kept result, an `Option<Result<T, E>>`.
    fn result(&mut self) -> &mut dyn Any;
}

struct Unit<T, E, F> {
    work: F,
    companion: Option<Arc<Companion>>,
    result: Option<Result<T, E>>,
}

impl<T, E, F> Work for Unit<T, E, F>
where
    F: Fn(&Tx<'_>) -> Result<T, E> + Send,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    fn run(&mut self, tx: &Tx<'_>) -> bool {
        let mut result = (self.work)(tx);
        if let Some(companion) = self.companion.as_ref().filter(|_| result.is_ok())
            && let Err(error) = companion.run(tx)
        {
            result = Err(error.into());
        }
        self.result.insert(result).is_ok()
    }

    fn result(&mut self) -> &mut dyn Any {
        &mut self.result
    }
}

pub(crate) fn read<T, E, F>(work: F) -> impl Work + 'static
where
    F: Fn(&Conn<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    write(move |tx: &Tx<'_>| work(tx), None)
}

pub(crate) fn write<T, E, F>(work: F, companion: Option<Arc<Companion>>) -> impl Work + 'static
where
    F: Fn(&Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    Unit { work, companion, result: None }
}

/// The result of the last run of the work, if it did run.
pub(crate) fn result<T: 'static, E: From<Error> + 'static>(work: &mut dyn Work) -> Result<T, E> {
    let kept = work.result().downcast_mut::<Option<Result<T, E>>>();
    kept.and_then(Option::take).unwrap_or_else(|| Err(Error::Busy.into()))
}

/// The work, and the error that takes the place of its result.
pub(crate) struct Answer {
    pub work: Box<dyn Work>,
    pub instead: Option<Error>,
}

pub(crate) struct Job {
    /// Whether it writes; otherwise it needs no transaction.
    pub writes: bool,
    /// Writes with the same key lock the same row.
    pub key: Option<Uuid>,
    /// Whether it has a transaction of its own on SQLite, too.
    pub is_alone: bool,
    /// How long it may wait to start, or to restart after a lost connection.
    pub until: Instant,
    work: Box<dyn Work>,
    /// What went wrong in the last run apart from the result.
    failure: Option<Error>,
    /// Receives the signals of the last run once it is committed.
    waker: Option<Arc<Signals>>,
    signals: Vec<Signal>,
    /// Whether the writes of the last run are kept.
    is_kept: bool,
    channel: oneshot::Sender<Answer>,
}

impl Job {
    pub fn read(until: Instant, work: Box<dyn Work>) -> (Job, oneshot::Receiver<Answer>) {
        let (channel, receiver) = oneshot::channel();
        let (waker, signals) = (None, Vec::new());
        let job = Job {
            writes: false,
            key: None,
            is_alone: false,
            until,
            work,
            failure: None,
            waker,
            signals,
            is_kept: false,
            channel,
        };
        (job, receiver)
    }

    pub fn write(
        until: Instant,
        work: Box<dyn Work>,
        waker: &Arc<Signals>,
    ) -> (Job, oneshot::Receiver<Answer>) {
        let (job, receiver) = Job::read(until, work);
        (Job { writes: true, waker: Some(Arc::clone(waker)), ..job }, receiver)
    }

    /// Runs the closure; a panic is an error like another. `false`: its writes must be rolled back.
    pub fn run(&mut self, tx: &Tx<'_>) -> bool {
        let (keep, failure) = match guarded(&mut *self.work, tx) {
            Ok(true) if tx.is_lost() => (false, Some(Error::Aborted)),
            Ok(keep) => (keep, None),
            Err(panic) => (false, Some(panic)),
        };
        self.failure = failure;
        (self.signals, self.is_kept) = (tx.take_signals(), keep);
        keep
    }

    /// Sends the result of the last run, or the error that took its place.
    pub fn answer(self, instead: Option<Error>) {
        let instead = instead.or(self.failure);
        if let Some(waker) = self.waker.filter(|_| instead.is_none() && self.is_kept) {
            waker.add(self.signals);
        }
        // The caller may have gone; the work is done nevertheless.
        drop(self.channel.send(Answer { work: self.work, instead }));
    }
}

/// Runs the work, which may panic.
pub(crate) fn guarded(work: &mut dyn Work, tx: &Tx<'_>) -> Result<bool, Error> {
    catch_unwind(AssertUnwindSafe(|| work.run(tx))).map_err(|_| Error::Panic)
}

/// Refuses the jobs that waited too long. Once out of the queue, none can start them.
pub(crate) fn expire(queue: &Queue<Job>) {
    let now = stats::now();
    for job in queue.take(|job| job.until <= now) {
        job.answer(Some(Error::Busy));
    }
}
