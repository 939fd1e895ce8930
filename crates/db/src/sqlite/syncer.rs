//! Syncs the WAL concurrently with the writer, which continues with the next batch. A commit writes its pages
//! into the WAL; its jobs are acknowledged only after the sync. One sync serves all commits before it.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread::JoinHandle;

use crate::announce::{Announcement, Broadcast};
use crate::job::Job;
use crate::queue::Queue;

use super::errors::Dead;

pub(super) type Jobs = Vec<Job>;

/// The jobs of one commit.
pub(super) struct Committed {
    pub(super) jobs: Jobs,
    pub(super) announced: Vec<Announcement>,
}

impl Committed {
    fn answer(self, board: &Broadcast) {
        board.post(self.announced);
        self.jobs.into_iter().for_each(|job| job.answer(None));
    }
}

/// The disk failed, and these must not be acknowledged.
pub(super) struct Lost {
    pub(super) end: Dead,
    pub(super) jobs: Jobs,
}

impl Lost {
    fn died(jobs: Jobs) -> Lost {
        Lost { end: Dead("the thread that waits for the disk died".to_owned()), jobs }
    }
}

/// Syncs everything written so far.
type Flush = Box<dyn Fn() -> io::Result<()> + Send>;

/// The WAL of a database. It exists while the database is open.
fn wal_of(database: &Path) -> io::Result<File> {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    File::open(path)
}

pub(super) struct Syncer {
    board: Arc<Broadcast>,
    /// None if commits are not synced.
    thread: RefCell<Option<Thread>>,
}

struct Thread {
    sender: Sender<Committed>,
    handle: JoinHandle<Result<(), Lost>>,
}

impl Syncer {
    /// For an open database whose writer leaves syncing to this thread.
    pub(super) fn start(
        database: &Path,
        queue: Arc<Queue<Job>>,
        board: Arc<Broadcast>,
    ) -> io::Result<Syncer> {
        let wal = wal_of(database)?;
        Self::with(Box::new(move || wal.sync_data()), queue, board)
    }

    /// Acknowledges at once.
    pub(super) fn none(board: Arc<Broadcast>) -> Syncer {
        Syncer { board, thread: RefCell::new(None) }
    }

    fn with(sync: Flush, queue: Arc<Queue<Job>>, board: Arc<Broadcast>) -> io::Result<Syncer> {
        let (sender, receiver) = channel();
        let answers = Arc::clone(&board);
        let run = move || {
            serve(&receiver, &sync, &answers).map_err(|mut lost| {
                // No more writes if they cannot be made durable. The writer's current jobs end here.
                queue.close();
                lost.jobs.extend(receiver.iter().flat_map(|committed| committed.jobs));
                lost
            })
        };
        let handle = std::thread::Builder::new().name("db-sync".to_owned()).spawn(run)?;
        Ok(Syncer { board, thread: RefCell::new(Some(Thread { sender, handle })) })
    }

    /// Acknowledges the jobs once the commit is on disk.
    pub(super) fn hand_over(&self, committed: Committed) -> Result<(), Lost> {
        let thread = self.thread.borrow();
        let Some(Thread { sender, .. }) = &*thread else {
            committed.answer(&self.board);
            return Ok(());
        };
        sender.send(committed).map_err(|SendError(committed)| Lost::died(committed.jobs))
    }

    /// Waits until everything is synced and acknowledged.
    pub(super) fn finish(&self) -> Result<(), Lost> {
        let Some(Thread { sender, handle }) = self.thread.take() else { return Ok(()) };
        drop(sender);
        handle.join().unwrap_or_else(|_| Err(Lost::died(Vec::new())))
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        // Commits before a crash of the writer thread are still acknowledged.
        let _ = self.finish();
    }
}

fn serve(receiver: &Receiver<Committed>, sync: &Flush, board: &Broadcast) -> Result<(), Lost> {
    while let Ok(first) = receiver.recv() {
        let mut waiting = vec![first];
        waiting.extend(receiver.try_iter());
        if let Err(error) = sync() {
            let end = Dead(format!("the log could not be put on disk: {error}"));
            let jobs = waiting.into_iter().flat_map(|committed| committed.jobs).collect();
            return Err(Lost { end, jobs });
        }
        waiting.into_iter().for_each(|committed| committed.answer(board));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;
    use crate::{Error, Tx};
    use crate::{job, stats};

    type Answer = oneshot::Receiver<job::Answer>;

    fn committed() -> (Committed, Answer) {
        let work = Box::new(job::write(|_: &Tx<'_>| Ok::<_, Error>(()), None));
        let (job, answer) = Job::write(stats::now(), work, &Arc::default());
        (Committed { jobs: vec![job], announced: Vec::new() }, answer)
    }

    fn waits(answer: &mut Answer) -> bool {
        matches!(answer.try_recv(), Err(TryRecvError::Empty))
    }

    fn syncer(sync: Flush) -> (Syncer, Arc<Queue<Job>>) {
        let queue = Arc::new(Queue::new(9));
        (Syncer::with(sync, Arc::clone(&queue), Arc::default()).unwrap(), queue)
    }

    #[test]
    fn nobody_is_answered_before_the_disk_has_it_and_one_wait_serves_all() {
        let (began, begins) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (syncer, _queue) = syncer(Box::new(move || {
            began.send(()).unwrap();
            ends.recv().unwrap();
            Ok(())
        }));
        let (first, mut first_answer) = committed();
        assert!(syncer.hand_over(first).is_ok());
        begins.recv().unwrap();
        let (second, mut second_answer) = committed();
        let (third, third_answer) = committed();
        assert!(syncer.hand_over(second).is_ok() && syncer.hand_over(third).is_ok());
        assert!(waits(&mut first_answer));
        end.send(()).unwrap();
        begins.recv().unwrap();
        assert!(first_answer.blocking_recv().is_ok());
        assert!(waits(&mut second_answer), "written after it began");
        end.send(()).unwrap();
        assert!(second_answer.blocking_recv().is_ok() && third_answer.blocking_recv().is_ok());
        assert!(syncer.finish().is_ok());
        assert!(begins.recv().is_err(), "there was no third wait");
    }

    #[test]
    fn after_a_failing_disk_nobody_is_answered_and_nothing_more_is_taken() {
        let (syncer, queue) = syncer(Box::new(|| Err(io::Error::other("gone"))));
        let (first, mut first_answer) = committed();
        assert!(syncer.hand_over(first).is_ok());
        let mut none = Vec::new();
        assert!(!queue.pop(1, &mut none), "it is closed");
        let (second, mut second_answer) = committed();
        assert!(syncer.hand_over(second).is_ok(), "the writer was about to");
        let lost = syncer.finish().err().unwrap();
        let Dead(cause) = lost.end;
        assert!(cause.contains("gone"), "{cause}");
        assert_eq!(lost.jobs.len(), 2);
        assert!(waits(&mut first_answer));
        assert!(waits(&mut second_answer));
    }
}
