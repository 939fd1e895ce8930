//! The writer thread (group commit). It takes all queued jobs, runs their closures in one transaction and commits once.
//! Another thread syncs the disk and only then acknowledges the jobs.
//!
//! A job that fails after it has written must be undone without the others. Savepoints do that, but SQLite then keeps a copy of
//! every page that a job changes, a tenth of a write's time. So the jobs run without them; if one must be undone, all of the
//! batch run again, each in a savepoint, and so do those of the next batches.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::watch;

use crate::announce::{Announcement, Broadcast};
use crate::conn::{Failure, Link};
use crate::job::Job;
use crate::queue::Queue;
use crate::{Error, Options, Tx};

use super::Connection;
use super::checkpointer::{self, Checkpointer};
use super::errors::{self, Dead};
use super::syncer::{Committed, Jobs, Lost, Syncer};

/// Pages in the WAL that trigger a checkpoint: 16 MiB. A page that changes repeatedly is copied once, so a
/// larger WAL means less writing, but slower reads through it.
const CHECKPOINT_PAGES: i32 = 4000;
/// Pages after which writing waits for the checkpoint.
const MAX_PAGES: i32 = 16_000;
/// How many batches have savepoints once a job had to be undone.
const CAREFUL_BATCHES: u32 = 64;

struct Writer {
    /// Dropped before the connection, which may remove the WAL.
    syncer: Syncer,
    connection: Connection,
    wal_pages: Arc<AtomicI32>,
    /// How many of them are copied into the database.
    copied_pages: Cell<i32>,
    checkpointer: Checkpointer,
    /// The disk was full at the last write.
    full: Arc<AtomicBool>,
    /// The last commit has written to the WAL.
    has_written: Arc<AtomicBool>,
    /// A job of this batch found the disk full.
    met_full: Cell<bool>,
    /// How many of the next batches have savepoints.
    careful: Cell<u32>,
}

/// How the jobs of a batch ran.
enum Ran {
    All,
    /// This one aborted the whole transaction.
    Aborted(usize),
    /// One of them must be undone, and there is no savepoint to return to.
    MustUndo,
}

/// Starts the thread. The receiver's channel closes when it has ended.
pub(super) fn start(
    path: &Path,
    mut connection: Connection,
    queue: Arc<Queue<Job>>,
    board: Arc<Broadcast>,
    full: Arc<AtomicBool>,
    options: &Options,
) -> Result<watch::Receiver<()>, Error> {
    let syncer = if options.durable {
        // Commits do not sync by themselves. Reading creates the WAL of a new database.
        let ready = "PRAGMA synchronous = NORMAL; SELECT count(*) FROM sqlite_schema";
        connection.raw().execute_batch(ready).map_err(Error::unreachable)?;
        Syncer::start(path, Arc::clone(&queue), Arc::clone(&board)).map_err(Error::unreachable)?
    } else {
        Syncer::none(Arc::clone(&board))
    };
    let checkpointer = Checkpointer::new(path.to_owned(), options.clone());
    let wal_pages = Arc::new(AtomicI32::new(0));
    let has_written = Arc::<AtomicBool>::default();
    let (counted, written) = (Arc::clone(&wal_pages), Arc::clone(&has_written));
    connection
        .raw_mut()
        .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            counted.store(pages, Relaxed);
            written.store(true, Relaxed);
            Ok(())
        }))
        .map_err(Error::unreachable)?;
    let (alive, ended) = watch::channel(());
    let batch = options.batch.max(1);
    let guard = Guard {
        queue: Arc::clone(&queue),
        board,
        on_fatal: Arc::clone(&options.on_fatal),
        fatal: Some("the writer thread died".to_owned()),
        _alive: alive,
    };
    let copied_pages = Cell::new(0);
    let writer = Writer {
        syncer,
        connection,
        wal_pages,
        copied_pages,
        checkpointer,
        full,
        has_written,
        met_full: Cell::new(false),
        careful: Cell::new(0),
    };
    let run = move || {
        // Outlives the guard, so that a dying writer reports before its jobs are dropped.
        let (mut jobs, mut alone) = (Vec::new(), Vec::new());
        let guard = guard;
        let end = writer.serve(&queue, batch, &mut jobs, &mut alone);
        guard.end(end);
    };
    std::thread::Builder::new()
        .name("db-writer".to_owned())
        .spawn(run)
        .map_err(Error::unreachable)?;
    Ok(ended)
}

/// Closes the queue with the thread, however it ends, and reports an unexpected end.
struct Guard {
    queue: Arc<Queue<Job>>,
    board: Arc<Broadcast>,
    on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
    fatal: Option<String>,
    _alive: watch::Sender<()>,
}

impl Guard {
    fn end(mut self, end: Result<(), Dead>) {
        self.fatal = end.err().map(|Dead(cause)| cause);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // First, because it may end the process: waiting callers must not get a mere `Busy`.
        if let Some(cause) = &self.fatal {
            (self.on_fatal)(cause);
        }
        for job in self.queue.abandon() {
            job.answer(Some(Error::Busy));
        }
        self.board.close();
    }
}

impl Writer {
    /// `alone`: jobs of a batch that have to run by themselves, after the others.
    fn serve(
        self,
        queue: &Queue<Job>,
        batch: usize,
        jobs: &mut Jobs,
        alone: &mut Jobs,
    ) -> Result<(), Dead> {
        while queue.pop(batch, jobs) {
            alone.extend(jobs.extract_if(.., |job| job.is_alone));
            self.batch(jobs)?;
            while let Some(job) = alone.pop() {
                jobs.push(job);
                self.batch(jobs)?;
            }
            self.shorten()?;
        }
        self.syncer.finish().map_err(|lost| unanswered(lost, jobs))?;
        self.close();
        Ok(())
    }

    /// Keeps the WAL short: most of it is copied concurrently, the remainder between two batches.
    fn shorten(&self) -> Result<(), Dead> {
        let pages = self.wal_pages.load(Relaxed);
        if pages < self.copied_pages.get() {
            // The WAL has restarted.
            self.copied_pages.set(0);
        }
        if self.checkpointer.rests() {
            let is_short = pages - self.copied_pages.get() < CHECKPOINT_PAGES;
            if is_short || self.checkpointer.begin() {
                return Ok(());
            }
        } else {
            let Some(copied) = self.checkpointer.outcome(pages >= MAX_PAGES) else {
                return Ok(());
            };
            copied?;
        }
        checkpointer::copy(&self.connection)?;
        self.copied_pages.set(pages);
        Ok(())
    }

    /// Leaves a short WAL behind if possible. If not, nothing is lost: everything acknowledged is in the WAL.
    fn close(self) {
        // Without waiting: a truncating checkpoint holds the write lock while it waits for readers, and a
        // process that waits for the write lock counts as a reader. The last connection to close does the
        // rest.
        drop(self.checkpointer);
        let raw = self.connection.into_raw();
        let _ = raw.busy_timeout(Duration::ZERO);
        let _ = raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        drop(raw.close());
    }

    /// Runs and commits the jobs and has them acknowledged. If one job aborts the whole transaction, the
    /// others run again without it.
    fn batch(&self, jobs: &mut Jobs) -> Result<(), Dead> {
        while !jobs.is_empty() {
            if let Err(error) = self.control("BEGIN IMMEDIATE") {
                return self.refuse(jobs, error);
            }
            let mut announced = Vec::new();
            self.met_full.set(false);
            match self.run_all(jobs, &mut announced)? {
                Ran::All => {}
                Ran::Aborted(culprit) => {
                    jobs.remove(culprit).answer(None);
                    continue;
                }
                Ran::MustUndo => {
                    self.rollback()?;
                    self.careful.set(CAREFUL_BATCHES);
                    continue;
                }
            }
            match self.control("COMMIT") {
                Ok(()) => {
                    // A commit that wrote nothing, or that lacks a job, does not show that there is space
                    // again.
                    if self.has_written.swap(false, Relaxed) && !self.met_full.get() {
                        self.full.store(false, Relaxed);
                    }
                    let committed = Committed { jobs: std::mem::take(jobs), announced };
                    let handed_over = self.syncer.hand_over(committed);
                    handed_over.map_err(|lost| unanswered(lost, jobs))?;
                }
                // A deferred constraint fails at COMMIT and does not say whose it is: run them one by one.
                Err(error) if is_constraint(&error) && jobs.len() > 1 => {
                    self.rollback()?;
                    for job in jobs.drain(..) {
                        self.batch(&mut vec![job])?;
                    }
                }
                Err(error) => return self.refuse(jobs, error),
            }
        }
        Ok(())
    }

    /// Runs every job, in savepoints if that is due; one alone needs none.
    fn run_all(&self, jobs: &mut Jobs, announced: &mut Vec<Announcement>) -> Result<Ran, Dead> {
        let is_alone = jobs.len() == 1;
        let has_savepoints = !is_alone && self.careful.get() > 0;
        if has_savepoints {
            self.careful.set(self.careful.get() - 1);
        }
        for (index, job) in jobs.iter_mut().enumerate() {
            if has_savepoints {
                self.must("SAVEPOINT job")?;
            }
            let tx = Tx::new(Link::Sqlite(&self.connection));
            let keep = job.run(&tx);
            match tx.failure() {
                Some(Failure::Disk(cause)) => return Err(Dead(cause)),
                Some(Failure::Full) => {
                    self.met_full.set(true);
                    self.full.store(true, Relaxed);
                }
                _ => {}
            }
            if is_alone && !keep {
                self.rollback()?;
            }
            if self.connection.raw().is_autocommit() {
                return Ok(Ran::Aborted(index));
            }
            match (keep, has_savepoints) {
                (true, _) => announced.append(&mut tx.announced()),
                (false, true) => self.must("ROLLBACK TO job")?,
                (false, false) if tx.effects() > 0 => return Ok(Ran::MustUndo),
                (false, false) => {}
            }
            if has_savepoints {
                self.must("RELEASE job")?;
            }
        }
        Ok(Ran::All)
    }

    /// BEGIN or COMMIT failed: the batch gets the error; if the disk failed, nobody gets a reply.
    fn refuse(&self, jobs: &mut Jobs, error: rusqlite::Error) -> Result<(), Dead> {
        if let Some(cause) = errors::disk_failure(&error) {
            return Err(Dead(cause));
        }
        self.rollback()?;
        let error = errors::failed(self.connection.raw(), "COMMIT", error).error;
        if error == Error::Full {
            self.full.store(true, Relaxed);
        }
        for job in jobs.drain(..) {
            job.answer(Some(error.clone()));
        }
        Ok(())
    }

    fn rollback(&self) -> Result<(), Dead> {
        if self.connection.raw().is_autocommit() {
            return Ok(());
        }
        self.must("ROLLBACK")
    }

    fn control(&self, sql: &str) -> rusqlite::Result<()> {
        let mut statement = self.connection.raw().prepare_cached(sql)?;
        statement.raw_execute().map(drop)
    }

    /// For statements that cannot fail in an intact transaction: if one does, nothing can be trusted.
    fn must(&self, sql: &str) -> Result<(), Dead> {
        self.control(sql).map_err(|error| Dead(format!("{sql}: {error}")))
    }
}

/// Kept with the jobs, which are dropped after the end was reported.
fn unanswered(lost: Lost, jobs: &mut Jobs) -> Dead {
    jobs.extend(lost.jobs);
    lost.end
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}
