//! Documents into a project: of an export of Townhall, of a CSV file, of WordPress or of Disqus. What is there already stays as
//! it is, so the same import can run twice.
//!
//! A source is read from the beginning in every pass. Documents that refer to one that is not there yet wait for the next
//! pass; when a pass adds nothing, those that are left are reported.

mod batch;
mod csv;
mod custom;
mod derive;
mod disqus;
mod draft;
mod jsonl;
mod people;
mod report;
mod rules;
mod source;
mod store;
mod unpack;
pub mod uploaded;
mod wxr;
mod xml;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

use db::Db;
use tokio::runtime::Handle;

use self::batch::{Known, Outcome};
use self::custom::Custom;
use self::draft::Draft;
pub use self::report::{Left, Report};
pub use self::source::Format;
use self::source::{Item, Source};
use super::files::Store;
use super::{Result, counts};
use crate::features::exports::kinds;
use crate::tenancy::registry::Project;
use crate::values::random::Random;
use crate::values::time::Timestamp;

/// Documents that are read before they are written, and how many of one type are written together.
const BATCH_SIZE: usize = 200;

#[derive(Debug)]
pub struct Import<'a> {
    pub db: &'a Db,
    pub store: Store<'a>,
    pub runtime: &'a Handle,
    pub random: &'a Random,
    pub now: Timestamp,
    pub project: &'a Project,
    pub is_dry_run: bool,
}

/// A document on its way, with its place in the source.
type Numbered = (u64, Draft);

/// Called for each document and each piece of an archive; an error ends the import.
pub type Step<'a> = &'a (dyn Fn(&str, u64) -> Result<()> + Sync);

impl Import<'_> {
    /// Imports a file, or what is in an archive, and repairs the counts of the project.
    pub fn run(&self, path: &Path, format: Format, step: Step<'_>) -> Result<Report> {
        // Removed with this value.
        let scratch = self.runtime.block_on(self.store.staging.directory(self.random))?;
        let unpacked = unpack::unpack(path, format, scratch.path(), step)?;
        let source =
            Source::open(unpacked.as_deref().unwrap_or(path), format, self.random, self.now)?;
        let done = self.documents(&source, step);
        // Also after a failure: what was added before it stays.
        if !self.is_dry_run {
            counts::recount(self.db, self.runtime, self.project.id)?;
        }
        done
    }

    fn documents(&self, source: &Source, step: Step<'_>) -> Result<Report> {
        let mut work = Work::new(self, source, step);
        loop {
            work.pass()?;
            if work.waiting.is_empty() {
                break;
            }
            if work.added == 0 {
                for (_, (kind, label, reason)) in std::mem::take(&mut work.waiting) {
                    work.report.leave_out(&kind, &reason, &label);
                }
                break;
            }
        }
        Ok(work.report)
    }
}

struct Work<'a> {
    import: &'a Import<'a>,
    source: &'a Source,
    step: Step<'a>,
    report: Report,
    known: Arc<RwLock<Known>>,
    custom: Custom,
    buffers: Vec<Vec<Numbered>>,
    buffered: usize,
    /// What waits for the next pass: type, what it is, and what it lacks.
    waiting: HashMap<u64, (String, String, String)>,
    /// In this pass.
    added: u64,
    read: u64,
}

impl<'a> Work<'a> {
    fn new(import: &'a Import<'a>, source: &'a Source, step: Step<'a>) -> Self {
        Work {
            import,
            source,
            step,
            report: Report::default(),
            known: Arc::default(),
            custom: Custom::default(),
            buffers: vec![Vec::new(); kinds::all().len()],
            buffered: 0,
            waiting: HashMap::new(),
            added: 0,
            read: 0,
        }
    }

    fn pass(&mut self) -> Result<()> {
        let is_first = self.read == 0;
        let asked = std::mem::take(&mut self.waiting);
        (self.added, self.read) = (0, 0);
        let source = self.source;
        source.read(&mut |item| {
            self.read += 1;
            if !is_first && !asked.contains_key(&self.read) {
                return Ok(());
            }
            (self.step)("documents", self.read)?;
            match item {
                Item::Document(draft) => self.buffer(*draft),
                Item::LeftOut { kind, label, reason } => {
                    self.report.leave_out(kind, &reason, &label);
                    Ok(())
                }
                Item::CustomTable(definition) => {
                    self.flush()?;
                    let outcome = self.custom.table(self.import, &definition)?;
                    let name = definition["tableName"].as_str().unwrap_or_default().to_owned();
                    // A table that waits for another one is a step towards it.
                    self.added += u64::from(self.custom.has_changed);
                    self.note(self.read, super::export::CUSTOM_TABLE, name, outcome);
                    Ok(())
                }
                Item::CustomRow(row) => {
                    self.custom.push(self.read, row);
                    if self.custom.len() >= BATCH_SIZE { self.flush_custom() } else { Ok(()) }
                }
            }
        })?;
        self.flush()?;
        self.flush_custom()?;
        // An empty source is read once.
        self.read = self.read.max(1);
        Ok(())
    }

    fn buffer(&mut self, draft: Draft) -> Result<()> {
        let place = kinds::all().iter().position(|kind| kind.name == draft.kind.name);
        self.buffers[place.unwrap_or_default()].push((self.read, draft));
        self.buffered += 1;
        if self.buffered >= BATCH_SIZE { self.flush() } else { Ok(()) }
    }

    /// In the order of the types: each refers to earlier ones.
    fn flush(&mut self) -> Result<()> {
        self.buffered = 0;
        for place in 0..self.buffers.len() {
            let drafts = std::mem::take(&mut self.buffers[place]);
            if !drafts.is_empty() {
                self.write(drafts)?;
            }
        }
        Ok(())
    }

    fn flush_custom(&mut self) -> Result<()> {
        for (number, table, outcome) in self.custom.flush(self.import)? {
            self.note(number, super::export::CUSTOM_ROW, table, outcome);
        }
        Ok(())
    }

    fn write(&mut self, drafts: Vec<Numbered>) -> Result<()> {
        let (numbers, drafts): (Vec<u64>, Vec<Draft>) = drafts.into_iter().unzip();
        let mut ready = Vec::with_capacity(drafts.len());
        let mut places = Vec::with_capacity(drafts.len());
        for (number, mut draft) in numbers.into_iter().zip(drafts) {
            match rules::check(&mut draft, self.import.project, self.import.now) {
                Ok(notes) => {
                    for note in notes {
                        self.report.note(draft.kind.name, &note, &draft.label);
                    }
                    places.push((number, draft.kind.name, draft.label.clone()));
                    ready.push(draft);
                }
                Err(reason) => self.report.leave_out(draft.kind.name, &reason, &draft.label),
            }
        }
        let files = self.source.files();
        let written = batch::write(self.import, &self.known, Arc::new(ready), files)?;
        self.report.files += written.files;
        for ((number, kind, label), outcome) in places.into_iter().zip(written.outcomes) {
            self.note(number, kind, label, outcome);
        }
        Ok(())
    }

    fn note(&mut self, number: u64, kind: &str, label: String, outcome: Outcome) {
        match outcome {
            Outcome::Added(notes) => {
                self.added += 1;
                self.report.add(kind);
                notes.iter().for_each(|note| self.report.note(kind, note, &label));
            }
            Outcome::Unchanged => self.report.unchanged(kind),
            Outcome::LeftOut(reason) => self.report.leave_out(kind, &reason, &label),
            Outcome::Waits(reason) => {
                self.waiting.insert(number, (kind.to_owned(), label, reason));
            }
        }
    }
}
