//! Where each kind of work runs on each engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout_at;
use uuid::Uuid;

use crate::job::{Answer, Job, Work};
use crate::postgres::{Postgres, Replica};
use crate::signal::Signals;
use crate::slow::SlowReads;
use crate::sqlite::Sqlite;
use crate::stats::{Histogram, now};
use crate::{Error, lag};

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) replica: Option<Replica>,
    pub(crate) slow: SlowReads,
    pub(crate) wait: Duration,
    pub(crate) closed: AtomicBool,
    pub(crate) signals: Arc<Signals>,
    pub(crate) reads: Histogram,
    pub(crate) writes: Histogram,
}

#[derive(Debug)]
pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

/// With which others a write may share its transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Plain,
    Alone,
    Contended(Uuid),
}

/// The work, done.
pub(crate) type Done = Result<Box<dyn Work>, Error>;

impl Inner {
    /// Refuses work that would only wait.
    pub(crate) fn admit(&self) -> Result<(), Error> {
        if self.closed.load(Relaxed) {
            return Err(Error::Busy);
        }
        match &self.backend {
            Backend::Sqlite(_) => Ok(()),
            Backend::Postgres(postgres) => postgres.admit(),
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        matches!(&self.backend, Backend::Postgres(postgres) if postgres.is_silent())
    }

    /// Runs a short read on the calling thread where that is quickest, on SQLite; `false` elsewhere.
    pub(crate) fn read_here(&self, work: &mut dyn Work) -> Result<bool, Error> {
        self.admit()?;
        let Backend::Sqlite(sqlite) = &self.backend else { return Ok(false) };
        let start = now();
        let read = sqlite.read(work);
        self.reads.record_since(start);
        read.map(|()| true)
    }

    /// A read on a connection of the replica, if it may be read there, or else of the pool. `until`: how long it
    /// may wait to start.
    pub(crate) async fn read_pooled(&self, until: Instant, mut work: Box<dyn Work>) -> Done {
        let start = now();
        if let Some(replica) = self.replica.as_ref().filter(|replica| replica.is_fit()) {
            // Enough time remains for the primary.
            let soon = start + until.saturating_duration_since(start) / 2;
            match replica.read(soon, work).await.ok_or(Error::Busy)? {
                Answer { work, instead: None } => {
                    self.reads.record_since(start);
                    return Ok(work);
                }
                failed => work = failed.work,
            }
        }
        let (job, answer) = Job::read(until, work);
        self.push(job)?;
        let done = self.received(answer, until, Error::Busy).await;
        self.reads.record_since(start);
        done
    }

    pub(crate) async fn read_slow(this: &Arc<Inner>, mut work: Box<dyn Work>) -> Done {
        this.admit()?;
        let start = now();
        let until = start + this.wait;
        let slot = this.slow.slot(until).await?;
        if let Backend::Postgres(_) = this.backend {
            // At most half of the pool: the other half stays for quick reads.
            let answer = this.read_pooled(until, work).await;
            drop(slot);
            return answer;
        }
        let inner = Arc::clone(this);
        let reading = tokio::task::spawn_blocking(move || {
            // Held by the work, not by the caller: a caller who disconnects must not free the slot early.
            let _slot = slot;
            match &inner.backend {
                Backend::Sqlite(sqlite) => sqlite.read(&mut *work).map(|()| work),
                Backend::Postgres(_) => Err(Error::Busy),
            }
        });
        let answer = reading.await.unwrap_or(Err(Error::Busy));
        this.reads.record_since(start);
        answer
    }

    pub(crate) async fn write(&self, kind: Kind, work: Box<dyn Work>) -> Done {
        lag::note_write();
        let start = now();
        let until = start + self.wait;
        let (mut job, answer) = Job::write(until, work, &self.signals);
        match kind {
            Kind::Plain => {}
            Kind::Alone => job.is_alone = true,
            Kind::Contended(key) => job.key = Some(key),
        }
        self.push(job)?;
        // No reply at all: the thread died with the job, perhaps during COMMIT.
        let answer = self.received(answer, until, Error::OutcomeUnknown).await;
        self.writes.record_since(start);
        answer
    }

    fn push(&self, job: Job) -> Result<(), Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.push(job),
            Backend::Postgres(postgres) => postgres.push(job),
        }
    }

    /// The reply of a job. A job that is still queued by then is refused; a running one is bounded by the
    /// deadlines of its statements. `none`: the error for no reply at all.
    async fn received(
        &self,
        mut answer: oneshot::Receiver<Answer>,
        until: Instant,
        none: Error,
    ) -> Done {
        let answered = match timeout_at(until.into(), &mut answer).await {
            Ok(answered) => answered,
            Err(_) => {
                match &self.backend {
                    Backend::Sqlite(sqlite) => sqlite.expire(),
                    Backend::Postgres(postgres) => postgres.expire(),
                }
                answer.await
            }
        };
        match answered {
            Ok(Answer { work, instead: None }) => Ok(work),
            Ok(Answer { instead: Some(error), .. }) => Err(error),
            Err(_) => Err(none),
        }
    }
}
