//! One run of a job on a connection: its transaction if it writes, and what became of it.

use crate::conn::{Failure, Link};
use crate::job::Job;
use crate::{Error, Tx};

use super::sending::settle;
use super::session::Session;

/// How one run of a job ended.
pub(super) enum Attempt {
    /// Answer with its own result, or with this error instead.
    Done(Option<Error>),
    /// Worth running again.
    Retry,
    /// The connection was lost before COMMIT was sent: nothing was written.
    Lost(Error),
    /// The connection was lost after COMMIT was sent.
    Unknown,
}

impl Session {
    /// Runs one job, with its transaction if it writes.
    pub(super) fn attempt(&self, job: &mut dyn Job) -> Attempt {
        let attempt = self.run_job(job);
        // What nobody asked about any more has been rolled back with the rest.
        self.pending.borrow_mut().clear();
        self.gathered.clear();
        if matches!(attempt, Attempt::Retry) {
            // Perhaps for a statement that was prepared when a table was another.
            self.cache.borrow_mut().clear();
        }
        attempt
    }

    fn run_job(&self, job: &mut dyn Job) -> Attempt {
        if !job.writes() {
            let tx = Tx::reading(Link::Postgres(self));
            job.run(&tx);
            return match tx.failure() {
                Some(Failure::Broken) => lost(),
                Some(Failure::Retry) => Attempt::Retry,
                _ => Attempt::Done(None),
            };
        }
        self.begin.set(true);
        let tx = Tx::new(Link::Postgres(self));
        let keep = job.run(&tx);
        let begun = !self.begin.replace(false);
        match tx.failure() {
            Some(Failure::Broken) => lost(),
            Some(Failure::Full) => {
                self.note_full(true);
                self.rollback(Attempt::Done(None))
            }
            Some(Failure::Retry) if begun => self.rollback(Attempt::Retry),
            Some(Failure::Retry) => Attempt::Retry,
            _ if !begun => Attempt::Done(None),
            None if keep => self.commit(),
            _ => self.rollback(Attempt::Done(None)),
        }
    }

    /// COMMIT travels with what is pending; the server takes it for a ROLLBACK if any of that failed.
    fn commit(&self) -> Attempt {
        let pending = self.pending.take();
        let committed = self.within(async {
            let commit = self.client.batch_execute("COMMIT");
            let (committed, settled) = tokio::join!(biased; commit, settle(pending));
            committed.map(|()| settled)
        });
        match committed.and_then(|settled| settled) {
            Ok(()) => {
                self.note_full(false);
                Attempt::Done(None)
            }
            Err(failed) => match failed.failure {
                Failure::Broken => Attempt::Unknown,
                Failure::Retry => Attempt::Retry,
                Failure::Full => {
                    self.note_full(true);
                    Attempt::Done(Some(failed.error))
                }
                _ => Attempt::Done(Some(failed.error)),
            },
        }
    }

    fn note_full(&self, full: bool) {
        if let Some(breaker) = &self.breaker {
            breaker.set_full(full);
        }
    }

    /// A rollback that does not arrive is one all the same: the server undoes what was not committed.
    fn rollback(&self, then: Attempt) -> Attempt {
        drop(self.within(self.client.batch_execute("ROLLBACK")));
        // What was said inside the transaction is undone with it.
        self.told.set(0);
        then
    }
}

fn lost() -> Attempt {
    Attempt::Lost(Error::unreachable("the connection was lost"))
}
