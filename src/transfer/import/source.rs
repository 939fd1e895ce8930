//! The formats that are read, each as a stream of documents.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::Draft;
use super::{csv, disqus, jsonl, wxr};
use crate::transfer::Result;
use crate::transfer::export::{self, files_of};
use crate::values::random::Random;
use crate::values::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Jsonl,
    Csv,
    Wxr,
    Disqus,
}

/// What a source holds.
#[derive(Debug)]
pub(super) enum Item {
    Document(Box<Draft>),
    /// Something that is never imported, such as a comment that was marked as spam.
    LeftOut {
        kind: &'static str,
        label: String,
        reason: String,
    },
    CustomTable(Value),
    CustomRow(super::custom::Row),
}

impl Item {
    pub(super) fn left_out(kind: &'static str, label: String, reason: &str) -> Item {
        Item::LeftOut { kind, label, reason: reason.to_owned() }
    }
}

pub(super) type Take<'t> = &'t mut dyn FnMut(Item) -> Result<()>;

#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    format: Format,
    random: Random,
    now: Timestamp,
}

impl Source {
    pub(super) fn open(
        path: &Path,
        format: Format,
        random: &Random,
        now: Timestamp,
    ) -> Result<Self> {
        if !path.exists() {
            return Err(format!("{}: there is no such file", path.display()).into());
        }
        if path.is_dir() && format != Format::Csv {
            return Err(format!("{} is a folder", path.display()).into());
        }
        Ok(Source { path: path.to_owned(), format, random: random.clone(), now })
    }

    /// Passes on everything in the order of the file; every document has an id.
    pub(super) fn read(&self, take: Take<'_>) -> Result<()> {
        let mut take = |item: Item| {
            let Item::Document(mut draft) = item else { return take(item) };
            draft.identify(&self.random, self.now);
            take(Item::Document(draft))
        };
        match self.format {
            Format::Jsonl => jsonl::read(self.file(&self.path)?, &mut take),
            Format::Csv if self.path.is_dir() => csv::read_folder(&self.path, &mut take),
            Format::Csv => csv::read_file(&self.path, &mut take),
            Format::Wxr => wxr::read(self.file(&self.path)?, &mut take),
            Format::Disqus => disqus::read(self.file(&self.path)?, &mut take),
        }
    }

    fn file(&self, path: &Path) -> Result<BufReader<File>> {
        let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(BufReader::with_capacity(1 << 16, file))
    }

    /// Where the bytes of files would be.
    pub(super) fn files(&self) -> PathBuf {
        let format = match self.format {
            Format::Csv => export::Format::Csv,
            Format::Jsonl | Format::Wxr | Format::Disqus => export::Format::Jsonl,
        };
        files_of(&self.path, format)
    }
}
