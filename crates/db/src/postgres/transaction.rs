//! One run of a job on a connection: its transaction if it writes, and the outcome.

use crate::conn::{Failed, Failure, Link};
use crate::job::Job;
use crate::{Announcement, Error, Tx};

use tokio_postgres::Statement;

use super::announcer::{self, Outgoing};
use super::errors;
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
            _ if all_kept => match self.commit(begun) {
                Attempt::Done(None) => Shared::Done,
                Attempt::Unknown => Shared::Unknown,
                _ => Shared::Apart,
            },
            false => Shared::Apart,
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
            None if keep => self.commit(begun),
            _ if !begun => Attempt::Done(None),
            _ => self.rollback(Attempt::Done(None)),
        }
    }

    /// COMMIT is sent with the pending commands; the server turns it into a ROLLBACK if any of them failed. The
    /// positions of announcements are drawn last, under all locks of the transaction.
    fn commit(&self, begun: bool) -> Attempt {
        let announced = self.announced.take();
        if !begun && announced.is_empty() {
            return Attempt::Done(None);
        }
        let draw = match self.prepare_positions(&announced) {
            Ok(draw) => draw,
            Err(Failed { error, failure }) => {
                return match failure {
                    Failure::Broken => lost(),
                    Failure::Retry => self.rollback(Attempt::Retry),
                    _ => self.rollback(Attempt::Done(Some(error))),
                };
            }
        };
        let (drawn, ended) = self.ended(draw.as_ref(), announced.len(), begun);
        let is_unknown = matches!(&ended, Err(failed) if failed.failure == Failure::Broken);
        if !is_unknown {
            let kept = |whole| if ended.is_ok() { Some(whole) } else { None };
            let announced = announced.into_iter().map(kept);
            let outgoing = drawn.into_iter().zip(announced).map(|(position, announcement)| {
                Outgoing { position: u64::try_from(position).ok(), announcement }
            });
            self.outgoing.borrow_mut().extend(outgoing);
        }
        match ended {
            Ok(()) => {
                self.note_full(false);
                Attempt::Done(None)
            }
            Err(failed) => match failed.failure {
                Failure::Broken if !begun => lost(),
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

    fn prepare_positions(&self, announced: &[Announcement]) -> Result<Option<Statement>, Failed> {
        if announced.is_empty() {
            return Ok(None);
        }
        self.prepared_as("announce", announcer::DRAW, None).map(|drawing| Some(drawing.statement))
    }

    /// Ends the transaction: the positions that were drawn, and whether it was committed.
    fn ended(
        &self,
        draw: Option<&Statement>,
        count: usize,
        begun: bool,
    ) -> (Vec<i64>, Result<(), Failed>) {
        let pending = self.pending.take();
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let ended = self.within(async {
            let drawing = async {
                match draw {
                    Some(draw) => self.client.query(draw, &[&count]).await,
                    None => Ok(Vec::new()),
                }
            };
            let commit =
                async { if begun { self.client.batch_execute("COMMIT").await } else { Ok(()) } };
            let (drawn, committed, settled) =
                tokio::join!(biased; drawing, commit, settle(pending));
            Ok((drawn, committed, settled))
        });
        let failed = |error| errors::failed("transaction", &error);
        match ended {
            Err(silent) => (Vec::new(), Err(silent)),
            Ok((drawn, committed, settled)) => {
                let (drawn, was_drawn) = match drawn {
                    Ok(rows) => (rows.iter().map(|row| row.get(0)).collect(), Ok(())),
                    Err(error) => (Vec::new(), Err(failed(error))),
                };
                // The first failure explains the others.
                (drawn, settled.and(was_drawn).and(committed.map_err(failed)))
            }
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
