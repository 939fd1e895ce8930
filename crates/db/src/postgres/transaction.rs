//! One run of a job on a connection: its transaction if it writes, and the outcome.

use crate::conn::{Failed, Failure, Link};
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

/// How a run of several jobs in one transaction ended.
pub(super) enum Shared {
    /// Answer each with its own result.
    Done,
    /// Nothing was written; each is to run alone, and finds out what failed.
    Apart,
    /// The connection was lost after COMMIT was sent.
    Unknown,
}

impl Session {
    /// Runs several jobs in one transaction. A job whose closure fails before it has changed anything does not
    /// concern the others.
    pub(super) fn attempt_shared(&self, jobs: &mut [Job]) -> Shared {
        self.begin.set(true);
        let tx = Tx::new(Link::Postgres(self));
        let all_kept = jobs.iter_mut().all(|job| {
            let effects = tx.effects();
            tx.next_closure();
            job.run(&tx) || (tx.failure().is_none() && tx.effects() == effects)
        });
        let begun = !self.begin.replace(false);
        let shared = match begun {
            false if all_kept => Shared::Done,
            false => Shared::Apart,
            true if all_kept => match self.commit() {
                Attempt::Done(None) => Shared::Done,
                Attempt::Unknown => Shared::Unknown,
                _ => Shared::Apart,
            },
            true => {
                self.rollback(Attempt::Retry);
                Shared::Apart
            }
        };
        self.drop_unawaited();
        shared
    }

    /// Pipelined commands that were not awaited are rolled back with everything else.
    fn drop_unawaited(&self) {
        self.pending.borrow_mut().clear();
        self.announced.borrow_mut().clear();
        self.gathered.clear();
    }

    /// Runs one job, with its transaction if it writes.
    pub(super) fn attempt(&self, job: &mut Job) -> Attempt {
        let attempt = self.run_job(job);
        self.drop_unawaited();
        if matches!(attempt, Attempt::Retry) {
            // Perhaps a statement was prepared before a table changed.
            self.cache.borrow_mut().clear();
        }
        attempt
    }

    fn run_job(&self, job: &mut Job) -> Attempt {
        if !job.writes {
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

    /// COMMIT is sent with the pending commands; the server turns it into a ROLLBACK if any of them failed.
    fn commit(&self) -> Attempt {
        if let Err(Failed { error, failure }) = self.send_announced() {
            return match failure {
                Failure::Broken => lost(),
                Failure::Retry => self.rollback(Attempt::Retry),
                _ => self.rollback(Attempt::Done(Some(error))),
            };
        }
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

    /// A lost ROLLBACK does not matter: the server rolls back what was not committed.
    fn rollback(&self, then: Attempt) -> Attempt {
        drop(self.within(self.client.batch_execute("ROLLBACK")));
        // Settings made inside the transaction are rolled back with it.
        self.told.set(0);
        then
    }
}

fn lost() -> Attempt {
    Attempt::Lost(Error::unreachable("the connection was lost"))
}
