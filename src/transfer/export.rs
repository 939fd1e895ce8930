//! Everything of a project as documents that other programs can read: one file of JSON lines, or a folder of CSV files, with
//! the stored files beside them. `docs/moving-in-and-out.md` describes the format.

pub mod archive;
mod sink;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use db::{Conn, Db};
use serde_json::json;
use tokio::runtime::Handle;

use self::sink::Sink;
use super::files::{Hold, Object, objects_of, parent};
use super::{Progress, Result, tables};
use crate::features::exports::kinds;
use crate::features::exports::store;
use crate::features::tables::model::Table;
use crate::features::tables::rows::json::Row;
use crate::features::tables::sql::Dialect;
use crate::features::tables::store::catalogue;
use crate::storage::Storage;
use crate::storage::blocking::Blocking;
use crate::storage::durable::{make_directories, sync_directory};
use crate::tenancy::{NOT_FOUND, registry};
use crate::values::ids::ProjectId;
use crate::values::random::{Random, hex};
use crate::values::time::Timestamp;

/// The `type` of the first line.
pub const HEADER: &str = "townhall-export";
/// The `type` of the last line.
pub const END: &str = "end";
/// The version of the format: higher when an older program could not read it.
pub const VERSION: u64 = 1;
/// Definitions and rows of custom tables.
pub const CUSTOM_TABLE: &str = "customTable";
pub const CUSTOM_ROW: &str = "customRow";
/// In a folder of CSV files: what the first line says elsewhere, and what the names of files of custom tables begin with.
pub const ABOUT: &str = "export.json";
pub const CUSTOM_FILE: &str = "custom-";

/// Refuses what is not the header of an export that this program can read.
pub fn check_header(header: &serde_json::Value) -> Result<(), &'static str> {
    if header["type"] != HEADER {
        return Err("is no header of an export");
    }
    match header["version"].as_u64() {
        Some(version) if version <= VERSION => Ok(()),
        _ => Err("this version of the format is not known"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Jsonl,
    Csv,
}

#[derive(Debug)]
pub struct Export<'a> {
    pub db: &'a Db,
    pub storage: &'a Storage,
    pub runtime: &'a Handle,
    pub random: &'a Random,
    pub now: Timestamp,
    pub project: ProjectId,
    pub format: Format,
}

/// Called after each document and each file; an error ends the export.
type Step<'a> = &'a (dyn Fn(&str, u64) -> Result<()> + Sync);

/// What was written.
#[derive(Debug, Default)]
pub struct Exported {
    /// By type.
    pub documents: BTreeMap<String, u64>,
    pub files: u64,
    /// Files whose bytes were lost before.
    pub missing_files: Vec<String>,
}

/// Where the bytes of files are: beside a file of JSON lines, in a folder of CSV files.
pub fn files_of(path: &Path, format: Format) -> PathBuf {
    match format {
        Format::Csv => path.join("files"),
        Format::Jsonl => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            path.with_file_name(format!("{name}.files"))
        }
    }
}

impl Export<'_> {
    /// Writes under a temporary name, syncs and renames: what is there is whole.
    pub fn run(&self, path: &Path, progress: Progress<'_>) -> Result<Exported> {
        let files = files_of(path, self.format);
        if let Some(taken) = [path, &files].into_iter().find(|path| path.exists()) {
            return Err(format!("{} exists already", taken.display()).into());
        }
        let name = path.file_name().ok_or("the path names no file")?.to_string_lossy();
        let aside = path.with_file_name(format!(".{name}.{}", hex(&self.random.bytes::<4>())));
        let hold = Hold { db: self.db, runtime: self.runtime, random: self.random, now: self.now };
        let step = |what: &str, count: u64| {
            progress(what, count);
            Ok(())
        };
        let done = hold.during(|| self.write(&aside, &step)).and_then(|done| {
            let written = files_of(&aside, self.format);
            if self.format == Format::Jsonl && written.exists() {
                fs::rename(written, &files)?;
            }
            fs::rename(&aside, path)?;
            sync_directory(&parent(path))?;
            Ok(done)
        });
        if done.is_err() {
            let _ = fs::remove_dir_all(files_of(&aside, self.format));
            let _ = fs::remove_file(&aside);
            let _ = fs::remove_dir_all(&aside);
        }
        done
    }

    fn write(&self, path: &Path, step: Step<'_>) -> Result<Exported> {
        let mut sink = Sink::create(path, self.format)?;
        let mut done = Exported::default();
        let objects = self.db.snapshot(|c| {
            self.header(c, &mut sink)?;
            self.documents(c, &mut sink, &mut done, step)?;
            self.custom_tables(c, &mut sink, &mut done, step)?;
            let mut objects = Vec::new();
            objects_of(c, self.project, &mut objects)?;
            Ok::<_, super::Failure>(objects)
        })?;
        sink.finish(done.documents.values().sum())?;
        self.files(&files_of(path, self.format), objects, &mut done, step)?;
        Ok(done)
    }

    fn header(&self, c: &Conn<'_>, sink: &mut Sink) -> Result<()> {
        let project = registry::load(c, self.project)?.ok_or(NOT_FOUND.message)?;
        let bundles: Vec<&str> = project.bundles.iter().map(|bundle| bundle.name()).collect();
        sink.header(&json!({
            "type": HEADER,
            "version": VERSION,
            "townhall": env!("CARGO_PKG_VERSION"),
            "projectId": self.project,
            "name": project.name,
            "bundles": bundles,
            "createdAt": self.now,
        }))
    }

    fn documents(
        &self,
        c: &Conn<'_>,
        sink: &mut Sink,
        done: &mut Exported,
        step: Step<'_>,
    ) -> Result<()> {
        for kind in kinds::all() {
            sink.begin(kind)?;
            let (mut count, mut failure) = (0, None);
            store::each(c, self.project, kind, &mut |values| {
                if failure.is_none() {
                    count += 1;
                    let written = sink.document(kind, &values);
                    failure = written.and_then(|()| step(kind.name, count)).err();
                }
            })?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            if count > 0 {
                done.documents.insert(kind.name.to_owned(), count);
            }
        }
        Ok(())
    }

    fn custom_tables(
        &self,
        c: &Conn<'_>,
        sink: &mut Sink,
        done: &mut Exported,
        step: Step<'_>,
    ) -> Result<()> {
        let tables = catalogue::list(c, self.project)?;
        for table in &tables {
            sink.custom_table(table)?;
        }
        if !tables.is_empty() {
            done.documents.insert(CUSTOM_TABLE.to_owned(), tables.len() as u64);
        }
        let mut count = 0;
        for table in tables {
            self.custom_rows(c, sink, Arc::new(table), &mut count)?;
            step(CUSTOM_ROW, count)?;
        }
        if count > 0 {
            done.documents.insert(CUSTOM_ROW.to_owned(), count);
        }
        Ok(())
    }

    fn custom_rows(
        &self,
        c: &Conn<'_>,
        sink: &mut Sink,
        table: Arc<Table>,
        count: &mut u64,
    ) -> Result<()> {
        let part = tables::of_project(c, Dialect(self.db.engine()), &table)?;
        let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let shape = part.shape_in_order_of(&names)?;
        sink.begin_custom(&table)?;
        let mut failure = None;
        let read = c.table_rows_in_order(&part.table, &shape, &mut |cells| {
            let written = Row::read(&table, cells).map_err(Into::into);
            failure = written.and_then(|row| sink.custom_row(&row)).err();
            *count += 1;
            if failure.is_some() { Err(db::Error::Aborted) } else { Ok(()) }
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(read?),
        }
    }

    fn files(
        &self,
        directory: &Path,
        objects: Vec<Object>,
        done: &mut Exported,
        step: Step<'_>,
    ) -> Result<()> {
        let prefix = format!("{}/", self.project);
        for (key, _) in objects {
            let Some(chunks) = self.runtime.block_on(self.storage.read(&key, None))? else {
                done.missing_files.push(key);
                continue;
            };
            let below = key.strip_prefix(&prefix).unwrap_or(&key);
            let path = directory.join(below);
            make_directories(&parent(&path))?;
            let mut content = Blocking { runtime: self.runtime, chunks, rest: Bytes::new() };
            let mut file = sink::create_private(&path)?;
            std::io::copy(&mut content, &mut file)?;
            file.sync_all()?;
            done.files += 1;
            step("files", done.files)?;
        }
        Ok(())
    }
}
