//! Loads many new records, as after a rebuild or an import. A term is written once for tens of thousands of documents, which
//! is what makes it fast; and it is written in short transactions, so that other writers need not wait.
//!
//! First the documents are written, chunk by chunk; nothing finds them yet. Then their postings and words, slice by slice in
//! the order of terms. `search_state` says how far that is, so a load that was interrupted can be taken back exactly
//! ([`write::recover`]).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use db::Tx;
use text_index::{Analyzer, Language};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::error::{Error, Result};
use crate::features::search::index::blocks::Blocks;
use crate::features::search::index::changes::{Changes, Counts, Slice, Sorted};
use crate::features::search::index::lexicon::{Learned, Reading};
use crate::features::search::index::records::{self, Prepared};
use crate::features::search::index::write::{self, PutIn};
use crate::features::search::store;
use crate::state::App;
use crate::values::ids::ProjectId;
use crate::values::time::Timestamp;

/// How much is written together.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Documents in one transaction.
    pub documents: i64,
    /// Postings in one load, all of which are kept in memory.
    pub postings: usize,
}

/// Takes about 40 MB.
pub const SIZE: Size = Size { documents: 500, postings: 1_200_000 };
/// Chunks of documents that are prepared ahead.
const AHEAD: usize = 8;
/// How long a transaction should take. Terms are taken together accordingly.
const STEP: Duration = Duration::from_millis(20);
const FIRST_SLICE: usize = 500;
const SLICES: std::ops::RangeInclusive<usize> = 200..=5000;
/// How often the indexer itself uses the database while a transaction runs, at most.
const OWN_USES: u64 = 4;
const MAX_REST: Duration = Duration::from_millis(200);
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
            let writing = chunk.write(app, load.from);
            let reading = async {
                let is_last = load.changes.size >= size.postings || app.is_draining();
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

/// Has PostgreSQL measure the tables of the index whenever they have grown fourfold. By itself it does so once a minute; until
/// then it walks through tables that were small when it planned the statements.
#[derive(Debug)]
struct Growth {
    /// The size that was measured last.
    measured: i64,
}

impl Growth {
    async fn reach(&mut self, app: &App, size: i64) -> Result<()> {
        if size < 4 * self.measured {
            return Ok(());
        }
        self.measured = size;
        app.db.write_alone(store::measure).await
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

    /// Writes documents; returns how many records are off the queue, none if the index is no longer for this load.
    pub async fn add(&mut self, app: &App, chunk: Vec<Prepared>) -> Result<Option<usize>> {
        let Some(chunk) = self.read(Some(chunk)).await? else { return Ok(None) };
        let Some(added) = chunk.write(app, self.from).await? else { return Ok(None) };
        Ok(Some(self.keep(added)))
    }

    /// Adds the words of the chunk that was written last, and looks up those of the next one. So one thread does this while
    /// another writes the chunk between them.
    async fn read(&mut self, next: Option<Vec<Prepared>>) -> Result<Option<Chunk>> {
        let (project, language, written) = (self.project, self.language, self.written.take());
        let reading = self.change(move |changes| {
            if let Some(written) = written {
                written.add_words(changes)?;
            }
            let Some(records) = next else { return Ok(None) };
            let reading =
                changes.lexicon.read(records.iter().filter_map(|one| one.found.as_ref()))?;
            let read = Arc::new((records, reading));
            Ok(Some(Chunk { project, language, read }))
        });
        reading.await
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

    /// Writes postings and words; false if the index is no longer for this load.
    async fn finish(self, app: &App) -> Result<bool> {
        let grows = self.from.is_some_and(|from| self.next >= 4 * from);
        let (mut slices, mut growth) = (0, grows.then_some(Growth { measured: 0 }));
        let sorting = tokio::task::spawn_blocking(move || self.sorted());
        let mut left = sorting.await.map_err(Error::internal)??;
        let mut terms = FIRST_SLICE;
        while !left.is_empty() {
            let step = Pace::begin(app);
            if !left.write_next(app, terms).await? {
                return Ok(false);
            }
            let took = step.end().await;
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
        let Load { project, from, mut changes, written, .. } = self;
        if let Some(written) = written {
            written.add_words(&mut changes)?;
        }
        Ok(Left { project, from, done: None, sorted: changes.sorted() })
    }
}

/// Leaves others their turn: while they use the database as well, the indexer rests as long as it has worked.
struct Pace<'a> {
    app: &'a App,
    began: Duration,
    uses: u64,
}

impl<'a> Pace<'a> {
    fn begin(app: &'a App) -> Self {
        Pace { app, began: app.clock.uptime(), uses: uses(app) }
    }

    /// Returns how long the work took.
    async fn end(self) -> Duration {
        let took = self.app.clock.uptime().saturating_sub(self.began);
        if uses(self.app) > self.uses + OWN_USES {
            tokio::time::sleep(took.min(MAX_REST)).await;
        }
        took
    }
}

/// How often the database was used.
fn uses(app: &App) -> u64 {
    let stats = app.db.stats();
    stats.reads.count + stats.writes.count
}

/// Postings and words of a load.
#[derive(Debug)]
pub struct Left {
    project: ProjectId,
    from: Option<i64>,
    /// The last term that is written.
    done: Option<String>,
    sorted: Sorted,
}

impl Left {
    pub fn is_empty(&mut self) -> bool {
        self.sorted.is_empty()
    }

    /// Writes so many terms; false if the index is no longer for this load.
    pub async fn write_next(&mut self, app: &App, terms: usize) -> Result<bool> {
        let Some(slice) = self.sorted.next(terms) else { return Ok(true) };
        let until = app.clock.now().plus(CLAIM);
        let (project, from) = (self.project, self.from);
        let done = std::mem::replace(&mut self.done, slice.end.clone());
        let writing = app.db.write_alone(move |tx| {
            let step = Step { project, from, done: done.clone(), until };
            step.write(tx, &slice)
        });
        writing.await
    }
}

/// One transaction of a load.
#[derive(Debug)]
struct Step {
    project: ProjectId,
    /// As in the state, or none before the first step.
    from: Option<i64>,
    done: Option<String>,
    until: Timestamp,
}

/// Records to write, and their words.
#[derive(Debug)]
struct Chunk {
    project: ProjectId,
    language: Language,
    read: Arc<(Vec<Prepared>, Reading)>,
}

impl Chunk {
    /// Writes its documents; none if the index is no longer for this load.
    async fn write(self, app: &App, from: Option<i64>) -> Result<Option<Added>> {
        let Chunk { project, language, read } = self;
        let until = app.clock.now().plus(CLAIM);
        let writing = app.db.write_alone(move |tx| {
            let step = Step { project, from, done: None, until };
            step.add(tx, language, &read)
        });
        writing.await
    }
}

/// Documents that were written.
#[derive(Debug)]
struct Added {
    read: Arc<(Vec<Prepared>, Reading)>,
    /// The number of the load's first document.
    from: Option<i64>,
    /// The number behind the last document.
    next: i64,
    /// Records that are off the queue.
    records: usize,
    /// By record.
    numbers: HashMap<Uuid, i64>,
    learned: Learned,
}

impl Added {
    fn add_words(self, changes: &mut Changes) -> Result<()> {
        changes.lexicon.learn(self.learned);
        let (records, reading) = &*self.read;
        for found in records.iter().filter_map(|one| one.found.as_ref()) {
            if let Some(number) = self.numbers.get(&found.doc.record_id) {
                changes.add_words(*number, found, reading)?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// The state, if the index is as the last step has left it.
    fn lock(&self, tx: &Tx<'_>) -> Result<Option<store::StateRow>> {
        let state = store::state::lock(tx, self.project)?;
        Ok(state.filter(|state| state.load_from == self.from && state.load_term == self.done))
    }

    /// Records that are in the index already stay in the queue.
    fn add(
        &self,
        tx: &Tx<'_>,
        language: Language,
        read: &Arc<(Vec<Prepared>, Reading)>,
    ) -> Result<Option<Added>> {
        let (project, (records, reading)) = (self.project, &**read);
        let Some(state) = self.lock(tx)? else { return Ok(None) };
        if state.language != language.name() {
            return Ok(None);
        }
        let mut batch = write::waiting(tx, project, records)?;
        let old = store::indexed(tx, project, write::ids(&batch))?;
        let old: HashSet<Uuid> = old.into_iter().map(|row| row.record_id).collect();
        batch.retain(|one| !old.contains(&one.todo.record_id));
        let PutIn { documents, learned } = write::put_in(tx, project, &state, &batch, reading)?;
        let mut counts = Counts::default();
        for (_, found) in &documents {
            counts.add(found.doc.class, 1, i64::from(found.document.length))?;
        }
        counts.write(tx, project)?;
        write::finish(tx, project, &batch, &HashSet::new())?;
        let from = self.from.or_else(|| documents.first().map(|(number, _)| *number));
        if let Some(from) = from {
            store::state::continue_load(tx, project, from, None, self.until)?;
        }
        let next = documents.last().map_or(state.next_number, |(number, _)| number + 1);
        let numbers = documents.iter().map(|(number, found)| (found.doc.record_id, *number));
        let (read, numbers) = (Arc::clone(read), numbers.collect());
        Ok(Some(Added { read, from, next, records: batch.len(), numbers, learned }))
    }

    fn write(&self, tx: &Tx<'_>, slice: &Slice) -> Result<bool> {
        let (Some(_), Some(from)) = (self.lock(tx)?, self.from) else { return Ok(false) };
        slice.write(tx, self.project, Blocks::default())?;
        match slice.end.as_deref() {
            Some(end) => {
                store::state::continue_load(tx, self.project, from, Some(end), self.until)?;
            }
            None => store::state::end_load(tx, self.project)?,
        }
        Ok(true)
    }
}
