//! Loads many new records, as after a rebuild or an import. A term is written once for tens of thousands of documents, which
//! is what makes it fast; and it is written in short transactions, so that other writers need not wait.
//!
//! First the documents are written, chunk by chunk; nothing finds them yet. Then their postings and words, slice by slice in
//! the order of terms. `search_state` says how far that is, so a load that was interrupted can be taken back exactly
//! ([`recover`](super::write::recover)).

mod pace;
mod step;

use std::sync::Arc;
use std::time::Duration;

use text_index::{Analyzer, Language};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::changes::{Changes, Sorted};
use crate::features::search::index::load::pace::{Growth, Pace};
use crate::features::search::index::load::step::{Added, Chunk, Ready, Step};
use crate::features::search::index::records::{self, Prepared};
use crate::features::search::store;
use crate::state::App;
use crate::values::ids::ProjectId;

/// How much is written together.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Documents in one transaction.
    pub documents: i64,
    /// Postings in one load, all of which are kept in memory.
    pub postings: usize,
}

/// Takes about 40 MB. The larger a load, the fewer blocks are written again for a few postings more.
pub const SIZE: Size = Size { documents: 500, postings: 6_000_000 };
/// Words in one load, which are kept in memory as well.
const MAX_WORDS: usize = 200_000;
/// Chunks of documents that are prepared ahead.
const AHEAD: usize = 8;
/// How long a transaction should take. Terms are taken together accordingly.
const STEP: Duration = Duration::from_millis(20);
const FIRST_SLICE: usize = 500;
const SLICES: std::ops::RangeInclusive<usize> = 200..=5000;
/// Longer than a step can take.
const CLAIM: Duration = Duration::from_secs(60);

/// Loads what waits of a project and is not in its index; returns the number of records. The rest stays in the queue.
pub async fn load(app: &App, project: ProjectId, language: Language, size: Size) -> Result<usize> {
    let (chunks, prepared) = mpsc::channel(AHEAD);
    let preparing = prepare(app, project, language, size, chunks);
    let writing = write_all(app, project, language, size, prepared);
    let (prepared, loaded) = tokio::join!(preparing, writing);
    prepared.and(loaded)
}

/// Ends with the last record that waits now, or when nobody listens: what comes later waits for the next load, so that no
/// load goes on for ever.
async fn prepare(
    app: &App,
    project: ProjectId,
    language: Language,
    size: Size,
    chunks: mpsc::Sender<Vec<Prepared>>,
) -> Result<()> {
    let end = app.db.read(move |c| store::last_todo(c, project)).await?;
    let (mut after, end) = (Uuid::nil(), end.unwrap_or_default());
    loop {
        let reading = app.db.read_slow(move |c| {
            let todo = store::todo(c, project, after, end, size.documents)?;
            let last = todo.last().map(|row| row.record_id);
            Ok::<_, Error>((last, records::prepare(c, project, &Analyzer::new(language), todo)?))
        });
        let (Some(last), chunk) = reading.await? else { return Ok(()) };
        after = last;
        if chunks.send(chunk).await.is_err() {
            return Ok(());
        }
    }
}

async fn write_all(
    app: &App,
    project: ProjectId,
    language: Language,
    size: Size,
    mut chunks: mpsc::Receiver<Vec<Prepared>>,
) -> Result<usize> {
    let (mut done, mut growth) = (0, None);
    loop {
        let mut load = Load::new(project, language);
        let mut next = load.read(chunks.recv().await).await?;
        if next.is_none() {
            return Ok(done);
        }
        while let Some(chunk) = next {
            let step = Pace::begin(app);
            let writing = load.write(app, chunk);
            let reading = async {
                let is_last = load.is_full(size) || app.is_draining();
                let following = if is_last { None } else { chunks.recv().await };
                load.read(following).await
            };
            let (added, following) = tokio::join!(writing, reading);
            let Some(added) = added? else { return Ok(done) };
            step.end().await;
            done += load.keep(added);
            next = following?;
            if let Some(from) = load.from {
                growth.get_or_insert(Growth { measured: from }).reach(app, load.next).await?;
            }
        }
        if !load.finish(app).await? || app.is_draining() {
            return Ok(done);
        }
    }
}

/// A load under way.
#[derive(Debug)]
pub struct Load {
    project: ProjectId,
    language: Language,
    /// The number of its first document.
    from: Option<i64>,
    /// The number behind its last document.
    next: i64,
    /// Only the load writes the index meanwhile, so its lexicon stays true.
    changes: Changes,
    /// The last chunk that is written, and not among the changes yet.
    written: Option<Added>,
}

impl Load {
    pub fn new(project: ProjectId, language: Language) -> Self {
        let changes = Changes::new(language);
        Load { project, language, from: None, next: 0, changes, written: None }
    }

    fn is_full(&self, size: Size) -> bool {
        self.changes.size >= size.postings || self.changes.lexicon.size() >= MAX_WORDS
    }

    /// Writes documents; returns how many records are off the queue, none if the index is no longer for this load.
    pub async fn add(&mut self, app: &App, chunk: Vec<Prepared>) -> Result<Option<usize>> {
        let Some(chunk) = self.read(Some(chunk)).await? else { return Ok(None) };
        let Some(added) = self.write(app, chunk).await? else { return Ok(None) };
        Ok(Some(self.keep(added)))
    }

    /// Adds the words of the chunk that was written last, and looks up those of the next one. So one thread does this while
    /// another writes the chunk between them.
    async fn read(&mut self, next: Option<Vec<Prepared>>) -> Result<Option<Chunk>> {
        let written = self.written.take();
        let reading = self.change(move |changes| {
            if let Some(written) = written {
                written.add_words(changes)?;
            }
            let Some(records) = next else { return Ok(None) };
            let reading =
                changes.lexicon.read(records.iter().filter_map(|one| one.found.as_ref()))?;
            Ok(Some(Chunk { records, reading }))
        });
        reading.await
    }

    /// Writes the documents of a chunk; none if the index is no longer for this load.
    fn write(
        &self,
        app: &App,
        chunk: Chunk,
    ) -> impl Future<Output = Result<Option<Added>>> + use<> {
        let (project, language, chunk) = (self.project, self.language, Arc::new(chunk));
        let until = app.clock.now().plus(CLAIM);
        let step = Step { project, from: self.from, next: self.next, done: None, until };
        let db = app.db.clone();
        async move { db.write_alone(move |tx| step.add(tx, language, &chunk)).await }
    }

    /// How many records are off the queue.
    fn keep(&mut self, added: Added) -> usize {
        (self.from, self.next) = (added.from, added.next);
        let records = added.records;
        self.written = Some(added);
        records
    }

    /// Works on the changes, off the threads that serve requests.
    async fn change<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Changes) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut changes = std::mem::replace(&mut self.changes, Changes::new(self.language));
        let working = tokio::task::spawn_blocking(move || {
            let done = work(&mut changes)?;
            Ok::<_, Error>((changes, done))
        });
        let (changes, done) = working.await.map_err(Error::internal)??;
        self.changes = changes;
        Ok(done)
    }

    /// Writes postings and words; false if the index is no longer for this load. One thread makes a slice ready while another
    /// writes the one before.
    async fn finish(self, app: &App) -> Result<bool> {
        let grows = self.from.is_some_and(|from| self.next >= 4 * from);
        let (mut slices, mut growth) = (0, grows.then_some(Growth { measured: 0 }));
        let sorting = tokio::task::spawn_blocking(move || self.sorted());
        let mut left = sorting.await.map_err(Error::internal)??;
        let mut terms = FIRST_SLICE;
        let mut next = left.read(app, terms).await?;
        while let Some(ready) = next {
            let writing = left.write(app, ready);
            let writing = async {
                let step = Pace::begin(app);
                let is_written = writing.await?;
                Ok::<_, Error>((is_written, step.end().await))
            };
            let (written, following) = tokio::join!(writing, left.read(app, terms));
            let (is_written, took) = written?;
            if !is_written {
                return Ok(false);
            }
            next = following?;
            slices += 1;
            if let Some(growth) = &mut growth {
                growth.reach(app, slices).await?;
            }
            if took > STEP {
                terms = terms / 2 + 1;
            } else if took < STEP / 2 {
                terms *= 2;
            }
            terms = terms.clamp(*SLICES.start(), *SLICES.end());
        }
        Ok(true)
    }

    /// What is left to write once all documents are.
    pub fn sorted(self) -> Result<Left> {
        let Load { project, from, next, mut changes, written, .. } = self;
        if let Some(written) = written {
            written.add_words(&mut changes)?;
        }
        Ok(Left { project, from, next, done: None, sorted: changes.sorted() })
    }
}

/// Postings and words of a load.
#[derive(Debug)]
pub struct Left {
    project: ProjectId,
    from: Option<i64>,
    next: i64,
    /// The last term that is written.
    done: Option<String>,
    sorted: Sorted,
}

impl Left {
    /// So many terms with their blocks; none if everything is written.
    pub async fn read(&mut self, app: &App, terms: usize) -> Result<Option<Ready>> {
        let Some(slice) = self.sorted.next(terms) else { return Ok(None) };
        let (project, slice) = (self.project, Arc::new(slice));
        let reading = app.db.read_slow(move |c| {
            let blocks = slice.blocks(c, project, Blocks::default())?;
            Ok::<_, Error>(Ready { slice: Arc::clone(&slice), blocks })
        });
        reading.await.map(Some)
    }

    /// False if the index is no longer for this load.
    pub fn write(&mut self, app: &App, ready: Ready) -> impl Future<Output = Result<bool>> + use<> {
        let until = app.clock.now().plus(CLAIM);
        let done = std::mem::replace(&mut self.done, ready.slice.end.clone());
        let Left { project, from, next, .. } = *self;
        let step = Step { project, from, next, done, until };
        let db = app.db.clone();
        async move { db.write_alone(move |tx| step.write(tx, &ready)).await }
    }
}
